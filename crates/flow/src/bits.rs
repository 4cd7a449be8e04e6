//! A ring of bits, addressed by ever-growing numbers.

/// One bit for each number of a sliding range. The owner keeps the range's ends and calls
/// [`BitRing::reserve`] before it grows past the capacity.
#[derive(Clone, Debug)]
pub(crate) struct BitRing {
    /// The only word of a ring of up to 64 bits. Most flows need no more, and then the ring
    /// allocates nothing.
    single: u64,
    /// The words of a ring of more than 64 bits; empty for a smaller ring.
    words: Vec<u64>,
    mask: u64,
}

impl BitRing {
    /// Returns a ring of at least `capacity` bits, all clear.
    pub(crate) fn new(capacity: u64) -> BitRing {
        let words = (capacity.max(64).next_power_of_two() / 64) as usize;
        let several = if words > 1 { words } else { 0 };
        BitRing { single: 0, words: vec![0; several], mask: words as u64 - 1 }
    }

    /// Returns the number of bits that the ring has room for.
    pub(crate) fn capacity(&self) -> u64 {
        (self.mask + 1) * 64
    }

    /// Makes room for the numbers in from..to. Keeps the bits of from..old_to.
    #[inline]
    pub(crate) fn reserve(&mut self, from: u64, old_to: u64, to: u64) {
        if to - from > self.capacity() {
            self.grow(from, old_to, to);
        }
    }

    #[cold]
    fn grow(&mut self, from: u64, old_to: u64, to: u64) {
        let mut grown = BitRing::new(to - from);
        let mut at = from;
        while let Some(number) = self.next_set(at, old_to) {
            grown.set(number);
            at = number + 1;
        }
        *self = grown;
    }

    #[inline]
    fn word(&self, number: u64) -> u64 {
        *self.words.get(((number / 64) & self.mask) as usize).unwrap_or(&self.single)
    }

    #[inline]
    fn word_mut(&mut self, number: u64) -> &mut u64 {
        self.words.get_mut(((number / 64) & self.mask) as usize).unwrap_or(&mut self.single)
    }

    #[inline]
    pub(crate) fn set(&mut self, number: u64) {
        *self.word_mut(number) |= 1 << (number % 64);
    }

    #[inline]
    pub(crate) fn clear(&mut self, number: u64) {
        *self.word_mut(number) &= !(1 << (number % 64));
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> bool {
        self.word(number) >> (number % 64) & 1 == 1
    }

    /// Clears the set bits from `from` on, up to the first clear bit or to `to`, and returns where
    /// it stopped. Clears up to 64 bits at a time: when a gap is filled, thousands of set bits may
    /// follow it.
    pub(crate) fn clear_run(&mut self, from: u64, to: u64) -> u64 {
        let mut at = from;
        while at < to {
            let shift = at % 64;
            let word = self.word_mut(at);
            // Stays within the word: the shift fills up with zeros, which end the run.
            let run = u64::from((!(*word >> shift)).trailing_zeros()).min(to - at);
            if run == 0 {
                break;
            }
            *word &= !((u64::MAX >> (64 - run)) << shift);
            at += run;
        }
        at
    }

    /// Returns the first clear bit in from..to.
    #[inline]
    pub(crate) fn next_clear(&self, from: u64, to: u64) -> Option<u64> {
        let mut at = from;
        while at < to {
            let word = !self.word(at) >> (at % 64);
            if word != 0 {
                let found = at + u64::from(word.trailing_zeros());
                return (found < to).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Returns the last clear bit in from..to.
    pub(crate) fn last_clear(&self, from: u64, to: u64) -> Option<u64> {
        let mut end = to;
        while end > from {
            let last = end - 1;
            let word = !self.word(last) << (63 - last % 64);
            if word != 0 {
                let found = last - u64::from(word.leading_zeros());
                return (found >= from).then_some(found);
            }
            end = last / 64 * 64;
        }
        None
    }

    /// Returns the first set bit in from..to.
    #[inline]
    pub(crate) fn next_set(&self, from: u64, to: u64) -> Option<u64> {
        let mut at = from;
        while at < to {
            let word = self.word(at) >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros() as u64;
                return (found < to).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_plain_vector() {
        let mut random = paceline_cc::Stream::new(1, "bits");
        let mut ring = BitRing::new(64);
        let (mut from, mut to) = (0u64, 0u64);
        let mut plain = vec![false; 5000];
        while to < 4900 {
            match random.below(3) {
                0 if from < to => {
                    ring.clear(from);
                    from += 1;
                }
                _ => {
                    ring.reserve(from, to, to + 1);
                    ring.clear(to);
                    if random.chance(0.3) {
                        ring.set(to);
                        plain[to as usize] = true;
                    }
                    to += 1;
                }
            }
            let expected = (from..to).find(|&n| plain[n as usize]);
            assert_eq!(ring.next_set(from, to), expected);
            let expected = (from..to).find(|&n| !plain[n as usize]);
            assert_eq!(ring.next_clear(from, to), expected);
            let mut cleared = ring.clone();
            let end = cleared.clear_run(from, to);
            assert_eq!(end, expected.unwrap_or(to));
            assert!((from..to).all(|n| cleared.get(n) == (n >= end && plain[n as usize])));
        }
        assert!(ring.capacity() > 64);
    }
}
