//! One figure over several runs: its median and its spread.

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::statistics::{Data, OrderStatistics};

/// Confidence of [`Distribution::median_interval`].
const CONFIDENCE: f64 = 0.95;

/// The distribution of one figure over the runs of a scenario.
///
/// Quantiles are the median-unbiased estimates of Hyndman and Fan ("Sample Quantiles in Statistical
/// Packages", 1996, definition 8). With fewer than 14 runs `p5` and `p95` are the smallest and the
/// largest value.
///
/// The default is that of a figure that no run has: NaN, in JSON `null`.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// The median over the runs.
    pub median: f64,
    /// The 5th percentile over the runs.
    pub p5: f64,
    /// The 95th percentile over the runs: 90 % of the runs lie between `p5` and `p95`.
    pub p95: f64,
    /// Two values of the runs between which the median of all possible runs lies with a confidence
    /// of at least 95 %, whatever the distribution (order statistics, by the binomial
    /// distribution). `None` with fewer than six runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_interval: Option<[f64; 2]>,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution { median: f64::NAN, p5: f64::NAN, p95: f64::NAN, median_interval: None }
    }
}

impl Distribution {
    /// Returns the distribution of the finite ones of these values; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Distribution> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let median_interval = median_interval(&sorted);
        let [p5, median, p95] = range_of_runs(&mut sorted)?;
        Some(Distribution { median, p5, p95, median_interval })
    }

    /// Returns half the width of the interval of the median, as a share of the median; infinite if
    /// there is no interval, zero if all values are zero.
    pub fn relative_error(&self) -> f64 {
        match self.median_interval {
            Some([low, high]) if low == high => 0.0,
            Some([low, high]) => (high - low) / 2.0 / self.median.abs(),
            None => f64::INFINITY,
        }
    }
}

/// Returns the 5th percentile, the median and the 95th percentile of finite values, computed as in
/// [`Distribution`]; `None` without values. Reorders the values.
pub fn range_of_runs(values: &mut [f64]) -> Option<[f64; 3]> {
    let mut data = Data::new(values);
    (!data.is_empty()).then(|| [0.05, 0.5, 0.95].map(|share| data.quantile(share)))
}

/// Returns the order statistics `l` and `n + 1 - l`, where `l` is the 2.5 % point of the binomial
/// distribution of `n` tosses of a coin (David and Nagaraja, Order Statistics, 2003, §7.1).
fn median_interval(sorted: &[f64]) -> Option<[f64; 2]> {
    let count = sorted.len();
    let coins = Binomial::new(0.5, count as u64).ok()?;
    let rank = coins.inverse_cdf((1.0 - CONFIDENCE) / 2.0) as usize;
    let low = sorted.get(rank.checked_sub(1)?)?;
    Some([*low, *sorted.get(count - rank)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_r_type_8() {
        // Equal to R's quantile(c(...), c(.05, .5, .95), type = 8); computed by hand from Hyndman
        // and Fan's formula: h = (n + 1/3) p + 1/3.
        let twenty = Distribution::of((1..=20).map(f64::from)).expect("values");
        assert!((twenty.p5 - 1.35).abs() < 1e-12, "{twenty:?}");
        assert!((twenty.p95 - 19.65).abs() < 1e-12, "{twenty:?}");
        assert_eq!(twenty.median, 10.5);
        let ten = Distribution::of((1..=10).rev().map(f64::from)).expect("values");
        assert_eq!((ten.p5, ten.median, ten.p95), (1.0, 5.5, 10.0));
    }

    #[test]
    fn the_interval_of_the_median_is_the_table_of_order_statistics() {
        // Ranks of the 95 % interval of the median by the number of values, as in the tables of
        // Conover, Practical Nonparametric Statistics, and of Campbell and Gardner (BMJ 1988).
        for (count, ranks) in
            [(6, [1, 6]), (9, [2, 8]), (10, [2, 9]), (20, [6, 15]), (50, [18, 33])]
        {
            let all = Distribution::of((1..=count).map(f64::from)).expect("values");
            assert_eq!(all.median_interval, Some(ranks.map(f64::from)), "{count}");
        }
        let five = Distribution::of((1..=5).map(f64::from)).expect("values");
        assert_eq!(five.median_interval, None);
        assert!(five.relative_error().is_infinite());
    }

    #[test]
    fn one_value_is_all_of_it() {
        let one = Distribution::of([0.25, f64::NAN]).expect("a value");
        assert_eq!((one.p5, one.median, one.p95), (0.25, 0.25, 0.25));
        assert_eq!(Distribution::of([f64::NAN]), None);
        let equal = Distribution::of([0.0; 10]).expect("values");
        assert_eq!(equal.relative_error(), 0.0);
    }
}
