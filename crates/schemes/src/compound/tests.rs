use paceline_cc::Stream;

use super::*;
use crate::testing::{Acks, MSS};

const RTT: Span = Span::from_millis(100);

/// Returns a sender in congestion avoidance with these windows and a smallest RTT of 100 ms.
fn avoiding(loss: f64, delay: f64) -> CompoundSender {
    let mut compound = CompoundSender::new(&CompoundParams::default(), MSS);
    compound.loss.set_cwnd(loss);
    compound.loss.leave_slow_start();
    compound.delay = delay;
    compound.base = RTT;
    compound
}

fn change(compound: &mut CompoundSender, rtt: u64) -> f64 {
    let before = compound.delay;
    compound.round_min = Span::from_millis(rtt);
    compound.adjust(true);
    compound.delay - before
}

#[test]
fn facts_of_the_delay_window() {
    assert!((change(&mut avoiding(200.0, 56.0), 100) - 7.0).abs() < 1e-9);
    assert_eq!(change(&mut avoiding(16.0, 0.0), 100), 0.0);
    assert_eq!(change(&mut avoiding(9.0, 0.0), 100), 0.0);
    // 200 * (1 - 100 / 125) packets wait.
    assert!((change(&mut avoiding(100.0, 100.0), 125) + 40.0).abs() < 1e-9);
    // The delay window never falls below zero.
    assert!((change(&mut avoiding(180.0, 20.0), 125) + 20.0).abs() < 1e-9);
    // Fewer than gamma packets wait: the window grows.
    assert!(change(&mut avoiding(100.0, 100.0), 117) > 0.0);
}

#[test]
fn a_loss_halves_the_sum() {
    let mut acks = Acks::new(RTT);
    let mut compound = avoiding(60.0, 40.0);
    compound.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    assert_eq!((compound.loss.cwnd(), compound.delay), (30.0, 20.0));
    compound.on_feedback(&acks.event(0, Some(Congestion::Undo)));
    assert!(compound.win() >= 100.0 && compound.delay == 40.0);
    compound.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!((compound.loss.cwnd(), compound.delay), (1.0, 0.0));
    assert_eq!(compound.loss.ssthresh(), 50.0);
}

#[test]
fn the_loss_window_grows_by_one_per_sum() {
    let mut acks = Acks::new(RTT);
    let mut compound = avoiding(60.0, 40.0);
    acks.in_flight = 1000;
    for _ in 0..100 {
        compound.on_feedback(&acks.ack(1));
    }
    assert!((compound.loss.cwnd() - 61.0).abs() < 0.01);
}

#[test]
fn slow_start_and_repair_leave_the_delay_window_alone() {
    let mut acks = Acks::new(RTT);
    let mut compound = CompoundSender::new(&CompoundParams::default(), MSS);
    acks.in_flight = 5;
    for _ in 0..200 {
        compound.on_feedback(&acks.ack(1));
    }
    assert_eq!((compound.loss.cwnd(), compound.delay), (210.0, 0.0));
    compound.loss.leave_slow_start();
    for _ in 0..20 {
        compound.on_feedback(&acks.ack(1));
    }
    assert!(compound.delay > 5.0, "{}", compound.delay);
    acks.in_recovery = true;
    let before = compound.delay;
    for _ in 0..20 {
        compound.on_feedback(&acks.ack(1));
    }
    assert_eq!(compound.delay, before);
    let half = compound.loss.cwnd() / 2.0;
    compound.on_idle(acks.now, Span::from_secs(2), Span::from_secs(1));
    assert_eq!((compound.loss.cwnd(), compound.delay), (half, 0.0));
}

#[test]
fn few_samples_tell_nothing() {
    let mut acks = Acks::new(RTT);
    let mut compound = avoiding(100.0, 100.0);
    acks.in_flight = 0;
    for _ in 0..20 {
        compound.on_feedback(&acks.ack(30));
    }
    assert_eq!(compound.delay, 100.0);
}

#[test]
fn survives_anything() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, "compound");
        let mut compound = CompoundSender::new(&CompoundParams::default(), MSS);
        let mut acks = Acks::new(RTT);
        for _ in 0..5_000 {
            compound.on_feedback(&acks.any(&mut random));
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                compound.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            assert!(compound.win().is_finite() && compound.plan().cwnd >= MSS as u64);
        }
    }
}
