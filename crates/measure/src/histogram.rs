//! A histogram of samples: as exact as the samples themselves, in memory that does not grow with
//! time.

use paceline_cc::Span;

use crate::{Beyond, Quantiles, micros, rank};

/// Number of counters in a block, one per microsecond.
const BLOCK: usize = 1024;

/// How often each span of time has occurred, in microseconds. Its quantiles equal those of
/// [`Samples`](crate::Samples). Its memory depends on how different the samples are, not on their
/// number: 8 kB per millisecond in which any sample falls. Adding a sample takes constant time, and
/// allocates only in a millisecond without samples.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    blocks: Vec<Option<Box<[u64; BLOCK]>>>,
    count: u64,
    sum: u128,
    /// The parts of samples above the last counter.
    beyond: Beyond,
}

impl Histogram {
    /// Adds a sample. In quantiles, samples above 71.6 minutes count as 71.6 minutes.
    #[inline]
    pub fn push(&mut self, span: Span) {
        let micros = self.beyond.cut(micros(span));
        let (block, place) = (micros as usize / BLOCK, micros as usize % BLOCK);
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, None);
        }
        self.blocks[block].get_or_insert_with(|| Box::new([0; BLOCK]))[place] += 1;
        self.count += 1;
        self.sum += u128::from(micros);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns true if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the mean, and the quantiles by nearest rank.
    pub fn quantiles(&self) -> Quantiles {
        if self.count == 0 {
            return Quantiles::default();
        }
        let shares = [0.5, 0.95, 0.99, 1.0].map(|share| rank(share, self.count));
        let mut found = [0.0; 4];
        let (mut next, mut passed) = (0, 0);
        for (at, block) in self.blocks.iter().enumerate() {
            let Some(block) = block else { continue };
            for (place, &count) in block.iter().enumerate().filter(|(_, count)| **count > 0) {
                passed += count;
                while next < shares.len() && shares[next] <= passed {
                    found[next] = (at * BLOCK + place) as f64 / 1e3;
                    next += 1;
                }
            }
        }
        let [p50, p95, p99, max] = found;
        let mean = (self.sum + self.beyond.sum) as f64 / self.count as f64 / 1e3;
        let max = max + self.beyond.max as f64 / 1e3;
        Quantiles { mean, p50, p95, p99, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Samples;
    use paceline_cc::Stream;

    #[test]
    fn counts_and_samples_give_equal_quantiles() {
        let mut stream = Stream::new(1, "delays");
        for count in [1, 2, 19, 20, 21, 1000, crate::EXACT] {
            let (mut samples, mut histogram) = (Samples::default(), Histogram::default());
            for _ in 0..count {
                let span = Span::from_secs_f64(stream.exponential(0.1));
                samples.push(span);
                histogram.push(span);
            }
            assert_eq!(histogram.quantiles(), samples.quantiles(), "{count}");
        }
        assert_eq!(Histogram::default().quantiles(), Quantiles::default());
    }

    #[test]
    fn the_longest_span_fits() {
        let mut histogram = Histogram::default();
        histogram.push(Span::from_secs(7200));
        histogram.push(Span::from_secs(14_400));
        let q = histogram.quantiles();
        assert_eq!((q.p50, q.mean, q.max), (f64::from(u32::MAX) / 1e3, 10_800e3, 14_400e3));
    }
}
