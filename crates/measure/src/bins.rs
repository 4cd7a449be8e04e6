//! Counters over time in at most [`MOST_BINS`] bins. When a later bin is needed, each pair of bins
//! becomes one.

use paceline_cc::{Span, Time};

/// Length of the bins at the start.
const SHORTEST: Span = Span::from_millis(100);
/// Largest number of bins: enough for any plot.
pub const MOST_BINS: usize = 4096;

/// The counters of a bin.
pub trait Bin: Copy + Default {
    /// Adds the counters of the bin that follows.
    fn merge(&mut self, next: Self);
}

/// Bins of equal length from time zero on.
#[derive(Clone, Debug)]
pub struct Bins<B> {
    length: Span,
    bins: Vec<B>,
}

impl<B: Bin> Bins<B> {
    /// Creates an empty list with memory for `count` bins.
    pub fn with_capacity(count: usize) -> Bins<B> {
        Bins { length: SHORTEST, bins: Vec::with_capacity(count.min(MOST_BINS)) }
    }

    /// Returns the bin in which `time` lies.
    #[inline]
    pub fn at(&mut self, time: Time) -> Option<&mut B> {
        let mut at = self.place(time);
        while at >= MOST_BINS {
            self.merge();
            at = self.place(time);
        }
        if self.bins.len() <= at {
            self.bins.resize(at + 1, B::default());
        }
        self.bins.get_mut(at)
    }

    fn place(&self, time: Time) -> usize {
        (time.as_nanos() / self.length.as_nanos()) as usize
    }

    fn merge(&mut self) {
        let half = self.bins.len().div_ceil(2);
        for at in 0..half {
            let mut bin = self.bins[2 * at];
            if let Some(next) = self.bins.get(2 * at + 1) {
                bin.merge(*next);
            }
            self.bins[at] = bin;
        }
        self.bins.truncate(half);
        self.length = self.length * 2;
    }

    /// Returns the length of the bins, and start, end and counters of each until `end`. The last
    /// one may be shorter.
    pub fn until(&self, end: Time) -> (Span, Vec<(Time, Time, B)>) {
        let mut bins = self.clone();
        while bins.place(end) > MOST_BINS {
            bins.merge();
        }
        let count = end.as_nanos().div_ceil(bins.length.as_nanos());
        let bin = |at: u64| {
            let from = Time::ZERO + bins.length * at;
            let known = bins.bins.get(at as usize).copied().unwrap_or_default();
            (from, (from + bins.length).min(end), known)
        };
        (bins.length, (0..count).map(bin).collect())
    }
}
