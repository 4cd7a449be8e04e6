//! Vegas, LEDBAT, proportional rate reduction, timeouts, slow start, BBR's gains.

use paceline_cc::{Congestion, Controller, Fate, Span};
use paceline_flow::{RtoBounds, RttEstimator};
use paceline_peers::vector::{Vectors, near, same, that};

use super::super::pacing_gains;
use crate::bench::{Acks, Books, Desk, controller, ms, state};

pub(super) fn add(vectors: &mut Vectors) {
    vegas(vectors);
    ledbat(vectors);
    recovery(vectors);
    others(vectors);
}

/// Plays a round trip of `count` acknowledgements; the window grows only if it limits sending.
fn round(vegas: &mut dyn Controller, acks: &mut Acks, rtt: u64, limited: bool, count: u32) {
    acks.rtt = ms(rtt);
    acks.cwnd_limited = limited;
    acks.in_flight.0 = if limited { 1000.0 } else { 0.0 };
    for index in 0..count {
        acks.begins_round = index == 0;
        vegas.on_feedback(&acks.of(1.0));
    }
}

/// Returns Vegas in congestion avoidance, at `cwnd` packets after a loss that left `ssthresh`.
fn avoiding(ssthresh: u32, cwnd: u32) -> Box<dyn Controller> {
    let mut vegas =
        controller(&format!("vegas[variant=ns3,initial_window={}]", 2 * ssthresh), 1446);
    let mut acks = Acks::new(1446, ms(100));
    vegas.on_feedback(&acks.event(Congestion::Loss));
    for _ in 0..1000 {
        if state(&*vegas, "cwnd") < f64::from(cwnd) {
            round(&mut *vegas, &mut acks, 100, true, 4);
        }
    }
    vegas
}

/// Returns Vegas' window and threshold after a round trip of 100 ms and one of `rtt`.
fn judged(mut vegas: Box<dyn Controller>, rtt: u64) -> (f64, f64) {
    let mut acks = Acks::new(1446, ms(100));
    round(&mut *vegas, &mut acks, 100, false, 1);
    round(&mut *vegas, &mut acks, rtt, false, 4);
    acks.cwnd_limited = true;
    acks.begins_round = true;
    vegas.on_feedback(&acks.of(1.0));
    (state(&*vegas, "cwnd"), state(&*vegas, "ssthresh"))
}

fn vegas(vectors: &mut Vectors) {
    let subject = "vegas";
    vectors.holds(
        subject,
        "tcp-vegas-test.cc slow start, diff > gamma: 38 at 106 ms give 36, 35",
        || {
            same(
                "window, threshold",
                judged(controller("vegas[variant=ns3,initial_window=38]", 1446), 106),
                (36.0, 35.0),
            )
        },
    );
    vectors.holds(
        subject,
        "tcp-vegas-test.cc slow start, diff < gamma: 5 at 118 ms give 6",
        || {
            same(
                "window",
                judged(controller("vegas[variant=ns3,initial_window=5]", 536), 118).0,
                6.0,
            )
        },
    );
    vectors.holds(subject, "tcp-vegas-test.cc diff > beta: 60 at 206 ms give 59", || {
        same("window", judged(avoiding(40, 60), 206).0, 59.0)
    });
    vectors.holds(subject, "tcp-vegas-test.cc diff < alpha: 15 at 106 ms give 16, 12", || {
        same("window, threshold", judged(avoiding(10, 15), 106), (16.0, 12.0))
    });
    vectors.holds(subject, "tcp-vegas-test.cc between: 20 at 109 ms stay, 15", || {
        same("window, threshold", judged(avoiding(10, 20), 109), (20.0, 15.0))
    });
}

