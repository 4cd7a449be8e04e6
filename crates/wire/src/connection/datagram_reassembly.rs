//! Datagrams that arrive in parts, because they are longer than the path's packets.

use std::collections::BTreeMap;

/// Largest number of incomplete datagrams; beyond it the oldest is dropped.
const MOST_OPEN: usize = 32;
/// Length of the longest datagram in bytes.
const LONGEST: usize = 65_535;

/// A datagram of which some parts have arrived.
#[derive(Debug)]
struct PartialDatagram {
    /// Its parts in order; `None` for a missing part.
    parts: Vec<Option<Box<[u8]>>>,
    missing: usize,
    bytes: usize,
}

/// The incomplete datagrams, by the segment of their first part.
#[derive(Debug, Default)]
pub(super) struct DatagramReassembly {
    open: BTreeMap<u64, PartialDatagram>,
    /// Total bytes of their parts.
    buffered_bytes: u64,
}

impl DatagramReassembly {
    /// Returns the bytes stored for incomplete datagrams.
    pub(super) fn buffered_bytes(&self) -> u64 {
        self.buffered_bytes
    }

    /// Takes in part `index` of `count`, which arrived as this segment. Returns the datagram once
    /// it is complete. Ignores a part that contradicts others of its datagram.
    #[cold]
    pub(super) fn push(
        &mut self,
        segment: u64,
        (index, count): (u8, u8),
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        let first = segment.checked_sub(u64::from(index))?;
        let count = usize::from(count);
        let open = self.open.entry(first).or_insert_with(|| PartialDatagram {
            parts: vec![None; count],
            missing: count,
            bytes: 0,
        });
        let fits = open.parts.len() == count && open.bytes + bytes.len() <= LONGEST;
        let place = open.parts.get_mut(usize::from(index));
        let place = place.filter(|place| fits && place.is_none());
        if let Some(place) = place {
            *place = Some(bytes.into());
            open.missing -= 1;
            open.bytes += bytes.len();
            self.buffered_bytes += bytes.len() as u64;
        }
        if open.missing == 0 {
            let whole = self.forget(first)?;
            return Some(whole.parts.into_iter().flatten().flatten().collect());
        }
        if self.open.len() > MOST_OPEN
            && let Some(&oldest) = self.open.keys().next()
        {
            self.forget(oldest);
        }
        None
    }

    fn forget(&mut self, first: u64) -> Option<PartialDatagram> {
        let open = self.open.remove(&first)?;
        self.buffered_bytes -= open.bytes as u64;
        Some(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_whole_when_all_its_parts_have_come_in_any_order() {
        let mut reassembly = DatagramReassembly::default();
        assert_eq!(reassembly.push(12, (2, 3), b"ef"), None);
        assert_eq!(reassembly.push(14, (1, 2), b"yz"), None);
        assert_eq!(reassembly.push(10, (0, 3), b"ab"), None);
        assert_eq!(reassembly.push(10, (0, 3), b"??"), None, "it is there already");
        assert_eq!(reassembly.buffered_bytes(), 6);
        assert_eq!(reassembly.push(11, (1, 3), b"cd"), Some(b"abcdef".to_vec()));
        assert_eq!(reassembly.push(13, (0, 2), b"wx"), Some(b"wxyz".to_vec()));
        assert_eq!((reassembly.buffered_bytes(), reassembly.open.len()), (0, 0));
    }

    #[test]
    fn parts_that_contradict_each_other_are_forgotten() {
        let mut reassembly = DatagramReassembly::default();
        assert_eq!(reassembly.push(0, (1, 2), b"b"), None, "a datagram before the first segment");
        assert_eq!(reassembly.push(10, (0, 3), b"a"), None);
        assert_eq!(reassembly.push(11, (1, 2), b"b"), None);
        assert_eq!(reassembly.push(11, (1, 3), &[0; LONGEST]), None, "too long together");
        assert_eq!((reassembly.buffered_bytes(), reassembly.open.len()), (1, 1));
    }

    #[test]
    fn memory_for_incomplete_datagrams_is_bounded() {
        let mut reassembly = DatagramReassembly::default();
        for first in (0..10_000).map(|number| number * 2) {
            assert_eq!(reassembly.push(first, (0, 2), &[7; 100]), None);
            assert!(reassembly.buffered_bytes() <= (MOST_OPEN * 100) as u64);
        }
        // The newest datagrams can still be completed, the oldest cannot.
        assert_eq!(reassembly.push(19_999, (1, 2), b"").map(|whole| whole.len()), Some(100));
        assert_eq!(reassembly.push(1, (1, 2), b""), None);
    }
}
