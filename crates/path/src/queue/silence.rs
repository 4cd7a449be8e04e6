//! Runs every queue of the registry through a burst and a pause: no state of the burst may stop the
//! link.

use paceline_cc::{Ecn, Packet, Rate, Span, Spec, Stage, Stream, Time, TrafficClass};
use paceline_trace::Trace;

use super::fuzz::budget;
use super::testing::{self, packet};
use super::{Limit, build, builtin};
use crate::link::Link;
use crate::service::{OpportunityOptions, Service};

/// Variants in addition to the defaults. DualPI2 has its default target: its probability falls by
/// `alpha` times `target` per update, which with a target of 1 ms takes 100 s from one to zero.
const VARIANTS: &[&str] = &[
    "codel[ecn=true,ring=2,target=1ms,interval=10ms]",
    "fq_codel[ring=1,flows=2,limit=40,target=1ms,interval=10ms]",
    "sfq_codel[bins=2,target=1ms,interval=10ms]",
    "pie[ring=3,max_burst=0s]",
    "pie[delay=rate,max_burst=0s]",
    "pie[derandomize=true,max_burst=0s,qdelay_ref=1ms,cap_drop=false]",
    "pie-mahimahi[qdelay_ref=1ms,max_burst=1ms]",
    "red[ring=2]",
    "red[w=0.2,wait=false]",
    "red[min=2kB,max=9kB,gentle=false,w=1]",
    "red[packet_time=1ms]",
    "step[k=3kB,drop=true]",
    "dualpi2[scheduler=tsfifo,random=false]",
    "dualpi2[step_packets=3,th_len=0]",
    "abc_dual[counters=2,k=1,period=1ms,burst=0]",
    "abc_dual[weights=zombie,period=1ms,list=2]",
];

/// Duration of the pause.
const SILENCE: Span = Span::from_secs(10);

fn random_limit(random: &mut Stream) -> Limit {
    let mut limit = match random.below(4) {
        0 => Limit::NONE,
        1 => Limit::packets(4 + random.below(400)),
        2 => Limit::bytes(6000 + random.below(600_000)),
        _ => Limit { bytes: Some(6000 + random.below(600_000)), ..Limit::packets(40) },
    };
    if random.chance(0.6) {
        limit.sojourn = Some(Span::from_millis(5 + random.below(100)));
    }
    limit
}

/// Returns a rate of 12 to 96 Mbit/s, with or without an outage during the burst, or opportunities
/// of 12 to 60 Mbit/s.
fn random_service(random: &mut Stream) -> Service {
    let rate = Rate::from_mbps(12.0 * (1 + random.below(8)) as f64);
    match random.below(3) {
        0 => Service::constant(rate),
        1 => {
            let from = Span::from_millis(random.below(2000));
            let to = from + Span::from_millis(1 + random.below(6000));
            let first = if from.is_zero() { Rate::ZERO } else { rate };
            let mut steps = vec![(Span::ZERO, first), (from, Rate::ZERO), (to, rate)];
            steps.dedup_by_key(|(at, _)| *at);
            Service::schedule(&steps, None).expect("in order")
        }
        _ => {
            let each = 1 + random.below(5) as usize;
            let trace = Trace::new("even", vec![1; each]).expect("a trace");
            Service::trace(trace, OpportunityOptions::default()).expect("valid")
        }
    }
}

fn random_packet(random: &mut Stream, number: u64, now: Time) -> Packet {
    let flow = random.below(40) as u32;
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][flow as usize % 3];
    let class = if flow % 4 == 3 { TrafficClass::EXPLICIT } else { TrafficClass::DEFAULT };
    let size = if random.chance(0.1) { 60 } else { 1500 };
    Packet { flow, ecn, class, ..packet(number, size, now) }
}

/// Transmits until the link has nothing more to do before `until`. Returns the packets that have
/// left.
fn transmit(link: &mut Link, until: Time) -> Vec<u64> {
    let mut numbers = Vec::new();
    while link.wake() <= until {
        let now = link.wake();
        numbers.extend(link.pop(now).map(|packet| packet.number()));
    }
    numbers
}

/// Sends a burst of at most 2000 packets within 3 s, then two single packets, each after 10 s of
/// pause. Returns true if both get through.
fn a_packet_gets_through(text: &str, seed: u64) -> bool {
    let mut random = Stream::new(seed, text);
    let limit = random_limit(&mut random);
    let spec = Spec::parse(text).expect("legal");
    let queue = build(&spec, limit, testing::stream()).expect("known");
    let mut link = Link::new(queue, random_service(&mut random));
    let (mut now, gap) = (Time::ZERO, 1 + random.below(1500));
    let mut number = 0;
    while number < 2000 && now < Time::from_secs(3) {
        now += Span::from_micros(random.below(2 * gap));
        transmit(&mut link, now);
        link.push(now, &random_packet(&mut random, number, now));
        number += 1;
    }
    while link.backlog_packets() > 0 {
        now = link.wake();
        assert_ne!(now, Time::NEVER, "{text} {limit:?} seed {seed}");
        transmit(&mut link, now);
    }
    [60, 1500].into_iter().all(|size| {
        now += SILENCE;
        number += 1;
        link.push(now, &Packet { size, ..random_packet(&mut random, number, now) });
        transmit(&mut link, now + Span::from_millis(100)) == [number]
    })
}

#[test]
fn after_any_burst_and_a_silence_a_packet_gets_through() {
    let queues = builtin();
    let names = queues.names();
    for text in names.chain(VARIANTS.iter().copied()) {
        let stopped: Vec<_> =
            (0..60 * budget()).filter(|&seed| !a_packet_gets_through(text, seed)).collect();
        assert!(stopped.is_empty(), "{text}, seeds {stopped:?}");
    }
}
