//! A sender's MPDUs for one receiver, from the queue to the block acknowledgement.

use std::collections::VecDeque;

use paceline_path::TakenPacket;

/// Maximum number of subframes that a block acknowledgement covers.
pub(super) const BLOCK_ACK_WINDOW: usize = 64;
/// Bytes of a subframe's delimiter; subframes are padded to a multiple of this.
const DELIMITER: u32 = 4;

/// Returns the bytes on air of a packet of `size` bytes as a subframe of an A-MPDU, with `overhead`
/// bytes of headers.
pub(super) fn subframe(size: u32, overhead: u32) -> u32 {
    let bytes = size.saturating_add(overhead).saturating_add(DELIMITER);
    bytes.checked_next_multiple_of(DELIMITER).unwrap_or(u32::MAX)
}

/// A packet (MPDU) that has left the queue and waits for the acknowledgement of its station.
#[derive(Copy, Clone, Debug)]
pub(super) struct Mpdu {
    /// The packet.
    pub(super) taken: TakenPacket,
    /// Bytes on air as a subframe.
    air_bytes: u32,
    /// Number of failed transmissions.
    tries: u32,
    /// True if it is part of the A-MPDU on air.
    on_air: bool,
    acked: bool,
}

impl Mpdu {
    /// Creates an MPDU that was not transmitted.
    pub(super) fn new(taken: TakenPacket) -> Mpdu {
        Mpdu { taken, air_bytes: 0, tries: 0, on_air: false, acked: false }
    }
}

/// An A-MPDU for transmission.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ampdu {
    pub(super) frames: u32,
    /// Bytes of the packets in it.
    pub(super) bytes: u32,
    /// Bytes on air, with headers and padding.
    pub(super) air_bytes: u32,
}

/// Limits of an A-MPDU.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct AmpduLimits {
    pub(super) frames: u32,
    /// Maximum number of bytes on air.
    pub(super) bytes: u32,
}

impl AmpduLimits {
    /// Returns the number of subframes of `subframe` bytes in a full A-MPDU.
    pub(super) fn most(self, subframe: u32) -> u32 {
        let by_bytes = self.bytes / subframe.max(1);
        self.frames.min(by_bytes).min(BLOCK_ACK_WINDOW as u32).max(1)
    }
}

/// The MPDUs for one receiver in order. Some may be acknowledged before older ones; packets still
/// leave in order, as they leave the receiver's reordering buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct TransmitQueue {
    mpdus: VecDeque<Mpdu>,
    waiting: usize,
    /// Bytes on air of the waiting MPDUs.
    waiting_bytes: u32,
}

impl TransmitQueue {
    /// Returns the number of MPDUs that are not acknowledged.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds a packet with `overhead` bytes of headers on air.
    pub(super) fn push(&mut self, mut frame: Mpdu, overhead: u32) {
        frame.air_bytes = subframe(frame.taken.packet.size, overhead);
        self.waiting += 1;
        self.waiting_bytes = self.waiting_bytes.saturating_add(frame.air_bytes);
        self.mpdus.push_back(frame);
    }

    /// Returns true if further packets would not fit into the next A-MPDU. Each A-MPDU has at least
    /// one MPDU.
    pub(super) fn is_full(&self, limits: AmpduLimits) -> bool {
        if self.waiting == 0 {
            return false;
        }
        let most = (limits.frames as usize).min(BLOCK_ACK_WINDOW);
        self.waiting >= most || self.waiting_bytes > limits.bytes
    }

    /// Assembles the next A-MPDU: the oldest MPDUs, as many as all limits allow, and at least one
    /// if there is one. All are within a window of 64 from the oldest missing one.
    pub(super) fn next_ampdu(&mut self, limits: AmpduLimits) -> Ampdu {
        let mut batch = Ampdu::default();
        for frame in self.mpdus.iter_mut().take(BLOCK_ACK_WINDOW) {
            if frame.acked {
                continue;
            }
            let air_bytes = batch.air_bytes.saturating_add(frame.air_bytes);
            let fits = batch.frames < limits.frames && air_bytes <= limits.bytes;
            if batch.frames > 0 && !fits {
                break;
            }
            frame.on_air = true;
            batch.frames += 1;
            batch.bytes = batch.bytes.saturating_add(frame.taken.packet.size);
            batch.air_bytes = air_bytes;
        }
        batch
    }

    /// Ends the A-MPDU on air. Calls `arrives` for each of its MPDUs in turn, with its bytes on
    /// air. Returns the number and the bytes of the packets that arrived.
    pub(super) fn transmit(&mut self, mut arrives: impl FnMut(u32) -> bool) -> (u32, u32) {
        let (mut acked, mut bytes) = (0, 0_u32);
        // No MPDU after the first window is on air.
        for frame in self.mpdus.iter_mut().take(BLOCK_ACK_WINDOW) {
            if frame.on_air && arrives(frame.air_bytes) {
                (frame.on_air, frame.acked) = (false, true);
                self.waiting -= 1;
                self.waiting_bytes = self.waiting_bytes.saturating_sub(frame.air_bytes);
                acked += 1;
                bytes = bytes.saturating_add(frame.taken.packet.size);
            }
        }
        (acked, bytes)
    }

