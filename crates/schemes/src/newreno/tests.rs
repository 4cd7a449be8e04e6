use paceline_cc::Stream;

use super::*;
use crate::testing::{Acks, MSS};

const RTT: Span = Span::from_millis(100);

fn with_window(packets: f64) -> (NewRenoSender, Acks) {
    let mut reno = NewRenoSender::new(&NewRenoParams::default(), MSS);
    reno.window.set_cwnd(packets);
    (reno, Acks::new(RTT))
}

fn avoiding(packets: f64) -> (NewRenoSender, Acks) {
    let (mut reno, acks) = with_window(packets);
    reno.window.leave_slow_start();
    (reno, acks)
}

#[test]
fn slow_start_doubles_per_round() {
    let (mut reno, mut acks) = with_window(10.0);
    for _ in 0..10 {
        reno.on_feedback(&acks.ack(1));
    }
    assert_eq!(reno.plan().cwnd, 20 * MSS as u64);
    reno.on_feedback(&acks.ack(20));
    assert_eq!(reno.window.cwnd(), 40.0);
}

#[test]
fn a_limit_holds_back_stretched_acknowledgements() {
    let params = NewRenoParams { abc_limit: 2.0, ..Default::default() };
    let mut reno = NewRenoSender::new(&params, MSS);
    reno.on_feedback(&Acks::new(RTT).ack(10));
    assert_eq!(reno.window.cwnd(), 12.0);
}

#[test]
fn acknowledgements_may_count_instead_of_packets() {
    // RFC 5681 §3.1: cwnd += min(N, SMSS) in slow start, SMSS * SMSS / cwnd for each
    // acknowledgement above the threshold.
    let params = NewRenoParams { counts: Counts::Acks, ..Default::default() };
    let mut reno = NewRenoSender::new(&params, MSS);
    let mut acks = Acks::new(RTT);
    reno.on_feedback(&acks.ack(10));
    assert_eq!(reno.window.cwnd(), 11.0);
    reno.window.leave_slow_start();
    for _ in 0..10 {
        reno.on_feedback(&acks.ack(3));
    }
    assert_eq!(reno.window.cwnd(), 11.0);
    reno.on_feedback(&acks.ack(3));
    assert_eq!(reno.window.cwnd(), 12.0);
}

#[test]
fn congestion_avoidance_adds_one_per_round() {
    let (mut reno, mut acks) = avoiding(10.0);
    for _ in 0..9 {
        reno.on_feedback(&acks.ack(1));
    }
    assert_eq!(reno.window.cwnd(), 10.0);
    reno.on_feedback(&acks.ack(1));
    assert_eq!(reno.window.cwnd(), 11.0);
    reno.on_feedback(&acks.ack(11));
    assert_eq!(reno.window.cwnd(), 12.0);
}

#[test]
fn slow_start_stops_at_the_threshold() {
    let (mut reno, mut acks) = with_window(100.0);
    reno.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    acks.in_recovery = true;
    reno.on_feedback(&acks.ack(49));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (50.0, 50.0));
    reno.on_feedback(&acks.ack(50));
    assert_eq!(reno.window.cwnd(), 51.0);
}

#[test]
fn loss_halves_and_repair_does_not_grow() {
    let (mut reno, mut acks) = with_window(20.0);
    acks.in_recovery = true;
    reno.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (10.0, 10.0));
    for _ in 0..50 {
        reno.on_feedback(&acks.ack(1));
    }
    assert_eq!(reno.window.cwnd(), 10.0);
    acks.in_recovery = false;
    reno.on_feedback(&acks.ack(10));
    assert_eq!(reno.window.cwnd(), 11.0);
}

#[test]
fn the_threshold_is_at_least_two_packets() {
    let (mut reno, mut acks) = with_window(3.0);
    reno.on_feedback(&acks.event(1, Some(Congestion::Ecn)));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (2.0, 2.0));
}

#[test]
fn timeout_restarts_from_one_packet_and_grows_while_repairing() {
    let (mut reno, mut acks) = with_window(20.0);
    acks.in_recovery = true;
    reno.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (1.0, 10.0));
    // Backed-off timeouts of one packet do not change the threshold.
    reno.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (1.0, 10.0));
    reno.on_feedback(&acks.ack(1));
    reno.on_feedback(&acks.ack(2));
    assert_eq!(reno.window.cwnd(), 4.0);
    // After progress, a further timeout reduces it again.
    reno.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (1.0, 2.0));
}

