use std::sync::{Arc, Mutex};

use paceline_cc::{LinkView, Packet, Rate, Router, Span, Stage, Time};

use super::maxmin::level;
use super::*;
use crate::link::Link;
use crate::queue::testing::{packet, stream};
use crate::service::Service;

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// Measurements over one second, without memory.
fn params() -> AbcDualParams {
    AbcDualParams { period: Span::from_secs(1), keep: 0.0, ..AbcDualParams::default() }
}

fn of(flow: u32, abc: bool, size: u32) -> Packet {
    let class = if abc { TrafficClass::EXPLICIT } else { TrafficClass::DEFAULT };
    Packet { flow, class, ..packet(0, size, Time::ZERO) }
}

#[test]
fn water_fills_the_lowest_demands_first() {
    assert!((level(&[0.44, 0.66], 1.0) - 0.56).abs() < 1e-12);
    assert!((level(&[1.0, 2.0, 6.0, 7.0], 11.0) - 4.0).abs() < 1e-12);
    assert!((level(&[5.0, 5.0, 5.0], 9.0) - 3.0).abs() < 1e-12);
    assert_eq!(level(&[1.0, 2.0], 3.5), f64::INFINITY);
    assert_eq!(level(&[], 1.0), f64::INFINITY);
    assert_eq!(level(&[1.0], -1.0), 0.0);
}

/// Returns ABC's weight after flows with these bytes: ABC's, and others'.
fn fair(abc: &[u32], other: &[u32]) -> f64 {
    let mut rule = MaxMin::new(&params());
    let mut flow = 0;
    for (side, sizes) in [(Side::Abc, abc), (Side::Other, other)] {
        for &size in sizes {
            flow += 1;
            rule.sent(side, flow, size);
        }
    }
    rule.update().expect("measured")
}

#[test]
fn weights_are_max_min_allocations() {
    // Demands of 0.66 and 0.44: a level of 0.56 for ABC, 0.44 for the other.
    assert!((fair(&[600_000], &[400_000]) - 0.56).abs() < 1e-9);
    assert!((fair(&[400_000], &[600_000]) - 0.44).abs() < 1e-9);
    assert!((fair(&[100_000; 3], &[100_000; 3]) - 0.5).abs() < 1e-9);
    assert!((fair(&[50_000; 2], &[25_000; 4]) - (1.0 - 0.55)).abs() < 1e-9);
    let mut nothing = MaxMin::new(&params());
    assert_eq!(nothing.update(), None);
}

#[test]
fn short_flows_get_what_they_demand_and_no_more() {
    // Three long flows of each kind at 80, and 990 short ones that make 480 together: the level is
    // about 80, so ABC's weight is a quarter.
    let mut rule = MaxMin::new(&params());
    for flow in 0..3 {
        rule.sent(Side::Abc, flow, 800_000);
        rule.sent(Side::Other, 10 + flow, 800_000);
    }
    for flow in 0..990 {
        rule.sent(Side::Other, 100 + flow, 4848);
    }
    let weight = rule.update().expect("measured");
    assert!((weight - 0.25).abs() < 0.002, "{weight}");
}

#[test]
fn the_weight_has_bounds() {
    let bounded = |weight, served| params().bounded(weight, served);
    assert!((bounded(0.3, [1, 1]) - 0.3).abs() < 1e-12);
    assert!((bounded(0.0, [1, 1]) - 0.05).abs() < 1e-12);
    assert!((bounded(1.0, [1, 1]) - 0.95).abs() < 1e-12);
    let authors = AbcDualParams { clamp: 0.2, ..params() };
    // The other queue had half of the bytes: its weight stays between 0.4 and 0.6.
    assert!((authors.bounded(0.2, [5, 5]) - 0.4).abs() < 1e-12);
    assert!((authors.bounded(0.9, [5, 5]) - 0.6).abs() < 1e-12);
}

#[test]
fn equal_flows_make_hits_as_rare_as_they_are_many() {
    for many in [1u32, 2, 5, 20] {
        let mut zombies = ZombieLists::new(&params(), stream());
        let mut random = paceline_cc::Stream::new(7, "arrivals");
        let mut sum = 0.0;
        for at in 0..60_000 {
            zombies.arrived(Side::Other, random.below(u64::from(many)) as u32);
            sum += if at >= 20_000 { zombies.frequency(Side::Other) } else { 0.0 };
        }
        let p = sum / 40_000.0;
        assert!((p * f64::from(many) - 1.0).abs() < 0.1, "{many}: {p}");
        assert!(zombies.flows(Side::Abc) == 1.0);
    }
}

/// Returns the bytes of each queue after sending for a while, with both always backlogged; ABC's
/// packets have half the size.
fn served(weight: f64) -> [u64; 2] {
    let mut share = Share::new(weight, 3000);
    let mut bytes = [0; 2];
    for _ in 0..30_000 {
        let side = share.choose(true, true).expect("both wait");
        let size = if side == Side::Abc { 750 } else { 1500 };
        share.sent(side, size, true);
        bytes[side.index()] += u64::from(size);
    }
    assert_eq!(share.take_unused(), 0);
    bytes
}

#[test]
fn deficits_share_bytes_by_weight() {
    for weight in [0.05, 0.25, 0.5, 0.9] {
        let [abc, other] = served(weight);
        let got = abc as f64 / (abc + other) as f64;
        assert!((got - weight).abs() < 1e-3, "{weight}: {got}");
    }
}

