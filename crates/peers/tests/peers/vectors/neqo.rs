//! neqo (80ca01e): Cubic, Reno, HyStart++, spurious congestion events.

use paceline_cc::{Congestion, Span};
use paceline_peers::vector::{Outcome, Vectors, near, same, that};
use paceline_schemes::cubic::{CubicParams, CubicWindow, Growth, HyStartKind};

use crate::bench::{
    self, Acks, Books, Desk, SlowStart, controller, curve, epoch, ms, ranges, state,
};

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("neqo");
    cubic(&mut vectors);
    hystart(&mut vectors);
    conservative(&mut vectors);
    others(&mut vectors);
    vectors
}

fn cubic(vectors: &mut Vectors) {
    vectors.holds(
        "cubic",
        "cc/tests/cubic.rs congestion_event_slow_start: W_max is the window",
        || {
            let mut window = CubicWindow::new(&curve(10.0));
            let mut acks = Acks::new(1200, ms(100));
            window.on_feedback(&acks.of(1.0));
            window.on_feedback(&acks.event(Congestion::Loss));
            near("W_max", bench::of(&window, "w_max"), 11.0, 1e-9)?;
            near("cwnd", window.cwnd(), 7.7, 1e-9)
        },
    );
    vectors.holds(
        "cubic",
        "cc/tests/cubic.rs fast convergence: 10 of 100 packets leave W_max 8.5",
        || {
            let (mut window, mut acks) = epoch(&curve(100.0), ms(100));
            window.cap(10.0);
            window.on_feedback(&acks.event(Congestion::Loss));
            near("W_max", bench::of(&window, "w_max"), 8.5, 1e-9)?;
            near("cwnd", window.cwnd(), 7.0, 1e-9)
        },
    );
    vectors.holds(
        "cubic",
        "cc/tests/cubic.rs cubic_phase: within a packet of the curve",
        cubic_phase,
    );
    vectors.holds(
        "cubic",
        "cc/tests/cubic.rs tcp_phase: a packet for window / alpha, 18 of 19 times",
        tcp_phase,
    );
    vectors.by_design(
        "cubic",
        "cc/classic_cc.rs ecn_ce: a mark leaves 0.85 (RFC 8511)",
        "a mark reduces the window to 0.7 of it, as in RFC 9438 §4.6 and Linux; RFC 8511, with 0.85, is optional",
        || {
            let mut window = CubicWindow::new(&curve(10.0));
            window.on_feedback(&Acks::new(1200, ms(100)).event(Congestion::Ecn));
            near("cwnd", window.cwnd(), 8.5, 1e-9)
        },
    );
}

/// Grows from a tenth of W_max = 100 packets to W_max, with acknowledgements spread evenly over
/// each round trip.
fn cubic_phase() -> Outcome {
    let params = CubicParams { beta: 0.1, tcp_friendliness: false, ..curve(100.0) };
    let (mut window, mut acks) = epoch(&params, ms(100));
    let start = acks.now;
    let k = (90.0f64 / 0.4).cbrt();
    for _ in 0..(k / 0.1).round() as u32 {
        let packets = window.cwnd().floor() as u64;
        for _ in 0..packets {
            acks.now += ms(100) / packets;
            window.on_feedback(&acks.of(1.0));
        }
        let after = acks.now.since(start).as_secs_f64();
        near("the window", window.cwnd(), 100.0 + 0.4 * (after - k).powi(3), 1.0)?;
    }
    near("the window at K", window.cwnd(), 100.0, 1.0)
}

/// Grows from ten packets without a plateau: alpha is 3 (1 - 0.7) / (1 + 0.7). The curve, evaluated
/// an RTT ahead as in RFC 9438 §4.2, overtakes one increase earlier than in neqo.
fn tcp_phase() -> Outcome {
    let params = CubicParams {
        growth: Growth::Linux,
        probe: 0.0,
        hystart: HyStartKind::Off,
        ..curve(10.0 / 0.7)
    };
    let mut window = CubicWindow::new(&params);
    let mut acks = Acks::new(1200, ms(100));
    window.on_feedback(&acks.event(Congestion::Timeout));
    window.on_feedback(&acks.of(9.0));
    near("the window", window.cwnd(), 10.0, 1e-6)?;
    let alpha = 0.9 / 1.7;
    let increases = (alpha * alpha * alpha / (0.4 * 0.001f64)).sqrt().floor();
    same("increases", increases, 19.0)?;
    for increase in 1..19 {
        let before = window.cwnd();
        for _ in 0..(before / alpha).round() as u32 {
            acks.now += Span::from_secs_f64(0.1 / before);
            window.on_feedback(&acks.of(1.0));
        }
        // Fractions also open the window, so the step is slightly less than one.
        near(&format!("increase {increase}"), window.cwnd() - before, 1.0, 0.12)?;
    }
    Ok(())
}

