//! pion/interceptor (a01a583): figures from running its Kalman filter; tests of rates and groups.

use paceline_peers::vector::{Outcome, Vectors, near, that};

use crate::bench::{DECREASE, Gcc, congruential, slope_changes};

/// Compares the slope after some measurements of delays; each group has one packet and 20 ms.
fn kalman(rows: &[(usize, f64)], mut delay: impl FnMut() -> i64) -> Outcome {
    let mut gcc = Gcc::new("gcc[filter=kalman,deltas=1]");
    let (mut sent, mut received) = (0, 50_000);
    gcc.arrives(sent, received, 1200);
    for packet in 1..200 {
        sent += 20_000;
        received += 20_000 + delay();
        gcc.arrives(sent, received, 1200);
        // A group is complete when the next one begins.
        if let Some((measurement, slope)) = rows.iter().find(|row| row.0 + 2 == packet) {
            // The peer truncates its innovation to whole microseconds.
            near(&format!("slope after {measurement}"), gcc.get("estimate"), *slope, 8e-4)?;
        }
    }
    Ok(())
}

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("pion");
    vectors.holds("gcc", "kalman.go: measurements between -0.5 and 1.3 ms", || {
        let mut random = congruential(7);
        let rows = [
            (4, 0.172913),
            (9, 0.298241),
            (14, 0.281156),
            (19, 0.252128),
            (24, 0.319314),
            (29, 0.433873),
            (34, 0.441880),
            (39, 0.476115),
        ];
        kalman(&rows, move || random() % 1800 - 500)
    });
    vectors.holds("gcc", "kalman.go: 0.5 ms sixty times", || {
        let rows = [(9, 0.258416), (19, 0.350535), (29, 0.398999), (39, 0.429034), (59, 0.463211)];
        kalman(&rows, || 500)
    });
    vectors.holds(
        "gcc",
        "rate_calculator_test.go: what is measured of 1200 bytes each 100 ms",
        || {
            let mut gcc = Gcc::new("gcc[filter=trendline,initial_rate=1Mbps]");
            gcc.steady(0..10, 100_000, 1200);
            // At over-use the sender sets its rate to 85 % of the rate received in the last 500 ms.
            for index in 10..60 {
                let delay = (index - 9) * 30_000;
                gcc.arrives(index * 100_000, 50_000 + index * 100_000 + delay, 1200);
                if gcc.state() == DECREASE {
                    let rate = gcc.get("delay_based") * 1e3 / 0.85;
                    return that(&format!("{rate} kbit/s"), (64.0..=116.0).contains(&rate));
                }
            }
            Err("no over-use".to_string())
        },
    );
    vectors.holds(
        "gcc",
        "rate_controller_test.go increasesMultiplicativelyBy8000: 108 of 100 kbit/s",
        || {
            let mut gcc = Gcc::new("gcc[filter=trendline,initial_rate=1Mbps]");
            gcc.steady(0..221, 10_000, 1200);
            let before = gcc.get("delay_based");
            gcc.steady(221..321, 10_000, 1200);
            near("growth in a second", gcc.get("delay_based") / before, 1.08, 1e-4)
        },
    );
    vectors.holds(
        "gcc",
        "arrival_group_accumulator_test.go newGroupBecauseOfInterDepartureTime",
        || {
            let packets =
                [(0, 4000), (3000, 4000), (6000, 10_000), (9000, 10_000), (1_000_000, 1_000_000)];
            // The groups end 6 ms apart on both sides.
            near("slope", slope_changes(&packets).iter().sum(), 0.0, 1e-9)
        },
    );
    vectors.by_design(
        "gcc",
        "arrival_group_accumulator_test.go ignoresOutOfOrderPackets: (0, 15), (6, 34), (8, 30)",
        "the third packet belongs to the second's burst and counts, as in libwebrtc",
        || {
            let packets = [(0, 15_000), (6000, 34_000), (8000, 30_000), (1_000_000, 1_000_000)];
            // A group takes 19 ms at the receiver and 6 ms at the sender.
            near("slope", slope_changes(&packets).iter().sum(), 13.0 * 0.101 / 1.101, 0.05)
        },
    );
    vectors.by_design(
        "gcc",
        "loss_based_bwe.go getEstimate: without losses not above the delay-based rate",
        "the loss-based estimate is at least what arrives, and the target is the smaller of both, as in libwebrtc",
        || {
            let mut gcc = Gcc::new("gcc[filter=trendline,initial_rate=300kbps]");
            gcc.steady(0..500, 10_000, 1200);
            let (by_loss, by_delay) = (gcc.get("loss_based"), gcc.get("delay_based"));
            that(&format!("{by_loss} not above {by_delay}"), by_loss <= by_delay)
        },
    );
    vectors
}
