//! What counts.

use serde::Deserialize;

/// What a network's senders are worth: throughput by `alpha`-fairness, less `delta` times delay.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// The exponent of throughput: 0 counts its sum, 1 the logarithms, more is fairer.
    pub alpha: f64,
    /// The exponent of delay; 1 for its logarithm.
    pub beta: f64,
    /// What delay counts against throughput.
    pub delta: f64,
}

impl Default for Objective {
    fn default() -> Objective {
        Objective { alpha: 1.0, beta: 1.0, delta: 1.0 }
    }
}

impl Objective {
    /// The utility of a throughput in packets per ms with a delay in units of 100 ms. With exponents
    /// of 1 these are logarithms to base 2, as in the published program.
    pub fn utility(&self, throughput: f64, delay: f64) -> f64 {
        let power = |value: f64, exponent: f64| match exponent {
            1.0 => value.log2(),
            _ => value.powf(1.0 - exponent) / (1.0 - exponent),
        };
        power(throughput, self.alpha) - self.delta * power(delay, self.beta)
    }
}
