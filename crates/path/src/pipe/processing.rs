//! Processing times of a host.

use paceline_cc::{Span, Stream};

/// Draws processing times, uniform in [0, `longest`) with a resolution of `longest` / 256.
#[derive(Clone, Debug)]
pub(super) struct Processing {
    /// In nanoseconds.
    longest: u64,
    stream: Stream,
    /// The unused bits of the last 64 random bits: each draw uses 8.
    bits: u64,
    left: u32,
}

impl Processing {
    pub(super) fn new(longest: Span, stream: Stream) -> Processing {
        // At most two years, so that the product of a draw fits into 64 bits.
        let longest = longest.as_nanos().min(u64::MAX >> 8);
        Processing { longest, stream, bits: 0, left: 0 }
    }

    #[inline]
    pub(super) fn draw(&mut self) -> Span {
        if self.left == 0 {
            self.refill();
        }
        let share = self.bits & 0xff;
        self.bits >>= 8;
        self.left -= 1;
        Span::from_nanos((self.longest * share) >> 8)
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        (self.bits, self.left) = (self.stream.next_u64(), 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_uniform() {
        let mut processing = Processing::new(Span::from_millis(1), Stream::new(1, "host"));
        let draws: Vec<f64> = (0..40_000).map(|_| processing.draw().as_millis_f64()).collect();
        assert!(draws.iter().all(|time| (0.0..1.0).contains(time)));
        let mean = draws.iter().sum::<f64>() / 4e4;
        let below = draws.iter().filter(|time| **time < 0.25).count();
        assert!((0.49..0.51).contains(&mean) && (9_700..10_300).contains(&below), "{mean} {below}");
    }
}
