//! Summary statistics of a set of samples.

use serde::{Deserialize, Serialize};

/// A 95th percentile.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct P95 {
    /// In milliseconds.
    pub p95: f64,
}

/// Mean and quantiles of a set of samples, in milliseconds. Zero if there are none.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Quantiles {
    /// Returns the figures, each increased by `millis`.
    #[must_use]
    pub fn later(self, millis: f64) -> Quantiles {
        let Quantiles { mean, p50, p95, p99, max } = self;
        let [mean, p50, p95, p99, max] = [mean, p50, p95, p99, max].map(|at| at + millis);
        Quantiles { mean, p50, p95, p99, max }
    }
}
