use paceline_cc::{
    Header, LinkView, Load, Packet, Reporter, Router, Span, Stream, Time, XcpHeader,
    xcp_feedback::{MOST, decode, encode},
};

use super::allocator::FairnessController;
use super::*;
use crate::testing::{Constant, RouterLink, asking, feedback, packet};

const MS: Span = Span::from_millis(1);
const LINK: f64 = 12.0;

fn router(capacity: f64) -> XcpRouter<XcpEfficiency> {
    let params = XcpParams { capacity: Rate::from_mbps(capacity), ..XcpParams::default() };
    XcpRouter::new(XcpEfficiency::new(&params), params.gamma)
}

/// Returns the aggregate of an interval of 100 ms, in bytes per second.
fn aggregate(traffic_mbps: f64, queue: u64) -> f64 {
    let mut law = XcpEfficiency::new(&XcpParams::default());
    let backlog = Backlog { bytes: queue, packets: queue / 1500 };
    // The queue lasts over two ends of its interval: it persists.
    for ms in [50, 100, 200] {
        law.see(backlog);
        law.watch(Time::from_millis(ms), backlog);
    }
    let interval = ControlInterval {
        from: Time::from_millis(100),
        to: Time::from_millis(200),
        traffic: traffic_mbps * 125_000.0,
        rtt: 0.1,
        queue: backlog,
        dropped: 0,
    };
    let capacity = Constant(Rate::from_mbps(LINK));
    let link = LinkView { capacity: &capacity, queue_packets: 0, queue_bytes: 0 };
    law.aggregate(&interval, &link)
}

#[test]
fn the_aggregate_is_spare_capacity_minus_the_draining_share() {
    // 2.4 Mbit/s: 30 kB over 100 ms.
    assert!((aggregate(6.0, 0) * 0.1 - 30_000.0).abs() < 1e-6);
    assert_eq!(aggregate(12.0, 0), 0.0);
    assert!((aggregate(12.0, 15_000) * 0.1 + 0.226 * 15_000.0).abs() < 1e-6);
    assert!(aggregate(15.0, 0) < 0.0);
}

fn header(rtt_ms: u64, window: u64, feedback: f64) -> XcpHeader {
    let rtt = Span::from_millis(rtt_ms);
    XcpHeader { rtt, interval: rtt / window, feedback }
}

/// Returns the feedback of two flows with an RTT of 100 ms over an interval of 100 ms, in bytes;
/// windows are in packets.
fn shares(aggregate: f64, windows: [u64; 2]) -> [f64; 2] {
    let mut allocator = FairnessController::new(0.1);
    let mut sums = [0.0; 2];
    for round in 0..2 {
        for (sum, window) in sums.iter_mut().zip(windows) {
            for _ in 0..window {
                let mut header = header(100, window, MOST);
                if round == 0 {
                    allocator.count(1500, Some(&header));
                } else {
                    allocator.grant(1500, &mut header);
                    *sum += header.feedback;
                }
            }
        }
        if round == 0 {
            assert!((allocator.rtt().unwrap() - 0.1).abs() < 1e-9);
            allocator.share_out(aggregate, MS * 100);
        }
    }
    sums
}

#[test]
fn gains_are_equal_and_cuts_go_with_the_rate() {
    // No redistribution here: the aggregate exceeds a tenth of the traffic, 1.2 MB/s.
    let [a, b] = shares(300_000.0, [20, 60]);
    assert!((a - 15_000.0).abs() < 1.0 && (b - 15_000.0).abs() < 1.0, "{a} {b}");
    let [a, b] = shares(-300_000.0, [20, 60]);
    assert!((a + 7_500.0).abs() < 1.0 && (b + 22_500.0).abs() < 1.0, "{a} {b}");
}

#[test]
fn shuffling_moves_a_tenth_from_the_fast_to_the_slow() {
    let [a, b] = shares(0.0, [40, 40]);
    assert!(a.abs() < 1e-6 && b.abs() < 1e-6, "{a} {b}");
    // 12 kB are taken, 3 and 9 kB, and 6 kB are given to each.
    let [a, b] = shares(0.0, [20, 60]);
    assert!((a - 3_000.0).abs() < 1.0 && (b + 3_000.0).abs() < 1.0, "{a} {b}");
    let mut allocator = FairnessController::new(0.1);
    for _ in 0..80 {
        allocator.count(1500, Some(&header(100, 80, MOST)));
    }
    allocator.share_out(0.0, MS * 100);
    assert_eq!(allocator.residues(), (120_000.0, 120_000.0));
}

