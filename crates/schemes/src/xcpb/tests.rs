use paceline_cc::{LinkView, Rate, Router, Span, Time, xcp_feedback::MOST};

use super::*;
use crate::testing::{Constant, RouterLink, asking};
use crate::xcp::{Backlog, ControlInterval, EfficiencyController};

const D: f64 = 0.1;

/// A law that takes in the queue at the end of every interval of 100 ms.
struct Fed {
    law: XcpbEfficiency,
    ends: u64,
}

impl Fed {
    fn new(params: XcpbParams) -> Fed {
        Fed { law: XcpbEfficiency::new(&params), ends: 0 }
    }

    fn end(&mut self, bytes: f64, packets: u64, dropped: u64) -> f64 {
        let queue = Backlog { bytes: bytes as u64, packets };
        self.ends += 1;
        let to = Time::from_millis(100 * self.ends);
        let from = to - Span::from_millis(100);
        let interval = ControlInterval { from, to, traffic: 1e6, rtt: D, queue, dropped };
        let capacity = Constant(Rate::ZERO);
        let link = LinkView { capacity: &capacity, queue_packets: 0, queue_bytes: 0 };
        self.law.aggregate(&interval, &link)
    }

    /// Takes in a queue of packets of 1300 bytes.
    fn packets(&mut self, packets: u64) -> f64 {
        self.end(1300.0 * packets as f64, packets, 0)
    }

    fn blind(&self) -> bool {
        let mut blind = f64::NAN;
        self.law.inspect(&mut |name, value| blind = if name == "blind" { value } else { blind });
        blind == 1.0
    }
}

fn boundary() -> XcpbParams {
    XcpbParams { sample: Sample::Boundary, ..XcpbParams::default() }
}

#[test]
fn blind_growth_is_a_share_of_the_buffer() {
    let mut fed = Fed::new(boundary());
    assert!((boundary().chi() - 0.2286).abs() < 1e-4);
    assert!((boundary().tau() - 0.178).abs() < 1e-3);
    // 146 kB/s, 1.17 Mbit/s, in every interval.
    for _ in 0..5 {
        let aggregate = fed.packets(0);
        assert!((aggregate - 64_000.0 / 4.3737 / D).abs() < 1e-6, "{aggregate}");
        assert!((aggregate * 8e-6 - 1.17).abs() < 0.002);
    }
    let mut fed = Fed::new(XcpbParams { chi: 0.1, qmax: 10_000, ..boundary() });
    assert!((fed.packets(0) - 10_000.0).abs() < 1e-9);
}

/// Fig. 4: rates in units of a blind interval's, queues in those of chi * Qmax.
#[test]
fn the_recurrence_of_the_worst_case() {
    let params = XcpbParams {
        kappa: 0.0,
        detect: Detect::Empty,
        unit: Unit::Bytes,
        qmax: 1_000_000_000_000,
        ..boundary()
    };
    let unit = params.chi() * params.qmax as f64;
    let most = 1.0 / params.chi();
    let mut fed = Fed::new(params);
    // The feedback of two blind intervals takes effect after the link is full: the second is
    // computed from the empty queue that the first finds.
    let mut excess = 1.0;
    let mut pending = fed.end(0.0, 0, 0) * D / unit;
    let (mut queue, mut queues) = (0.0, Vec::new());
    for _ in 0..30 {
        queue = f64::max(queue + excess, 0.0);
        queues.push(queue);
        excess += pending;
        pending = fed.end(queue * unit, u64::from(queue > 0.0), 0) * D / unit;
    }
    for (ours, theirs) in queues.iter().zip([1.0, 3.0, 4.374, 4.268, 2.624]) {
        assert!((ours - theirs).abs() < 1e-3, "{queues:?}");
    }
    assert!(queues.iter().all(|&queue| queue <= most + 1e-6), "{queues:?}");
}

#[test]
fn one_queue_of_most_of_kappa_ends_blindness() {
    let kappa = |kappa: f64| Fed::new(XcpbParams { kappa, ..boundary() });
    // tau * kappa / 0.25 is 0.712 kappa: 71.2 of 100 packets.
    let mut fed = kappa(100.0);
    fed.packets(71);
    assert!(fed.blind());
    let mut fed = kappa(100.0);
    fed.packets(72);
    assert!(!fed.blind());
}

