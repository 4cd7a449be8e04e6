use paceline_cc::Stream;

use super::*;
use crate::testing::{Acks, MSS};

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Returns a Copa whose `RTTmin` is 50 ms, after its probes and slow start, with a window of ten
/// packets.
fn settled(params: CopaParams) -> (CopaSender, Acks) {
    let mut copa = CopaSender::new(&params, MSS);
    let mut acks = Acks::new(ms(50));
    copa.on_feedback(&acks.ack(PROBES));
    copa.slow_start = false;
    copa.cwnd = 10.0;
    copa.velocity.restart(acks.now, copa.cwnd);
    // The RTT of 50 ms is no longer in the standing window, but still in the long one.
    acks.rtt = ms(60);
    for _ in 0..40 {
        acks.now += ms(1);
        copa.rtts.on_sample(acks.now, acks.rtt);
    }
    (copa, acks)
}

fn paper() -> CopaParams {
    CopaParams::variant("paper").expect("a variant")
}

fn only(mode: Mode) -> CopaParams {
    CopaParams { mode, ..paper() }
}

#[test]
fn the_target_and_the_step() {
    let (mut copa, mut acks) = settled(only(Mode::Default));
    assert_eq!(copa.rtts.queueing(), ms(10));
    // 60 ms / (0.5 * 10 ms)
    assert_eq!(copa.target(), 12.0);
    copa.on_feedback(&acks.ack(1));
    assert!((copa.cwnd - 10.2).abs() < 1e-12, "{}", copa.cwnd);
    copa.cwnd = 20.0;
    copa.on_feedback(&acks.ack(1));
    assert!((copa.cwnd - 19.9).abs() < 1e-12, "{}", copa.cwnd);
    // An unused window may decrease, but does not grow.
    acks.cwnd_limited = false;
    copa.cwnd = 10.0;
    copa.on_feedback(&acks.ack(1));
    assert_eq!(copa.cwnd, 10.0);
}

#[test]
fn an_empty_queue_has_no_target() {
    let mut copa = CopaSender::new(&paper(), MSS);
    copa.rtts.on_sample(Time::from_secs(1), ms(50));
    assert_eq!(copa.target(), f64::INFINITY);
}

#[test]
fn it_waits_nineteen_packets_then_doubles_per_round_trip() {
    let mut copa = CopaSender::new(&paper(), MSS);
    let mut acks = Acks::new(ms(100));
    assert_eq!(copa.plan().pacing, None);
    for _ in 0..PROBES {
        copa.on_feedback(&acks.ack(1));
        assert_eq!(copa.cwnd, 10.0);
        // Ten packets per RTT.
        assert_eq!(copa.plan().pacing, Some(Rate::from_mbps(1.2)));
    }
    copa.on_feedback(&acks.ack(1));
    assert_eq!(copa.cwnd, 11.0);
    // Twice the window per RTT.
    assert_eq!(copa.plan().pacing, Some(Rate::from_mbps(2.64)));
    copa.on_feedback(&acks.ack(11));
    assert_eq!(copa.cwnd, 22.0);
    assert!(copa.slow_start);
    // At 60 ms over 50 ms the target is 12 packets, and slow start is over.
    let (mut copa, mut acks) = settled(only(Mode::Default));
    copa.slow_start = true;
    copa.on_feedback(&acks.ack(1));
    assert!(copa.slow_start);
    copa.on_feedback(&acks.ack(1));
    assert_eq!((copa.cwnd, copa.slow_start), (12.0, false));
}

#[test]
fn delta_competes_by_a_packet_per_round_trip_and_halves_upon_loss() {
    for loss in [Rule::Paper, Rule::Authors] {
        let (mut copa, mut acks) = settled(CopaParams { loss, ..only(Mode::Competitive) });
        copa.delta = Delta::new(&copa.params);
        let round = |copa: &mut CopaSender, acks: &mut Acks, lost: bool| {
            acks.now += ms(61);
            let mut feedback = acks.event(1, lost.then_some(Congestion::Loss));
            feedback.lost_packets = lost as u32;
            feedback.round_start = true;
            copa.on_feedback(&feedback);
        };
        for _ in 0..3 {
            round(&mut copa, &mut acks, false);
        }
        assert!((copa.delta.get() - 0.2).abs() < 1e-12, "{}", copa.delta.get());
        if loss == Rule::Paper {
            round(&mut copa, &mut acks, true);
            assert!((copa.delta.get() - 0.4).abs() < 1e-12, "{}", copa.delta.get());
        } else {
            // One packet more for the round trip, then halved.
            acks.now += ms(1);
            let mut feedback = acks.event(1, None);
            feedback.lost_packets = 3;
            copa.on_feedback(&feedback);
            assert!((copa.delta.get() - 0.4).abs() < 1e-12, "{}", copa.delta.get());
        }
        for _ in 0..10 {
            round(&mut copa, &mut acks, true);
        }
        assert!(copa.delta.get() <= 0.5, "never above the default");
    }
}