#[test]
fn a_smaller_request_is_granted_unchanged() {
    let mut allocator = FairnessController::new(0.0);
    for _ in 0..10 {
        allocator.count(1500, Some(&header(100, 10, MOST)));
    }
    // 800 B/s to each packet: 80 bytes of window.
    allocator.share_out(8_000.0, MS * 100);
    let mut modest = header(100, 10, 50.0);
    allocator.grant(1500, &mut modest);
    assert_eq!(modest.feedback, 50.0);
    // The part that it has not taken remains.
    assert!((allocator.residues().0 - 7_500.0).abs() < 1e-9);
    let mut eager = header(100, 10, 100.0);
    allocator.grant(1500, &mut eager);
    assert!((eager.feedback - 80.0).abs() < 1e-9);
    // The sum is limited, however many packets there are.
    let mut sum = 0.0;
    for _ in 0..100 {
        let mut header = header(100, 10, MOST);
        allocator.grant(1500, &mut header);
        sum += header.feedback;
    }
    assert!((sum - 670.0).abs() < 1e-6, "{sum}");
}

#[test]
fn feedback_is_zero_in_the_first_interval() {
    let mut road = RouterLink::new(router(0.0), LINK);
    let mut grants = Vec::new();
    for ms in [10, 20, 49, 51, 60] {
        let mut packet = asking(100, 10, MOST);
        road.pass(Time::from_millis(ms), &mut packet);
        grants.push(feedback(&packet));
    }
    assert_eq!(grants[..3], [0.0; 3]);
    assert!(grants[3] > 1000.0, "{grants:?}");
    // Without an RTT, a packet gets no increase and no decrease.
    let mut first = packet(Header::Xcp(XcpHeader::default()));
    road.pass(Time::from_millis(61), &mut first);
    assert_eq!(feedback(&first), 0.0);
}

#[test]
fn the_tightest_of_several_routers_decides() {
    let prepared = |mbps: f64| {
        let mut road = RouterLink::new(router(0.0), mbps);
        for ms in 1..=49 {
            road.pass(Time::from_millis(ms), &mut asking(100, 10, MOST));
        }
        road
    };
    let links = [48.0, 20.0, 30.0];
    let alone = links.map(|mbps| {
        let mut packet = asking(100, 10, MOST);
        prepared(mbps).pass(Time::from_millis(51), &mut packet);
        feedback(&packet)
    });
    assert!(alone[1] < alone[2] && alone[2] < alone[0], "{alone:?}");
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let mut packet = asking(100, 10, MOST);
        for at in order {
            prepared(links[at]).pass(Time::from_millis(51), &mut packet);
        }
        assert!((feedback(&packet) - alone[1]).abs() < 1e-6);
    }
}

/// Returns the feedback of one of 10 packets when `other` packets without a header arrived, too.
fn beside(other: u64) -> f64 {
    let mut road = RouterLink::new(router(0.0), LINK);
    for i in 0..40 {
        let at = Time::from_millis(i + 1);
        road.pass(at, &mut asking(100, 10, MOST));
        if i < other {
            road.pass(at, &mut Packet::opaque(1500));
            road.pass(at, &mut packet(Header::Vcp(Load::Low)));
        }
    }
    let mut packet = asking(100, 10, MOST);
    road.pass(Time::from_millis(51), &mut packet);
    feedback(&packet)
}

#[test]
fn traffic_without_a_header_counts() {
    // 60 of 75 kB in 50 ms arrived: 0.4 * 300 kB/s among 40 packets, 100 ms each. With 30 kB more
    // the aggregate is negative.
    assert!((beside(0) - 0.1 * (0.4 * 300_000.0) / 40.0).abs() < 1e-6, "{}", beside(0));
    assert!(beside(10) < 0.0, "{}", beside(10));
    // They are not changed.
    let mut road = RouterLink::new(router(0.0), LINK);
    let mut other = packet(Header::Vcp(Load::Low));
    road.pass(Time::from_millis(60), &mut other);
    let paceline_cc::Body::Data(data) = other.body else { panic!("data") };
    assert_eq!(data.header, Header::Vcp(Load::Low));
}

#[test]
fn a_configured_capacity_is_believed() {
    for (configured, real) in [(12.0, 1.0), (12.0, 100.0), (0.0, 12.0)] {
        let mut road = RouterLink::new(router(configured), real);
        for ms in 1..=51 {
            road.pass(Time::from_millis(ms), &mut asking(100, 10, MOST));
        }
        assert_eq!(road.inspect("capacity_mbps"), 12.0);
    }
}

