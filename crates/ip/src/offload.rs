//! Pieces of several segments that the kernel hands over, and the packets on the wire that they stand for.
//!
//! With `IFF_VNET_HDR`, each packet is preceded by a `virtio_net_hdr` (virtio specification,
//! §5.1.6). A packet may then stand for many segments of equal payload, the last one excepted, and
//! may lack its transport checksum. [`Layout`] has the packets that such a piece stands for;
//! [`Layout::head`] makes the headers of some of them, for writing the payload on from where it
//! lies.

use super::marks::{Marks, RewrittenHeader};
use super::packet::{PacketError, ParsedPacket, TCP, UDP, fold, mend, set_ecn, sum};
use paceline_cc::Ecn;

/// Bytes of the header before each packet.
pub const HEADER: usize = 10;
/// The most bytes of IP and transport headers of a packet that is segmented here.
const MOST_HEADERS: usize = 256;
/// Room for these, and for the part of a datagram that is rewritten.
const HEAD: usize = MOST_HEADERS + 64;

pub(super) const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
pub(super) const GSO_TCP4: u8 = 1;
pub(super) const GSO_TCP6: u8 = 4;
pub(super) const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// Where the flags stand in TCP's header.
pub(super) const TCP_FLAGS: usize = 13;
/// Where the checksums stand in the headers.
pub(super) const TCP_CHECKSUM: u16 = 16;
pub(super) const UDP_CHECKSUM: u16 = 6;

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// How a piece is divided.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Division {
    /// Not at all.
    Whole,
    /// Into TCP segments.
    Tcp,
    /// Into UDP datagrams.
    Udp,
}

/// The packets that a piece read from a device stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    division: Division,
    ipv4: bool,
    ecn: Ecn,
    /// Bytes of the whole piece.
    length: u32,
    /// Bytes of its headers, and where the transport's begins.
    headers: u16,
    transport: u16,
    /// Payload bytes of every segment but the last.
    step: u16,
    segments: u16,
    /// Where the first UDP datagram begins; 0 if there is none.
    datagram: u16,
    /// Where the bytes begin that the missing checksum covers, and the checksum's offset in them.
    missing: Option<(u16, u16)>,
}

/// Headers made for some segments, with the device's header in front.
#[derive(Clone, Debug)]
pub struct Head {
    bytes: [u8; HEADER + HEAD],
    length: usize,
}

impl Head {
    /// Creates an empty buffer for headers.
    pub fn new() -> Head {
        Head { bytes: [0; HEADER + HEAD], length: HEADER }
    }

    /// Returns the device's header and the packet's.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Default for Head {
    fn default() -> Head {
        Head::new()
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|&word| u16::from_be_bytes(word))
}

pub(super) fn put(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = value.to_be_bytes();
    }
}

/// Reads a field of the device's header, which is in the machine's byte order.
fn field(header: &[u8], at: usize) -> Option<u16> {
    header.get(at..)?.first_chunk().map(|&word| u16::from_ne_bytes(word))
}

/// Writes a `virtio_net_hdr`: flags and kind; bytes of headers, bytes of payload of each segment, where the sum of
/// the missing checksum begins, and where from there the checksum stands.
pub(super) fn write_device_header(device: &mut [u8], kind: [u8; 2], words: [u16; 4]) {
    let words = words.map(u16::to_ne_bytes);
    for (place, value) in device.iter_mut().zip(kind.iter().chain(words.iter().flatten())) {
        *place = *value;
    }
}

impl Layout {
    /// Reads the layout of a piece from the device's header (empty for devices without) and the packet.
    ///
    /// # Errors
    /// The header and the packet contradict each other.
    pub fn new(header: &[u8], packet: &[u8], parsed: &ParsedPacket) -> Result<Layout, PacketError> {
        let mut layout = Layout {
            division: Division::Whole,
            ipv4: parsed.ipv4,
            ecn: parsed.ecn,
            length: parsed.length as u32,
            headers: 0,
            transport: 0,
            step: 0,
            segments: 1,
            datagram: 0,
            missing: None,
        };
        if let (UDP, Some(transport)) = (parsed.protocol, parsed.transport)
            && transport + 8 <= parsed.length.min(MOST_HEADERS)
        {
            layout.transport = transport as u16;
            layout.datagram = transport as u16 + 8;
        }
        let (Some(&[flags, kind]), Some(step), Some(start), Some(offset)) =
            (header.first_chunk(), field(header, 4), field(header, 6), field(header, 8))
        else {
            return Ok(layout);
        };
        if flags & NEEDS_CHECKSUM != 0 {
            // A checksum within the IP header would overwrite it.
            let within = usize::from(start) < if parsed.ipv4 { 20 } else { 40 };
            if within || usize::from(start) + usize::from(offset) + 2 > parsed.length {
                return Err(PacketError::Offload);
            }
            layout.missing = Some((start, offset));
        }
        if kind & !GSO_ECN != GSO_NONE {
            layout.divide(kind & !GSO_ECN, step, packet, parsed).ok_or(PacketError::Offload)?;
        }
        Ok(layout)
    }

