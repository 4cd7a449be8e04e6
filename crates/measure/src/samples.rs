//! The distribution of many spans of time, in bounded memory.

use paceline_cc::Span;

use crate::resolution::{bin_of, middle};
use crate::{Beyond, Quantiles, micros, rank};

/// Number of samples that are stored one by one; with more, they are counted in bins.
pub const EXACT: usize = 8192;

/// Number of samples that wait to be counted together, once there are bins.
const BATCH: usize = 1024;

/// Spans of time, in microseconds, in bounded memory.
///
/// The number of samples, their mean and the largest are always exact (to half a microsecond). In
/// quantiles, samples above 71.6 minutes count as 71.6 minutes.
/// Quantiles are exact for up to [`EXACT`] samples. With more, each sample is only counted in a
/// bin that is less than a thousandth of its value wide, and a quantile is the middle of its bin,
/// with an error below 0.05 %. Memory is 32 kB at first, and below 200 kB for any number of
/// samples.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Samples that are not in `bins`: all samples, or the last ones.
    few: Vec<u32>,
    /// Those in bins, once there are many.
    many: Counted,
    /// The parts of samples above the longest that the others hold.
    beyond: Beyond,
}

/// Samples counted in bins.
#[derive(Clone, Debug, Default)]
struct Counted {
    /// Samples in each bin, up to that of the largest sample.
    bins: Vec<u64>,
    count: u64,
    /// Sum of the samples in microseconds.
    sum: u128,
    max: u32,
}

impl Counted {
    /// Counts samples in their bins.
    fn add(&mut self, samples: &[u32]) {
        self.add_totals(samples);
        let needed = bin_of(self.max) + 1;
        if self.bins.len() < needed {
            self.bins.resize(needed, 0);
        }
        for &micros in samples {
            self.bins[bin_of(micros)] += 1;
        }
    }

    /// Adds samples to number, sum and maximum only.
    fn add_totals(&mut self, samples: &[u32]) {
        self.count += samples.len() as u64;
        // At most 8192 samples below 2³².
        let sum: u64 = samples.iter().map(|&micros| u64::from(micros)).sum();
        self.sum += u128::from(sum);
        self.max = samples.iter().fold(self.max, |max, &micros| max.max(micros));
    }

    /// Returns the bin of the sample of this rank, counted from 1.
    fn bin_at(&self, rank: u64) -> usize {
        let mut passed = 0;
        let reaches = |&count: &u64| {
            passed += count;
            passed >= rank
        };
        self.bins.iter().position(reaches).unwrap_or(self.bins.len().saturating_sub(1))
    }
}

