use paceline_cc::Stream;

use super::*;
use crate::testing::{Acks, MSS};

fn avoiding(packets: f64, rtt: Span) -> (PragueSender, Acks) {
    let mut prague = PragueSender::new(&PragueParams::default(), MSS);
    prague.window.set_cwnd(packets);
    prague.window.leave_slow_start();
    (prague, Acks::new(rtt))
}

#[test]
fn alpha_follows_the_share_of_marks() {
    let (mut prague, mut acks) = avoiding(20.0, Span::from_millis(100));
    for _ in 0..500 {
        acks.now += Span::from_millis(100);
        let mut feedback = acks.ack(10);
        feedback.marked_packets = 3;
        prague.on_feedback(&feedback);
    }
    assert!((prague.marks.alpha() - 0.3).abs() < 1e-6, "{}", prague.marks.alpha());
    let before = prague.window.cwnd();
    let mut feedback = acks.event(1, Some(Congestion::Ecn));
    feedback.marked_packets = 1;
    prague.on_feedback(&feedback);
    let left = prague.window.cwnd() / before;
    assert!((left - (1.0 - prague.marks.alpha() / 2.0)).abs() < 1e-9, "{left}");
}

#[test]
fn alpha_moves_once_per_virtual_round_trip() {
    let (mut prague, mut acks) = avoiding(20.0, Span::from_millis(5));
    let mut marked = acks.ack(10);
    marked.marked_packets = 1;
    prague.on_feedback(&marked);
    let start = prague.marks.alpha();
    for _ in 0..4 {
        acks.now += Span::from_millis(5);
        prague.on_feedback(&acks.ack(1));
        assert_eq!(prague.marks.alpha(), start);
    }
    acks.now += Span::from_millis(5);
    prague.on_feedback(&acks.ack(1));
    assert!(prague.marks.alpha() < start);
}

/// Rounds without marks do not change alpha: the first mark finds it at 1 (Linux `tcp_prague`,
/// `saw_ce`; mvfst `EcnL4sTrackerTest` NoWeightWithoutCE).
#[test]
fn the_first_mark_finds_alpha_at_one() {
    let (mut prague, mut acks) = avoiding(20.0, Span::from_millis(100));
    for _ in 0..40 {
        acks.now += Span::from_millis(100);
        prague.on_feedback(&acks.ack(10));
    }
    assert_eq!(prague.marks.alpha(), 1.0);
    acks.now += Span::from_millis(100);
    let mut marked = acks.ack(10);
    marked.marked_packets = 1;
    prague.on_feedback(&marked);
    assert_eq!(prague.marks.alpha(), 1.0 + (0.1 - 1.0) / 16.0);
    for _ in 0..40 {
        acks.now += Span::from_millis(100);
        prague.on_feedback(&acks.ack(10));
    }
    assert!(prague.marks.alpha() < 0.08, "{}", prague.marks.alpha());
}

#[test]
fn short_round_trips_grow_as_slowly_as_the_target() {
    // In a second: ten round trips of 100 ms add ten packets. 200 round trips of 5 ms add a 25th of
    // a packet each, 8 packets. Window divided by virtual RTT then grows as for a flow of 25 ms, by
    // a packet per 25 ms in 40 round trips: 40 packets per 25 ms, which at 5 ms is a window of 8.
    let grown = |millis: u64| {
        let (mut prague, mut acks) = avoiding(50.0, Span::from_millis(millis));
        for _ in 0..1000 / millis {
            let window = prague.window.cwnd() as u64;
            acks.now += Span::from_millis(millis);
            acks.in_flight = window;
            for _ in 0..window {
                prague.on_feedback(&acks.ack(1));
            }
        }
        prague.window.cwnd() - 50.0
    };
    assert!((9.0..=11.0).contains(&grown(100)), "{}", grown(100));
    assert!((7.0..=9.0).contains(&grown(5)), "{}", grown(5));
}

#[test]
fn losses_halve_and_packets_leave_as_ect1() {
    let (mut prague, mut acks) = avoiding(20.0, Span::from_millis(100));
    prague.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    assert_eq!(prague.window.cwnd(), 10.0);
    prague.on_feedback(&acks.event(1, Some(Congestion::LossAfterMark)));
    assert_eq!(prague.window.cwnd(), 5.0);
    prague.window.set_cwnd(10.0);
    let plan = prague.plan();
    assert_eq!(plan.ecn, Ecn::Ect1);
    // 1.2 windows of 10 packets per 100 ms.
    assert_eq!(plan.pacing.map(Rate::as_bps), Some(1_440_000));
}

#[test]
fn random_feedback_keeps_it_sane() {
    let mut random = Stream::new(1, "prague");
    let mut prague = PragueSender::new(&PragueParams::default(), MSS);
    let mut acks = Acks::new(Span::from_millis(20));
    for _ in 0..50_000 {
        acks.now += Span::from_micros(random.below(20_000));
        acks.rtt = Span::from_micros(random.below(400_000));
        acks.in_flight = random.below(200);
        acks.in_recovery = random.chance(0.2);
        let congestion = match random.below(40) {
            0 => Some(Congestion::Loss),
            1 | 2 => Some(Congestion::Ecn),
            3 => Some(Congestion::Timeout),
            4 => Some(Congestion::Undo),
            _ => None,
        };
        let mut feedback = acks.event(random.below(4), congestion);
        feedback.marked_packets = random.below(4) as u32;
        prague.on_feedback(&feedback);
        let plan = prague.plan();
        assert!(plan.cwnd >= MSS as u64 && plan.cwnd < u64::MAX / 2);
        assert!(plan.pacing.is_none_or(|rate| rate.as_bps() > 0));
        assert!((0.0..=1.0).contains(&prague.marks.alpha()));
    }
}
