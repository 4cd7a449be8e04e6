//! The built-in names: target and parameters of each, in one table.
//!
//! The targets are rows of the table of real traces' statistics. The test `refit` has fitted the
//! parameters to them, over other seeds than the tests use.

use super::Target;
use super::model::{DelayModel, Model, Moves};
use crate::{DelayStats, Stats};

/// One built-in trace.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Default length, in seconds.
    pub(crate) default_s: u64,
    /// Variation of the random streams, chosen so that the default seed gives a typical trace.
    pub(crate) take: u32,
    pub(crate) target: Target,
    pub(crate) model: Model,
}

/// Target of the built-in delays, in milliseconds: starlink.delay (LeoCC).
pub(crate) const LEO_DELAYS: DelayStats = DelayStats {
    mean: 10.667,
    sd: 2.165,
    min: 7.0,
    p5: 8.0,
    p50: 11.0,
    p95: 13.0,
    max: 68.0,
    step: 0.914,
};

/// Note for a target without a recorded trace.
const OWN: &str = "our own choice of plausible values, no recorded trace";

/// Every built-in trace, in the order in which they are listed.
#[rustfmt::skip]
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "lte-driving", default_s: 140, take: 34,
        target: Target {
            source: "Verizon-LTE-short.down", recorded: true,
            stats: Stats {
                length_s: 140.0, opportunities: 58655, first_ms: 0,
                mean_mbps: 5.0276, std100_mbps: 3.5695, cv100: 0.71,
                p5_mbps: 0.714, p50_mbps: 4.32, p95_mbps: 12.126,
                longest_outage_s: 1.447, frac_zero_100ms: 0.01643, max_opps_in_1ms: 16,
                acf_100ms_lag1s: 0.6731, acf_1s_lag1: 0.8319, p99_gap_ms: 18.0,
            },
        },
        model: Model {
            knots: [0.9658, 2.242, 3.819, 6.369, 12.21], tail: 10.44,
            slow_s: 8.789, fast_s: 0.02862, slow: 0.7819,
            outage_every_s: 52.69, outage_min_s: 0.1981, outage_max_s: 2.658, outage_shape: 0.5816,
            batch: 1.228, even: 0.2705, backlog: 0, moves: None,
        },
    },
    Entry {
        name: "lte-driving.up", default_s: 140, take: 23,
        target: Target {
            source: "Verizon-LTE-short.up", recorded: true,
            stats: Stats {
                length_s: 140.0, opportunities: 69367, first_ms: 7,
                mean_mbps: 5.9457, std100_mbps: 3.5322, cv100: 0.5941,
                p5_mbps: 0.72, p50_mbps: 5.4, p95_mbps: 12.24,
                longest_outage_s: 1.718, frac_zero_100ms: 0.02071, max_opps_in_1ms: 43,
                acf_100ms_lag1s: 0.5595, acf_1s_lag1: 0.7446, p99_gap_ms: 14.0,
            },
        },
        model: Model {
            knots: [0.9684, 3.332, 5.25, 7.674, 12.15], tail: 7.952,
            slow_s: 4.556, fast_s: 0.3016, slow: 0.8101,
            outage_every_s: 32.25, outage_min_s: 0.1532, outage_max_s: 1.216, outage_shape: 1.547,
            batch: 1.073, even: 0.5223, backlog: 43, moves: None,
        },
    },
    Entry {
        name: "lte-walking", default_s: 140, take: 5,
        target: Target {
            source: "trace-3202253-timessquare", recorded: true,
            stats: Stats {
                length_s: 391.07, opportunities: 287306, first_ms: 0,
                mean_mbps: 8.816, std100_mbps: 4.3729, cv100: 0.496,
                p5_mbps: 1.68, p50_mbps: 8.88, p95_mbps: 15.48,
                longest_outage_s: 2.034, frac_zero_100ms: 0.00921, max_opps_in_1ms: 21,
                acf_100ms_lag1s: 0.4557, acf_1s_lag1: 0.7542, p99_gap_ms: 10.0,
            },
        },
        model: Model {
            knots: [2.323, 4.921, 9.395, 12.21, 15.65], tail: 5.949,
            slow_s: 12.51, fast_s: 0.1495, slow: 0.5504,
            outage_every_s: 93.47, outage_min_s: 0.5087, outage_max_s: 1.609, outage_shape: 1.763,
            batch: 1.107, even: 0.3002, backlog: 0, moves: None,
        },
    },
    Entry {
        name: "lte-stationary", default_s: 140, take: 1,
        target: Target {
            source: "trace-3093662-home3", recorded: true,
            stats: Stats {
                length_s: 267.219, opportunities: 357393, first_ms: 0,
                mean_mbps: 16.0494, std100_mbps: 3.2779, cv100: 0.2042,
                p5_mbps: 10.92, p50_mbps: 16.32, p95_mbps: 19.92,
                longest_outage_s: 0.087, frac_zero_100ms: 0.0, max_opps_in_1ms: 15,
                acf_100ms_lag1s: 0.2325, acf_1s_lag1: 0.4512, p99_gap_ms: 3.0,
            },
        },
        model: Model {
            knots: [10.56, 14.59, 16.42, 17.85, 20.1], tail: 2.406,
            slow_s: 1.079, fast_s: 0.3028, slow: 0.7211,
            outage_every_s: 27.16, outage_min_s: 0.08682, outage_max_s: 0.1, outage_shape: 1.147,
            batch: 1.225, even: 0.3, backlog: 0, moves: None,
        },
    },
    Entry {
        name: "umts-driving", default_s: 900, take: 2,
        target: Target {
            source: "TMobile-UMTS-driving.down", recorded: true,
            stats: Stats {
                length_s: 928.424, opportunities: 156262, first_ms: 0,
                mean_mbps: 2.0197, std100_mbps: 1.6852, cv100: 0.8344,
                p5_mbps: 0.0, p50_mbps: 1.8, p95_mbps: 5.64,
                longest_outage_s: 5.753, frac_zero_100ms: 0.11698, max_opps_in_1ms: 6,
                acf_100ms_lag1s: 0.7885, acf_1s_lag1: 0.896, p99_gap_ms: 36.0,
            },
        },
        model: Model {
            knots: [-3.609, 0.646, 1.821, 2.801, 5.888], tail: 2.078,
            slow_s: 11.15, fast_s: 0.02163, slow: 0.8041,
            outage_every_s: 380.9, outage_min_s: 0.4547, outage_max_s: 18.53, outage_shape: 1.875,
            batch: 1.076, even: 0.3368, backlog: 0, moves: None,
        },
    },
    Entry {
        name: "umts-driving.up", default_s: 900, take: 9,
        target: Target {
            source: "TMobile-UMTS-driving.up", recorded: true,
            stats: Stats {
                length_s: 931.233, opportunities: 73197, first_ms: 637,
                mean_mbps: 0.9432, std100_mbps: 0.4975, cv100: 0.5274,
                p5_mbps: 0.0, p50_mbps: 1.08, p95_mbps: 1.44,
                longest_outage_s: 5.83, frac_zero_100ms: 0.08924, max_opps_in_1ms: 22,
                acf_100ms_lag1s: 0.6474, acf_1s_lag1: 0.8526, p99_gap_ms: 51.0,
            },
        },
        model: Model {
            knots: [0.04845, 0.8461, 1.103, 1.205, 1.341], tail: 0.3233,
            slow_s: 23.65, fast_s: 0.06835, slow: 0.965,
            outage_every_s: 24.84, outage_min_s: 0.07551, outage_max_s: 5.468, outage_shape: 0.5932,
            batch: 1.027, even: 0.6563, backlog: 22, moves: None,
        },
    },
    Entry {
        name: "evdo-driving", default_s: 1000, take: 3,
        target: Target {
            source: "Verizon-EVDO-driving.down", recorded: true,
            stats: Stats {
                length_s: 1062.016, opportunities: 46065, first_ms: 0,
                mean_mbps: 0.5205, std100_mbps: 0.6112, cv100: 1.1743,
                p5_mbps: 0.0, p50_mbps: 0.36, p95_mbps: 1.8,
                longest_outage_s: 11.567, frac_zero_100ms: 0.24953, max_opps_in_1ms: 6,
                acf_100ms_lag1s: 0.4728, acf_1s_lag1: 0.8204, p99_gap_ms: 225.0,
            },
        },
        model: Model {
            knots: [0.06141, 0.1711, 0.3399, 0.7623, 1.69], tail: 1.726,
            slow_s: 4.816, fast_s: 0.06478, slow: 0.7502,
            outage_every_s: 17.01, outage_min_s: 0.2572, outage_max_s: 16.36, outage_shape: 0.7012,
            batch: 1.123, even: 0.2701, backlog: 0, moves: None,
        },
    },
    Entry {
        name: "evdo-driving.up", default_s: 1000, take: 2,
        target: Target {
            source: "Verizon-EVDO-driving.up", recorded: true,
            stats: Stats {
                length_s: 1064.718, opportunities: 74768, first_ms: 1056,
                mean_mbps: 0.8427, std100_mbps: 0.4741, cv100: 0.5627,
                p5_mbps: 0.0, p50_mbps: 0.96, p95_mbps: 1.44,
                longest_outage_s: 11.198, frac_zero_100ms: 0.11139, max_opps_in_1ms: 38,
                acf_100ms_lag1s: 0.381, acf_1s_lag1: 0.7238, p99_gap_ms: 87.0,
            },
        },
        model: Model {
            knots: [0.7503, 0.8607, 0.909, 0.9624, 1.133], tail: 0.2932,
            slow_s: 0.8098, fast_s: 0.2018, slow: 0.8977,
            outage_every_s: 17.74, outage_min_s: 0.3112, outage_max_s: 8.096, outage_shape: 0.5,
            batch: 1.024, even: 0.1913, backlog: 38, moves: None,
        },
    },
    Entry {
        name: "nr-walking", default_s: 140, take: 19,
        target: Target {
            source: OWN, recorded: false,
            stats: Stats {
                length_s: 140.0, opportunities: 2916667, first_ms: 1,
                mean_mbps: 250.0, std100_mbps: 112.5, cv100: 0.45,
                p5_mbps: 75.0, p50_mbps: 250.0, p95_mbps: 440.0,
                longest_outage_s: 0.5, frac_zero_100ms: 0.003, max_opps_in_1ms: 120,
                acf_100ms_lag1s: 0.55, acf_1s_lag1: 0.75, p99_gap_ms: 1.0,
            },
        },
        model: Model {
            knots: [70.23, 151.0, 248.2, 329.4, 433.8], tail: 120.4,
            slow_s: 3.878, fast_s: 0.3581, slow: 0.7436,
            outage_every_s: 28.6, outage_min_s: 0.07132, outage_max_s: 0.1236, outage_shape: 0.5162,
            batch: 5.586, even: 0.1282, backlog: 0, moves: None,
        },
    },
    Entry {
        name: "nr-driving", default_s: 140, take: 10,
        target: Target {
            source: OWN, recorded: false,
            stats: Stats {
                length_s: 140.0, opportunities: 1750000, first_ms: 1,
                mean_mbps: 150.0, std100_mbps: 120.0, cv100: 0.8,
                p5_mbps: 7.5, p50_mbps: 120.0, p95_mbps: 390.0,
                longest_outage_s: 2.0, frac_zero_100ms: 0.03, max_opps_in_1ms: 120,
                acf_100ms_lag1s: 0.65, acf_1s_lag1: 0.82, p99_gap_ms: 2.0,
            },
        },
        model: Model {
            knots: [19.24, 58.14, 117.7, 215.1, 416.7], tail: 160.6,
            slow_s: 6.198, fast_s: 0.5208, slow: 0.8313,
            outage_every_s: 24.36, outage_min_s: 0.08857, outage_max_s: 1.465, outage_shape: 0.9326,
            batch: 10.98, even: 0.184, backlog: 0, moves: None,
        },
    },
    Entry {
        name: "leo", default_s: 150, take: 48,
        target: Target {
            source: "starlink.mahi (LeoCC)", recorded: true,
            stats: Stats {
                length_s: 120.052, opportunities: 487652, first_ms: 22,
                mean_mbps: 48.744, std100_mbps: 10.665, cv100: 0.2189,
                p5_mbps: 33.6, p50_mbps: 48.66, p95_mbps: 66.48,
                longest_outage_s: 0.135, frac_zero_100ms: 0.00083, max_opps_in_1ms: 73,
                acf_100ms_lag1s: 0.5541, acf_1s_lag1: 0.8293, p99_gap_ms: 5.0,
            },
        },
        model: Model {
            knots: [41.0, 46.0, 49.4, 52.8, 57.8], tail: 5.1,
            slow_s: 1.0, fast_s: 0.2, slow: 0.0,
            outage_every_s: f64::INFINITY, outage_min_s: 0.0, outage_max_s: 0.0, outage_shape: 1.0,
            batch: 1.0, even: 1.0, backlog: 0,
            moves: Some(Moves {
                every_ms: 15_000, level: 0.195, silence_ms: [50.0, 130.0], growth_ms: 200.0, burst: 0.24,
                delay: DelayModel {
                    mean: 10.55, level: 0.7, noise: 1.0, keep: 0.5, least: 7.0,
                    moving: [30.0, 37.0], peak: 12.0,
                },
            }),
        },
    },
];
