//! Runs every queue of the registry with random packets, times and limits.

use std::collections::BTreeMap;

use paceline_cc::{Ecn, Packet, Span, Spec, Stream, Time, TrafficClass};

use super::testing::{self, packet};
use super::{DroppedPacket, Limit, Queue, build, builtin};

/// Variants in addition to the defaults.
const VARIANTS: &[&str] = &[
    "codel[ecn=true,target=1ms,interval=10ms]",
    "codel[ecn=true,ring=2,target=1ms,interval=10ms]",
    "fq_codel[ring=1,flows=2,limit=40,target=1ms,interval=10ms]",
    "pie[ring=3,ecn=true,max_burst=0s]",
    "codel-mahimahi[target=1ms,interval=10ms]",
    "fq_codel[ecn=true,flows=2,limit=40,quantum=300,target=1ms,interval=10ms]",
    "sfq_codel[bins=2,target=1ms,interval=10ms]",
    "pie[delay=rate,ecn=true,max_burst=0s]",
    "pie[derandomize=true,ecn=true,max_burst=0s,qdelay_ref=1ms,cap_drop=false]",
    "pie-mahimahi[qdelay_ref=1ms,max_burst=1ms]",
    "policer[rate=2Mbps,burst=9000]",
    "red[ecn=true,wait=false,w=0.2]",
    "red[min=2kB,max=9kB,ecn=true,hard_drop=false,gentle=false,w=1]",
    "step[k=3kB,drop=true]",
    "dualpi2[scheduler=tsfifo,random=false,target=1ms]",
    "dualpi2[step_packets=3,th_len=0,k=8,target=1ms]",
    "abc_dual[counters=2,k=1,period=1ms,burst=0]",
    "abc_dual[weights=zombie,period=1ms,list=2,split=0.1]",
];

/// The packets in the queue, and counters of their fates.
#[derive(Default)]
struct Books {
    held: BTreeMap<u64, Packet>,
    last: BTreeMap<u32, u64>,
    changed: u64,
}

impl Books {
    /// Removes a packet from the books. It must be in the queue, unchanged except for a mark.
    fn close(&mut self, packet: &Packet) {
        let was = self.held.remove(&packet.number()).expect("held once");
        assert_eq!((was.flow, was.size, was.sent), (packet.flow, packet.size, packet.sent));
        if was.ecn != packet.ecn {
            assert!(packet.ecn == Ecn::Ce && was.ecn.is_capable(), "{was:?} {packet:?}");
            self.changed += 1;
        }
    }

    fn drops(&mut self, drops: &mut Vec<DroppedPacket>) {
        for dropped in drops.drain(..) {
            self.close(&dropped.packet);
        }
    }

    fn out(&mut self, packet: &Packet) {
        assert_eq!(packet.queued, self.held[&packet.number()].queued);
        let last = self.last.insert(packet.flow, packet.number());
        assert!(last.is_none_or(|last| last < packet.number()), "order of flow {}", packet.flow);
        self.close(packet);
    }

    fn agrees(&self, queue: &dyn Queue, what: &str) {
        let bytes: u64 = self.held.values().map(|packet| u64::from(packet.size)).sum();
        assert_eq!((queue.packets(), queue.bytes()), (self.held.len(), bytes), "{what}");
        assert_eq!(queue.is_empty(), self.held.is_empty(), "{what}");
        queue.inspect(&mut |name, value| assert!(value.is_finite(), "{what} {name}"));
    }
}

fn random_limit(stream: &mut Stream) -> Limit {
    let mut limit = match stream.below(4) {
        0 => Limit::NONE,
        1 => Limit::packets(stream.below(60)),
        2 => Limit::bytes(stream.below(60_000)),
        _ => Limit { bytes: Some(stream.below(60_000)), ..Limit::packets(stream.below(60)) },
    };
    if stream.chance(0.3) {
        limit.sojourn = Some(Span::from_millis(stream.below(100)));
    }
    limit
}

fn random_packet(stream: &mut Stream, number: u64, now: Time) -> Packet {
    let flow = stream.below(6) as u32;
    let size = match stream.below(10) {
        0 => 0,
        1 => stream.below(70_000) as u32,
        2 => 40,
        _ => 1500,
    };
    // One ECN codepoint per flow, because a dual queue may otherwise reorder the flow.
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4];
    let class = if flow >= 4 { TrafficClass::EXPLICIT } else { TrafficClass::DEFAULT };
    Packet { flow, ecn, class, ..packet(number, size, now) }
}