/// A QUIC stack reports an acknowledgement, and at the same instant the losses that it reveals.
/// Losses that a timer finds arrive later, and do not count.
#[test]
fn the_authors_loss_rule_counts_losses_reported_after_their_acknowledgement() {
    let params = CopaParams { loss: Rule::Authors, ..only(Mode::Competitive) };
    let (mut copa, mut acks) = settled(params);
    copa.delta = Delta::new(&copa.params);
    for _ in 0..3 {
        acks.now += ms(61);
        copa.on_feedback(&acks.event(1, None));
    }
    assert!((copa.delta.get() - 0.2).abs() < 1e-12, "{}", copa.delta.get());
    let mut losses = acks.event(0, None);
    losses.now += ms(1);
    losses.lost_packets = 3;
    copa.on_feedback(&losses);
    assert!((copa.delta.get() - 0.2).abs() < 1e-12, "{}", copa.delta.get());
    let acked = acks.event(1, None);
    let mut losses = acks.event(0, None);
    losses.now = acked.now;
    losses.lost_packets = 3;
    copa.on_feedback(&acked);
    copa.on_feedback(&losses);
    assert!((copa.delta.get() - 0.4).abs() < 1e-12, "{}", copa.delta.get());
}

#[test]
fn losses_move_nothing_in_the_default_mode() {
    let (mut copa, mut acks) = settled(only(Mode::Default));
    let before = copa.cwnd;
    copa.on_feedback(&acks.event(0, Some(Congestion::Loss)));
    copa.on_feedback(&acks.event(0, Some(Congestion::Timeout)));
    assert_eq!((copa.cwnd, copa.delta.get()), (before, 0.5));
}

#[test]
fn heavy_loss_alone_cuts_the_window() {
    for (lost, cut) in [(9, false), (12, true)] {
        let (mut copa, mut acks) = settled(only(Mode::Default));
        copa.losses = RecentLosses::default();
        acks.now += ms(1000);
        let before = copa.cwnd;
        let mut feedback = acks.event(0, None);
        feedback.acked_packets = 21;
        feedback.lost_packets = lost;
        copa.on_feedback(&feedback);
        assert_eq!(copa.cwnd, if cut { before * 0.7 } else { before }, "{lost} lost");
    }
}

#[test]
fn a_queue_that_is_not_emptied_for_five_round_trips_means_competition() {
    for (detection, patience) in [(Rule::Paper, 5), (Rule::Authors, 4)] {
        let mut copa = CopaSender::new(&CopaParams { detection, ..paper() }, MSS);
        let mut acks = Acks::new(ms(100));
        let mut run = |rtt: Span, rounds: u64| {
            acks.rtt = rtt;
            for _ in 0..rounds * 10 {
                acks.now += rtt / 10;
                copa.on_feedback(&acks.ack(1));
            }
            copa.delta.is_competitive()
        };
        assert!(!run(ms(100), 10), "an empty queue");
        assert!(!run(ms(140), patience - 1), "{detection:?}: the queue has just been empty");
        assert!(run(ms(140), 3), "{detection:?}");
        assert!(!run(ms(101), 1), "{detection:?}: nearly empty again");
    }
}

#[test]
fn velocity_doubles_after_three_round_trips_in_one_direction() {
    let velocities = |rule: Speed, windows: &[f64]| -> Vec<f64> {
        let mut velocity = Velocity::new(rule);
        let mut acks = Acks::new(ms(50));
        velocity.restart(acks.now, windows[0]);
        let mut last = windows[0];
        windows[1..]
            .iter()
            .map(|&window| {
                acks.now += ms(51);
                velocity.on_step(window > last, last);
                last = window;
                let mut feedback = acks.ack(1);
                feedback.round_start = true;
                velocity.on_ack(&feedback, window, 0.5, ms(50));
                velocity.get()
            })
            .collect()
    };
    let up_and_down = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 104.0, 103.0, 102.0, 101.0];
    assert_eq!(
        velocities(Speed::Paper, &up_and_down),
        [1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0, 1.0, 2.0]
    );
    assert_eq!(
        velocities(Speed::Authors, &up_and_down),
        [2.0, 4.0, 8.0, 16.0, 32.0, 1.0, 2.0, 4.0, 8.0]
    );
    // Once the direction changes, the velocity gained before does not count.
    let turn = [100.0, 101.0, 102.0, 103.0, 104.0, 103.0, 102.0, 101.0, 100.0];
    assert_eq!(velocities(Speed::Paper, &turn), [1.0, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0, 2.0]);
    let mut velocity = Velocity::new(Speed::Mvfst);
    let mut acks = Acks::new(ms(50));
    velocity.restart(acks.now, 100.0);
    for window in 101..106 {
        let mut feedback = acks.ack(1);
        feedback.round_start = true;
        velocity.on_ack(&feedback, window as f64, 0.5, ms(50));
    }
    velocity.on_step(true, 106.0);
    assert_eq!(velocity.get(), 8.0);
    velocity.on_step(false, 106.0);
    assert_eq!(velocity.get(), 1.0);
    // The window at most doubles in a round trip: v <= cwnd * delta.
    let small: Vec<f64> = (10..30).map(f64::from).collect();
    for rule in [Speed::Paper, Speed::Mvfst, Speed::Authors] {
        let all = velocities(rule, &small);
        for (velocity, window) in all.iter().zip(&small[1..]) {
            assert!(*velocity <= 0.5 * window, "{rule:?}: {all:?}");
        }
    }
}

