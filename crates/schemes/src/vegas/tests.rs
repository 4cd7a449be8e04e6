use paceline_cc::Stream;

use super::*;
use crate::testing::{Acks, MSS};

const RTT: Span = Span::from_millis(100);

/// Returns Linux' thresholds and round trips, with the paper's count of packets in queues.
fn paper() -> VegasParams {
    VegasParams { diff: Diff::Paper, ..VegasParams::default() }
}

/// Returns a window of `packets` in congestion avoidance with a smallest RTT of 100 ms.
fn avoiding(params: &VegasParams, packets: f64) -> (VegasSender, Acks) {
    let mut vegas = VegasSender::new(params, MSS);
    let mut acks = Acks::new(RTT);
    vegas.window.set_cwnd(packets);
    vegas.set_threshold(2.0);
    acks.in_flight = packets as u64;
    acks.cwnd_limited = false;
    vegas.on_feedback(&acks.ack(1));
    vegas.next_round();
    acks.cwnd_limited = true;
    (vegas, acks)
}

/// Acknowledges packet by packet until a round trip has ended.
fn round(vegas: &mut VegasSender, acks: &mut Acks) {
    acks.in_flight = vegas.window.cwnd() as u64;
    loop {
        let feedback = acks.ack(1);
        vegas.on_feedback(&feedback);
        if feedback.round_start {
            return;
        }
    }
}

fn after_a_round_at(params: &VegasParams, packets: f64, rtt: u64) -> f64 {
    let (mut vegas, mut acks) = avoiding(params, packets);
    acks.rtt = Span::from_millis(rtt);
    round(&mut vegas, &mut acks);
    vegas.window.cwnd()
}

#[test]
fn facts_of_congestion_avoidance() {
    let params = paper();
    assert_eq!(after_a_round_at(&params, 20.0, 125), 20.0);
    assert_eq!(after_a_round_at(&params, 20.0, 150), 19.0);
    assert_eq!(after_a_round_at(&params, 20.0, 105), 21.0);
    // The result differs by one packet more or less than an integer.
    assert_eq!(after_a_round_at(&params, 20.0, 111), 20.0);
    assert_eq!(after_a_round_at(&params, 20.0, 126), 19.0);
    assert_eq!(after_a_round_at(&params, 20.0, 104), 21.0);
}

#[test]
fn linux_counts_more_packets_in_the_queue() {
    let params = VegasParams { diff: Diff::Linux, ..paper() };
    assert_eq!(after_a_round_at(&params, 20.0, 124), 20.0);
    assert_eq!(after_a_round_at(&params, 20.0, 125), 19.0);
    assert_eq!(after_a_round_at(&params, 20.0, 105), 21.0);
}

#[test]
fn a_shorter_handshake_makes_transmission_count_as_queue() {
    let params = VegasParams { handshake: Span::from_millis(90), ..paper() };
    // At the handshake's RTT, 18 of the 20 packets would be on the path.
    assert_eq!(after_a_round_at(&params, 20.0, 100), 20.0);
    assert_eq!(after_a_round_at(&paper(), 20.0, 100), 21.0);
}

/// Returns the windows after each of `rounds` round trips at this RTT, from 20 packets on.
fn windows(params: &VegasParams, rtt: u64, rounds: usize) -> Vec<f64> {
    let (mut vegas, mut acks) = avoiding(params, 20.0);
    acks.rtt = Span::from_millis(rtt);
    let mut after = || {
        round(&mut vegas, &mut acks);
        vegas.window.cwnd()
    };
    (0..rounds).map(|_| after()).collect()
}

/// Checks Linux 2.6.22: the step counts from the window at the end of the previous round trip, and
/// the present window moves towards the result, so that every second round trip has no effect.
#[test]
fn a_step_may_take_two_round_trips() {
    let present = paper();
    assert_eq!(windows(&present, 150, 4), [19.0, 18.0, 17.0, 16.0]);
    let before = VegasParams { step: Step::Before, ..paper() };
    assert_eq!(windows(&before, 150, 4), [19.0, 19.0, 18.0, 18.0]);
    assert_eq!(windows(&before, 100, 4), [21.0, 21.0, 22.0, 22.0]);
}

#[test]
fn packets_in_queues_may_be_rounded() {
    // 20 * (1 - 100 / 107) = 1.31: rounded up it is 2, rounded to the nearest integer 1.
    assert_eq!(after_a_round_at(&paper(), 20.0, 107), 20.0);
    let params = VegasParams { diff: Diff::Rounded, ..paper() };
    assert_eq!(after_a_round_at(&params, 20.0, 107), 21.0);
    assert_eq!(after_a_round_at(&params, 20.0, 109), 20.0);
}

#[test]
fn the_mean_of_a_round_trip_counts_its_longer_rtts() {
    let after = |rtt| {
        let params = VegasParams { rtt, ..paper() };
        let (mut vegas, mut acks) = avoiding(&params, 20.0);
        vegas.on_feedback(&acks.ack(1));
        acks.rtt = Span::from_millis(200);
        round(&mut vegas, &mut acks);
        vegas.window.cwnd()
    };
    assert_eq!((after(RttKind::Sample), after(RttKind::Mean)), (21.0, 19.0));
}

/// A clock with ticks of 100 ms shows 150 ms as 100 or 200 ms, depending on when they begin.
#[test]
fn rtts_are_as_coarse_as_the_clock() {
    let params = VegasParams { clock: Span::from_millis(100), ..paper() };
    let mut vegas = VegasSender::new(&params, MSS);
    let mut acks = Acks::new(Span::from_millis(150));
    let measured = [210, 260].map(|millis| {
        let mut feedback = acks.ack(1);
        feedback.now = Time::from_millis(millis);
        vegas.rtt_of(&feedback).expect("a sample")
    });
    assert_eq!(measured, [Span::from_millis(200), Span::from_millis(100)]);
}