fn random_step(stream: &mut Stream, now: Time) -> Time {
    match stream.below(400) {
        0 => now + Span::from_secs(stream.below(1000)),
        1..5 => now + Span::from_millis(stream.below(500)),
        5..20 => now - Span::from_micros(stream.below(3000)),
        _ => now + Span::from_micros(stream.below(1500)),
    }
}

fn fuzz(text: &str, seed: u64, steps: u64) {
    let mut stream = Stream::new(seed, text);
    let mut limit = random_limit(&mut stream);
    let mut queue =
        build(&Spec::parse(text).expect("legal"), limit, testing::stream()).expect("known");
    let (mut books, mut drops) = (Books::default(), Vec::new());
    let (mut now, mut busy) = (Time::ZERO, 0.5);
    // Packets that were held when the limit changed, which may exceed it.
    let (mut above, mut changed) = (0, false);
    for number in 0..steps {
        if seed.is_multiple_of(3) && stream.chance(0.002) {
            let other = random_limit(&mut stream);
            if queue.set_limit(other) {
                (limit, above, changed) = (other, queue.packets(), true);
            }
        }
        now = random_step(&mut stream, now);
        if stream.chance(0.005) {
            busy = 0.3 + 0.4 * stream.uniform();
        }
        if stream.chance(busy) {
            let packet = random_packet(&mut stream, number, now);
            queue.push(now, &packet, &mut drops);
            books.held.insert(number, Packet { queued: now, ..packet });
        } else if let Some(packet) = queue.pop(now, &mut drops) {
            books.drops(&mut drops);
            books.out(&packet);
        } else {
            books.drops(&mut drops);
            assert!(queue.is_empty(), "{text} idles");
        }
        books.drops(&mut drops);
        books.agrees(&*queue, text);
        let (packets, bytes) = (queue.packets() as u64, queue.bytes());
        // Packets in a device's ring are not counted in the buffer.
        let unlimited = text == "infinite" || text.contains("ring=");
        let within = limit.holds(packets, bytes);
        above = if within { 0 } else { above.min(queue.packets()) };
        // The parts of a dual queue come within their limits separately.
        let parts = changed && text.starts_with("abc_dual");
        assert!(within || unlimited || parts || packets <= above as u64, "{text} {limit:?}");
        assert!(queue.marks() >= books.changed);
    }
    now = if seed.is_multiple_of(2) { Time::NEVER } else { now };
    while let Some(packet) = queue.pop(now, &mut drops) {
        books.drops(&mut drops);
        books.out(&packet);
    }
    books.drops(&mut drops);
    books.agrees(&*queue, text);
    assert_eq!(queue.marks(), books.changed, "{text}");
}

/// Returns the factor of the run's usual length: `PACELINE_FUZZ`.
pub(super) fn budget() -> u64 {
    std::env::var("PACELINE_FUZZ").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[test]
fn packets_are_conserved_in_order_and_within_limits() {
    let queues = builtin();
    let names = queues.names();
    for text in names.chain(VARIANTS.iter().copied()) {
        for seed in 0..12 * budget() {
            fuzz(text, seed, 4000);
        }
    }
}

#[test]
fn extreme_parameters_are_refused_or_survived() {
    const VALUES: [&str; 15] = [
        "0",
        "1",
        "1e-300",
        "1e300",
        "-1",
        "-1e300",
        "0s",
        "1ns",
        "100us",
        "5000000h",
        "4294967295",
        "18446744073709551615",
        "1kB",
        "true",
        "false",
    ];
    let mut survived = 0;
    for queue in &builtin() {
        for info in queue.params() {
            for value in VALUES {
                let text = format!("{}[{}={value}]", queue.name, info.name);
                let spec = Spec::parse(&text).expect("legal");
                if build(&spec, Limit::NONE, testing::stream()).is_ok() {
                    fuzz(&text, 2, 600);
                    survived += 1;
                }
            }
        }
    }
    assert!(survived > 100, "{survived}");
}

#[test]
fn the_same_calls_give_the_same_results() {
    for queue in &builtin() {
        let run = || {
            let (mut stream, mut drops) = (Stream::new(5, "same"), Vec::new());
            let spec = Spec::parse(&queue.name).expect("legal");
            let mut queue = build(&spec, Limit::packets(100), testing::stream()).expect("known");
            let (mut now, mut seen) = (Time::ZERO, Vec::new());
            for number in 0..3000 {
                now = random_step(&mut stream, now);
                if stream.chance(0.53) {
                    queue.push(now, &random_packet(&mut stream, number, now), &mut drops);
                } else {
                    seen.extend(queue.pop(now, &mut drops).map(|p| (p.number(), p.ecn)));
                }
            }
            (seen, drops.len())
        };
        assert_eq!(run(), run(), "{}", queue.name);
    }
}
