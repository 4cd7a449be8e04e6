//! The MPDUs of one station at the access point, from the queue to the block acknowledgement.

use std::collections::VecDeque;

use paceline_cc::{Ecn, Packet, Span};

use super::phy::{self, BLOCK_ACK_WINDOW, MAX_BYTES, Mcs};

/// A packet (MPDU) that has left the queue and awaits the acknowledgement of its station.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Mpdu {
    /// The packet.
    pub(crate) packet: Packet,
    /// Its ECN field before the router saw it.
    pub(crate) before: Ecn,
    /// True if the queue or the router marked it.
    pub(crate) marked: bool,
    /// Transmissions that failed.
    tries: u32,
    /// It is part of the A-MPDU on air.
    on_air: bool,
    acked: bool,
}

impl Mpdu {
    /// An MPDU that has not been transmitted.
    pub(crate) fn new(packet: Packet, before: Ecn, marked: bool) -> Mpdu {
        Mpdu { packet, before, marked, tries: 0, on_air: false, acked: false }
    }
}

/// An A-MPDU as it goes on air.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ampdu {
    pub(super) frames: u32,
    /// Bytes of the packets in it.
    pub(super) bytes: u32,
    /// Bytes on air, with headers and padding.
    pub(super) air_bytes: u32,
}

/// The MPDUs of one station in order. Some may be acknowledged before older ones; packets leave in
/// order all the same, as they leave the reordering buffer of the station.
#[derive(Clone, Debug, Default)]
pub(super) struct TransmitQueue {
    mpdus: VecDeque<Mpdu>,
    waiting: usize,
    /// The bytes that those waiting will have on air.
    waiting_bytes: u32,
}

impl TransmitQueue {
    /// MPDUs that are not acknowledged.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// MPDUs held, with those that are acknowledged but out of order.
    pub(super) fn held(&self) -> usize {
        self.mpdus.len()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        self.mpdus.iter().map(|frame| u64::from(frame.packet.size)).sum()
    }

    pub(super) fn push(&mut self, frame: Mpdu) {
        self.waiting += 1;
        self.waiting_bytes = self.waiting_bytes.saturating_add(phy::subframe(frame.packet.size));
        self.mpdus.push_back(frame);
    }

    /// True if no A-MPDU could take more than what is waiting. Each takes at least one MPDU.
    pub(super) fn is_full(&self, mcs: Mcs, most: u32, longest: Span) -> bool {
        if self.waiting == 0 {
            return false;
        }
        let batches = self.waiting >= (most as usize).min(BLOCK_ACK_WINDOW);
        batches || self.waiting_bytes > MAX_BYTES || mcs.airtime(self.waiting_bytes) > longest
    }

    /// Puts the next A-MPDU together: the oldest MPDUs first, as many as all limits allow, and at
    /// least one if one waits.
    pub(super) fn next_ampdu(&mut self, mcs: Mcs, most: u32, longest: Span) -> Ampdu {
        let mut batch = Ampdu::default();
        for frame in self.mpdus.iter_mut().take(BLOCK_ACK_WINDOW) {
            if frame.acked {
                continue;
            }
            let air_bytes = batch.air_bytes.saturating_add(phy::subframe(frame.packet.size));
            let fits =
                batch.frames < most && air_bytes <= MAX_BYTES && mcs.airtime(air_bytes) <= longest;
            if batch.frames > 0 && !fits {
                break;
            }
            frame.on_air = true;
            batch.frames += 1;
            batch.bytes = batch.bytes.saturating_add(frame.packet.size);
            batch.air_bytes = air_bytes;
        }
        batch
    }

    /// The A-MPDU on air has ended: `arrives` is asked for each of its MPDUs in turn whether it is
    /// acknowledged. Those that have failed more than `retries` times go to `give_up`. Returns the
    /// number and the bytes of the packets that were acknowledged.
    pub(super) fn on_block_ack(
        &mut self,
        retries: u32,
        mut arrives: impl FnMut() -> bool,
        give_up: &mut Vec<Mpdu>,
    ) -> (u32, u32) {
        let (mut acked, mut bytes) = (0, 0_u32);
        let (waiting, waiting_bytes) = (&mut self.waiting, &mut self.waiting_bytes);
        let mut settled = |frame: &Mpdu| {
            *waiting -= 1;
            *waiting_bytes = waiting_bytes.saturating_sub(phy::subframe(frame.packet.size));
        };
        self.mpdus.retain_mut(|frame| {
            if !frame.on_air {
                return true;
            }
            frame.on_air = false;
            if arrives() {
                frame.acked = true;
                settled(frame);
                acked += 1;
                bytes = bytes.saturating_add(frame.packet.size);
                return true;
            }
            frame.tries += 1;
            let stays = frame.tries <= retries;
            if !stays {
                settled(frame);
                give_up.push(*frame);
            }
            stays
        });
        (acked, bytes)
    }