    fn divide(&mut self, kind: u8, step: u16, packet: &[u8], parsed: &ParsedPacket) -> Option<()> {
        let transport = parsed.transport?;
        let (division, headers) = match (kind, parsed.protocol) {
            (GSO_TCP4 | GSO_TCP6, TCP) => {
                let length = usize::from(packet.get(transport + 12)? >> 4) * 4;
                (Division::Tcp, (length >= 20).then_some(transport + length)?)
            }
            (GSO_UDP, UDP) => (Division::Udp, transport + 8),
            _ => return None,
        };
        let checksum = if division == Division::Tcp { TCP_CHECKSUM } else { UDP_CHECKSUM };
        if self.missing != Some((transport as u16, checksum)) {
            return None;
        }
        let payload = parsed.length.checked_sub(headers)?;
        if step == 0 || headers > MOST_HEADERS {
            return None;
        }
        self.segments = u16::try_from(payload.div_ceil(usize::from(step)).max(1)).ok()?;
        if self.segments > 1 {
            self.division = division;
        }
        self.headers = headers as u16;
        self.transport = transport as u16;
        self.step = step;
        Some(())
    }

    /// Returns the number of packets on the wire.
    pub fn segments(&self) -> u16 {
        self.segments
    }

    /// Returns the ECN field of all of them.
    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// Returns the length of the piece in bytes.
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// Returns true if the piece is one packet as it stands with these marks.
    pub fn is_whole(&self, packet: &[u8], marks: &Marks) -> bool {
        self.division == Division::Whole && self.is_unmarked(packet, 0, marks)
    }

    /// Returns true if a segment has these marks already.
    #[inline]
    pub fn is_unmarked(&self, packet: &[u8], segment: u16, marks: &Marks) -> bool {
        self.ecn == marks.ecn && !self.is_rewritten(packet, segment, marks)
    }

    /// Returns true if these marks change the congestion header of a segment.
    #[inline]
    pub fn is_rewritten(&self, packet: &[u8], segment: u16, marks: &Marks) -> bool {
        marks.rewritten(self.datagram(packet, segment)).is_some()
    }

    /// Returns true if the checksum of the transport header is in place.
    pub fn has_checksum(&self) -> bool {
        self.missing.is_none()
    }

    /// Returns the length of one packet on the wire in bytes.
    pub fn size(&self, segment: u16) -> u32 {
        let (from, to) = self.payload(segment, 1);
        (self.own_headers() + to - from) as u32
    }

    /// Returns the number of header bytes in front of the payload of each packet.
    fn own_headers(&self) -> usize {
        if self.division == Division::Whole { 0 } else { usize::from(self.headers) }
    }

    /// Returns where the payload of `count` segments lies in the piece: all of it in undivided pieces.
    fn payload(&self, first: u16, count: u16) -> (usize, usize) {
        let end = self.length as usize;
        if self.division == Division::Whole {
            return (0, end);
        }
        let at = |segment: u16| {
            (usize::from(self.headers) + usize::from(segment) * usize::from(self.step)).min(end)
        };
        (at(first), if first + count >= self.segments { end } else { at(first + count) })
    }

