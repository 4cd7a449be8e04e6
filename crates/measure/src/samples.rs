//! The distribution of many spans of time, in bounded memory.

use hdrhistogram::Histogram as Hdr;
use paceline_cc::Span;

use crate::{Quantiles, micros, rank};

/// Number of samples that are stored one by one; with more, they are counted in a histogram.
pub const EXACT: usize = 8192;

/// Three significant digits: the values of one counter differ by less than a thousandth.
const DIGITS: u8 = 3;

/// Spans of time, in microseconds, in bounded memory.
///
/// The number of samples, their mean and the largest are always exact (to half a microsecond).
/// Quantiles are exact for up to [`EXACT`] samples. With more, each sample is only counted in a
/// histogram whose bins are less than a thousandth of their value wide, and a quantile is the
/// middle of its bin, with an error below 0.05 %. Memory is 32 kB at first, and below 200 kB for
/// any number of samples.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The samples themselves, while they are few.
    few: Vec<u32>,
    /// All samples, once they are many.
    many: Option<Box<Hdr<u64>>>,
    count: u64,
    sum: u128,
    max: u32,
}

impl Samples {
    /// Returns an empty set with room for `count` samples.
    pub fn with_capacity(count: usize) -> Samples {
        Samples { few: Vec::with_capacity(count.min(EXACT)), ..Samples::default() }
    }

    /// Adds a sample; samples above 71 minutes count as 71 minutes.
    #[inline]
    pub fn push(&mut self, span: Span) {
        self.add(micros(span));
    }

    #[inline]
    fn add(&mut self, micros: u32) {
        self.count += 1;
        self.sum += u128::from(micros);
        self.max = self.max.max(micros);
        match &mut self.many {
            Some(many) => count(many, micros),
            None if self.few.len() < EXACT => self.few.push(micros),
            None => self.pour(micros),
        }
    }

    /// Moves the single samples into a histogram, and adds one sample.
    #[cold]
    fn pour(&mut self, micros: u32) {
        // An error would need more digits than `DIGITS`; the samples are kept in that case.
        let Ok(mut many) = Hdr::<u64>::new(DIGITS) else { return self.few.push(micros) };
        many.auto(true);
        for micros in self.few.iter().copied().chain([micros]) {
            count(&mut many, micros);
        }
        self.few = Vec::new();
        self.many = Some(Box::new(many));
    }

    /// Adds the samples of another set.
    pub fn extend(&mut self, other: &Samples) {
        other.few.iter().for_each(|&micros| self.add(micros));
        let Some(theirs) = &other.many else { return };
        if self.many.is_none()
            && let Ok(mut many) = Hdr::<u64>::new(DIGITS)
        {
            many.auto(true);
            self.few.drain(..).for_each(|micros| count(&mut many, micros));
            self.many = Some(Box::new(many));
        }
        if let Some(many) = &mut self.many {
            // Both grow by themselves and have equal digits, so no value is out of range.
            let _ = many.add(&**theirs);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns true if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns [`Samples::quantiles`]; `None` without samples.
    pub fn quantiles_if_any(&self) -> Option<Quantiles> {
        (!self.is_empty()).then(|| self.quantiles())
    }

    /// Returns the mean, and the quantiles by nearest rank: the smallest sample that at least that
    /// share of all samples does not exceed.
    pub fn quantiles(&self) -> Quantiles {
        if self.count == 0 {
            return Quantiles::default();
        }
        let mut sorted = self.few.clone();
        sorted.sort_unstable();
        let at = |share: f64| match &self.many {
            None => f64::from(sorted[rank(share, self.count) as usize - 1]) / 1e3,
            Some(many) => {
                let bin = many.value_at_quantile(share);
                many.median_equivalent(bin).min(u64::from(self.max)) as f64 / 1e3
            }
        };
        Quantiles {
            mean: self.sum as f64 / self.count as f64 / 1e3,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: f64::from(self.max) / 1e3,
        }
    }
}

/// Counts a sample in a histogram that grows by itself, so that no value is out of its range.
#[inline]
fn count(many: &mut Hdr<u64>, micros: u32) {
    let _ = many.record(u64::from(micros));
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
        assert_eq!(Samples::default().quantiles(), Quantiles::default());
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
            let mut plain: Vec<u32> = (0..count).map(|_| micros(draw(&mut stream))).collect();
            plain.iter().for_each(|&micros| samples.push(Span::from_micros(u64::from(micros))));
            plain.sort_unstable();
            let q = samples.quantiles();
            let sum: u64 = plain.iter().map(|&micros| u64::from(micros)).sum();
            assert_eq!(q.mean, sum as f64 / count as f64 / 1e3, "{count}");
            assert_eq!(q.max, f64::from(plain[count - 1]) / 1e3);
            for (share, found) in [(0.5, q.p50), (0.95, q.p95), (0.99, q.p99)] {
                let exact = f64::from(plain[rank(share, count as u64) as usize - 1]) / 1e3;
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
        assert_eq!(q.max, f64::from(u32::MAX) / 1e3);
        assert!((q.p50 - q.max).abs() < 0.0005 * q.max, "{}", q.p50);
    }
}
