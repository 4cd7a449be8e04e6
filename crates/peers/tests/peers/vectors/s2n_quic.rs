//! s2n-quic (a33d369): Cubic, BBR3, rate samples, RTTs, loss detection.

use paceline_cc::{Congestion, RateSample, Span};
use paceline_flow::{RtoBounds, RttEstimator};
use paceline_peers::vector::{Vectors, near, same, that};
use paceline_schemes::cubic::CubicWindow;

use super::pacing_gains;
use crate::bench::{
    self, Acks, Books, Desk, at, controller, curve, epoch, gain, ms, ranges, state,
};

/// The window of s2n-quic's tests of the curve: W_max 2304 packets of 1200 bytes, K 12 s.
const W_MAX: f64 = 2304.0;

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("s2n-quic");
    cubic_curve(&mut vectors);
    cubic_events(&mut vectors);
    bbr3(&mut vectors);
    samples_and_timers(&mut vectors);
    vectors
}

fn cubic_curve(vectors: &mut Vectors) {
    let file = "cubic";
    vectors.holds(file, "cubic/tests.rs w_cubic: K is 12 s, W(0) is 0.7 W_max", || {
        let (window, _) = epoch(&curve(W_MAX), ms(200));
        near("K, ms", bench::of(&window, "k"), 12_000.0, 1.0)?;
        near("W(0)", window.cwnd(), 0.7 * W_MAX, 0.01)
    });
    // W(t), evaluated an RTT ahead, so the acknowledgement comes 200 ms earlier.
    vectors.holds(file, "cubic/tests.rs w_cubic: W(15 s) is 2314.8", || {
        let gained = gain(W_MAX, 2000.0, ms(14_800), ms(200));
        near("W", 2000.0 + gained * 2000.0, 2314.8, 0.01)
    });
    vectors.holds(file, "cubic/tests.rs w_cubic: W(10 s) is 2300.8", || {
        let gained = gain(W_MAX, 2000.0, ms(9800), ms(200));
        near("W", 2000.0 + gained * 2000.0, 2300.8, 0.01)
    });
    vectors.holds(file, "cubic/tests.rs concave region: 2,400,000 bytes gain 180.48", || {
        near("bytes", 1200.0 * gain(W_MAX, 2000.0, ms(9800), ms(200)), 180.48, 0.01)
    });
    vectors.holds(file, "cubic/tests.rs convex region: 3,600,000 bytes gain 160.64", || {
        near("bytes", 1200.0 * gain(W_MAX, 3000.0, ms(25_800), ms(200)), 160.64, 0.01)
    });
    vectors.holds(
        file,
        "cubic/tests.rs too large an increase: half of what is acknowledged",
        || near("packets", gain(W_MAX, 3000.0, ms(125_800), ms(200)), 0.5, 1e-9),
    );
    vectors.holds(file, "cubic/tests.rs w_est: 80.588 packets after 6 s of 300 ms", || {
        let (mut window, mut acks) = epoch(&curve(100.0), ms(300));
        let end = acks.now + Span::from_secs(6);
        while acks.now < end {
            acks.now += Span::from_secs_f64(0.3 / window.cwnd());
            window.on_feedback(&acks.of(1.0));
        }
        near("W_est", bench::of(&window, "w_est"), 80.588, 0.15)
    });
}

fn cubic_events(vectors: &mut Vectors) {
    let file = "cubic";
    vectors.holds(file, "cubic/tests.rs multiplicative_decrease: 56,000 bytes of 80,000", || {
        let (mut window, mut acks) = epoch(&curve(100_000.0 / 1200.0), ms(100));
        window.add(80_000.0 / 1200.0 - window.cwnd());
        window.on_feedback(&acks.event(Congestion::Loss));
        near("bytes", window.cwnd() * 1200.0, 56_000.0, 0.1)?;
        near("W_max, bytes", bench::of(&window, "w_max") * 1200.0, 68_000.0, 0.1)
    });
    for (test, before, after) in [
        ("cubic/tests.rs on_packet_lost: threshold 70 of 100", 100.0, 70.0),
        ("cubic/tests.rs on_packet_lost_below_minimum_window: two packets", 2.0, 2.0),
    ] {
        vectors.holds(file, test, move || {
            let mut window = CubicWindow::new(&curve(before));
            window.on_feedback(&Acks::new(1200, ms(100)).event(Congestion::Loss));
            near("ssthresh", window.ssthresh(), after, 1e-6)?;
            near("cwnd", window.cwnd(), after, 1e-6)
        });
    }
    vectors.holds(file, "cubic/tests.rs after idle: 6 s without need do not count", || {
        let (mut window, mut acks) = epoch(&curve(100.0), ms(100));
        (acks.cwnd_limited, acks.in_flight.0) = (false, 0.0);
        acks.now += Span::from_secs(6);
        window.on_feedback(&acks.of(1.0));
        acks.cwnd_limited = true;
        acks.now += Span::from_secs(9);
        window.add(130.0 - window.cwnd());
        window.on_feedback(&acks.of(1.0));
        // The curve at 9 s, evaluated an RTT ahead.
        let from_plateau: f64 = 9.1 - (30.0f64 / 0.4).cbrt();
        let target = 100.0 + 0.4 * from_plateau.powi(3);
        near("gained", window.cwnd() - 130.0, (target - 130.0) / 130.0, 1e-4)
    });
    vectors.holds(file, "cubic/tests.rs a smaller RTT does not shrink the window", || {
        let (mut window, mut acks) = epoch(&curve(66.7), ms(750));
        acks.now += ms(10);
        window.on_feedback(&acks.of(0.083));
        let before = window.cwnd();
        acks.rtt = ms(10);
        acks.now += ms(10);
        window.on_feedback(&acks.of(0.083));
        that("cwnd stays", (before..before + 0.01).contains(&window.cwnd()))
    });
    vectors.holds(file, "cubic/tests.rs on_packet_ack_recovery: no growth", || {
        let (mut window, mut acks) = epoch(&curve(10.0), ms(100));
        let before = window.cwnd();
        acks.in_recovery = true;
        window.on_feedback(&acks.of(1.0));
        near("cwnd", window.cwnd(), before, 1e-9)
    });
    vectors.holds(file, "cubic/tests.rs persistent congestion forgets W_max", || {
        let (mut window, mut acks) = epoch(&curve(10.0), ms(100));
        window.on_feedback(&acks.event(Congestion::Timeout));
        same("W_max", bench::of(&window, "w_max"), 0.0)?;
        that("slow start", window.in_slow_start())
    });
    vectors.by_design(
        "slow start",
        "cubic/tests.rs utilized, then under-utilized: 120 packets, twice the largest flight",
        "as in Linux, an acknowledgement opens the window by all bytes that it acknowledges if the window was below twice the \
         largest flight before it",
        || {
            // Sixty packets of a window of a hundred: 10 are acknowledged, then 1, then 40.
            let mut desk = Desk::new("cubic[initial_window=100,hystart=off]", 1000);
            desk.write(60);
            desk.ack_first(200, 10);
            same("after ten", desk.cwnd(), 110)?;
            desk.ack_first(200, 11);
            desk.ack_first(200, 51);
            same("after all", desk.cwnd(), 120)
        },
    );
}

