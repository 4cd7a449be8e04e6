//! Segments that arrive in parts, because the path carries only smaller packets than before.

use std::collections::BTreeMap;

use crate::frame;

/// Largest number of parts of a segment.
const MOST_PARTS: usize = 64;

/// A segment of which some parts have arrived.
#[derive(Debug)]
struct PartialSegment {
    bytes: Vec<u8>,
    /// The byte ranges that have arrived.
    ranges: Vec<(usize, usize)>,
    /// Bytes on the wire of the parts that have arrived.
    size: u32,
}

/// The incomplete segments.
#[derive(Debug, Default)]
pub(super) struct SegmentReassembly {
    segments: BTreeMap<u64, PartialSegment>,
    /// Total bytes of their parts.
    buffered_bytes: u64,
}

impl SegmentReassembly {
    /// Returns the bytes stored for incomplete segments.
    pub(super) fn buffered_bytes(&self) -> u64 {
        self.buffered_bytes
    }

    /// Takes in a part whose packet has `size` bytes on the wire. Once the segment is complete,
    /// returns it and the bytes on the wire of all its parts.
    ///
    /// # Errors
    /// If the part contradicts earlier parts of the segment.
    pub(super) fn push(
        &mut self,
        part: &frame::Part<'_>,
        size: u32,
    ) -> Result<Option<(Vec<u8>, u32)>, ()> {
        let (from, total) = (usize::from(part.offset), usize::from(part.total));
        let end = from + part.data.bytes.len();
        if end > total || from == end {
            return Err(());
        }
        let buffered_bytes = &mut self.buffered_bytes;
        let segment = self.segments.entry(part.data.segment).or_insert_with(|| {
            *buffered_bytes += total as u64;
            PartialSegment { bytes: vec![0; total], ranges: Vec::new(), size: 0 }
        });
        if segment.bytes.len() != total {
            return Err(());
        }
        segment.size = segment.size.saturating_add(size);
        if !segment.ranges.contains(&(from, end)) {
            if segment.ranges.len() == MOST_PARTS {
                return Err(());
            }
            segment.ranges.push((from, end));
            segment.ranges.sort_unstable();
            if let Some(place) = segment.bytes.get_mut(from..end) {
                place.copy_from_slice(part.data.bytes);
            }
        }
        let covered =
            segment.ranges.iter().fold(
                0,
                |covered, &(from, end)| {
                    if from <= covered { covered.max(end) } else { covered }
                },
            );
        if covered < total {
            return Ok(None);
        }
        let whole = self.segments.remove(&part.data.segment);
        self.buffered_bytes -= total as u64;
        Ok(whole.map(|segment| (segment.bytes, segment.size)))
    }

    /// Drops the parts of segments below this one, which have arrived otherwise.
    pub(super) fn forget_below(&mut self, next: u64) {
        while let Some(entry) = self.segments.first_entry().filter(|entry| *entry.key() < next) {
            self.buffered_bytes -= entry.remove().bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Data, Kind, Part};

    fn part(segment: u64, offset: u16, bytes: &[u8]) -> Part<'_> {
        let data = Data { kind: Kind::Stream, number: 1, segment, cwr: false, sent: 0, bytes };
        Part { data, offset, total: 10 }
    }

    #[test]
    fn a_segment_is_whole_when_all_its_bytes_have_come() {
        let mut parts = SegmentReassembly::default();
        assert_eq!(parts.push(&part(3, 6, b"ghij"), 100), Ok(None));
        assert_eq!(parts.push(&part(3, 6, b"ghij"), 100), Ok(None), "twice");
        assert_eq!(parts.buffered_bytes(), 10);
        // The second time, the segment is cut at another position.
        assert_eq!(parts.push(&part(3, 0, b"abcd"), 100), Ok(None));
        let whole = parts.push(&part(3, 3, b"defg"), 100);
        assert_eq!(whole, Ok(Some((b"abcdefghij".to_vec(), 400))));
        assert_eq!(parts.buffered_bytes(), 0);
    }

    #[test]
    fn contradicting_parts_are_refused_and_old_parts_dropped() {
        let mut parts = SegmentReassembly::default();
        assert_eq!(parts.push(&part(1, 8, b"abc"), 1), Err(()));
        assert_eq!(parts.push(&part(1, 8, b""), 1), Err(()));
        assert_eq!(parts.push(&part(1, 8, b"ab"), 1), Ok(None));
        assert_eq!(parts.push(&Part { total: 12, ..part(1, 8, b"ab") }, 1), Err(()));
        parts.forget_below(1);
        assert_eq!(parts.buffered_bytes(), 10);
        parts.forget_below(2);
        assert_eq!(parts.buffered_bytes(), 0);
    }
}
