//! libwebrtc (0040b66).

use paceline_cc::Time;
use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use crate::bench::{DECREASE, Gcc, after_overuse};

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("libwebrtc");
    for (test, slope) in [
        ("trendline_estimator_unittest.cc PerfectLineSlopeOneHalf", 0.5),
        ("trendline_estimator_unittest.cc PerfectLineSlopeMinusOne", -1.0),
        ("trendline_estimator_unittest.cc PerfectLineSlopeZero", 0.0),
    ] {
        vectors.holds("gcc", test, move || {
            // The slope is smoothed with 0.9, so wait until it has settled. Arrivals 5 ms apart would
            // be one group.
            let mut gcc = Gcc::new("gcc[filter=trendline]");
            for index in 0..300 {
                let sent = 20_000 * index;
                gcc.arrives(sent, 50_000 + (sent as f64 / (1.0 - slope)) as i64, 1200);
            }
            near("slope", gcc.get("estimate") / 240.0, slope, 0.001)
        });
    }
    convergence(&mut vectors);
    bounds(&mut vectors);
    initial(&mut vectors);
    vectors
}

/// Near convergence the rate grows by half a packet per response time, which is 100 ms plus the
/// RTT.
fn convergence(vectors: &mut Vectors) {
    for (test, size, rtt, initial, rate, growth, tolerance) in [
        (
            "aimd_rate_control_unittest.cc NearMaxIncreaseRateIs5kbpsOn90kbpsAnd200msRtt",
            132,
            200,
            "106kbps",
            90e3,
            5000.0,
            300.0,
        ),
        (
            "aimd_rate_control_unittest.cc NearMaxIncreaseRateIs5kbpsOn60kbpsAnd100msRtt",
            88,
            100,
            "70kbps",
            60e3,
            5000.0,
            300.0,
        ),
        (
            "aimd_rate_control_unittest.cc GetIncreaseRateAndBandwidthPeriod: 14 kbit/s at 255",
            375,
            200,
            "300kbps",
            255e3,
            14_000.0,
            1000.0,
        ),
    ] {
        vectors.holds("gcc", test, move || {
            let (begin, grown, _) = after_overuse(size, rtt, initial)?;
            // Scaled from the rate after the decrease here to the peer's rate.
            near("growth in a second", grown * rate / begin, growth, tolerance)
        });
    }
    vectors.holds(
        "gcc",
        "aimd_rate_control_unittest.cc MinNearMaxIncreaseRateOnLowBandwith: 4 kbit/s",
        || near("growth in a second", after_overuse(44, 200, "35kbps")?.1, 4000.0, 200.0),
    );
}

fn bounds(vectors: &mut Vectors) {
    vectors.holds(
        "gcc",
        "aimd_rate_control_unittest.cc BweLimitedByAckedBitrate: 1.5 times and 10 kbit/s",
        || {
            let mut gcc = Gcc::new("gcc[filter=trendline,initial_rate=100kbps]");
            gcc.steady(0..3000, 10_000, 125);
            near("kbit/s", gcc.get("delay_based") * 1e3, 160.0, 1.0)
        },
    );
    vectors.holds(
        "gcc",
        "aimd_rate_control_unittest.cc BweNotLimitedByDecreasingAckedBitrate",
        || {
            let mut gcc = Gcc::new("gcc[filter=trendline,initial_rate=100kbps]");
            gcc.steady(0..2000, 10_000, 125);
            let before = gcc.get("delay_based");
            gcc.steady(2000..2200, 10_000, 62);
            near("Mbit/s", gcc.get("delay_based"), before, 1e-9)
        },
    );
    vectors.holds(
        "gcc",
        "send_side_bandwidth_estimation_unittest.cc DoesntReapplyBitrateDecreaseWithoutFollowingRemb",
        || {
            let mut gcc = Gcc::new("gcc[initial_rate=1Mbps,loss=draft]");
            gcc.hear(Time::from_secs(1), &[]);
            gcc.hear_of_losses(Time::from_secs(2), 50);
            let once = gcc.get("loss_based");
            that("lower", once < 1.0)?;
            gcc.hear(Time::from_secs(3), &[]);
            gcc.hear(Time::from_secs(4), &[]);
            near("Mbit/s", gcc.get("loss_based"), once, 1e-12)
        },
    );
}

/// Sends 417 bytes every 11 ms over a link that needs 16.5 ms for them, from 300 kbit/s on. Calls
/// `done` after each packet, until it returns true.
fn overused_from_the_start(scheme: &str, done: &mut dyn FnMut(i64, &Gcc) -> bool) -> Outcome {
    let mut gcc = Gcc::new(scheme);
    for index in 0..45 {
        gcc.arrives(index * 11_000, 50_000 + index * 16_500, 417);
        if done(index, &gcc) {
            return Ok(());
        }
    }
    Err("no over-use".to_string())
}

fn initial(vectors: &mut Vectors) {
    vectors.holds(
        "gcc",
        "delay_based_bwe_unittest.cc TestInitialOveruse: half of the rate before one is measured",
        || {
            let mut rate = f64::NAN;
            overused_from_the_start(
                "gcc[throughput=window,initial_rate=300kbps]",
                &mut |_, gcc| {
                    rate = gcc.get("delay_based") * 1e3;
                    gcc.state() == DECREASE
                },
            )?;
            near("kbit/s", rate, 150.0, 15.0)
        },
    );
    for filter in ["trendline", "kalman"] {
        let scheme = format!("gcc[filter={filter},throughput=window,initial_rate=300kbps]");
        let test = format!(
            "delay_based_bwe.cc MaybeUpdateEstimate: one reduction in 200 ms before a rate is measured, {scheme}"
        );
        vectors.holds("gcc", test, move || {
            let (mut first, mut reductions, mut before) = (None, 0, 300.0);
            overused_from_the_start(&scheme, &mut |index, gcc| {
                let rate = gcc.get("delay_based") * 1e3;
                if rate < before {
                    let first = *first.get_or_insert(index);
                    reductions += i32::from((index - first) * 16_500 < 100_000);
                }
                before = rate;
                index == 29
            })?;
            same("reductions in 100 ms", reductions, 1)
        });
    }
}
