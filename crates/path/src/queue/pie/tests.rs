//! Tests of the safeguards, the burst allowance, marks, and the whole loop.

use paceline_cc::Ecn;

use super::*;
use crate::queue::testing::{open_loop, packet, stream};

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

fn pie(params: PieParams) -> Pie {
    Pie::new(params, Limit::packets(1000), stream())
}

/// Returns a queue with five packets, without burst allowance, and with this probability and delay.
fn loaded(params: PieParams, drop_prob: f64, qdelay_old: u64) -> Pie {
    let mut queue = pie(params);
    for number in 0..5 {
        queue.push(Time::ZERO, &packet(number, 1514, Time::ZERO), &mut Vec::new());
    }
    queue.burst_allowance = Span::ZERO;
    queue.control = Control { drop_prob, qdelay_old: Span::from_millis(qdelay_old) };
    queue
}

#[test]
fn the_excess_is_dropped_and_the_delay_held() {
    for delay in [Delay::Sojourn, Delay::Rate] {
        for derandomize in [false, true] {
            let params = PieParams { delay, derandomize, ..PieParams::default() };
            let outcome = open_loop(&mut pie(params), 800, 1000, 60_000, |packet| *packet);
            assert!((outcome.loss() - 0.2).abs() < 0.01, "{delay:?} {outcome:?}");
            // With an unresponsive load, the integral term maintains the reference. The measured
            // rate is some percent too high, because the packet that starts a cycle counts in it.
            assert!((13.0..19.0).contains(&outcome.delay_ms), "{delay:?} {outcome:?}");
        }
    }
}

#[test]
fn small_excess_is_marked() {
    let params = PieParams { ecn: true, ..PieParams::default() };
    let capable = |packet: &Packet| Packet { ecn: Ecn::Ect0, ..*packet };
    // An overload of 5 % could be dropped with a probability below the threshold. Marks do not
    // reduce an open loop's load, so the probability grows until packets are dropped.
    let outcome = open_loop(&mut pie(params.clone()), 950, 1000, 60_000, capable);
    assert!((outcome.loss() - 0.05).abs() < 0.02, "{outcome:?}");
    let mut queue = loaded(params, 0.099, 100);
    let mut drops = Vec::new();
    for number in 0..200 {
        queue.push(Time::ZERO, &capable(&packet(number, 1, Time::ZERO)), &mut drops);
    }
    assert!(drops.is_empty());
    assert!((5..40).contains(&queue.marks()), "{}", queue.marks());
    queue.control.drop_prob = 0.1;
    for number in 0..200 {
        queue.push(Time::ZERO, &capable(&packet(number, 1, Time::ZERO)), &mut drops);
    }
    assert!((5..40).contains(&drops.len()), "{}", drops.len());
}

#[test]
fn the_safeguards_of_arrivals() {
    let dropped = |mut queue: Pie| {
        let mut drops = Vec::new();
        queue.push(Time::ZERO, &packet(9, 1514, Time::ZERO), &mut drops);
        !drops.is_empty()
    };
    let params = PieParams::default;
    assert!(dropped(loaded(params(), 1.0, 8)));
    assert!(dropped(loaded(params(), 1.0, 0)));
    // Half the reference is 7.5 ms; this safeguard applies only below 20 %.
    assert!(!dropped(loaded(params(), 0.19, 7)));
    // There is burst allowance left.
    let mut queue = loaded(params(), 1.0, 100);
    queue.burst_allowance = Span::from_millis(1);
    assert!(!dropped(queue));
    // Two MTUs are queued, then more.
    let mut queue = loaded(params(), 1.0, 100);
    for _ in 0..3 {
        queue.pop(Time::ZERO, &mut Vec::new());
    }
    assert!(!dropped(queue));
}

#[test]
fn a_burst_passes() {
    let mut queue = pie(PieParams::default());
    queue.control.drop_prob = 0.5;
    let mut drops = Vec::new();
    // Packets arrive at twice the link's rate: ten updates use up the allowance of 150 ms.
    for time in 0..300 {
        for number in 0..2 {
            queue.push(ms(time), &packet(time * 2 + number, 1514, ms(time)), &mut drops);
        }
        queue.pop(ms(time), &mut drops);
        assert!(time >= 150 || drops.is_empty(), "{time}");
    }
    assert!((100..250).contains(&drops.len()), "{}", drops.len());
}

#[test]
fn missed_updates_are_made_up_for() {
    let run = |times: &[u64]| {
        let mut queue = loaded(PieParams::default(), 0.5, 20);
        while queue.pop(ms(14), &mut Vec::new()).is_some() {}
        for time in times {
            queue.pop(ms(*time), &mut Vec::new());
        }
        queue.control.drop_prob
    };
    // The probability of an idle queue decays in the same way, however often it is called.
    let all: Vec<u64> = (15..=300).collect();
    assert_eq!(run(&all), run(&[300]));
    assert!(run(&[300]) > 0.0 && run(&[300]) < 0.5);
    assert_eq!(run(&[u64::MAX]), 0.0);
    // 19 updates follow the first one, in which the delay falls from 20 ms to zero.
    let mut p = 0.5 - 0.001875 - 0.025;
    for _ in 0..19 {
        p = (p - 0.001875) * 0.98;
    }
    assert!((run(&[300]) - p).abs() < 1e-12);
}

#[test]
fn derandomized_drops_keep_their_distance() {
    let params = PieParams { derandomize: true, ..PieParams::default() };
    let mut queue = loaded(params, 0.1, 100);
    let (mut drops, mut gaps, mut since) = (Vec::new(), Vec::new(), 0);
    for number in 0..2000 {
        queue.fifo = loaded(PieParams::default(), 0.0, 0).fifo;
        queue.push(Time::ZERO, &packet(number, 1514, Time::ZERO), &mut drops);
        since += 1;
        if drops.pop().is_some() {
            gaps.push(since);
            since = 0;
        }
    }
    // No drop before 0.85 / 0.1 packets, and at the latest at 8.5 / 0.1.
    assert!(gaps.len() > 60 && gaps.iter().all(|gap| (9..=86).contains(gap)), "{gaps:?}");
}
