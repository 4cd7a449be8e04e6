//! Random links and packets for the model tests.
#![allow(dead_code)] // Each test uses a part.

use paceline_cc::{
    Body, Data, Ecn, LinkView, Packet, Rate, Router, Span, Spec, Stream, Time, TrafficClass,
};
use paceline_path::queue::build;
use paceline_path::{BufferSize, Limit, Link, OpportunityOptions, Queue, Service};
use paceline_trace::Trace;

pub(crate) fn packet(number: u64, size: u32, sent: Time) -> Packet {
    let body = Body::Data(Data { number, segment: number, ..Data::default() });
    Packet { sent, queued: sent, body, ..Packet::opaque(size) }
}

pub(crate) fn random_trace(stream: &mut Stream) -> Trace {
    let mut entries: Vec<u32> = (0..stream.below(12)).map(|_| stream.below(40) as u32).collect();
    entries.push(1 + stream.below(50) as u32);
    entries.sort_unstable();
    Trace::new("random", entries).expect("the last entry is above 0")
}

pub(crate) fn random_service(stream: &mut Stream) -> Service {
    match stream.below(3) {
        0 => Service::constant(Rate::from_bps(1_000_000 + stream.below(50_000_000))),
        1 => {
            let mut offset = Span::ZERO;
            let steps: Vec<_> = (0..1 + stream.below(6))
                .map(|i| {
                    let at = offset;
                    offset += Span::from_nanos(1 + stream.below(30_000_000));
                    let outage = i > 0 && stream.chance(0.4);
                    let rate = if outage { 0 } else { 1_000_000 + stream.below(50_000_000) };
                    (at, Rate::from_bps(rate))
                })
                .collect();
            let period = stream.chance(0.7).then_some(offset);
            Service::schedule(&steps, period).expect("in order")
        }
        _ => {
            let options = OpportunityOptions {
                opportunity: 1 + stream.below(3000) as u32,
                overhead: stream.below(8) as u32,
                repeat: stream.chance(0.8),
            };
            Service::trace(random_trace(stream), options).expect("not empty")
        }
    }
}

pub(crate) fn random_queue(stream: &mut Stream) -> Box<dyn Queue> {
    let name =
        ["droptail", "codel", "codel[ecn=true,target=2ms,interval=10ms]"][stream.below(3) as usize];
    let size = ["1p", "20p", "9kB", "sojourn=30ms", "inf"][stream.below(5) as usize];
    let limit = BufferSize::parse(size).map(|size| size.resolve(Rate::ZERO, Span::ZERO));
    let own = Stream::new(stream.next_u64(), "queue");
    build(&Spec::parse(name).expect(name), limit.unwrap_or(Limit::NONE), own).expect(name)
}

/// Marks packets by a hash of all arguments of its calls, so that two runs agree only if all calls
/// agree.
#[derive(Default)]
pub(crate) struct Hasher(u64);

impl Hasher {
    fn stir(&mut self, values: &[u64]) -> bool {
        for value in values {
            self.0 = (self.0 ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        }
        self.0.is_multiple_of(3)
    }
}

impl Router for Hasher {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        let queue = [link.queue_packets as u64, link.queue_bytes];
        if self.stir(&[now.as_nanos(), packet.number(), queue[0], queue[1]]) {
            packet.ecn = Ecn::Ect0;
        }
    }
    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        let offered = link.capacity.offered(now - Span::from_millis(100), now);
        let queue = [link.queue_packets as u64, link.queue_bytes];
        let seen = [now.as_nanos(), sojourn.as_nanos(), offered, queue[0], queue[1]];
        if self.stir(&seen) {
            packet.ecn = Ecn::Ce;
        }
    }
    fn on_unused(&mut self, now: Time, bytes: u32) {
        self.stir(&[now.as_nanos(), u64::from(bytes)]);
    }
}

/// Returns a random link; equal states of the stream give equal links.
pub(crate) fn random_link(stream: &mut Stream) -> Link {
    let queue = random_queue(stream);
    let link = Link::new(queue, random_service(stream));
    if stream.chance(0.5) { link.with_router(Box::new(Hasher::default())) } else { link }
}

/// Returns random arrivals: bursts, pauses, whole milliseconds, all sizes.
pub(crate) fn random_arrivals(stream: &mut Stream, count: u64) -> Vec<(Time, Packet)> {
    let mut now = Time::ZERO;
    (0..count)
        .map(|number| {
            match stream.below(8) {
                0 => now += Span::from_nanos(stream.below(80_000_000)),
                1 | 2 => now += Span::from_nanos(stream.below(4_000_000)),
                3 => {
                    let ms = now.as_nanos().div_ceil(1_000_000) + stream.below(3);
                    now = Time::from_millis(ms);
                }
                _ => {}
            }
            let size = match stream.below(10) {
                0 => stream.below(20_000) as u32,
                1 => 0,
                2..5 => 40 + stream.below(1460) as u32,
                _ => 1500,
            };
            let mut packet = packet(number, size, now);
            packet.ecn = if stream.chance(0.5) { Ecn::Ect1 } else { Ecn::NotEct };
            if stream.chance(0.5) {
                packet.class = TrafficClass::EXPLICIT;
            }
            (now, packet)
        })
        .collect()
}