#[test]
fn the_average_and_the_counter_wait_n_intervals() {
    for detect in [Detect::Average, Detect::Counter] {
        let mut fed = Fed::new(XcpbParams { detect, ..boundary() });
        assert!(fed.packets(0) > 0.0 && fed.blind());
        // From an average of kappa on.
        for _ in 0..100 {
            fed.packets(3);
        }
        assert!(!fed.blind());
        let waited = (1..20).find(|_| {
            fed.packets(0);
            fed.blind()
        });
        // Six intervals give tau * kappa, which rounding puts on either side.
        assert!(matches!(waited, Some(6 | 7)), "{waited:?}");
    }
    let mut eager = Fed::new(XcpbParams { detect: Detect::Empty, ..boundary() });
    let blind: Vec<bool> = [0, 3, 3, 0, 0, 0]
        .iter()
        .map(|&packets| {
            eager.packets(packets);
            eager.blind()
        })
        .collect();
    // Empty, but not in the last interval: the gap in equation 8.
    assert_eq!(blind, [true, false, false, false, true, true]);
}

#[test]
fn the_queue_settles_at_kappa_in_packets_or_bytes() {
    let settled = |params: XcpbParams, size: f64| {
        let mut fed = Fed::new(params);
        let mut at = |packets: u64| fed.end(size * packets as f64, packets, 0);
        // The queue does not grow, and kappa packets wait: no feedback.
        at(3);
        let still = at(3);
        // Equation 13: -alpha * 2 * s / d - beta * 2 * s / d.
        (still, at(5))
    };
    let (still, more) = settled(boundary(), 1300.0);
    assert_eq!(still, 0.0);
    assert!((more + (0.4 * 2.0 + 0.2263 * 2.0) * 1300.0 / D).abs() < 1e-6, "{more}");
    let bytes = XcpbParams { unit: Unit::Bytes, ..boundary() };
    let (still, more) = settled(bytes, 1300.0);
    assert!((still - 0.2263 * 600.0 / D).abs() < 1e-6, "{still}");
    assert!((more + (0.4 * 2600.0 + 0.2263 * 2000.0) / D).abs() < 1e-6, "{more}");
}

#[test]
fn dropped_bytes_count_as_growth_if_asked() {
    for count_drops in [false, true] {
        let mut fed = Fed::new(XcpbParams { count_drops, ..boundary() });
        fed.packets(50);
        let aggregate = fed.end(65_000.0, 50, 13_000);
        let growth = if count_drops { 13_000.0 } else { 0.0 };
        let expected = -(0.4 * growth + 0.2263 * 47.0 * 1300.0) / D;
        assert!((aggregate - expected).abs() < 1e-6, "{aggregate} {expected}");
    }
}

/// Checks that the router infers drops from the queue.
#[test]
fn a_router_notices_drops_at_the_buffer() {
    let aggregate = |refuses: bool| {
        let params = XcpbParams { count_drops: true, ..XcpbParams::default() };
        let mut road = RouterLink::new(XcpRouter::new(XcpbEfficiency::new(&params), 0.1), 12.0);
        (road.queue_bytes, road.queue_packets) = (75_000, 50);
        for ms in 1..=160 {
            let now = Time::from_millis(ms);
            road.pass(now, &mut asking(100, 10, MOST));
            if refuses {
                road.arrive(now, &mut asking(100, 10, MOST));
                (road.queue_bytes, road.queue_packets) = (75_000, 50);
            }
        }
        road.inspect("aggregate_mbps")
    };
    // 100 packets of 1500 bytes in an interval of 100 ms.
    let (calm, refusing) = (aggregate(false), aggregate(true));
    assert!((refusing - (calm - 0.4 * 12.0)).abs() < 0.2, "{calm} {refusing}");
}

#[test]
fn the_shortest_queue_of_an_interval_is_the_default() {
    let mut fed = Fed::new(XcpbParams::default());
    fed.law.see(Backlog::default());
    fed.packets(40);
    assert!(fed.blind(), "it was empty");
    fed.packets(40);
    assert!(!fed.blind(), "it was never below 40");
}

#[test]
fn packets_without_size_do_no_harm() {
    let mut fed = Fed::new(XcpbParams { count_drops: true, ..boundary() });
    for dropped in [0, 1500] {
        assert!(fed.end(0.0, 5, dropped).is_finite());
    }
}

/// Checks packets that a node receives over a shared medium: with `inputs` they count and get
/// feedback.
#[test]
fn data_that_comes_in_over_a_medium_gets_feedback_too() {
    let capacity = Constant(Rate::ZERO);
    let link = LinkView { capacity: &capacity, queue_packets: 0, queue_bytes: 0 };
    let granted = |inputs: bool| {
        let law = XcpbEfficiency::new(&XcpbParams::default());
        let mut router = XcpRouter::new(law, 0.1).with_inputs(inputs);
        let mut packet = asking(100, 10, MOST);
        for ms in 1..=300 {
            packet = asking(100, 10, MOST);
            router.on_input(Time::from_millis(ms), &mut packet, &link);
        }
        crate::testing::feedback(&packet)
    };
    // A blind interval's credit, shared by ten packets in each ten milliseconds.
    let (with, without) = (granted(true), granted(false));
    assert!(with > 0.0 && with < 0.1 * without, "{with} {without}");
}
