//! The blocks that a Linux receiver would list in its next acknowledgement, newest first.

/// Blocks that are kept (`TCP_NUM_SACKS`).
const KEPT: usize = 4;
/// Blocks that an acknowledgement is expected to list, as acknowledgements may be lost (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// Segments that arrived beyond a gap, as half-open blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct SackBlocks {
    blocks: [(u64, u64); KEPT],
    len: usize,
}

impl SackBlocks {
    /// Takes in a segment beyond a gap; all segments below `cumulative` have arrived. Returns true if a delayed
    /// acknowledgement is to leave first, because it may not list the blocks that it is about any more
    /// (`tcp_sack_new_ofo_skb`).
    pub(super) fn insert(&mut self, segment: u64, cumulative: u64) -> bool {
        self.drop_below(cumulative);
        let known = self.blocks[..self.len].iter().position(|&(first, end)| {
            // Adjacent to the block, or within it (`tcp_sack_extend`).
            segment <= end && first <= segment + 1
        });
        let at = known.unwrap_or(self.len);
        if known.is_none() {
            self.len = (self.len + 1).min(KEPT);
            self.blocks[self.len - 1] = (segment, segment + 1);
        }
        let place = at.min(self.len - 1);
        let (first, end) = self.blocks[place];
        self.blocks[place] = (first.min(segment), end.max(segment + 1));
        self.blocks[..=place].rotate_right(1);
        self.join();
        at >= EXPECTED
    }

    /// Joins blocks that the first one reaches now (`tcp_sack_maybe_coalesce`).
    fn join(&mut self) {
        let mut kept = 1;
        for at in 1..self.len {
            let (first, end) = self.blocks[at];
            let newest = &mut self.blocks[0];
            if first <= newest.1 && newest.0 <= end {
                *newest = (newest.0.min(first), newest.1.max(end));
            } else {
                self.blocks[kept] = (first, end);
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// Forgets blocks that the cumulative acknowledgement covers (`tcp_sack_remove`).
    fn drop_below(&mut self, cumulative: u64) {
        let mut kept = 0;
        for at in 0..self.len {
            if self.blocks[at].0 >= cumulative {
                self.blocks[kept] = self.blocks[at];
                kept += 1;
            }
        }
        self.len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_kept_newest_first_and_joined() {
        let mut sacks = SackBlocks::default();
        // Two blocks: no acknowledgement needs to leave.
        assert!(!sacks.insert(2, 0) && !sacks.insert(4, 0));
        assert_eq!(sacks.blocks[..sacks.len], [(4, 5), (2, 3)]);
        assert!(!sacks.insert(5, 0) && !sacks.insert(3, 0));
        assert_eq!(sacks.blocks[..sacks.len], [(2, 6)]);
        // The third block, and every further one.
        assert!(!sacks.insert(8, 0) && sacks.insert(10, 0) && sacks.insert(12, 0));
        assert!(sacks.insert(14, 0));
        assert_eq!(sacks.blocks, [(14, 15), (12, 13), (10, 11), (8, 9)]);
        // A packet between the second block and the third; one at the end of the second.
        assert!(!sacks.insert(11, 0));
        assert_eq!(sacks.blocks, [(10, 13), (14, 15), (8, 9), (8, 9)]);
        assert_eq!(sacks.len, 3);
        assert!(!sacks.insert(15, 0));
        assert_eq!(sacks.blocks[..sacks.len], [(14, 16), (10, 13), (8, 9)]);
        // All below 13 has arrived.
        assert!(!sacks.insert(20, 13));
        assert_eq!(sacks.blocks[..sacks.len], [(20, 21), (14, 16)]);
    }
}
