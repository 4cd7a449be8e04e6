//! Packets: data, acknowledgements, reports, handshakes, and packets whose content this program
//! does not interpret.

use crate::header::{Header, Report};
use crate::units::Time;

/// The ECN field of the IP header (RFC 3168). A scheme may give the two ECT code points meanings of its
/// own; a router may change [`Ecn::Ect1`] to [`Ecn::Ect0`] or to [`Ecn::Ce`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// 00: the transport does not understand ECN.
    #[default]
    NotEct = 0b00,
    /// 01: ECT(1); in L4S the scalable service.
    Ect1 = 0b01,
    /// 10: ECT(0).
    Ect0 = 0b10,
    /// 11: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Returns the code point in the lowest two bits of a traffic class octet.
    pub const fn of_bits(bits: u8) -> Ecn {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Returns true if a router may mark this packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// The class of a packet's traffic, for links that treat classes differently: some queues keep the
/// packets of one class apart, and some routers write only into packets of one class.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// Any traffic.
    pub const DEFAULT: TrafficClass = TrafficClass(0);
    /// Traffic whose sender follows what explicit routers write into packets, for example ABC's
    /// marks. Links may queue it apart from other traffic.
    pub const EXPLICIT: TrafficClass = TrafficClass(1);
}

/// A packet on the path.
///
/// Stages take it by reference and write it to a place of the caller's when it leaves
/// ([`Stage`](crate::Stage)), so that each stage that holds it copies it twice.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct Packet {
    /// Content.
    pub body: Body,
    /// Number of its flow, as the driver numbers them.
    pub flow: u32,
    /// Bytes on the wire, headers included.
    pub size: u32,
    /// Number of its route, chosen by the driver. It never changes on the way, since a write into a
    /// packet stalls the copy that follows.
    pub route: u32,
    /// The ECN field.
    pub ecn: Ecn,
    /// Class by which routers may treat it. The driver sets it; on real links, routers would use an
    /// address or the value of a header field (ABC paper, §4.3).
    pub class: TrafficClass,
    /// When its sender sent it.
    pub sent: Time,
    /// When it entered its present or last queue.
    pub queued: Time,
}

/// The content of a packet.
///
/// The enum's tag takes a whole word: `Option<Packet>` stores its own state in it, and copies use
/// aligned words, which processors forward from store to load without a stall.
#[derive(Copy, Clone, Debug)]
#[repr(u64)]
pub enum Body {
    /// Data of a flow.
    Data(Data),
    /// An acknowledgement.
    Ack(Ack),
    /// A message that a receiver sends unasked.
    Report(Report),
    /// A packet that opens a connection.
    Handshake(Handshake),
    /// A packet whose content the program does not interpret; the number is the driver's handle for
    /// its bytes.
    Opaque(u32),
}

/// Segment of a packet without data, which only keeps its flow's control going.
pub const NO_SEGMENT: u64 = u64::MAX;

/// A data packet.
#[derive(Copy, Clone, Debug, Default)]
pub struct Data {
    /// Number of this transmission. It counts every packet that the flow sends, retransmissions
    /// included, so that no acknowledgement is ambiguous.
    pub number: u64,
    /// Position of this segment in the flow's data, in segments from 0; [`NO_SEGMENT`] if the
    /// packet carries no data.
    pub segment: u64,
    /// The congestion header.
    pub header: Header,
    /// Classic ECN's CWR flag: the sender has reacted to the echo (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// TCP's PSH flag. Linux sets it on the last packet of a group that leaves at once
    /// (`__tcp_transmit_skb`).
    pub push: bool,
}

/// A packet that opens a connection: a SYN on its way to the receiver, a SYN-ACK on its way back.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// Number of the flow's connection, from 0: see [`Setup::connection`](crate::Setup).
    pub connection: u32,
    /// Number of the SYN among those of the connection, from 0. A SYN-ACK carries the number of the
    /// first SYN that arrived.
    pub number: u32,
    /// When that SYN left, on the sender's clock: TCP's timestamp and its echo (RFC 7323 §4.3).
    pub sent: Time,
}

