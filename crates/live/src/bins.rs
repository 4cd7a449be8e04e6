//! What happens over time, in bins whose number is bounded: if there are too many, two become one.

use paceline_cc::{Span, Time};

/// The length of the first bins, and how many there may be before two become one: enough for any
/// plot.
const SHORTEST: Span = Span::from_millis(100);
pub(crate) const MOST: usize = 4096;

/// What is known of a bin.
pub(crate) trait Bin: Copy + Default {
    /// Adds what is known of the bin that follows.
    fn merge(&mut self, next: Self);
}

/// Bins of equal length from time zero on.
#[derive(Clone, Debug)]
pub(crate) struct Bins<B> {
    length: Span,
    bins: Vec<B>,
}

impl<B: Bin> Bins<B> {
    /// No bins yet, with room for so many.
    pub(crate) fn with_capacity(count: usize) -> Bins<B> {
        Bins { length: SHORTEST, bins: Vec::with_capacity(count.min(MOST)) }
    }

    /// The bin of a time.
    #[inline]
    pub(crate) fn at(&mut self, time: Time) -> Option<&mut B> {
        let mut at = self.place(time);
        while at >= MOST {
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

    /// The bins until `end`: where each begins and ends, and what is known of it. The last one may be
    /// shorter.
    pub(crate) fn until(&self, end: Time) -> (Span, Vec<(Time, Time, B)>) {
        let mut bins = self.clone();
        while bins.place(end) > MOST {
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