#[test]
fn what_one_queue_leaves_the_other_gets() {
    let mut queue = AbcDual::new(params(), Limit::NONE, stream());
    let mut drops = Vec::new();
    let mut unused = 0;
    for at in 0..500 {
        queue.push(ms(at), &of(1, false, 1500), &mut drops);
        assert!(queue.pop(ms(at), &mut drops).is_some());
        unused += queue.take_unused_share();
    }
    // Half of the sent bytes, minus the bytes that ABC's queue may save up.
    assert_eq!(unused, 500 * 750 - 3000);
    for at in 0..400 {
        queue.push(ms(at), &of(2, true, 1500), &mut drops);
        assert!(queue.pop(ms(at), &mut drops).is_some());
        assert_eq!(queue.take_unused_share(), 0);
    }
    // A queue without packets gains no credit beyond the burst.
    for _ in 0..100 {
        queue.push(ms(499), &of(1, false, 1500), &mut drops);
        queue.push(ms(499), &of(2, true, 1500), &mut drops);
    }
    let first: Vec<_> = (0..9).filter_map(|_| queue.pop(ms(499), &mut drops)).collect();
    assert_eq!(
        first.iter().filter(|packet| packet.class == TrafficClass::EXPLICIT).count(),
        3,
        "four packets late"
    );
    assert!(drops.is_empty());
}

#[test]
fn the_buffer_is_split() {
    let quarter = AbcDualParams { split: 0.25, ..params() };
    let mut queue = AbcDual::new(quarter, Limit::packets(8), stream());
    let mut drops = Vec::new();
    for at in 0..10 {
        queue.push(ms(at), &of(1, false, 1500), &mut drops);
        queue.push(ms(at), &of(2, true, 1500), &mut drops);
    }
    assert_eq!((queue.packets(), queue.backlog_for(TrafficClass::EXPLICIT, 0)), (8, (6, 9000)));
    assert_eq!(
        drops.iter().filter(|dropped| dropped.packet.class == TrafficClass::EXPLICIT).count(),
        4
    );
}

#[test]
fn weights_change_at_the_end_of_a_period() {
    let mut queue = AbcDual::new(params(), Limit::NONE, stream());
    let weight = |queue: &AbcDual| {
        let mut seen = f64::NAN;
        queue.inspect(&mut |name, value| seen = if name == "abc_weight" { value } else { seen });
        seen
    };
    let mut drops = Vec::new();
    // One ABC flow and three others, each kind with half of the link.
    for at in 0..1000 {
        queue.push(ms(at), &of(1, true, 1500), &mut drops);
        queue.push(ms(at), &of(2 + at as u32 % 3, false, 1500), &mut drops);
        assert_eq!(queue.pop(ms(at), &mut drops).map(|p| p.size), Some(1500));
        assert_eq!(queue.pop(ms(at), &mut drops).map(|p| p.size), Some(1500));
        assert_eq!(weight(&queue), 0.5);
    }
    queue.push(ms(999) + Span::from_millis(1), &of(1, true, 1500), &mut drops);
    // Other flows may grow by 10 % to 0.55.
    assert!((weight(&queue) - 0.45).abs() < 1e-3, "{}", weight(&queue));
}

#[derive(Default, PartialEq, Debug)]
struct Heard {
    /// Total bytes.
    unused: u32,
    /// For each departure: whether it is ABC's, and how many packets wait.
    departures: Vec<(bool, usize)>,
}

/// Records its calls.
#[derive(Clone, Default)]
struct Spy(Arc<Mutex<Heard>>);

impl Spy {
    fn heard(&self) -> Heard {
        std::mem::take(&mut *self.0.lock().expect("not poisoned"))
    }
}

impl Router for Spy {
    fn on_departure(&mut self, _: Time, packet: &mut Packet, _: Span, link: &LinkView<'_>) {
        let departure = (packet.class == TrafficClass::EXPLICIT, link.queue_packets);
        self.0.lock().expect("not poisoned").departures.push(departure);
    }
    fn on_unused_share(&mut self, _: Time, bytes: u32) {
        self.0.lock().expect("not poisoned").unused += bytes;
    }
}

#[test]
fn the_router_hears_of_abcs_queue_and_of_its_unused_share() {
    let queue = AbcDual::new(params(), Limit::NONE, stream());
    let spy = Spy::default();
    let service = Service::constant(Rate::from_mbps(12.0));
    let mut link = Link::new(Box::new(queue), service).with_router(Box::new(spy.clone()));
    for _ in 0..10 {
        link.push(ms(0), &of(1, false, 1500));
    }
    while link.pop(ms(10)).is_some() {}
    let departures = vec![(false, 0); 10];
    assert_eq!(spy.heard(), Heard { unused: 10 * 750 - 3000, departures });
    for _ in 0..2 {
        link.push(ms(10), &of(1, false, 1500));
        link.push(ms(10), &of(2, true, 1500));
    }
    while link.pop(ms(20)).is_some() {}
    // The first packet arrives at an idle link; then ABC has credit to spend.
    let departures = vec![(false, 0), (true, 1), (true, 0), (false, 0)];
    assert_eq!(spy.heard(), Heard { unused: 750, departures });
}
