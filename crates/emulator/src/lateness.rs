//! How late packets were released: a histogram of fixed size.

use paceline_cc::Span;

use super::summary::LatenessSummary;

/// Buckets per doubling: a bucket is 3 % wide.
const FINE: usize = 32;
const FINE_BITS: u32 = FINE.trailing_zeros();
/// Buckets for all 64-bit values.
const BUCKETS: usize = (64 - FINE_BITS as usize + 1) * FINE;

/// Late packets that are too few to call a run late, unless they are most of its packets.
const FEW: u64 = 5;

/// A histogram of spans with buckets whose width grows with the value: exact to 3 %.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Box<[u64]>,
    count: u64,
    max: u64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: vec![0; BUCKETS].into(), count: 0, max: 0 }
    }
}

/// Returns the bucket of a value.
fn bucket(nanos: u64) -> usize {
    if nanos < FINE as u64 {
        return nanos as usize;
    }
    let shift = 63 - nanos.leading_zeros() - FINE_BITS;
    (shift as usize) * FINE + (nanos >> shift) as usize
}

/// Returns the largest value of a bucket.
fn top(bucket: usize) -> u64 {
    if bucket < 2 * FINE {
        return bucket as u64;
    }
    let shift = bucket / FINE - 1;
    let next = (bucket % FINE + FINE + 1) as u128;
    ((next << shift) - 1).min(u64::MAX.into()) as u64
}

impl Lateness {
    /// Counts `packets` packets that were `late`.
    pub fn record(&mut self, late: Span, packets: u64) {
        let nanos = late.as_nanos();
        if let Some(count) = self.counts.get_mut(bucket(nanos)) {
            *count += packets;
        }
        self.count += packets;
        self.max = self.max.max(nanos);
    }

    /// Adds the values of another histogram.
    pub fn add(&mut self, other: &Lateness) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// Returns the value that a share of all values do not exceed, rounded up to its bucket's end; zero without values.
    pub fn quantile(&self, share: f64) -> Span {
        quantile(&[self], share)
    }

    /// Returns the number of values that exceed `bound`.
    pub fn beyond(&self, bound: Span) -> u64 {
        self.counts.iter().skip(bucket(bound.as_nanos()) + 1).sum()
    }

    /// Returns true if the values that exceed `bound` are more than 1 %, and are either more than `FEW` or, of at least
    /// two, more than half. One pause of the machine delays a handful of packets: in a run of 20 packets these are more
    /// than 1 % and say nothing about the machine, unless most packets are late.
    pub fn exceeds(&self, bound: Span) -> bool {
        let beyond = self.beyond(bound);
        let most = beyond >= 2 && beyond > self.count / 2;
        beyond > self.count / 100 && (beyond > FEW || most)
    }

    /// Returns count, median, 99th percentile and maximum.
    pub fn summary(&self) -> LatenessSummary {
        summary(&[self])
    }

    /// Returns count, median, 99th percentile and maximum of two histograms together.
    pub fn summary_with(&self, other: &Lateness) -> LatenessSummary {
        summary(&[self, other])
    }
}

fn quantile(all: &[&Lateness], share: f64) -> Span {
    let count: u64 = all.iter().map(|one| one.count).sum();
    let max = all.iter().map(|one| one.max).max().unwrap_or(0);
    let rank = (count as f64 * share).ceil().max(1.0) as u64;
    let mut seen = 0;
    for index in 0..BUCKETS {
        seen += all.iter().filter_map(|one| one.counts.get(index)).sum::<u64>();
        if seen >= rank {
            return Span::from_nanos(top(index).min(max));
        }
    }
    Span::ZERO
}

fn summary(all: &[&Lateness]) -> LatenessSummary {
    LatenessSummary {
        count: all.iter().map(|one| one.count).sum(),
        p50: quantile(all, 0.5),
        p99: quantile(all, 0.99),
        max: Span::from_nanos(all.iter().map(|one| one.max).max().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        for index in 0..BUCKETS {
            let top = top(index);
            assert_eq!(bucket(top), index, "{top}");
            if index + 1 < BUCKETS {
                assert_eq!(bucket(top + 1), index + 1);
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_handful_of_late_packets_exceeds_the_bound_only_if_it_is_most_of_them() {
        let bound = Span::from_millis(1);
        let of = |packets: u64, late: u64| {
            let mut lateness = Lateness::default();
            lateness.record(Span::from_micros(10), packets - late);
            lateness.record(Span::from_millis(2), late);
            lateness.exceeds(bound)
        };
        assert!(!Lateness::default().exceeds(bound));
        assert!(!of(1, 1) && !of(2, 1) && of(2, 2));
        assert!(!of(8, 4) && of(8, 5));
        assert!(!of(20, 5) && of(20, 6));
        assert!(!of(500, 5) && of(500, 6));
        assert!(!of(1000, 10) && of(1000, 11));
        let mut lateness = Lateness::default();
        lateness.record(Span::from_millis(2), 3);
        lateness.record(bound, 4);
        assert_eq!(lateness.beyond(bound), 3);
    }

    #[test]
    fn quantiles_are_exact_to_three_per_cent() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.summary(), LatenessSummary::default());
        for nanos in 1..=100_000 {
            lateness.record(Span::from_nanos(nanos), 1);
        }
        for (share, exact) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.01, 1000.0)] {
            let found = lateness.quantile(share).as_nanos() as f64;
            assert!((exact..exact * 1.032).contains(&found), "{share}: {found}");
        }
        assert_eq!(lateness.summary().max, Span::from_nanos(100_000));
        let twice = lateness.summary_with(&lateness);
        assert_eq!(twice, LatenessSummary { count: 200_000, ..lateness.summary() });
        let empty = Lateness::default();
        assert_eq!(empty.summary_with(&lateness), lateness.summary());
    }
}
