//! mvfst (979f26a): Copa, BBR, the weights of DCTCP and Prague, Cubic, undo.

use paceline_cc::{Congestion, Controller, RateSample, Span};
use paceline_peers::vector::Declared::{ByDesign, Holds};
use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use super::mark_share;
use crate::bench::{Acks, Books, at, controller, curve, epoch, ms, ranges, state};

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("mvfst");
    copa(&mut vectors);
    copa_velocity(&mut vectors);
    bbr(&mut vectors);
    weights(&mut vectors);
    cubic_and_undo(&mut vectors);
    vectors
}

/// Copa as in mvfst, with the delta of mvfst's test.
const MVFST: &str = "copa[variant=mvfst,delta=0.5]";

/// Returns Copa after 19 acknowledgements at 50 ms and one at 150 ms, which ends slow start.
fn copa_after_slow_start(scheme: &str) -> (Box<dyn Controller>, Acks) {
    let mut copa = controller(scheme, 1200);
    let mut acks = Acks::new(1200, ms(50));
    acks.cwnd_limited = false;
    for _ in 0..19 {
        acks.now += ms(1);
        copa.on_feedback(&acks.of(1.0));
    }
    acks.cwnd_limited = true;
    step(&mut *copa, &mut acks, 110, 150);
    (copa, acks)
}

/// Acknowledges a packet after `wait` ms, with an RTT of `rtt` ms; returns the window before, and
/// its growth.
fn step(copa: &mut dyn Controller, acks: &mut Acks, wait: u64, rtt: u64) -> (f64, f64) {
    acks.now += ms(wait);
    acks.rtt = ms(rtt);
    let before = state(copa, "cwnd");
    copa.on_feedback(&acks.of(1.0));
    (before, state(copa, "cwnd") - before)
}

/// Asserts that the window grew by `velocity` / (delta cwnd), with a delta of 0.5.
fn moves((before, gained): (f64, f64), velocity: f64) -> Outcome {
    near("gained", gained, velocity / (0.5 * before), 1e-9)
}

fn copa(vectors: &mut Vectors) {
    for (test, rtt, velocity) in [
        ("CopaTest.cpp TestSteadyStateChanges: down by 1/(delta cwnd) at 100 ms", 100, -1.0),
        ("CopaTest.cpp TestSteadyStateChanges: up by 1/(delta cwnd) at the smallest RTT", 50, 1.0),
    ] {
        vectors.holds("copa", test, move || {
            let (mut copa, mut acks) = copa_after_slow_start(MVFST);
            moves(step(&mut *copa, &mut acks, 10, rtt), velocity)
        });
    }
    vectors.holds(
        "copa",
        "CopaTest.cpp TestSteadyStateChanges: RTTstanding keeps the direction for half an RTT",
        || {
            let (mut copa, mut acks) = copa_after_slow_start(MVFST);
            moves(step(&mut *copa, &mut acks, 10, 50), 1.0)?;
            moves(step(&mut *copa, &mut acks, 10, 100), 1.0)?;
            moves(step(&mut *copa, &mut acks, 110, 100), -1.0)
        },
    );
    vectors.holds("copa", "CopaTest.cpp slow start ends where the rate exceeds the target", || {
        let mut copa = controller(MVFST, 1200);
        let mut acks = Acks::new(1200, ms(280));
        for _ in 0..19 {
            step(&mut *copa, &mut acks, 1, 280);
        }
        same("at the smallest RTT", step(&mut *copa, &mut acks, 1, 280).1, 1.0)?;
        step(&mut *copa, &mut acks, 300, 400);
        that("then it falls", step(&mut *copa, &mut acks, 1, 400).1 < 0.0)
    });
}

fn copa_velocity(vectors: &mut Vectors) {
    // The velocity doubles from round trip `first` on: the window at most doubles in a round trip.
    let doubles_from = |first: u32| {
        let (mut copa, mut acks) = copa_after_slow_start(MVFST);
        acks.begins_round = true;
        for round in 1..=8u32 {
            let moved = step(&mut *copa, &mut acks, 100, 50);
            let expected = f64::from(1u32 << (round + 1).saturating_sub(first));
            let velocity = moved.1 * 0.5 * moved.0;
            let what = format!("velocity in round trip {round}");
            near(&what, velocity, expected.min(0.5 * moved.0), 0.01)?;
        }
        Ok(())
    };
    vectors.by_design(
        "copa",
        "CopaTest.cpp TestVelocity: 1 for five round trips, then 2, 4, 8",
        "Paceline counts the window's movement from the first round trip after slow start on, mvfst from the second",
        move || doubles_from(6),
    );
    vectors
        .holds("copa", "CopaTest.cpp TestVelocity, a round trip sooner", move || doubles_from(5));
    vectors.holds("copa", "CopaTest.cpp TestVelocity: 1 where the direction changes", || {
        let (mut copa, mut acks) = copa_after_slow_start(MVFST);
        acks.begins_round = true;
        for _ in 0..8 {
            step(&mut *copa, &mut acks, 100, 50);
        }
        acks.begins_round = false;
        moves(step(&mut *copa, &mut acks, 110, 200), -1.0)
    });
}

