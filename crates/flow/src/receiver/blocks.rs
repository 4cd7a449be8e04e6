//! The receiver's memory of which transmission numbers have arrived.

use paceline_cc::{ACK_BLOCKS, ACK_RANGES, Ack};

/// Number of blocks that the receiver remembers besides the newest. When one more begins, it
/// forgets the lowest.
const OLDER: usize = ACK_RANGES - 1;
/// Index in `older` of the first block that an [`Ack`] has no room for.
const BESIDE: usize = ACK_BLOCKS - 1;
/// Number of older blocks that memory is allocated for when the first gap appears.
const FIRST: usize = 6;

/// An inclusive range of numbers.
#[derive(Copy, Clone, Debug, Default)]
struct Block {
    first: u64,
    last: u64,
    /// Value of [`Blocks::changes`] after the block last changed, or after it no longer fitted into
    /// an [`Ack`].
    changed: u16,
}

/// Returns how many numbers a block has, limited to 32 bits, as in an acknowledgement.
#[inline]
fn length(block: &Block) -> u32 {
    u32::try_from(block.last - block.first + 1).unwrap_or(u32::MAX)
}

/// Ranges of received numbers.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    /// The range with the largest numbers; meaningless while `none`.
    newest: Block,
    /// True until the first number arrives.
    none: bool,
    /// The ranges below it, newest first; mostly empty.
    older: Vec<Block>,
    /// Number of changes of the older blocks, modulo 2¹⁶.
    changes: u16,
    /// Lengths of the blocks after the first and the gaps before them, as acknowledgements need
    /// them.
    lengths: [u32; ACK_BLOCKS],
    gaps: [u32; ACK_BLOCKS - 1],
}

/// Position of an arriving number relative to those that arrived before.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The number after the largest so far.
    InOrder,
    /// A number above a gap, or one that fills a gap.
    OutOfOrder,
    /// A number that has arrived before, or lies below all remembered blocks.
    Duplicate,
}

impl Blocks {
    pub(crate) fn new() -> Blocks {
        Blocks {
            newest: Block::default(),
            none: true,
            older: Vec::new(),
            changes: 0,
            lengths: [0; ACK_BLOCKS],
            gaps: [0; ACK_BLOCKS - 1],
        }
    }