/// Number of blocks that an [`Ack`] has room for. A simulation copies packets often, and most
/// acknowledgements have one block.
pub const ACK_BLOCKS: usize = 3;

/// The most blocks that a receiver reports: those of an [`Ack`], and older ones beside it. QUIC
/// stacks send about as many (RFC 9000 §13.2.3).
pub const ACK_RANGES: usize = 32;

/// An acknowledgement of transmission numbers.
///
/// The first block ends at `largest`; each further block lies below the one before it, as in QUIC
/// (RFC 9000 §19.3). A receiver that has older blocks reports them beside the acknowledgement:
/// every transmission has its own number, so the gap of a loss never closes.
#[derive(Copy, Clone, Debug, Default)]
pub struct Ack {
    /// The largest number received.
    pub largest: u64,
    /// All segments below this one have arrived.
    pub cumulative: u64,
    /// When the packet with the largest number arrived, on the receiver's own clock.
    pub received: Time,
    /// Packets received with CE since the start (modulo 2³²): AccECN's counter (RFC 9768 §3.1).
    pub ce_packets: u32,
    /// Lengths of the blocks, newest first; 0 if the block is unused.
    pub lengths: [u32; ACK_BLOCKS],
    /// Number of unreceived numbers between each block and the next older one.
    pub gaps: [u32; ACK_BLOCKS - 1],
    /// Version of the receiver's ranges beyond [`ACK_BLOCKS`], modulo 2¹⁶: it counts up when they
    /// change. A sender that has read this version need not read them again.
    pub older: u16,
    /// Value that the receiver's half of the scheme returns, in the scheme's own format.
    pub explicit: u32,
    /// The mark that the receiver's half of the scheme echoes.
    pub echo: Ecn,
    /// Classic ECN's echo, the ECE flag: a CE arrived and no CWR since (RFC 3168 §6.1.3).
    pub ece: bool,
}

impl Ack {
    /// Returns the blocks as inclusive ranges of numbers, newest first.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut above = self.largest.wrapping_add(1);
        (0..ACK_BLOCKS).map_while(move |i| {
            let length = self.lengths[i];
            let gap = if i == 0 { 0 } else { self.gaps[i - 1] };
            let last = above.wrapping_sub(gap as u64 + 1);
            let first = last.wrapping_sub(length as u64).wrapping_add(1);
            above = first;
            (length > 0 && first <= last && last <= self.largest).then_some((first, last))
        })
    }
}

impl Packet {
    /// Returns a packet of `size` bytes that belongs to no flow.
    pub fn opaque(size: u32) -> Packet {
        Packet {
            flow: 0,
            size,
            route: 0,
            ecn: Ecn::NotEct,
            class: TrafficClass::DEFAULT,
            sent: Time::ZERO,
            queued: Time::ZERO,
            body: Body::Opaque(0),
        }
    }

    /// Returns the transmission number of a data packet, the largest acknowledged number of an
    /// acknowledgement, or the handle of an opaque packet: for logs and digests.
    #[inline]
    pub fn number(&self) -> u64 {
        match &self.body {
            Body::Data(data) => data.number,
            Body::Ack(ack) => ack.largest,
            Body::Opaque(handle) => *handle as u64,
            Body::Handshake(handshake) => u64::from(handshake.number),
            Body::Report(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_count_down() {
        let ack = Ack { largest: 20, lengths: [5, 3, 0], gaps: [2, 0], ..Ack::default() };
        // 16..=20 received, 14 and 15 missing, 11..=13 received.
        assert_eq!(ack.blocks().collect::<Vec<_>>(), [(16, 20), (11, 13)]);
    }

    #[test]
    fn impossible_blocks_end_the_list() {
        let ack = Ack { largest: 2, lengths: [9, 9, 9], gaps: [9, 9], ..Ack::default() };
        assert_eq!(ack.blocks().count(), 0);
    }

    #[test]
    fn packets_stay_small() {
        assert!(size_of::<Packet>() <= 96, "{} bytes", size_of::<Packet>());
    }
}