/// Checks ns-2's own Vegas: two round trips for each doubling, and an eighth less at the end.
#[test]
fn slow_start_may_double_in_every_second_round_trip() {
    let params = VegasParams { doubles: Doubles::Second, ..paper() };
    let mut vegas = VegasSender::new(&params, MSS);
    let mut acks = Acks::new(RTT);
    let windows = |vegas: &mut VegasSender, acks: &mut Acks, rounds| -> Vec<f64> {
        let mut after = || {
            round(vegas, acks);
            vegas.window.cwnd()
        };
        (0..rounds).map(|_| after()).collect()
    };
    // The acknowledgement that ends a round trip already counts for the next.
    assert_eq!(windows(&mut vegas, &mut acks, 6), [11.0, 12.0, 23.0, 24.0, 47.0, 48.0]);
    acks.rtt = Span::from_millis(150);
    assert_eq!(windows(&mut vegas, &mut acks, 2), [95.0, 95.0 - 11.0]);
    assert!(!vegas.window.in_slow_start());
}

#[test]
fn slow_start_doubles_each_round_and_ends_at_the_target() {
    let mut vegas = VegasSender::new(&paper(), MSS);
    let mut acks = Acks::new(RTT);
    vegas.on_feedback(&acks.ack(1));
    assert_eq!((vegas.window.cwnd(), vegas.begun), (11.0, 11));
    round(&mut vegas, &mut acks);
    assert!(vegas.window.cwnd() > 20.0 && vegas.window.in_slow_start());
    acks.rtt = Span::from_millis(150);
    let begun = vegas.begun;
    round(&mut vegas, &mut acks);
    // A whole round of long RTTs: the window becomes its initial value scaled to the path, plus
    // one.
    round(&mut vegas, &mut acks);
    let cwnd = vegas.window.cwnd();
    assert!(!vegas.window.in_slow_start() && begun < 40, "{begun}");
    assert_eq!(vegas.window.ssthresh(), cwnd - 1.0);
    let target = (2 * vegas.begun / 3 + 1) as f64;
    assert!(cwnd >= 8.0 && target <= cwnd, "{cwnd} {target}");
}

#[test]
fn few_samples_mean_reno() {
    let (mut vegas, mut acks) = avoiding(&paper(), 20.0);
    acks.rtt = Span::from_millis(300);
    acks.in_flight = 10;
    for _ in 0..4 {
        vegas.on_feedback(&acks.ack(15));
    }
    // Each acknowledgement ends a round trip with one sample.
    assert_eq!(vegas.window.cwnd(), 22.0);
}

#[test]
fn loss_halves_and_vegas_starts_anew_after_the_repair() {
    let (mut vegas, mut acks) = avoiding(&paper(), 20.0);
    acks.in_recovery = true;
    vegas.on_feedback(&acks.event(1, Some(Congestion::Loss)));
    assert_eq!((vegas.window.cwnd(), vegas.window.ssthresh()), (10.0, 10.0));
    acks.rtt = Span::from_millis(500);
    for _ in 0..50 {
        vegas.on_feedback(&acks.ack(1));
    }
    assert_eq!(vegas.window.cwnd(), 10.0);
    acks.in_recovery = false;
    acks.rtt = RTT;
    round(&mut vegas, &mut acks);
    round(&mut vegas, &mut acks);
    assert!(vegas.window.cwnd() >= 11.0 && vegas.diff == 0);
    vegas.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!(vegas.window.cwnd(), 1.0);
}

#[test]
fn an_unused_window_closes_but_does_not_open() {
    for (rtt, after) in [(100, 20.0), (150, 19.0)] {
        let (mut vegas, mut acks) = avoiding(&paper(), 20.0);
        acks.cwnd_limited = false;
        acks.rtt = Span::from_millis(rtt);
        round(&mut vegas, &mut acks);
        assert_eq!(vegas.window.cwnd(), after);
    }
}

#[test]
fn a_longer_path_starves_until_idleness() {
    let (mut vegas, mut acks) = avoiding(&paper(), 20.0);
    acks.rtt = Span::from_millis(200);
    for _ in 0..40 {
        round(&mut vegas, &mut acks);
    }
    assert!(vegas.window.cwnd() <= 8.0);
    vegas.on_idle(acks.now, Span::from_secs(2), Span::from_secs(1));
    let before = vegas.window.cwnd();
    for _ in 0..5 {
        round(&mut vegas, &mut acks);
    }
    assert!(vegas.window.cwnd() > before);
}

#[test]
fn survives_anything() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, "vegas");
        let mut params = VegasParams {
            diff: [Diff::Paper, Diff::Linux, Diff::Rounded][seed as usize % 3],
            rtt: [RttKind::Sample, RttKind::Smoothed, RttKind::Mean][seed as usize / 3 % 3],
            ..Default::default()
        };
        if seed % 2 == 1 {
            (params.step, params.doubles) = (Step::Before, Doubles::Second);
            params.clock = Span::from_millis(10);
        }
        let mut vegas = VegasSender::new(&params, MSS);
        let mut acks = Acks::new(RTT);
        for _ in 0..5_000 {
            vegas.on_feedback(&acks.any(&mut random));
            if random.chance(0.01) {
                let idle = Span::from_millis(random.below(9000));
                vegas.on_idle(acks.now, idle, Span::from_millis(random.below(900)));
            }
            assert!(vegas.window.cwnd().is_finite() && vegas.plan().cwnd >= MSS as u64);
        }
    }
}