    /// Notes that `number` has arrived. Returns its position.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64) -> Arrival {
        if number == self.newest.last + 1 && !self.none {
            self.newest.last = number;
            return Arrival::InOrder;
        }
        self.insert_elsewhere(number)
    }

    /// Notes a number that does not follow the largest, or the very first.
    #[inline(never)]
    fn insert_elsewhere(&mut self, number: u64) -> Arrival {
        let alone = Block { first: number, last: number, changed: 0 };
        if self.none {
            (self.newest, self.none) = (alone, false);
            return if number == 0 { Arrival::InOrder } else { Arrival::OutOfOrder };
        }
        let arrival = if number > self.newest.last {
            let below = std::mem::replace(&mut self.newest, alone);
            self.open(0, below);
            Arrival::OutOfOrder
        } else if number >= self.newest.first {
            return Arrival::Duplicate;
        } else {
            self.insert_old(number)
        };
        self.note_older();
        arrival
    }

    /// Returns the largest number received; `None` before the first.
    #[inline]
    pub(crate) fn largest(&self) -> Option<u64> {
        (!self.none).then_some(self.newest.last)
    }

    /// Returns the newest blocks in an acknowledgement's form: the largest number, the blocks'
    /// lengths, and the gaps between them.
    #[inline]
    pub(crate) fn newest(&self) -> (u64, [u32; ACK_BLOCKS], [u32; ACK_BLOCKS - 1]) {
        let mut lengths = self.lengths;
        lengths[0] = if self.none { 0 } else { length(&self.newest) };
        (self.newest.last, lengths, self.gaps)
    }

    /// Returns [`Ack::older`] for an acknowledgement sent now.
    #[inline]
    pub(crate) fn changes(&self) -> u16 {
        self.changes
    }

    /// Returns the blocks below those of `ack`, newest first, as they were when it was made. Blocks
    /// that have changed since are left out: the next acknowledgement reports them.
    pub(crate) fn older(&self, ack: &Ack) -> impl Iterator<Item = (u64, u64)> + '_ {
        let lowest = ack.blocks().last().map_or(0, |(first, _)| first);
        let made = ack.older;
        let unchanged = move |block: &&Block| made.wrapping_sub(block.changed) < 1 << 15;
        let below = self.older.iter().skip_while(move |block| block.last >= lowest);
        below.filter(unchanged).map(|block| (block.first, block.last))
    }

    /// Computes the lengths of the blocks after the first, and the gaps before them. They change
    /// only when packets arrive out of order.
    fn note_older(&mut self) {
        (self.lengths, self.gaps) = ([0; ACK_BLOCKS], [0; ACK_BLOCKS - 1]);
        let mut above = self.newest;
        for (i, block) in self.older.iter().take(ACK_BLOCKS - 1).enumerate() {
            let gap = above.first - block.last - 1;
            self.gaps[i] = u32::try_from(gap).unwrap_or(u32::MAX);
            self.lengths[i + 1] = length(block);
            above = *block;
        }
    }

    /// Inserts a block at index `at` of the older ones. Forgets the lowest block if there are too
    /// many.
    fn open(&mut self, at: usize, block: Block) {
        self.older.truncate(OLDER - 1);
        if self.older.len() == self.older.capacity() {
            // Allocates a few at first, since flows may be many, then the maximum, so that a flow
            // allocates at most twice.
            let more = if self.older.is_empty() { FIRST } else { OLDER - self.older.len() };
            self.older.reserve_exact(more);
        }
        self.older.insert(at.min(self.older.len()), block);
        if at < BESIDE {
            self.note_change(BESIDE);
        }
    }

    /// Notes that the older block at index `at`, if there is one, has changed.
    fn note_change(&mut self, at: usize) {
        if let Some(block) = self.older.get_mut(at) {
            self.changes = self.changes.wrapping_add(1);
            block.changed = self.changes;
        }
    }

    /// Inserts a block of one number at index `at` of the older ones.
    fn open_alone(&mut self, at: usize, number: u64) {
        self.open(at, Block { first: number, last: number, changed: 0 });
        self.note_change(at);
    }

    /// Returns the block above the older one at index `at`.
    fn above(&mut self, at: usize) -> &mut Block {
        match at.checked_sub(1) {
            Some(above) => &mut self.older[above],
            None => &mut self.newest,
        }
    }

    /// Notes a number below the newest block. Returns its position.
    fn insert_old(&mut self, number: u64) -> Arrival {
        for i in 0..self.older.len() {
            let block = self.older[i];
            if number > block.last {
                // The number lies between the block above and this one.
                let touches_above = number + 1 == self.above(i).first;
                let touches_below = number == block.last + 1;
                match (touches_above, touches_below) {
                    (true, true) => {
                        self.above(i).first = block.first;
                        self.older.remove(i);
                        self.note_change(i.wrapping_sub(1));
                    }
                    (true, false) => {
                        self.above(i).first = number;
                        self.note_change(i.wrapping_sub(1));
                    }
                    (false, true) => {
                        self.older[i].last = number;
                        self.note_change(i);
                    }
                    (false, false) => self.open_alone(i, number),
                }
                return Arrival::OutOfOrder;
            }
            if number >= block.first {
                return Arrival::Duplicate;
            }
        }
        let end = self.older.len();
        let oldest = self.above(end);
        if number + 1 == oldest.first {
            oldest.first = number;
            self.note_change(end.wrapping_sub(1));
            Arrival::OutOfOrder
        } else if end < OLDER {
            self.open_alone(end, number);
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
                // Mostly the next number, sometimes after a gap, sometimes among the newest 20.
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

    /// Checks acknowledgements that were held back: with the blocks beside them they report nothing
    /// that arrived after they were made, and everything before if nothing has changed since.
    #[test]
    fn older_blocks_are_those_of_the_acknowledgement() {
        let mut random = paceline_cc::Stream::new(4, "older blocks");
        for _ in 0..200 {
            let mut blocks = Blocks::new();
            let mut arrived = BTreeSet::new();
            let mut held: Vec<(Ack, BTreeSet<u64>)> = Vec::new();
            let (mut next, mut forgets) = (0u64, false);
            for _ in 0..150 {
                let number = match random.below(10) {
                    0..3 => next + 1,
                    3 => next.saturating_sub(random.below(40)),
                    _ => next,
                };
                next = next.max(number + 1);
                blocks.insert(number);
                arrived.insert(number);
                let (largest, lengths, gaps) = blocks.newest();
                let ack = Ack { largest, lengths, gaps, older: blocks.changes(), ..Ack::default() };
                let told = |ack: &Ack| -> BTreeSet<u64> {
                    let all = ack.blocks().chain(blocks.older(ack));
                    all.flat_map(|(first, last)| first..=last).collect()
                };
                forgets |= blocks.older.len() == OLDER;
                assert!(forgets || told(&ack) == arrived);
                held.push((ack, arrived.clone()));
                let (ack, known) = &held[random.below(held.len() as u64) as usize];
                assert!(told(ack).is_subset(known));
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
