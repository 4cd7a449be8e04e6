//! Statistics of spans of time in bounded memory, for the simulator and for the emulator.
//!
//! - [`Samples`]: exact while the samples are few; then quantiles to three significant digits, in
//!   at most 200 kB. For the simulator.
//! - [`Histogram`]: always exact, in 8 kB per millisecond in which a sample falls. For the
//!   emulator, whose delays lie close together, and whose packet logs give equal figures.
//! - [`Age`]: the age of the newest delivered packet over time.
//! - [`Distribution`]: median and range of one figure over several runs.
//! - [`mean()`], [`median()`], [`sample_variance()`]: those of a few figures.
//! - [`jain()`]: the fairness of several shares.
//! - [`student_t_975()`]: the error of the mean of a few runs.
//! - [`Bins`]: counters over time, in a bounded number of bins of equal length.

mod age;
mod average;
mod bins;
mod distribution;
mod fairness;
mod histogram;
mod quantiles;
mod resolution;
mod samples;
mod student_t;

pub use age::{Age, EXACT_STRETCHES};
pub use average::{mean, median, sample_variance};
pub use bins::{Bin, Bins, MOST_BINS};
pub use distribution::{Distribution, range_of_runs};
pub use fairness::jain;
pub use histogram::Histogram;
pub use quantiles::{P95, Quantiles};
pub use samples::{EXACT, Samples};
pub use student_t::student_t_975;

use paceline_cc::Span;

/// Returns whole microseconds, rounded.
#[inline]
fn micros(span: Span) -> u64 {
    (span.as_nanos().saturating_add(500)) / 1000
}

/// Longest span that quantiles distinguish, in microseconds: 71.6 minutes. Longer ones count as this
/// one, except in means and maxima.
const LONGEST: u32 = u32::MAX;

/// The parts of spans above [`LONGEST`], in microseconds.
#[derive(Copy, Clone, Debug, Default)]
struct Beyond {
    sum: u128,
    max: u64,
}

impl Beyond {
    /// Adds a span of `micros` microseconds. Returns it, or [`LONGEST`] if it is longer.
    #[inline]
    fn cut(&mut self, micros: u64) -> u32 {
        match u32::try_from(micros) {
            Ok(micros) => micros,
            Err(_) => self.add(micros - u64::from(LONGEST)),
        }
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, beyond: u64) -> u32 {
        self.sum += u128::from(beyond);
        self.max = self.max.max(beyond);
        LONGEST
    }

    /// Adds the parts of another set of spans.
    fn extend(&mut self, other: Beyond) {
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

/// Returns the rank of the `share` quantile of `count` samples, counted from 1, by nearest rank:
/// the smallest sample that at least that share of all samples does not exceed.
fn rank(share: f64, count: u64) -> u64 {
    ((share * count as f64).ceil() as u64).clamp(1, count.max(1))
}