fn bbr3(vectors: &mut Vectors) {
    vectors.holds("bbr3", "bbr/pacing.rs initialize_pacing_rate: 383,922 bytes/s", || {
        let mut bbr = controller("bbr3", 1400);
        let mut feedback = Acks::new(1400, ms(100)).of(1.0);
        feedback.sample = Some(RateSample::new(1400, ms(100), 0));
        bbr.on_feedback(&feedback);
        near("bytes/s", state(&*bbr, "pacing") * 1e6 / 8.0, 383_922.0, 1.0)
    });
    vectors.holds("bbr3", "bbr/pacing.rs new: a window in 1 ms, times 2.77, less 1 %", || {
        let bbr = controller("bbr3", 1200);
        near("bytes/s", state(&*bbr, "pacing") * 1e6 / 8.0, 12e6 * 2.77 * 0.99, 2.0)
    });
    vectors.holds("bbr3", "bbr/{startup,drain,probe_bw}.rs: the pacing gains", || {
        same("gains, thousandths", pacing_gains("bbr3"), vec![500, 900, 1000, 1250, 2770])
    });
}

fn samples_and_timers(vectors: &mut Vectors) {
    vectors.holds(
        "rate samples",
        "bandwidth/estimator.rs app_limited: until more than the flight has been delivered",
        || {
            let mut books = Books::new(1500);
            books.send(2);
            books.account.on_app_limited();
            let mut limited = Vec::new();
            for (millis, last) in [(100, 1), (200, 2), (300, 3)] {
                books.now = at(millis);
                let reaction = books.take(&ranges(last + 1, &[(0, last)]), 1_000_000);
                limited.push(reaction.sample.is_some_and(|sample| sample.app_limited));
                books.send(1);
            }
            // The packet that leaves when the flight has arrived still counts as limited; the next
            // one does not.
            same("limited", limited[1..].to_vec(), vec![true, false])
        },
    );
    vectors.holds(
        "rate samples",
        "bandwidth/estimator.rs implausible_ack_rate: the interval is that of sending",
        || {
            let mut books = Books::new(1500);
            books.send(1);
            books.now = at(3000);
            books.send(2);
            books.now = at(3200);
            books.take(&ranges(1, &[(0, 0)]), 1_000_000);
            books.now = at(6200);
            let reaction = books.take(&ranges(3, &[(0, 2)]), 1_000_000);
            let sample = reaction.sample.ok_or("no sample")?;
            same("interval", sample.interval, ms(6200))?;
            same("bytes", sample.delivered, 4500)
        },
    );
    let unbounded = RtoBounds { min: Span::ZERO, ..RtoBounds::RFC6298 };
    vectors.holds(
        "RTT",
        "rtt_estimator.rs update_rtt: 500, 790, 200 ms; timeout 1610.466 ms",
        move || {
            let mut rtt = RttEstimator::new(unbounded);
            for sample in [500, 790, 200] {
                rtt.sample(ms(sample), true);
            }
            near("timeout, ms", rtt.rto().as_millis_f64(), 1610.466, 0.01)?;
            same("least", rtt.min(), ms(200))
        },
    );
    vectors.holds("RTT", "rtt_estimator.rs pto: at least a millisecond", move || {
        let mut rtt = RttEstimator::new(unbounded);
        rtt.sample(Span::from_nanos(1), true);
        that("1 ms or more", rtt.rto() >= ms(1))
    });
    vectors.holds(
        "loss detection",
        "rtt_estimator.rs loss threshold: 1.125 s for an RTT of 1 s",
        || {
            let mut books = Books::new(1200);
            books.send(1);
            books.now = at(1000);
            books.take(&ranges(1, &[(0, 0)]), u64::MAX);
            books.now = at(2000);
            books.send(2);
            books.now = at(3000);
            books.take(&ranges(1, &[(2, 2), (0, 0)]), u64::MAX);
            same("deadline", books.account.deadline(), at(3125))
        },
    );
}