impl Samples {
    /// Returns an empty set with room for `count` samples.
    pub fn with_capacity(count: usize) -> Samples {
        Samples { few: Vec::with_capacity(count.min(EXACT)), ..Samples::default() }
    }

    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, span: Span) {
        let micros = self.beyond.cut(micros(span));
        self.add(micros);
    }

    #[inline]
    fn add(&mut self, micros: u32) {
        if self.few.len() == self.few.capacity() {
            self.make_room();
        }
        self.few.push(micros);
    }

    /// Makes room for a further sample: for twice as many, or by counting those that wait.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.many.count == 0 && self.few.len() < EXACT {
            let room = (2 * self.few.len()).clamp(64, EXACT);
            return self.few.reserve_exact(room - self.few.len());
        }
        self.many.add(&self.few);
        self.few.clear();
        self.few.shrink_to(BATCH);
        self.few.reserve_exact(BATCH);
    }

    /// Adds the samples of another set.
    pub fn extend(&mut self, other: &Samples) {
        other.few.iter().for_each(|&micros| self.add(micros));
        self.beyond.extend(other.beyond);
        let theirs = &other.many;
        if theirs.count == 0 {
            return;
        }
        let ours = &mut self.many;
        if ours.bins.len() < theirs.bins.len() {
            ours.bins.resize(theirs.bins.len(), 0);
        }
        ours.bins.iter_mut().zip(&theirs.bins).for_each(|(ours, theirs)| *ours += theirs);
        ours.count += theirs.count;
        ours.sum += theirs.sum;
        ours.max = ours.max.max(theirs.max);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.many.count + self.few.len() as u64
    }

    /// Returns true if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns [`Samples::quantiles`]; `None` without samples.
    pub fn quantiles_if_any(&self) -> Option<Quantiles> {
        (!self.is_empty()).then(|| self.quantiles())
    }

    /// Returns the mean, and the quantiles by nearest rank, NaN without samples: the smallest sample that at least that
    /// share of all samples does not exceed.
    pub fn quantiles(&self) -> Quantiles {
        if self.is_empty() {
            return Quantiles::default();
        }
        let mut all = self.many.clone();
        let mut sorted = Vec::new();
        if self.many.count == 0 {
            all.add_totals(&self.few);
            sorted.clone_from(&self.few);
            sorted.sort_unstable();
        } else {
            all.add(&self.few);
        }
        let at = |share: f64| {
            let rank = rank(share, all.count);
            let micros = match sorted.get(rank as usize - 1) {
                Some(&micros) => u64::from(micros),
                None => middle(all.bin_at(rank)).min(u64::from(all.max)),
            };
            micros as f64 / 1e3
        };
        Quantiles {
            mean: (all.sum + self.beyond.sum) as f64 / all.count as f64 / 1e3,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: (u64::from(all.max) + self.beyond.max) as f64 / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Stream;

    #[test]
    fn quantiles_by_nearest_rank() {
        let mut samples = Samples::default();
        (1..=100).for_each(|i| samples.push(Span::from_millis(i)));
        let q = samples.quantiles();
        assert_eq!((q.mean, q.p50, q.p95, q.p99, q.max), (50.5, 50.0, 95.0, 99.0, 100.0));
        let none = Samples::default().quantiles();
        assert!([none.mean, none.p50, none.p95, none.p99, none.max].iter().all(|at| at.is_nan()));
        assert_eq!(none, Quantiles::default());
    }

    /// Draws a span of any order of magnitude, from microseconds to minutes.
    fn draw(stream: &mut Stream) -> Span {
        Span::from_secs_f64(2f64.powf(stream.uniform() * 26.0) * 1e-6)
    }

    #[test]
    fn many_samples_are_within_their_bound_of_the_exact_quantiles() {
        let mut stream = Stream::new(1, "spans");
        for count in [EXACT, EXACT + 1, 100_000] {
            let mut samples = Samples::default();
            let mut plain: Vec<u64> = (0..count).map(|_| micros(draw(&mut stream))).collect();
            plain.iter().for_each(|&micros| samples.push(Span::from_micros(micros)));
            plain.sort_unstable();
            let q = samples.quantiles();
            let sum: u64 = plain.iter().sum();
            assert_eq!(q.mean, sum as f64 / count as f64 / 1e3, "{count}");
            assert_eq!(q.max, plain[count - 1] as f64 / 1e3);
            for (share, found) in [(0.5, q.p50), (0.95, q.p95), (0.99, q.p99)] {
                let exact = plain[rank(share, count as u64) as usize - 1] as f64 / 1e3;
                let allowed = if count <= EXACT { 0.0 } else { 0.0005 * exact };
                assert!((found - exact).abs() <= allowed, "{count}, {share}: {found} {exact}");
            }
        }
    }

    #[test]
    fn sets_of_all_sizes_add_up() {
        let mut stream = Stream::new(2, "spans");
        for (a, b) in [(10, 20), (EXACT, 1), (EXACT + 5, 10), (10, EXACT + 5), (20_000, 30_000)] {
            let (mut left, mut right) = (Samples::default(), Samples::default());
            let mut both = Samples::default();
            for (count, side) in [(a, &mut left), (b, &mut right)] {
                for _ in 0..count {
                    let span = draw(&mut stream);
                    side.push(span);
                    both.push(span);
                }
            }
            left.extend(&right);
            assert_eq!(left.len(), (a + b) as u64);
            assert_eq!(left.quantiles(), both.quantiles(), "{a} and {b}");
        }
    }

    #[test]
    fn the_longest_span_fits() {
        let mut samples = Samples::default();
        (0..2 * EXACT).for_each(|_| samples.push(Span::MAX));
        let q = samples.quantiles();
        let (longest, cut) = (Span::MAX.as_millis_f64(), f64::from(u32::MAX) / 1e3);
        assert!((q.max / longest - 1.0).abs() < 1e-9 && (q.mean / longest - 1.0).abs() < 1e-9);
        assert!((q.p50 - cut).abs() < 0.0005 * cut, "{}", q.p50);
    }

    #[test]
    fn means_and_maxima_count_hours() {
        let hour = Span::from_secs(3600);
        let (mut left, mut right) = (Samples::default(), Samples::default());
        left.push(hour);
        right.push(hour * 3);
        right.push(hour * 2);
        left.extend(&right);
        let (q, ms) = (left.quantiles(), hour.as_millis_f64());
        assert_eq!((q.p50, q.mean, q.max), (f64::from(u32::MAX) / 1e3, 2.0 * ms, 3.0 * ms));
        // Nothing changes up to the longest span that quantiles distinguish.
        let mut short = Samples::default();
        short.push(Span::from_micros(u64::from(u32::MAX)));
        assert_eq!(short.quantiles().max, f64::from(u32::MAX) / 1e3);
    }
}
