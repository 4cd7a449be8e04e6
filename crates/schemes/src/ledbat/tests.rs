use paceline_cc::{Fate, Stream};

use super::*;
use crate::testing::{Acks, MSS};

const RTT: Span = Span::from_millis(100);
/// Time by which the receiver's clock is ahead.
const OFFSET: Span = Span::from_secs(4321);

fn fate(now: Time, delay: Span) -> Fate {
    let received = now + delay + OFFSET;
    Fate::new(0, MSS, now, 0, false).with(|fate| fate.received = received)
}

/// Acknowledges a packet with one-way delay `delay` together with `packets - 1` others.
fn ack(ledbat: &mut LedbatSender, acks: &mut Acks, packets: u64, delay: u64) {
    acks.in_flight = 1 + ledbat.window.cwnd() as u64;
    let fates = [fate(acks.now, Span::from_millis(delay))];
    ledbat.on_feedback(&acks.ack(packets).with(|feedback| feedback.fates = &fates));
}

/// Returns a window of `packets` on a path of 50 ms, whose last samples are all `delay`.
fn with_window(packets: f64, delay: u64) -> (LedbatSender, Acks) {
    let mut ledbat = LedbatSender::new(&LedbatParams::variant("rfc6817").expect("a variant"), MSS);
    let mut acks = Acks::new(RTT);
    ack(&mut ledbat, &mut acks, 1, 50);
    for _ in 0..4 {
        ack(&mut ledbat, &mut acks, 1, delay);
    }
    ledbat.window.set_cwnd(packets);
    (ledbat, acks)
}

fn change_in_a_round(delay: u64) -> f64 {
    let (mut ledbat, mut acks) = with_window(100.0, delay);
    for _ in 0..100 {
        ack(&mut ledbat, &mut acks, 1, delay);
    }
    ledbat.window.cwnd() - 100.0
}

#[test]
fn facts_of_growth() {
    assert!((change_in_a_round(50) - 1.0).abs() < 0.01);
    assert!((change_in_a_round(100) - 0.5).abs() < 0.01);
    assert_eq!(change_in_a_round(150), 0.0);
    assert!((change_in_a_round(200) + 0.5).abs() < 0.01);
    assert!((change_in_a_round(450) + 3.0).abs() < 0.1);
}

#[test]
fn the_window_has_bounds() {
    let (mut ledbat, mut acks) = with_window(2.0, 5_000);
    ack(&mut ledbat, &mut acks, 2, 5_000);
    assert_eq!(ledbat.window.cwnd(), 2.0);
    // At most a packet beyond the flight, and no growth while unused.
    let (mut ledbat, mut acks) = with_window(20.0, 50);
    for (flight, cwnd) in [(30, 20.5), (19, 20.5), (5, 20.5)] {
        acks.in_flight = flight;
        let fates = [fate(acks.now, Span::from_millis(50))];
        ledbat.on_feedback(&acks.ack(10).with(|feedback| feedback.fates = &fates));
        assert!((ledbat.window.cwnd() - cwnd).abs() < 1e-9, "{}", ledbat.window.cwnd());
    }
}

#[test]
fn losses_halve_and_timeouts_start_over() {
    let (mut ledbat, mut acks) = with_window(20.0, 50);
    ledbat.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    assert_eq!(ledbat.window.cwnd(), 10.0);
    acks.in_recovery = true;
    ack(&mut ledbat, &mut acks, 5, 50);
    assert_eq!(ledbat.window.cwnd(), 10.0);
    for _ in 0..4 {
        ack(&mut ledbat, &mut acks, 5, 250);
    }
    assert!(ledbat.window.cwnd() < 10.0);
    ledbat.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!(ledbat.window.cwnd(), 1.0);
    acks.in_recovery = false;
    ack(&mut ledbat, &mut acks, 1, 50);
    assert_eq!(ledbat.window.cwnd(), 2.0);
}

#[test]
fn slow_start_ends_at_three_quarters_of_the_target() {
    let params = LedbatParams { slow_start: true, ..Default::default() };
    let mut ledbat = LedbatSender::new(&params, MSS);
    let mut acks = Acks::new(RTT);
    for _ in 0..38 {
        ack(&mut ledbat, &mut acks, 1, 50);
    }
    assert_eq!(ledbat.window.cwnd(), 40.0);
    for _ in 0..4 {
        ack(&mut ledbat, &mut acks, 1, 124);
    }
    assert_eq!(ledbat.window.cwnd(), 44.0);
    for _ in 0..4 {
        ack(&mut ledbat, &mut acks, 1, 125);
    }
    assert!(!ledbat.window.in_slow_start() && ledbat.window.cwnd() < 48.0);
}

#[test]
fn survives_anything() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, "ledbat");
        let params = LedbatParams { slow_start: seed % 2 == 0, ..Default::default() };
        let mut ledbat = LedbatSender::new(&params, MSS);
        let mut acks = Acks::new(RTT);
        for _ in 0..5_000 {
            let feedback = acks.any(&mut random);
            let mut sample = fate(acks.now, Span::from_micros(random.below(9_000_000)));
            if random.chance(0.01) {
                sample.received = Time::from_nanos(random.next_u64());
            }
            sample.lost = random.chance(0.1);
            let fates = [sample];
            ledbat.on_feedback(&feedback.with(|feedback| feedback.fates = &fates));
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                ledbat.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            assert!(ledbat.window.cwnd().is_finite() && ledbat.plan().cwnd >= MSS as u64);
        }
    }
}
