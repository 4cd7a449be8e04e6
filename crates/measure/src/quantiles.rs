//! Summary statistics of a set of samples.

use serde::{Deserialize, Deserializer, Serialize};

/// A 95th percentile. NaN, in JSON `null`, if there are no samples: this is the default.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct P95 {
    /// In milliseconds.
    pub p95: f64,
}

impl Default for P95 {
    fn default() -> P95 {
        P95 { p95: f64::NAN }
    }
}

/// Reads a number; `null` is NaN.
fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(from).map(|value| value.unwrap_or(f64::NAN))
}

/// Mean and quantiles of a set of samples, in milliseconds. NaN, in JSON `null`, if there are none: this is the default.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub struct Quantiles {
    /// The mean.
    #[serde(deserialize_with = "or_nan")]
    pub mean: f64,
    /// The median.
    #[serde(deserialize_with = "or_nan")]
    pub p50: f64,
    /// The 95th percentile.
    #[serde(deserialize_with = "or_nan")]
    pub p95: f64,
    /// The 99th percentile.
    #[serde(deserialize_with = "or_nan")]
    pub p99: f64,
    /// The largest.
    #[serde(deserialize_with = "or_nan")]
    pub max: f64,
}

/// Equal if each figure is equal, or was measured in neither.
impl PartialEq for Quantiles {
    fn eq(&self, other: &Quantiles) -> bool {
        let all = |of: &Quantiles| [of.mean, of.p50, of.p95, of.p99, of.max];
        let is_equal = |(one, other): (f64, f64)| one == other || (one.is_nan() && other.is_nan());
        all(self).into_iter().zip(all(other)).all(is_equal)
    }
}

impl Default for Quantiles {
    fn default() -> Quantiles {
        let none = f64::NAN;
        Quantiles { mean: none, p50: none, p95: none, p99: none, max: none }
    }
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