    /// The next packet that is acknowledged and in order.
    pub(super) fn deliver(&mut self) -> Option<Mpdu> {
        self.mpdus.pop_front_if(|frame| frame.acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Body;

    const LONG: Span = Span::from_secs(1);

    fn mcs() -> Mcs {
        Mcs::new(7).expect("an index")
    }

    fn station(sizes: &[u32]) -> TransmitQueue {
        let mut station = TransmitQueue::default();
        for (i, &size) in sizes.iter().enumerate() {
            let packet = Packet { body: Body::Opaque(i as u32), ..Packet::opaque(size) };
            station.push(Mpdu::new(packet, Ecn::NotEct, false));
        }
        station
    }

    fn numbers(station: &mut TransmitQueue) -> Vec<u64> {
        std::iter::from_fn(|| station.deliver()).map(|frame| frame.packet.number()).collect()
    }

    #[test]
    fn limits_of_a_batch() {
        let mut many = station(&[1500; 80]);
        assert_eq!(many.clone().next_ampdu(mcs(), 20, LONG).frames, 20);
        // 42 subframes of 1544 bytes are 64,848.
        assert_eq!(many.clone().next_ampdu(mcs(), 64, LONG).frames, 42);
        // 4 ms at 65 Mbit/s are 32,500 bytes, less the preamble.
        let short = many.clone().next_ampdu(mcs(), 64, Span::from_millis(4));
        assert_eq!((short.frames, short.bytes, short.air_bytes), (20, 30_000, 20 * 1544));
        // At least one, however long.
        assert_eq!(many.next_ampdu(mcs(), 64, Span::ZERO).frames, 1);
        assert_eq!(station(&[100; 80]).next_ampdu(mcs(), 99, LONG).frames, 64);
        assert_eq!(station(&[]).next_ampdu(mcs(), 99, LONG), Ampdu::default());
    }

    #[test]
    fn a_full_station_wants_no_more() {
        let full = |packets, index, most, longest| {
            let mcs = Mcs::new(index).expect("an index");
            station(&vec![1500; packets]).is_full(mcs, most, longest)
        };
        assert!(!full(19, 7, 20, LONG) && full(20, 7, 20, LONG));
        // Five frames take 4.8 ms at 13 Mbit/s, six 5.7 ms.
        let ht = Span::from_micros(5484);
        assert!(!full(5, 1, 20, ht) && full(6, 1, 20, ht));
        assert!(!full(42, 7, 100, LONG) && full(43, 7, 100, LONG));
        // One goes whatever the limits.
        assert!(!full(0, 7, 0, Span::ZERO) && full(1, 7, 0, Span::ZERO));
    }

    #[test]
    fn losses_hold_back_what_follows() {
        let mut station = station(&[1500; 6]);
        station.next_ampdu(mcs(), 4, LONG);
        let mut fates = [true, false, true, true].into_iter();
        let mut lost = Vec::new();
        let acked = station.on_block_ack(1, || fates.next().expect("four"), &mut lost);
        assert_eq!(acked, (3, 4500));
        assert_eq!(numbers(&mut station), [0]);
        assert_eq!((station.waiting(), station.held()), (3, 5));
        // The second goes again with the two that have not been sent; then it is given up.
        assert_eq!(station.next_ampdu(mcs(), 4, LONG).frames, 3);
        let mut fates = [false, true, true].into_iter();
        station.on_block_ack(1, || fates.next().expect("three"), &mut lost);
        assert_eq!(lost.iter().map(|frame| frame.packet.number()).collect::<Vec<_>>(), [1]);
        assert_eq!(numbers(&mut station), [2, 3, 4, 5]);
        assert_eq!((station.waiting(), station.held()), (0, 0));
    }
}
