//! The receiver's memory of which transmission numbers have arrived.

use paceline_cc::ACK_BLOCKS;

/// How many blocks the receiver remembers. When one more begins, it forgets the lowest.
const REMEMBERED: usize = 32;

/// An inclusive range of numbers.
#[derive(Copy, Clone, Debug, Default)]
struct Block {
    first: u64,
    last: u64,
}

/// How many numbers a block has; an acknowledgement has 32 bits for it.
#[inline]
fn length(block: &Block) -> u32 {
    u32::try_from(block.last - block.first + 1).unwrap_or(u32::MAX)
}

/// Ranges of received numbers, newest first.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: [Block; REMEMBERED],
    len: usize,
    /// The lengths of the blocks after the first and the gaps before them, for acknowledgements.
    lengths: [u32; ACK_BLOCKS],
    gaps: [u32; ACK_BLOCKS - 1],
}

/// Where a number that arrives stands among those that have arrived before.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The number after the largest so far.
    InOrder,
    /// A number above a gap, or one that fills a gap.
    OutOfOrder,
    /// It has arrived before, or lies below all the blocks that are remembered.
    Duplicate,
}

impl Blocks {
    pub(crate) fn new() -> Blocks {
        Blocks {
            blocks: [Block::default(); REMEMBERED],
            len: 0,
            lengths: [0; ACK_BLOCKS],
            gaps: [0; ACK_BLOCKS - 1],
        }
    }

    /// Notes that `number` has arrived.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64) -> Arrival {
        if self.len > 0 {
            let newest = &mut self.blocks[0];
            if number == newest.last + 1 {
                newest.last = number;
                return Arrival::InOrder;
            }
            if number > newest.last {
                self.open(0, number);
                self.note_older();
                return Arrival::OutOfOrder;
            }
            let arrival = self.insert_old(number);
            self.note_older();
            return arrival;
        }
        self.open(0, number);
        if number == 0 { Arrival::InOrder } else { Arrival::OutOfOrder }
    }

    /// The largest number received; `None` before the first.
    pub(crate) fn largest(&self) -> Option<u64> {
        (self.len > 0).then(|| self.blocks[0].last)
    }

    /// The newest blocks in an acknowledgement's form: the largest number, the blocks' lengths, and
    /// the gaps between them.
    #[inline]
    pub(crate) fn newest(&self) -> (u64, [u32; ACK_BLOCKS], [u32; ACK_BLOCKS - 1]) {
        let newest = &self.blocks[0];
        let mut lengths = self.lengths;
        lengths[0] = if self.len > 0 { length(newest) } else { 0 };
        (newest.last, lengths, self.gaps)
    }

    /// Works out the lengths of the blocks after the first, and the gaps before them: they only
    /// change when packets come out of order.
    fn note_older(&mut self) {
        (self.lengths, self.gaps) = ([0; ACK_BLOCKS], [0; ACK_BLOCKS - 1]);
        for i in 1..self.len.min(ACK_BLOCKS) {
            let gap = self.blocks[i - 1].first - self.blocks[i].last - 1;
            self.gaps[i - 1] = u32::try_from(gap).unwrap_or(u32::MAX);
            self.lengths[i] = length(&self.blocks[i]);
        }
    }

    /// Opens a block of one number at place `at`.
    fn open(&mut self, at: usize, number: u64) {
        if at >= REMEMBERED {
            return;
        }
        self.len = (self.len + 1).min(REMEMBERED);
        self.blocks.copy_within(at..self.len - 1, at + 1);
        self.blocks[at] = Block { first: number, last: number };
    }

    /// Notes a number below the largest.
    fn insert_old(&mut self, number: u64) -> Arrival {
        for i in 0..self.len {
            let block = self.blocks[i];
            if number > block.last {
                // Between the block above and this one.
                let touches_above = i > 0 && number + 1 == self.blocks[i - 1].first;
                let touches_below = number == block.last + 1;
                match (touches_above, touches_below) {
                    (true, true) => {
                        self.blocks[i - 1].first = block.first;
                        self.blocks.copy_within(i + 1..self.len, i);
                        self.len -= 1;
                    }
                    (true, false) => self.blocks[i - 1].first = number,
                    (false, true) => self.blocks[i].last = number,
                    (false, false) => self.open(i, number),
                }
                return Arrival::OutOfOrder;
            }
            if number >= block.first {
                return Arrival::Duplicate;
            }
        }
        let oldest = &mut self.blocks[self.len - 1];
        if number + 1 == oldest.first {
            oldest.first = number;
            Arrival::OutOfOrder
        } else if self.len < REMEMBERED {
            self.open(self.len, number);
            Arrival::OutOfOrder
        } else {
            Arrival::Duplicate
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Ack;
    use std::collections::BTreeSet;

    #[test]
    fn matches_a_set_under_random_arrivals() {
        let mut random = paceline_cc::Stream::new(3, "blocks");
        for _ in 0..200 {
            let mut blocks = Blocks::new();
            let mut set = BTreeSet::new();
            let mut next = 0u64;
            for _ in 0..300 {
                // Mostly ahead, sometimes skipping, sometimes back among the newest 20.
                let number = match random.below(10) {
                    0 => next + random.below(3),
                    1 => next.saturating_sub(random.below(20)),
                    _ => next,
                };
                next = next.max(number + 1);
                let fresh = set.insert(number);
                let arrival = blocks.insert(number);
                assert_eq!(fresh, arrival != Arrival::Duplicate, "{number}");
                assert_eq!(blocks.largest(), set.last().copied());
                let (largest, lengths, gaps) = blocks.newest();
                let ack = Ack { largest, lengths, gaps, ..Ack::default() };
                let mut seen = 0;
                let mut below = u64::MAX;
                for (first, last) in ack.blocks() {
                    assert!((first..=last).all(|n| set.contains(&n)));
                    assert!(last < below && !set.contains(&(last + 1)));
                    below = first;
                    seen += 1;
                }
                assert!(seen >= 1);
            }
        }
    }

    #[test]
    fn forgets_the_oldest() {
        let mut blocks = Blocks::new();
        for i in 0..200 {
            blocks.insert(2 * i);
        }
        assert_eq!(blocks.largest(), Some(398));
        assert_eq!(blocks.insert(1), Arrival::Duplicate);
    }
}
