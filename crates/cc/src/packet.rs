//! What travels: data packets, acknowledgements, and packets whose inside is not ours to read.

use crate::header::{Header, Report};
use crate::units::Time;

/// The ECN field of the IP header (RFC 3168), with the meanings that ABC gives it (paper §4.2).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// 00: the transport does not understand ECN.
    #[default]
    NotEct = 0b00,
    /// 01: ECT(1); in ABC an *accelerate*, in L4S the scalable service.
    Ect1 = 0b01,
    /// 10: ECT(0); in ABC a *brake*.
    Ect0 = 0b10,
    /// 11: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// ABC's accelerate code point.
    pub const ACCELERATE: Ecn = Ecn::Ect1;
    /// ABC's brake code point.
    pub const BRAKE: Ecn = Ecn::Ect0;

    /// True if a router may mark this packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// The class of a packet's traffic, for links that treat classes differently: some queues keep the
/// packets of one class apart, and some routers only write into those of one class.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// Any traffic.
    pub const DEFAULT: TrafficClass = TrafficClass(0);
    /// Its sender follows what explicit routers write into packets, ABC's marks for example. Links
    /// may queue it apart from other traffic.
    pub const EXPLICIT: TrafficClass = TrafficClass(1);
}

/// A packet on the path.
///
/// Stages take it by reference and write it into a place of the caller's when it leaves
/// ([`Stage`](crate::Stage)), so that it is copied twice for each stage that holds it.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct Packet {
    /// What it carries.
    pub body: Body,
    /// The flow it belongs to, as numbered by the driver.
    pub flow: u32,
    /// Bytes on the wire, headers included.
    pub size: u32,
    /// Its route: a number of the driver's. Never changes on the way, since a write into a packet
    /// stalls the copy that follows.
    pub route: u32,
    /// The ECN field.
    pub ecn: Ecn,
    /// What routers may treat it by. The driver decides; on real links, routers would tell by an
    /// address or a value in a header field (ABC paper, §4.3).
    pub class: TrafficClass,
    /// When its sender emitted it.
    pub sent: Time,
    /// When it entered the queue that holds it or held it last.
    pub queued: Time,
}

/// What a packet carries.
///
/// The tag is a whole word: `Option<Packet>` keeps its own state in it, and copies in aligned
/// words, which processors forward from store to load without a stall.
#[derive(Copy, Clone, Debug)]
#[repr(u64)]
pub enum Body {
    /// A piece of a flow's data.
    Data(Data),
    /// An acknowledgement.
    Ack(Ack),
    /// What a receiver sends of its own accord.
    Report(Report),
    /// A packet that opens a connection.
    Handshake(Handshake),
    /// Somebody else's packet; the number is the driver's handle of its bytes.
    Opaque(u32),
}

/// The segment of a packet without data, which only keeps its flow's control going.
pub const NO_SEGMENT: u64 = u64::MAX;

/// A data packet.
#[derive(Copy, Clone, Debug, Default)]
pub struct Data {
    /// The number of this transmission: counts up by one with every packet that the flow sends,
    /// retransmissions included, so that no acknowledgement is ambiguous.
    pub number: u64,
    /// The position of this segment in the flow's data, counted in segments from 0;
    /// [`NO_SEGMENT`] if the packet carries none.
    pub segment: u64,
    /// The congestion header.
    pub header: Header,
    /// Classic ECN's CWR flag: the sender has reacted to the echo (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// TCP's PSH flag. Linux sets it on the last packet of a group that leaves at once (`__tcp_transmit_skb`).
    pub push: bool,
}

/// A packet that opens a connection: a SYN on its way to the receiver, a SYN-ACK on its way back.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// Number of the flow's connection, from 0: see [`Setup::connection`](crate::Setup).
    pub connection: u32,
    /// Number of the SYN among those of the connection, from 0. A SYN-ACK repeats the number of the
    /// first SYN that arrived.
    pub number: u32,
    /// When that SYN left, on the sender's clock: TCP's timestamp and its echo (RFC 7323 §4.3).
    pub sent: Time,
}

/// The blocks that an [`Ack`] has room for. The packets of a simulation are copied often, and most
/// acknowledgements have one block.
pub const ACK_BLOCKS: usize = 3;

/// The blocks that a receiver tells of at most: those of an [`Ack`], and older ones beside it. QUIC
/// stacks send about as many (RFC 9000 §13.2.3).
pub const ACK_RANGES: usize = 32;

/// An acknowledgement of transmission numbers.
///
/// The first block ends at `largest`; each further block lies below the one before it, as in
/// QUIC (RFC 9000 §19.3). A receiver that has older blocks tells them beside the acknowledgement:
/// every transmission has its own number, so that the gap of a loss never closes.
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
    /// Unreceived numbers between each block and the next, older one.
    pub gaps: [u32; ACK_BLOCKS - 1],
    /// Version of the receiver's ranges beyond [`ACK_BLOCKS`], modulo 2¹⁶: it counts up when they
    /// change. A sender that has read this version need not read them again.
    pub older: u16,
    /// What the receiver's half of the scheme has to say, in a format of the scheme's own.
    pub explicit: u32,
    /// The mark that the receiver's half of the scheme echoes.
    pub echo: Ecn,
    /// Classic ECN's echo, the ECE flag: a CE arrived and no CWR since (RFC 3168 §6.1.3).
    pub ece: bool,
}

impl Ack {
    /// The blocks as inclusive ranges of numbers, newest first.
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
    /// A packet of `size` bytes that belongs to nobody.
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

    /// The transmission number of a data packet, the largest acknowledged number of an
    /// acknowledgement, the handle of an opaque packet: for logs and digests.
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
