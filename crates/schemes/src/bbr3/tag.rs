//! State at the time when a packet was sent, in the eight bytes of its tag.

const COUNT_BITS: u32 = 20;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const FLIGHT_MAX: u64 = (1 << (64 - 2 * COUNT_BITS)) - 1;

/// Numbers of packets: in flight with this one, and lost and marked until then. The last two wrap
/// around after a million, more than a round trip has.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) in_flight: u64,
    lost: u64,
    marked: u64,
}

impl Tag {
    pub(super) fn new(in_flight: u64, lost: u64, marked: u64) -> Tag {
        let in_flight = in_flight.min(FLIGHT_MAX);
        Tag { in_flight, lost: lost & COUNT_MASK, marked: marked & COUNT_MASK }
    }
    pub(super) fn pack(self) -> u64 {
        self.in_flight << (2 * COUNT_BITS) | self.lost << COUNT_BITS | self.marked
    }
    pub(super) fn unpack(tag: u64) -> Tag {
        Tag::new(tag >> (2 * COUNT_BITS), tag >> COUNT_BITS, tag)
    }
    /// Returns the packets lost since the packet was sent; `lost` is their number now.
    pub(super) fn lost_since(self, lost: u64) -> u64 {
        lost.wrapping_sub(self.lost) & COUNT_MASK
    }
    /// Returns the packets marked since the packet was sent; `marked` is their number now.
    pub(super) fn marked_since(self, marked: u64) -> u64 {
        marked.wrapping_sub(self.marked) & COUNT_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_and_wraps() {
        let tag = Tag::unpack(Tag::new(123_456, (1 << 20) + 5, 9).pack());
        assert_eq!(tag.in_flight, 123_456);
        assert_eq!(tag.lost_since((1 << 20) + 8), 3);
        assert_eq!(tag.marked_since(10), 1);
        assert_eq!(Tag::unpack(Tag::new(u64::MAX, 0, 0).pack()).in_flight, FLIGHT_MAX);
        assert_eq!(Tag::new(0, (1 << 20) - 1, 0).lost_since(1 << 20), 1);
    }
}