#[test]
fn silence_starts_everything_anew() {
    let (mut copa, mut acks) = settled(paper());
    copa.on_feedback(&acks.ack(1));
    let at = acks.now + Span::from_secs(2);
    assert_eq!(copa.plan().timer, at);
    copa.cwnd = 500.0;
    copa.on_timer(at);
    assert_eq!((copa.cwnd, copa.acked, copa.slow_start), (10.0, 0, true));
    assert_eq!((copa.plan().timer, copa.plan().pacing), (Time::NEVER, None));
    let (mut copa, mut acks) = settled(CopaParams { silence: Span::ZERO, ..paper() });
    copa.on_feedback(&acks.ack(1));
    assert_eq!(copa.plan().timer, Time::NEVER);
}

#[test]
fn fuzz_of_the_authors_rules() {
    for seed in 0..50 {
        let mut random = Stream::new(seed, "copa");
        let rule = |authors: bool| if authors { Rule::Authors } else { Rule::Paper };
        let params = CopaParams {
            mode: [Mode::Auto, Mode::Default, Mode::Competitive][random.below(3) as usize],
            velocity: [Speed::Paper, Speed::Mvfst, Speed::Authors][random.below(3) as usize],
            detection: rule(random.chance(0.5)),
            loss: rule(random.chance(0.5)),
            delta: [0.001, 0.1, 0.5, 50.0][random.below(4) as usize],
            ..paper()
        };
        let mut copa = CopaSender::new(&params, MSS);
        let mut acks = Acks::new(ms(50));
        for step in 0..4000 {
            let mut feedback = acks.any(&mut random);
            feedback.lost_packets = random.below(3) as u32;
            copa.on_feedback(&feedback);
            let plan = copa.plan();
            if plan.timer <= feedback.now {
                copa.on_timer(feedback.now);
            }
            let place = format!("seed {seed} step {step}: {params:?} {plan:?}");
            assert!((MIN_WINDOW..=MAX_WINDOW.max(10.0)).contains(&copa.cwnd), "{place}");
            assert!(0.0 < copa.delta.get() && copa.delta.get() <= params.delta, "{place}");
            assert!(copa.velocity.get() >= 1.0, "{place}");
            assert!(plan.cwnd >= MSS as u64, "{place}");
            assert!(plan.pacing.is_none_or(|rate| rate > Rate::ZERO), "{place}");
        }
    }
}

/// When an acknowledgement arrives at a full window, the authors' loop waits a gap, half of a round
/// trip divided by the window, before the next packet leaves.
#[test]
fn the_authors_loop_waits_a_gap_after_a_full_window() {
    for (send, waits) in [(Rule::Paper, false), (Rule::Authors, true)] {
        let (mut copa, mut acks) = settled(CopaParams { send, ..only(Mode::Default) });
        acks.in_flight = 10;
        copa.on_feedback(&acks.ack(1));
        let plan = copa.plan();
        assert_eq!(plan.cwnd == 10 * MSS as u64 && plan.timer < copa.silent_at, waits);
        if waits {
            // 60 ms / 2 / 10.2 packets.
            let gap = plan.timer.since(acks.now).as_millis_f64();
            assert!((gap - 2.94).abs() < 0.01, "{gap}");
            copa.on_timer(plan.timer);
        }
        assert!(copa.plan().cwnd > 10 * MSS as u64);
        assert_eq!(copa.plan().timer, copa.silent_at);
        // The window is not full: the gap counts from the previous packet.
        acks.in_flight = 5;
        copa.on_feedback(&acks.ack(1));
        assert_eq!(copa.plan().timer, copa.silent_at);
    }
}

/// The rate that a plan copies is the one that its RTTs and window give.
#[test]
fn the_kept_rate_is_the_present_one() {
    for params in [CopaParams::default(), paper()] {
        let mut copa = CopaSender::new(&params, MSS);
        assert_eq!((copa.plan().pacing, copa.rate()), (None, None));
        let mut acks = Acks::new(ms(50));
        let mut random = Stream::new(7, "rates");
        let mut different = std::collections::BTreeSet::new();
        for _ in 0..2000 {
            acks.now += Span::from_micros(random.below(3000));
            acks.rtt = ms(50) + Span::from_micros(random.below(40_000));
            copa.on_feedback(&acks.ack(random.below(3)));
            assert_eq!(copa.plan().pacing, copa.rate());
            copa.on_timer(acks.now);
            assert_eq!(copa.plan().pacing, copa.rate());
            different.extend(copa.rate());
        }
        assert!(different.len() > 100, "{}", different.len());
        copa.on_timer(acks.now + Span::from_secs(9));
        assert_eq!(copa.plan().pacing, copa.rate());
    }
}
