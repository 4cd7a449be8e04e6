//! Every sample of a run.

use paceline_cc::Span;

use crate::{Quantiles, micros, rank};

/// Samples of a span of time, kept to the microsecond (exact to half of one).
#[derive(Clone, Debug, Default)]
pub struct Samples {
    micros: Vec<u32>,
}

impl Samples {
    /// Room for `count` samples without a further allocation.
    pub fn with_capacity(count: usize) -> Samples {
        Samples { micros: Vec::with_capacity(count) }
    }

    /// Adds a sample; longer ones than 71 minutes count as 71 minutes.
    #[inline]
    pub fn push(&mut self, span: Span) {
        self.micros.push(micros(span));
    }

    /// Adds the samples of another set.
    pub fn extend(&mut self, other: &Samples) {
        self.micros.extend_from_slice(&other.micros);
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.micros.len()
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.micros.is_empty()
    }

    /// The quantiles by nearest rank: the smallest sample that at least that share of all
    /// samples does not exceed.
    pub fn quantiles(&self) -> Quantiles {
        if self.micros.is_empty() {
            return Quantiles::default();
        }
        let mut sorted = self.micros.clone();
        sorted.sort_unstable();
        let n = sorted.len() as u64;
        let at = |share: f64| sorted[rank(share, n) as usize - 1] as f64 / 1e3;
        let sum: u64 = sorted.iter().map(|&micros| micros as u64).sum();
        Quantiles {
            mean: sum as f64 / n as f64 / 1e3,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_nearest_rank() {
        let mut samples = Samples::default();
        (1..=100).for_each(|i| samples.push(Span::from_millis(i)));
        let q = samples.quantiles();
        assert_eq!((q.mean, q.p50, q.p95, q.p99, q.max), (50.5, 50.0, 95.0, 99.0, 100.0));
        assert_eq!(Samples::default().quantiles(), Quantiles::default());
    }
}