#[test]
fn a_timeout_within_fast_recovery_does_not_reduce_twice() {
    let (mut reno, mut acks) = with_window(40.0);
    acks.in_recovery = true;
    reno.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    reno.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (1.0, 20.0));
}

#[test]
fn undo_restores_once() {
    let (mut reno, mut acks) = avoiding(20.0);
    reno.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    reno.on_feedback(&acks.event(0, Some(Congestion::Undo)));
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (20.0, 20.0));
    reno.window.set_cwnd(5.0);
    reno.on_feedback(&acks.event(0, Some(Congestion::Undo)));
    assert_eq!(reno.window.cwnd(), 5.0);
}

#[test]
fn an_unused_window_does_not_grow() {
    let (mut reno, mut acks) = avoiding(10.0);
    acks.cwnd_limited = false;
    reno.on_feedback(&acks.ack(10));
    assert_eq!(reno.window.cwnd(), 10.0);
    // Slow start continues below twice the largest flight.
    let (mut reno, mut acks) = with_window(19.0);
    acks.cwnd_limited = false;
    acks.in_flight = 10;
    reno.on_feedback(&acks.ack(1));
    reno.on_feedback(&acks.ack(1));
    assert_eq!(reno.window.cwnd(), 20.0);
}

#[test]
fn idleness_restarts() {
    let (mut reno, _) = avoiding(40.0);
    let second = Span::from_secs(1);
    reno.on_idle(Time::from_secs(9), second, second);
    assert_eq!(reno.window.cwnd(), 40.0);
    reno.on_idle(Time::from_secs(9), Span::from_millis(1001), second);
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (20.0, 40.0));
    reno.on_idle(Time::from_secs(9), Span::from_secs(60), second);
    assert_eq!((reno.window.cwnd(), reno.window.ssthresh()), (10.0, 40.0));
}

#[test]
fn idleness_as_in_linux_halves_per_timeout() {
    let mut window = RenoWindow::new(80.0);
    window.leave_slow_start();
    let second = Span::from_secs(1);
    assert!(!window.restart(10.0, second, second));
    assert!(window.restart(10.0, Span::from_millis(2500), second));
    assert_eq!((window.cwnd(), window.ssthresh()), (20.0, 80.0));
    assert!(window.restart(10.0, Span::MAX, Span::from_millis(1)));
    assert_eq!(window.cwnd(), 10.0);
}

#[test]
fn survives_anything() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, "newreno");
        let mut reno = NewRenoSender::new(&NewRenoParams::default(), MSS);
        let mut acks = Acks::new(RTT);
        for _ in 0..5_000 {
            reno.on_feedback(&acks.any(&mut random));
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                reno.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            assert!(reno.window.cwnd().is_finite() && reno.plan().cwnd >= MSS as u64);
        }
    }
}

/// Returns the window after a loss at 20 packets: 20 packets arrive during the repair, then one.
fn after_repair(after_recovery: AfterRecovery) -> f64 {
    let params = NewRenoParams { after_recovery, ..Default::default() };
    let mut reno = NewRenoSender::new(&params, MSS);
    reno.window.set_cwnd(20.0);
    reno.window.leave_slow_start();
    let mut acks = Acks::new(RTT);
    acks.in_recovery = true;
    reno.on_feedback(&acks.event(0, Some(Congestion::Loss)));
    for _ in 0..20 {
        reno.on_feedback(&acks.ack(1));
    }
    assert_eq!(reno.window.cwnd(), 10.0);
    acks.in_recovery = false;
    reno.on_feedback(&acks.ack(1));
    let first = reno.window.cwnd();
    reno.on_feedback(&acks.ack(1));
    // Packets that arrived meanwhile count once.
    assert_eq!(reno.window.cwnd(), first);
    first
}

#[test]
fn packets_acknowledged_in_recovery_may_count_at_its_end() {
    assert_eq!(after_repair(AfterRecovery::Delivered), 10.0);
    // 21 packets are two windows of ten.
    assert_eq!(after_repair(AfterRecovery::Covered), 12.0);
}

#[test]
fn proportional_rate_reduction_can_be_left_out() {
    let plan = |prr| {
        let params = NewRenoParams { prr, ..Default::default() };
        NewRenoSender::new(&params, MSS).plan()
    };
    assert!(plan(true).reduces_by_prr && !plan(false).reduces_by_prr);
}