    /// Returns the UDP datagram that a segment carries; empty if it carries none.
    pub fn datagram<'a>(&self, packet: &'a [u8], segment: u16) -> &'a [u8] {
        let range = match (self.datagram, self.division) {
            (0, _) => return &[],
            (begin, Division::Whole) => usize::from(begin)..self.length as usize,
            _ => {
                let (from, to) = self.payload(segment, 1);
                from..to
            }
        };
        packet.get(range).unwrap_or_default()
    }

    /// Returns the headers of `count` segments from `first` on, as one piece with these marks, and the
    /// range of the piece's bytes that follow them. A congestion header is only written if `count`
    /// is 1. Transport checksums stay as missing as they were.
    pub fn head(
        &self,
        packet: &[u8],
        first: u16,
        count: u16,
        marks: &Marks,
        head: &mut Head,
    ) -> (usize, usize) {
        let rewritten =
            if count == 1 { marks.rewritten(self.datagram(packet, first)) } else { None };
        let (from, to) = self.bare_head(packet, first, count, marks.ecn, head);
        match rewritten {
            Some(rewritten) => self.rewrite(packet, (from, to), &rewritten, head),
            None => (from, to),
        }
    }

    /// Copies the beginning of a datagram behind its headers and writes its congestion header.
    fn rewrite(
        &self,
        packet: &[u8],
        (from, to): (usize, usize),
        rewritten: &RewrittenHeader,
        head: &mut Head,
    ) -> (usize, usize) {
        let begin =
            if self.division == Division::Whole { usize::from(self.datagram) } else { from };
        let end = begin + rewritten.end();
        let more = head.length..head.length + end - from;
        let Some((place, source)) = head.bytes.get_mut(more.clone()).zip(packet.get(from..end))
        else {
            return (from, to);
        };
        place.copy_from_slice(source);
        head.length = more.end;
        let udp = HEADER + usize::from(self.transport)..head.length;
        rewritten.write(head.bytes.get_mut(udp).unwrap_or_default(), self.missing.is_none());
        (end, to)
    }

    /// As [`Layout::head`], without congestion headers.
    fn bare_head(
        &self,
        packet: &[u8],
        first: u16,
        count: u16,
        ecn: Ecn,
        head: &mut Head,
    ) -> (usize, usize) {
        let (from, to) = self.payload(first, count);
        let taken = match self.division {
            // As many bytes of headers as the ECN field and the IP checksum need.
            Division::Whole => 12,
            Division::Tcp | Division::Udp => usize::from(self.headers),
        };
        head.length = HEADER + taken;
        let (device, own) = head.bytes.split_at_mut(HEADER);
        let Some((own, source)) = own.get_mut(..taken).zip(packet.get(..taken)) else {
            return (from, from);
        };
        own.copy_from_slice(source);
        set_ecn(own, ecn);
        self.device_header(device, count);
        if self.division == Division::Whole {
            return (taken, to);
        }
        let transport = usize::from(self.transport);
        let size = taken + to - from;
        if self.ipv4 {
            put(own, 2, size as u16);
            let id = word(own, 4).unwrap_or(0).wrapping_add(first);
            put(own, 4, id);
            put(own, 10, 0);
            let checksum = !fold(sum(own.get(..transport).unwrap_or_default()));
            put(own, 10, checksum);
        } else {
            put(own, 4, (size - 40) as u16);
        }
        // The missing checksum covers the length of the transport's part.
        let (before, after) = (self.length as usize - transport, size - transport);
        let place = transport + usize::from(self.missing.map_or(0, |(_, offset)| offset));
        let pseudo = word(own, place).unwrap_or(0);
        put(own, place, !mend(!pseudo, before as u16, after as u16));
        match self.division {
            Division::Whole => {}
            Division::Tcp => {
                self.tcp(own.get_mut(transport..).unwrap_or_default(), device, first, count);
            }
            Division::Udp => put(own, transport + 4, after as u16),
        }
        (from, to)
    }

    /// Writes sequence number and flags of a TCP header.
    fn tcp(&self, header: &mut [u8], device: &mut [u8], first: u16, count: u16) {
        let Some(header) = header.first_chunk_mut::<20>() else { return };
        let number = u32::from_be_bytes([header[4], header[5], header[6], header[7]])
            .wrapping_add(u32::from(first) * u32::from(self.step));
        header[4..8].copy_from_slice(&number.to_be_bytes());
        if first > 0 {
            header[13] &= !CWR;
        }
        if first + count < self.segments {
            header[13] &= !FIN_PSH;
        }
        if header[13] & CWR != 0
            && count > 1
            && let Some(kind) = device.get_mut(1)
        {
            *kind |= GSO_ECN;
        }
    }

    fn device_header(&self, device: &mut [u8], count: u16) {
        let several = count > 1 && self.division != Division::Whole;
        let kind = match self.division {
            _ if !several => GSO_NONE,
            Division::Tcp if self.ipv4 => GSO_TCP4,
            Division::Tcp => GSO_TCP6,
            Division::Udp => GSO_UDP,
            Division::Whole => GSO_NONE,
        };
        let (start, offset) = self.missing.unwrap_or_default();
        let flags = if self.missing.is_some() { NEEDS_CHECKSUM } else { 0 };
        let headers = if several { self.headers } else { 0 };
        let step = if several { self.step } else { 0 };
        write_device_header(device, [flags, kind], [headers, step, start, offset]);
    }

    /// Appends one packet as it is on the wire to `out`, checksums included.
    pub fn complete(&self, packet: &[u8], segment: u16, marks: &Marks, out: &mut Vec<u8>) {
        let mut head = Head::new();
        let (from, to) = self.head(packet, segment, 1, marks, &mut head);
        let begin = out.len();
        out.extend_from_slice(head.bytes().get(HEADER..).unwrap_or_default());
        out.extend_from_slice(packet.get(from..to).unwrap_or_default());
        let Some((start, offset)) = self.missing else { return };
        let Some(covered) = out.get_mut(begin + usize::from(start)..) else { return };
        let checksum = match !fold(sum(covered)) {
            // In UDP, 0 says that there is no checksum.
            0 if offset == UDP_CHECKSUM => 0xffff,
            checksum => checksum,
        };
        put(covered, usize::from(offset), checksum);
    }
}

#[cfg(test)]
#[path = "offload_tests.rs"]
mod tests;
