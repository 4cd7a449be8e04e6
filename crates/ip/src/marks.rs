//! Writes what routers change in packets: the ECN field of the IP header, and the congestion header of Paceline's own
//! datagrams, which explicit schemes (XCP, RCP, VCP) read and rewrite.
//!
//! The congestion header stands at a fixed place of a UDP datagram (`docs/wire.md`), unencrypted and not authenticated.
//! A datagram of another protocol that looks like one by chance (1 in 65,536 of random content) is treated as one, but
//! only on a path that has a router.

use paceline_cc::wire::{HEADER_AT, LONGEST, congestion_header, encode_header};
use paceline_cc::{Body, Data, Ecn, Header, NO_SEGMENT, Packet};

use super::offload::UDP_CHECKSUM;
use super::packet::replace;

/// Where UDP's checksum stands in its header.
const CHECKSUM: usize = UDP_CHECKSUM as usize;
/// Bytes of UDP's header.
const UDP_HEADER: usize = 8;

/// The marks that a packet's headers get when it leaves.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Marks {
    /// The ECN field.
    pub ecn: Ecn,
    /// The congestion header; [`Header::None`] leaves it as it is.
    pub header: Header,
}

impl Marks {
    /// Returns marks with this ECN field, which leave the congestion header as it is.
    pub fn ecn(ecn: Ecn) -> Marks {
        Marks { ecn, header: Header::None }
    }

    /// Returns the marks of a packet of the emulator.
    #[inline]
    pub fn of(packet: &Packet) -> Marks {
        let header = match &packet.body {
            Body::Data(data) => data.header,
            _ => Header::None,
        };
        Marks { ecn: packet.ecn, header }
    }

    /// Returns the bytes of the congestion header, if they differ from those in this datagram.
    #[inline]
    pub fn rewritten(&self, datagram: &[u8]) -> Option<RewrittenHeader> {
        if self.header == Header::None {
            return None;
        }
        let mut bytes = [0; LONGEST];
        let length = encode_header(&self.header, &mut bytes).ok()?;
        let there = datagram.get(HEADER_AT..HEADER_AT + length)?;
        // Routers change what a header says, never its kind, so that its length stays.
        let differs = there.first() == bytes.first() && Some(there) != bytes.get(..length);
        differs.then_some(RewrittenHeader { bytes, length })
    }
}

/// The new bytes of a congestion header.
#[derive(Copy, Clone, Debug)]
pub struct RewrittenHeader {
    bytes: [u8; LONGEST],
    length: usize,
}

impl RewrittenHeader {
    /// Returns the number of bytes of a datagram up to the end of its congestion header.
    pub fn end(&self) -> usize {
        HEADER_AT + self.length
    }

    /// Writes the header into the beginning of a UDP packet (its own header, then the datagram up
    /// to [`RewrittenHeader::end`]); `complete` says that its checksum is in place and is to be mended.
    pub fn write(&self, udp: &mut [u8], complete: bool) {
        let at = UDP_HEADER + HEADER_AT;
        let checksum = udp.get(CHECKSUM..).and_then(|rest| rest.first_chunk::<2>());
        let mut sum = checksum.map_or(0, |&sum| u16::from_be_bytes(sum));
        // In UDP over IPv4, 0 says that there is no checksum.
        let complete = complete && sum != 0;
        for (offset, &byte) in self.bytes.iter().take(self.length).enumerate() {
            let Some(mended) = replace(udp, at + offset, byte, sum) else { return };
            sum = mended;
        }
        if complete && let Some(place) = udp.get_mut(CHECKSUM..CHECKSUM + 2) {
            let sum = if sum == 0 { 0xffff } else { sum };
            place.copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Returns the body of a packet of the emulator: its handle, and the congestion header of its datagram if that is one
/// of Paceline's that an explicit scheme has sent.
#[inline]
pub fn body(handle: u32, datagram: &[u8]) -> Body {
    match congestion_header(datagram) {
        Some(header @ (Header::Xcp(_) | Header::Rcp(_) | Header::Vcp(_) | Header::Open(_))) => {
            Body::Data(Data {
                number: u64::from(handle),
                segment: NO_SEGMENT,
                header,
                cwr: false,
                push: false,
            })
        }
        _ => Body::Opaque(handle),
    }
}