fn hystart(vectors: &mut Vectors) {
    for (test, first, second, turns) in [
        ("cc/tests/hystart.rs css_entry_triggered_on_rtt_increase: 100, 120 ms", 100, 120, true),
        (
            "cc/tests/hystart.rs css_entry_not_triggered_on_small_rtt_increase: 105 ms",
            100,
            105,
            false,
        ),
        ("cc/tests/hystart.rs css_entry_triggered_on_min_rtt_thresh: 10, 15 ms", 10, 15, true),
        ("cc/tests/hystart.rs css_entry_triggered_on_max_rtt_thresh: 200, 218 ms", 200, 218, true),
    ] {
        vectors.holds("HyStart++", test, move || {
            let conservative = SlowStart::rfc9406().turns_conservative(first, second);
            same("conservative slow start", conservative, turns)
        });
    }
    vectors.holds(
        "HyStart++",
        "cc/tests/hystart.rs css_entry_not_triggered_with_insufficient_samples: seven",
        || {
            let mut start = SlowStart::rfc9406();
            start.round(ms(100), 9);
            near("the seventh opens by", start.round(ms(120), 7), 1.0, 1e-9)
        },
    );
    for (test, paced, opened) in [
        ("cc/tests/hystart.rs l_limit_paced_no_cap: 100 packets", true, 110.0),
        ("cc/tests/hystart.rs l_limit_unpaced_is_capped: 8 packets", false, 18.0),
    ] {
        vectors.holds("HyStart++", test, move || {
            let mut start = SlowStart::new(HyStartKind::Rfc9406, paced);
            start.window.on_feedback(&start.acks.of(100.0));
            near("cwnd", start.window.cwnd(), opened, 1e-9)
        });
    }
}

fn conservative(vectors: &mut Vectors) {
    vectors.holds(
        "HyStart++",
        "cc/tests/hystart.rs css_growth_rate_is_one_quarter: one for four",
        || {
            let mut start = SlowStart::rfc9406();
            start.turns_conservative(100, 120);
            let before = start.window.cwnd();
            start.window.on_feedback(&start.acks.of(4.0));
            near("opens by", start.window.cwnd() - before, 1.0, 1e-9)
        },
    );
    vectors.holds("HyStart++", "cc/tests/hystart.rs css_exit_after_n_rounds: five", || {
        let mut start = SlowStart::rfc9406();
        start.round(ms(100), 9);
        for round in 1..=5 {
            that(&format!("slow start before round {round}"), start.window.in_slow_start())?;
            start.round(ms(120), 9);
        }
        start.ack(ms(120));
        that("it has ended", !start.window.in_slow_start())
    });
    vectors.holds(
        "HyStart++",
        "cc/tests/hystart.rs css_back_to_slow_start_on_rtt_decrease: 110 ms",
        || {
            let mut start = SlowStart::rfc9406();
            start.turns_conservative(100, 120);
            start.round(ms(110), 8);
            start.round(ms(110), 9);
            near("opens by", start.ack(ms(110)), 1.0, 1e-9)
        },
    );
    vectors.by_design(
        "HyStart++",
        "cc/tests/hystart.rs css_exit_only_with_new_samples: one of 80 ms in the same round",
        "RFC 9406 §4.2 counts all samples of the round, which already has eight; neqo begins a new count",
        || {
            let mut start = SlowStart::rfc9406();
            start.round(ms(100), 9);
            start.acks.in_flight.1 = 300.0;
            let last = (0..9).map(|_| start.ack(ms(120))).last();
            that("conservative", last.is_some_and(|opened| opened < 0.5))?;
            start.ack(ms(80));
            that("still conservative", start.ack(ms(120)) < 0.5)
        },
    );
}

fn others(vectors: &mut Vectors) {
    vectors.by_design(
        "slow start",
        "cc/classic_cc.rs app_limited_slow_start: six of ten packets open it to 16",
        "neqo opens the window by all packets that were in flight; Linux and Paceline stop at twice the flight, 12 packets",
        || {
            let mut desk = Desk::new("newreno", 1000);
            desk.write(6);
            for count in 1..=6 {
                desk.ack_first(100, count);
            }
            same("window", desk.cwnd(), 16)
        },
    );
    vectors.holds(
        "slow start",
        "cc/classic_cc.rs app_limited_slow_start: bursts up to five, 10",
        || {
            let mut desk = Desk::new("newreno", 1000);
            let mut written = 0;
            for burst in 1..=5 {
                desk.write(burst);
                written += burst;
                desk.ack_first(100 * burst, written);
                same("window", desk.cwnd(), 10)?;
            }
            Ok(())
        },
    );
    vectors.holds(
        "newreno",
        "new_reno.rs congestion_avoidance_no_two_mss_cap: two at once",
        || {
            let mut reno = controller("newreno", 1200);
            let mut acks = Acks::new(1200, ms(100));
            reno.on_feedback(&acks.event(Congestion::Loss));
            reno.on_feedback(&acks.of(11.0));
            that("two packets more than five", state(&*reno, "cwnd") >= 7.0)
        },
    );
    vectors.holds(
        "undo",
        "cc/classic_cc.rs spurious events: the second of two is late, too",
        || {
            let mut books = Books::new(1000);
            books.send(6);
            same("lost", books.sack(4, 4, 7000).lost, 2)?;
            let first = books.take(&ranges(1, &[(4, 4), (0, 0)]), 7000).congestion;
            let second = books.take(&ranges(2, &[(4, 4), (0, 1)]), 7000).congestion;
            same("congestion", (first, second), (None, Some(Congestion::Undo)))
        },
    );
    vectors.holds("episodes", "new_reno.rs issue_876: no second reaction to one flight", || {
        let mut books = Books::new(1000);
        books.send(10);
        same("first", books.sack(3, 3, 5000).congestion, Some(Congestion::Loss))?;
        books.send(1);
        let reaction = books.take(&ranges(0, &[(5, 5), (3, 3)]), 5000);
        same("later", (reaction.congestion, reaction.lost), (None, 2))
    });
}
