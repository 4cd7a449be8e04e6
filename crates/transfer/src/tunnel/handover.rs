//! Packets that one loop of a tunnel's server reads from the device for another loop's client.
//! Without input or output.
//!
//! A loop gathers the packets that it reads in one turn for another loop into a parcel, and puts
//! the parcel into the other loop's mailbox. The mailbox is locked while parcels are moved, never
//! while packets are copied. A full mailbox drops packets: no loop waits for another one.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of packets or pieces in a mailbox.
const MOST_PACKETS: usize = 4096;
/// Maximum number of bytes in a mailbox.
const MOST_BYTES: usize = 4 << 20;
/// Maximum number of empty parcels that a mailbox keeps.
const MOST_SPARE: usize = 8;

/// Packets in the order in which they were read from the device.
#[derive(Debug, Default)]
pub struct Parcel {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Parcel {
    /// Appends a packet as it was read from the device.
    pub fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.lengths.push(packet.len());
    }
    /// Returns the number of packets.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }
    /// Returns true if there is no packet.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }
    /// Returns the packets in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map_while(move |length| {
            let (packet, more) = rest.split_at_checked(*length)?;
            rest = more;
            Some(packet)
        })
    }

    /// Drops packets from the end until both limits hold. Returns the number dropped.
    fn cut(&mut self, packets: usize, bytes: usize) -> usize {
        let before = self.len();
        while let Some(last) = self.lengths.last()
            && (self.lengths.len() > packets || self.bytes.len() > bytes)
        {
            self.bytes.truncate(self.bytes.len() - last);
            self.lengths.pop();
        }
        before - self.len()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }
}

#[derive(Debug, Default)]
struct Waiting {
    parcels: Vec<Parcel>,
    packets: usize,
    bytes: usize,
    spare: Vec<Parcel>,
}

/// Holds the parcels that other loops leave for one loop.
#[derive(Debug, Default)]
pub struct Mailbox(Mutex<Waiting>);

/// The result of leaving a parcel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Packets dropped because the mailbox was full.
    pub dropped: usize,
    /// True if the mailbox was empty before: the caller must wake its loop.
    pub is_first: bool,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the packets of a parcel, which is then empty. Drops those without room from its end.
    pub fn leave(&self, parcel: &mut Parcel) -> Left {
        let mut waiting = self.lock();
        let dropped = parcel.cut(
            MOST_PACKETS.saturating_sub(waiting.packets),
            MOST_BYTES.saturating_sub(waiting.bytes),
        );
        if parcel.is_empty() {
            return Left { dropped, is_first: false };
        }
        let is_first = waiting.parcels.is_empty();
        waiting.packets += parcel.len();
        waiting.bytes += parcel.bytes.len();
        let empty = waiting.spare.pop().unwrap_or_default();
        waiting.parcels.push(std::mem::replace(parcel, empty));
        Left { dropped, is_first }
    }

    /// Moves all parcels to the end of `parcels`, in the order in which they were left.
    pub fn take(&self, parcels: &mut Vec<Parcel>) {
        let mut waiting = self.lock();
        parcels.append(&mut waiting.parcels);
        (waiting.packets, waiting.bytes) = (0, 0);
    }

    /// Takes empty parcels back for reuse.
    pub fn recycle(&self, parcels: &mut Vec<Parcel>) {
        parcels.iter_mut().for_each(Parcel::clear);
        let mut waiting = self.lock();
        let room = MOST_SPARE.saturating_sub(waiting.spare.len());
        waiting.spare.extend(parcels.drain(..).take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(packets: &[&[u8]]) -> Parcel {
        let mut parcel = Parcel::default();
        packets.iter().for_each(|packet| parcel.push(packet));
        parcel
    }

    fn taken(mailbox: &Mailbox) -> Vec<Vec<u8>> {
        let mut parcels = Vec::new();
        mailbox.take(&mut parcels);
        let packets = parcels.iter().flat_map(Parcel::iter).map(<[u8]>::to_vec).collect();
        mailbox.recycle(&mut parcels);
        packets
    }

    #[test]
    fn packets_come_out_in_the_order_in_which_they_were_left() {
        let mailbox = Mailbox::default();
        let mut first = parcel(&[b"a", b"", b"bcd"]);
        assert_eq!(mailbox.leave(&mut first), Left { dropped: 0, is_first: true });
        assert!(first.is_empty());
        assert_eq!(mailbox.leave(&mut parcel(&[b"ef"])), Left { dropped: 0, is_first: false });
        assert_eq!(taken(&mailbox), [&b"a"[..], b"", b"bcd", b"ef"]);
        assert!(taken(&mailbox).is_empty());
        // A reused parcel contains no old packets.
        let mut third = parcel(&[b"gh"]);
        assert!(mailbox.leave(&mut third).is_first && third.is_empty() && third.bytes.is_empty());
        assert_eq!(taken(&mailbox), [b"gh"]);
    }

    #[test]
    fn a_full_mailbox_drops_what_comes_and_counts_it() {
        let mailbox = Mailbox::default();
        let mut left = 0;
        for _ in 0..10 {
            let mut small = parcel(&[&[7u8; 20][..]; 1000]);
            left += 1000 - mailbox.leave(&mut small).dropped;
            assert!(mailbox.lock().packets <= MOST_PACKETS);
        }
        assert_eq!((left, taken(&mailbox).len()), (MOST_PACKETS, MOST_PACKETS));
        // Pieces of 64 kB reach the limit of bytes before that of packets.
        let mut large = parcel(&[&[7u8; 65_000][..]; 100]);
        let dropped = mailbox.leave(&mut large).dropped;
        assert_eq!(dropped, 100 - MOST_BYTES / 65_000);
        assert_eq!(mailbox.leave(&mut parcel(&[&[7u8; 65_000][..]])).dropped, 1);
        assert_eq!(taken(&mailbox).len(), 100 - dropped);
    }

    #[test]
    fn loops_that_hand_over_at_the_same_time_lose_nothing_and_keep_their_order() {
        let mailbox = Mailbox::default();
        let (loops, each) = (4u32, 5_000u32);
        let mut seen = vec![0u32; loops as usize];
        let mut dropped = 0;
        std::thread::scope(|scope| {
            let senders: Vec<_> = (0..loops)
                .map(|number| {
                    let mailbox = &mailbox;
                    scope.spawn(move || {
                        let mut own = Parcel::default();
                        let mut dropped = 0;
                        for packet in 1..=each {
                            own.push(&[number.to_be_bytes(), packet.to_be_bytes()].concat());
                            if packet % 50 == 0 {
                                dropped += mailbox.leave(&mut own).dropped;
                            }
                        }
                        dropped
                    })
                })
                .collect();
            let mut read = |mailbox: &Mailbox| {
                for packet in taken(mailbox) {
                    let (number, packet) = packet.split_at(4);
                    let of = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_be_bytes);
                    let last = &mut seen[of(number) as usize];
                    assert!(of(packet) > *last, "{} after {last}", of(packet));
                    *last = of(packet);
                }
            };
            while !senders.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                read(&mailbox);
            }
            read(&mailbox);
            dropped = senders.into_iter().map(|sender| sender.join().expect("a loop")).sum();
        });
        assert!(dropped < (loops * each) as usize);
        assert!(dropped > 0 || seen.iter().all(|last| *last == each), "{seen:?}");
    }
}