    /// Tells the sender which MPDUs of the A-MPDU on air have not arrived. Those that were
    /// transmitted `limit` times go to `give_up`, in reverse order.
    pub(super) fn retry_or_give_up(&mut self, limit: u32, give_up: &mut Vec<Mpdu>) {
        let mut over = false;
        for frame in self.mpdus.iter_mut().take(BLOCK_ACK_WINDOW).filter(|frame| frame.on_air) {
            frame.tries += 1;
            frame.on_air = frame.tries >= limit;
            over |= frame.on_air;
        }
        if !over {
            return;
        }
        let (waiting, waiting_bytes) = (&mut self.waiting, &mut self.waiting_bytes);
        let first = give_up.len();
        self.mpdus.retain(|frame| {
            if frame.on_air {
                *waiting -= 1;
                *waiting_bytes = waiting_bytes.saturating_sub(frame.air_bytes);
                give_up.push(*frame);
            }
            !frame.on_air
        });
        // Reversed, so that popping from the end returns them in order.
        give_up[first..].reverse();
    }

    /// Removes the next packet that has arrived and is in order.
    pub(super) fn deliver(&mut self) -> Option<Mpdu> {
        self.mpdus.pop_front_if(|frame| frame.acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::{Body, Packet};

    /// QoS header 26, LLC and SNAP 8, FCS 4.
    const OVERHEAD: u32 = 38;

    fn limits(frames: u32, bytes: u32) -> AmpduLimits {
        AmpduLimits { frames, bytes }
    }

    fn station(sizes: &[u32]) -> TransmitQueue {
        let mut station = TransmitQueue::default();
        for (i, &size) in sizes.iter().enumerate() {
            let packet = Packet { body: Body::Opaque(i as u32), ..Packet::opaque(size) };
            station.push(Mpdu::new(TakenPacket::unmarked(packet)), OVERHEAD);
        }
        station
    }

    fn numbers(station: &mut TransmitQueue) -> Vec<u64> {
        std::iter::from_fn(|| station.deliver()).map(|frame| frame.taken.packet.number()).collect()
    }

    /// Simulates a transmission whose MPDUs have the given fates. Returns its result, and the
    /// numbers given up after it.
    fn sent(station: &mut TransmitQueue, limit: u32, fates: &[bool]) -> ((u32, u32), Vec<u64>) {
        let mut fates = fates.iter();
        let mut lost = Vec::new();
        let acked = station.transmit(|_| *fates.next().expect("a fate each"));
        station.retry_or_give_up(limit, &mut lost);
        assert_eq!(fates.next(), None);
        (acked, lost.iter().rev().map(|frame| frame.taken.packet.number()).collect())
    }

    #[test]
    fn subframes_are_padded() {
        // 1500 bytes: 38 and 4 more, padded from 1542 to 1544.
        assert_eq!(subframe(1500, OVERHEAD), 1544);
        assert_eq!(subframe(64, OVERHEAD), 108);
        assert_eq!(subframe(u32::MAX, OVERHEAD), u32::MAX);
    }

    #[test]
    fn limits_of_a_batch() {
        let mut many = station(&[1500; 80]);
        assert_eq!(many.clone().next_ampdu(limits(20, 65_535)).frames, 20);
        // 42 subframes of 1544 bytes are 64,848.
        assert_eq!(many.clone().next_ampdu(limits(64, 65_535)).frames, 42);
        let short = many.clone().next_ampdu(limits(64, 32_000));
        assert_eq!((short.frames, short.bytes, short.air_bytes), (20, 30_000, 20 * 1544));
        // At least one MPDU, however long it is.
        assert_eq!(many.next_ampdu(limits(64, 0)).frames, 1);
        assert_eq!(station(&[100; 80]).next_ampdu(limits(99, 65_535)).frames, 64);
        assert_eq!(station(&[]).next_ampdu(limits(99, 65_535)), Ampdu::default());
        assert_eq!((limits(99, 65_535).most(1544), limits(99, 65_535).most(100)), (42, 64));
        assert_eq!((limits(20, 65_535).most(1544), limits(20, 0).most(1544)), (20, 1));
    }

    #[test]
    fn a_full_station_wants_no_more() {
        let full =
            |packets, frames, bytes| station(&vec![1500; packets]).is_full(limits(frames, bytes));
        assert!(!full(19, 20, 65_535) && full(20, 20, 65_535));
        assert!(!full(5, 20, 8000) && full(6, 20, 8000));
        assert!(!full(42, 100, 65_535) && full(43, 100, 65_535));
        // One MPDU is sent whatever the limits are.
        assert!(!full(0, 0, 0) && full(1, 0, 0));
    }

    #[test]
    fn losses_hold_back_what_follows() {
        let mut station = station(&[1500; 6]);
        station.next_ampdu(limits(4, 65_535));
        let (acked, lost) = sent(&mut station, 2, &[true, false, true, true]);
        assert_eq!((acked, lost), ((3, 4500), vec![]));
        assert_eq!(numbers(&mut station), [0]);
        assert_eq!((station.waiting(), station.mpdus.len()), (3, 5));
        // The second MPDU is sent again with the two that have not been sent; then it is given up.
        assert_eq!(station.next_ampdu(limits(4, 65_535)).frames, 3);
        assert_eq!(sent(&mut station, 2, &[false, true, true]).1, [1]);
        assert_eq!(numbers(&mut station), [2, 3, 4, 5]);
        assert_eq!((station.waiting(), station.mpdus.len()), (0, 0));
    }

    #[test]
    fn the_window_begins_at_the_oldest_that_is_missing() {
        let mut station = station(&[100; 100]);
        station.next_ampdu(limits(64, 65_535));
        let mut fates = vec![true; 64];
        fates[0] = false;
        sent(&mut station, 9, &fates);
        // 1 to 63 are acknowledged, and 64 is beyond the window of 0.
        assert_eq!(station.next_ampdu(limits(64, 65_535)).frames, 1);
        assert_eq!(sent(&mut station, 9, &[true]).0, (1, 100));
        assert_eq!(numbers(&mut station), (0..64).collect::<Vec<_>>());
        assert_eq!(station.next_ampdu(limits(64, 65_535)).frames, 36);
    }
}