#[test]
fn a_queue_persists_only_if_it_never_drains() {
    for drains in [false, true] {
        let mut road = RouterLink::new(router(0.0), LINK);
        (road.queue_bytes, road.queue_packets) = (15_000, 10);
        for ms in 1..=200 {
            if drains && ms % 10 == 0 {
                (road.queue_bytes, road.queue_packets) = (0, 0);
            }
            road.pass(Time::from_millis(ms), &mut asking(100, 10, MOST));
            if drains && ms % 10 == 0 {
                (road.queue_bytes, road.queue_packets) = (15_000, 10);
            }
        }
        // The departing packet counts.
        let expected = if drains { 1.5 } else { 15.0 };
        assert_eq!(road.inspect("persistent_queue_kb"), expected);
    }
}

#[test]
fn a_silent_link_that_was_idle_had_no_queue() {
    let mut road = RouterLink::new(router(0.0), LINK);
    for ms in 1..=200 {
        road.pass(Time::from_millis(2 * ms), &mut asking(100, 10, MOST));
    }
    assert_eq!(road.inspect("persistent_queue_kb"), 0.0);
    // A link that reports unused opportunities.
    let mut road = RouterLink::new(router(0.0), LINK);
    for ms in 1..=200 {
        road.router.on_unused(Time::from_millis(ms), 1500);
        road.pass(Time::from_millis(ms), &mut asking(100, 10, MOST));
    }
    assert_eq!(road.inspect("persistent_queue_kb"), 0.0);
}

#[test]
fn days_of_silence_are_caught_up_with_at_once() {
    let mut road = RouterLink::new(router(0.0), LINK);
    for hours in [0, 1, 1000, 100_000] {
        for ms in 1..=300 {
            let now = Time::from_secs(hours * 3600) + MS * ms;
            road.pass(now, &mut asking(1, 10, MOST));
        }
    }
    assert!((road.inspect("rtt_ms") - 1.0).abs() < 1e-6);
    assert!(road.inspect("aggregate_mbps").is_finite());
    // The largest time.
    road.pass(Time::NEVER, &mut asking(1, 10, MOST));
}

#[test]
fn the_receiver_returns_sums_and_loses_nothing() {
    let mut receiver = XcpReceiver::default();
    assert_eq!(receiver.explicit(), 0);
    let mut take = |feedback: f64| {
        receiver.on_arrival(Time::ZERO, &asking(100, 10, feedback));
    };
    for feedback in [10.0, -3.5, 0.25] {
        take(feedback);
    }
    assert_eq!(decode(receiver.explicit()), 6.75);
    assert_eq!(receiver.explicit(), 0);
    // The rounding error goes into the next one.
    let mut sum = 0.0;
    for _ in 0..1000 {
        receiver.on_arrival(Time::ZERO, &asking(100, 10, 0.001));
        sum += decode(receiver.explicit());
    }
    assert!((sum - 1.0).abs() < 1.0 / 256.0, "{sum}");
    // So does the part beyond the bounds.
    let mut receiver = XcpReceiver::default();
    for _ in 0..3 {
        receiver.on_arrival(Time::ZERO, &asking(100, 10, -MOST));
    }
    let told: f64 = (0..5).map(|_| decode(receiver.explicit())).sum();
    assert_eq!(told, -3.0 * MOST);
    // No router has set it; invalid values; a header of another scheme.
    for feedback in [MOST, f64::INFINITY, f64::NAN] {
        receiver.on_arrival(Time::ZERO, &asking(100, 10, feedback));
    }
    receiver.on_arrival(Time::ZERO, &packet(Header::None));
    assert_eq!(receiver.explicit(), 0);
    assert_eq!(decode(encode(-1.5)), -1.5);
}

#[test]
fn hostile_headers_do_no_harm() {
    for seed in 0..10 {
        let mut random = Stream::new(seed, "xcp router");
        let mut road = RouterLink::new(router(0.0), LINK);
        let mut now = Time::ZERO;
        for _ in 0..3000 {
            now += Span::from_nanos(random.next_u64() >> (20 + random.below(44)));
            let feedback = match random.below(3) {
                0 => f64::from_bits(random.next_u64()),
                1 => [f64::NAN, f64::INFINITY, -f64::INFINITY][random.below(3) as usize],
                _ => MOST,
            };
            let mut any = || Span::from_nanos(random.next_u64() >> random.below(64));
            let header = XcpHeader { rtt: any(), interval: any(), feedback };
            let mut packet = packet(Header::Xcp(header));
            packet.size = random.next_u64() as u32;
            road.pass(now, &mut packet);
            let told = crate::testing::feedback(&packet);
            assert!(told.is_finite() && told.abs() <= MOST, "{header:?}: {told}");
            let lowered = header.rtt.is_zero() || told <= feedback.max(-MOST);
            assert!(feedback.is_nan() || lowered, "{header:?}: {told}");
            road.router.inspect(&mut |name, value| assert!(value.is_finite(), "{name}"));
        }
    }
}