/// Returns the bytes that LEDBAT's window gains from two packets, at `cwnd` packets, with a base
/// delay of 20 ms and a present delay of `delay`.
fn ledbat_gains(cwnd: u32, delay: u64, in_flight: f64) -> f64 {
    let mut ledbat = controller(
        &format!("ledbat[variant=rfc6817,initial_window={cwnd},current_filter=1]"),
        1446,
    );
    let mut acks = Acks::new(1446, ms(100));
    acks.in_flight.0 = in_flight;
    for (number, delay, acked) in [(0, 20, 0.0), (1, delay, 2.0)] {
        let mut fate = Fate::new(number, 1446, acks.now - ms(delay), 0, false);
        fate.received = acks.now;
        let mut feedback = acks.of(acked);
        let fates = [fate];
        feedback.fates = &fates;
        ledbat.on_feedback(&feedback);
    }
    (state(&*ledbat, "cwnd") - f64::from(cwnd)) * 1446.0
}

fn ledbat(vectors: &mut Vectors) {
    for (test, (cwnd, delay, in_flight), gained) in [
        ("tcp-ledbat-test.cc increment: 8676 and 289 bytes at 40 ms of queue", (6, 60, 6.0), 289.0),
        ("tcp-ledbat-test.cc increment is held to the flight and a packet", (6, 60, 5.0), 0.0),
        (
            "tcp-ledbat-test.cc decrement: 8676 less 97 bytes at 120 ms of queue",
            (6, 140, 6.0),
            -97.0,
        ),
        ("tcp-ledbat-test.cc decrement stops at two packets", (2, 140, 6.0), 0.0),
    ] {
        vectors.holds("ledbat", test, move || {
            near("bytes", ledbat_gains(cwnd, delay, in_flight), gained, 1.0)
        });
    }
}

fn recovery(vectors: &mut Vectors) {
    vectors.holds(
        "PRR",
        "tcp-prr-recovery-test.cc: 51,000 of 200,000 bytes delivered let 25,500 go",
        || {
            let books = Books::reducing(1000, 200, 51, 100_000);
            same("room", books.room(100_000), 25_500)
        },
    );
    vectors.holds("PRR", "tcp-prr-recovery-test.cc: CRB, what was delivered", || {
        let mut books = Books::reducing(1000, 50, 1, 100_000);
        books.send(50);
        books.sack(1, 4, 100_000);
        same("room", books.room(100_000), 1000)
    });
    vectors.holds("PRR", "tcp-prr-recovery-test.cc: a transmission on entering", || {
        that("a packet", Books::reducing(500, 6, 1, 2500).room(2500) >= 500)
    });
    vectors.holds("RTT", "rtt-test.cc: 1000, 1200, 900 ms give 1009.375 and 350 ms", || {
        let mut rtt = RttEstimator::new(RtoBounds::RFC6298);
        for (sample, smoothed, variation) in
            [(1000, 1000.0, 500.0), (1200, 1025.0, 425.0), (900, 1009.375, 350.0)]
        {
            rtt.sample(ms(sample), true);
            near("SRTT, ms", rtt.smoothed().as_millis_f64(), smoothed, 1e-5)?;
            near("timeout, ms", rtt.rto().as_millis_f64(), smoothed + 4.0 * variation, 1e-4)?;
        }
        Ok(())
    });
    vectors.holds("timeout", "tcp-rto-test.cc: it doubles, up to 60 s", || {
        let mut rtt = RttEstimator::new(RtoBounds::RFC6298);
        same("first", rtt.rto(), Span::from_secs(1))?;
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            same("after an expiry", rtt.rto(), Span::from_secs(seconds))?;
        }
        Ok(())
    });
}

fn others(vectors: &mut Vectors) {
    vectors.holds(
        "slow start",
        "tcp-linux-reno-test.cc: two packets open to nine by seven",
        || {
            let mut desk = Desk::new("newreno[initial_window=2]", 524);
            desk.write(7);
            for count in 1..=7 {
                desk.ack_first(10 * count, count);
            }
            same("window", desk.cwnd(), 9)
        },
    );
    vectors.holds("bbr", "tcp-bbr-test.cc: the pacing gains, with a high gain of 4", || {
        same(
            "gains, thousandths",
            pacing_gains("bbr[high_gain=4]"),
            vec![250, 750, 1000, 1250, 4000],
        )
    });
}