fn bbr(vectors: &mut Vectors) {
    vectors.holds("bbr", "BbrTest.cpp InitStates: ten packets, gain 2.885", || {
        let bbr = controller("bbr", 1000);
        same("window", bbr.plan().cwnd, 10_000)?;
        near("gain", state(&*bbr, "pacing_gain"), 2.885, 1e-9)
    });
    vectors.holds("bbr", "BbrTest.cpp StartupCwnd: 13 packets after three", || {
        let mut bbr = controller("bbr", 1000);
        let mut feedback = Acks::new(1000, Span::from_micros(100)).of(3.0);
        feedback.sample = Some(RateSample::new(500_000, Span::from_micros(100), 0));
        bbr.on_feedback(&feedback);
        same("window", bbr.plan().cwnd, 13_000)
    });
    for (scheme, test) in [
        ("bbr", "BbrTest.cpp LeaveStartup: three round trips in a row below 1.25"),
        ("bbr3", "BbrTest.cpp LeaveStartup: three round trips in a row below 1.25, of BBR3"),
    ] {
        vectors.holds(scheme, test, move || leave_startup(scheme));
    }
    vectors.holds(
        "bbr",
        "BbrTest.cpp ProbeRtt: four packets for 200 ms and a round trip",
        probe_rtt,
    );
}

fn leave_startup(scheme: &str) -> Outcome {
    let mut bbr = controller(scheme, 1000);
    let startup = state(&*bbr, "pacing_gain");
    let mut acks = Acks::new(1000, ms(50));
    // Enough in flight for Drain to last.
    acks.in_flight = (100_000.0, 100_000.0);
    let mut rate = 2e6;
    // Round trips in which the bandwidth grows by more than a quarter (g), and in which it does not
    // (-).
    let grows = "gggggggggg-g--g---".chars().map(|c| c == 'g');
    for (round, grows) in grows.enumerate() {
        rate *= if grows { 1.251 } else { 1.0 };
        acks.now += ms(50);
        bbr.on_feedback(&acks.sampled(rate));
        let in_startup = state(&*bbr, "pacing_gain") == startup;
        same(&format!("Startup after round trip {round}"), in_startup, round < 17)?;
    }
    Ok(())
}

fn probe_rtt() -> Outcome {
    let mut bbr = controller("bbr", 1000);
    let mut acks = Acks::new(1000, ms(50));
    let mut ack = |now: u64, rtt: u64, in_flight: f64, new_round: bool| {
        (acks.now, acks.rtt) = (at(now), ms(rtt));
        acks.in_flight = (in_flight + 1.0, in_flight);
        let mut feedback = acks.sampled(1e6);
        if let Some(sample) = &mut feedback.sample
            && !new_round
        {
            sample.prior_delivered = 0;
        }
        bbr.on_feedback(&feedback);
        (bbr.plan().cwnd / 1000, state(&*bbr, "pacing_gain"))
    };
    let (before, gain) = ack(1000, 50, 9.0, true);
    near("Startup's gain", gain, 2.885, 1e-9)?;
    // The minimum RTT is more than 10 s old.
    same("window and gain", ack(11_001, 60, 8.0, true), (4, 1.0))?;
    for (now, in_flight) in [(11_002, 7.0), (11_003, 6.0), (11_004, 5.0), (11_005, 4.0)] {
        same("window and gain", ack(now, 60, in_flight, false), (4, 1.0))?;
    }
    same("250 ms later, without a round trip", ack(11_255, 60, 3.0, false), (4, 1.0))?;
    let (after, gain) = ack(11_256, 60, 3.0, true);
    near("Startup's gain again", gain, 2.885, 1e-9)?;
    that(&format!("the window {after} is back at {before}"), after >= before)
}

fn weights(vectors: &mut Vectors) {
    for scheme in ["prague", "dctcp"] {
        for (test, acked, marked) in [
            ("EcnL4sTrackerTest.cpp: 1 of 10 marked: 1 + (0.1 - 1)/16", 10.0, 1u32),
            ("EcnL4sTrackerTest.cpp: 3 of 12 marked: 1 + (0.25 - 1)/16", 12.0, 3),
        ] {
            vectors.holds(scheme, test, move || {
                let expected = 1.0 + (f64::from(marked) / acked - 1.0) / 16.0;
                near("alpha", mark_share(scheme, ms(30), &[(acked, marked)]), expected, 1e-12)
            });
        }
        let declared = match scheme {
            "dctcp" => ByDesign("by RFC 8257 §3.3 alpha begins with 1 and decays at once"),
            _ => Holds,
        };
        let test =
            "EcnL4sTrackerTest.cpp NoWeightWithoutCE: 1 + (0.1 - 1)/16 after forty unmarked rounds";
        vectors.add(declared, scheme, test, move || {
            let mut rounds = vec![(10.0, 0); 40];
            rounds.push((10.0, 1));
            near("alpha", mark_share(scheme, ms(30), &rounds), 1.0 - 0.9 / 16.0, 1e-12)
        });
    }
}

fn cubic_and_undo(vectors: &mut Vectors) {
    vectors.holds("cubic", "CubicSteadyTest.cpp CubicReduction: 2100 of 3000 bytes", || {
        let (window, _) = epoch(&curve(15.0), ms(50));
        near("bytes", window.cwnd() * 200.0, 2100.0, 0.5)
    });
    vectors.holds("undo", "CubicRecoveryTest.cpp all losses of an episode must be late", || {
        let mut books = Books::new(1000);
        books.send(10);
        same("lost", books.sack(5, 5, 7000).lost, 3)?;
        let mut take =
            |count| books.take(&ranges(count, &[(5, 5), (0, count - 1)]), 7000).congestion;
        same("congestion", [take(1), take(2), take(3)], [None, None, Some(Congestion::Undo)])
    });
    vectors.holds("undo", "CubicRecoveryTest.cpp losses in recovery must be late, too", || {
        let mut books = Books::new(1000);
        books.send(10);
        books.sack(3, 3, 7000);
        books.sack(4, 4, 7000);
        let mut take =
            |count| books.take(&ranges(count, &[(3, 4), (0, count - 1)]), 7000).congestion;
        same("congestion", [take(1), take(2)], [None, Some(Congestion::Undo)])
    });
}
