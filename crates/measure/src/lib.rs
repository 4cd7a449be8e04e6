//! Exact statistics of spans of time, for the simulator and for the emulator.
//!
//! [`Samples`] keeps every sample, for runs with an end. [`Histogram`] counts them, for runs that
//! go on for as long as they like.

mod histogram;
mod quantiles;
mod samples;

pub use histogram::Histogram;
pub use quantiles::Quantiles;
pub use samples::Samples;

use paceline_cc::Span;

/// Whole microseconds, rounded; longer spans than 71 minutes count as 71 minutes.
#[inline]
fn micros(span: Span) -> u32 {
    let micros = (span.as_nanos().saturating_add(500)) / 1000;
    micros.min(u32::MAX as u64) as u32
}

/// The rank of the `share` quantile of `count` samples, counted from 1: nearest rank, the
/// smallest sample that at least that share of all samples does not exceed.
fn rank(share: f64, count: u64) -> u64 {
    ((share * count as f64).ceil() as u64).clamp(1, count.max(1))
}
