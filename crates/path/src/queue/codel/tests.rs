//! Tests of the control law with times computed by hand, of marks, and of the guard of one MTU.

use paceline_cc::Ecn;

use super::*;
use crate::queue::testing::{open_loop, packet};

fn micros(n: u64) -> Time {
    Time::ZERO + Span::from_micros(n)
}

/// Pops every 10 us in the range `times` (microseconds) from a queue whose head has waited for
/// `sojourn` microseconds. Returns the times of drops and of marks.
fn run(
    codel: &mut Codel,
    times: std::ops::Range<u64>,
    sojourn: u64,
    ecn: Ecn,
) -> (Vec<u64>, Vec<u64>) {
    let (mut dropped, mut marked, mut drops) = (Vec::new(), Vec::new(), Vec::new());
    for time in times.step_by(10) {
        // The queue contains exactly what this pop needs, and a backlog above the MTU.
        codel.fifo = Fifo::new(Limit::NONE);
        for number in 0..40 {
            let mut packet = packet(number, 1000, micros(time) - Span::from_micros(sojourn));
            packet.ecn = ecn;
            codel.push(packet.queued, &packet, &mut drops);
        }
        let out = codel.pop(micros(time), &mut drops).expect("held");
        dropped.extend(drops.drain(..).map(|_| time));
        marked.extend((out.ecn == Ecn::Ce).then_some(time));
    }
    (dropped, marked)
}

fn codel(ecn: bool) -> Codel {
    Codel::new(CodelParams { ecn, ..CodelParams::default() }, Limit::NONE)
}

/// Drop times computed by hand (RFC 8289 §5.3), from the first packet above target on, in steps of
/// 10 us.
const DROPS: [u64; 5] = [100_000, 200_000, 270_720, 328_450, 378_450];

#[test]
fn drops_follow_the_control_law() {
    let start = 1_000_000;
    let (drops, marks) = run(&mut codel(false), start..start + 400_000, 20_000, Ecn::NotEct);
    assert_eq!(drops, DROPS.map(|time| start + time));
    assert!(marks.is_empty());
}

#[test]
fn marks_instead_of_drops() {
    let mut queue = codel(true);
    let start = 1_000_000;
    let (drops, marks) = run(&mut queue, start..start + 400_000, 20_000, Ecn::Ect0);
    assert_eq!(marks, DROPS.map(|time| start + time));
    assert!(drops.is_empty());
    assert_eq!(queue.marks(), 5);
    let (drops, _) = run(&mut codel(true), start..start + 400_000, 20_000, Ecn::NotEct);
    assert_eq!(drops.len(), 5);
}

#[test]
fn below_target_nothing_is_dropped() {
    let (drops, _) = run(&mut codel(false), 1_000_000..2_000_000, 4_999, Ecn::NotEct);
    assert!(drops.is_empty());
    let (drops, _) = run(&mut codel(false), 1_000_000..1_100_010, 5_000, Ecn::NotEct);
    assert_eq!(drops, [1_100_000]);
}

#[test]
fn it_starts_again_near_the_rate_at_which_it_stopped() {
    let mut queue = codel(false);
    run(&mut queue, 1_000_000..1_400_000, 20_000, Ecn::NotEct);
    assert_eq!((queue.state.count, queue.state.last_count, queue.state.dropping), (5, 1, true));
    run(&mut queue, 1_400_000..1_410_000, 1_000, Ecn::NotEct);
    assert!(!queue.state.dropping);
    // Within 16 intervals, count continues from 5 - 1.
    let (drops, _) = run(&mut queue, 1_410_000..1_610_000, 20_000, Ecn::NotEct);
    assert_eq!(drops, [1_510_000, 1_560_000, 1_604_730]);
    assert_eq!((queue.state.count, queue.state.last_count), (6, 4));
    // After more than 16 intervals, count starts from 1.
    run(&mut queue, 1_610_000..1_620_000, 1_000, Ecn::NotEct);
    let (drops, _) = run(&mut queue, 4_000_000..4_210_000, 20_000, Ecn::NotEct);
    assert_eq!(drops, [4_100_000, 4_200_000]);
}

#[test]
fn an_mtu_of_backlog_is_left_alone() {
    let mut queue = codel(false);
    let mut drops = Vec::new();
    for number in 0..200 {
        queue.push(Time::ZERO, &packet(number, 1514, Time::ZERO), &mut drops);
    }
    // Each pop returns the next packet with 20 ms more of sojourn time, far above target.
    let mut out = 0;
    let mut last = 0;
    let mut now = Time::from_millis(20);
    while let Some(packet) = queue.pop(now, &mut drops) {
        (out, last) = (out + 1, packet.number());
        now += Span::from_millis(20);
    }
    assert_eq!(out + drops.len(), 200);
    assert!(!drops.is_empty());
    // The last two packets leave: at most one MTU was left in the queue.
    assert_eq!(last, 199);
    assert!(drops.iter().all(|dropped| dropped.packet.number() < 198));
    assert_eq!((queue.packets(), queue.bytes(), queue.state.dropping), (0, 0, false));
}

#[test]
fn late_pops_drop_several_at_once() {
    let mut queue = codel(false);
    run(&mut queue, 1_000_000..1_210_000, 20_000, Ecn::NotEct);
    // The next drops were due at 1270.7, 1328.4, 1378.4 ms.
    let (drops, _) = run(&mut queue, 1_380_000..1_380_010, 20_000, Ecn::NotEct);
    assert_eq!(drops, [1_380_000; 3]);
}

#[test]
fn the_excess_of_a_constant_load_is_dropped_or_marked() {
    let mut queue = Codel::new(CodelParams::default(), Limit::packets(1000));
    let outcome = open_loop(&mut queue, 950, 1000, 60_000, |packet| *packet);
    // The drop rate reaches 5 % in the end; until then the delay overshoots.
    assert!((outcome.loss() - 0.05).abs() < 0.02, "{outcome:?}");
    let capable = |packet: &Packet| Packet { ecn: Ecn::Ect0, ..*packet };
    let outcome = open_loop(&mut codel(true), 950, 1000, 8_000, capable);
    assert!(outcome.dropped == 0 && outcome.marked > 50, "{outcome:?}");
}
