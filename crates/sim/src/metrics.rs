//! Statistics of a run: quantiles, the age of the newest delivered packet, fairness, power.

use paceline_cc::Span;
pub use paceline_measure::{
    Age, Distribution, P95, Quantiles, Samples, jain, mean, median, range_of_runs, sample_variance,
    student_t_975,
};

/// Returns `bytes` over the time `over` as a rate in Mbit/s; zero if the time is zero.
pub fn mbps(bytes: u64, over: Span) -> f64 {
    if over.is_zero() { 0.0 } else { bytes as f64 * 8.0 / 1e6 / over.as_secs_f64() }
}

/// Returns throughput divided by delay, in Mbit/s per second (Winstein's thesis §2.5); `None`
/// without a delay.
pub fn power(mbps: f64, delay_ms: f64) -> Option<f64> {
    (delay_ms > 0.0).then(|| mbps / (delay_ms / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_throughput_over_delay() {
        assert_eq!(power(6.0, 250.0), Some(24.0));
        assert_eq!(power(0.0, 250.0), Some(0.0));
        assert_eq!(power(6.0, 0.0), None);
    }
}
