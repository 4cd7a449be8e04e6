//! Joins TCP segments, or UDP datagrams, of one flow that follow each other into one piece, which the kernel takes in
//! one call: what generic receive offload (GRO) does in the kernel, and the inverse of [`super::offload::Layout`].
//!
//! A piece is cut again into exactly the packets that it was made of, except for the IPv4 identification of
//! packets that must not be fragmented (RFC 6864 §4.1 gives it no meaning there). A packet is joined only if both its
//! checksums are right, since the kernel computes them anew for pieces and no longer compares them. Packets of a flow
//! keep their order. Without input or output.

use super::offload::{
    GSO_TCP4, GSO_TCP6, GSO_UDP, HEADER, NEEDS_CHECKSUM, TCP_CHECKSUM, TCP_FLAGS, UDP_CHECKSUM,
    put, word, write_device_header,
};
use super::packet::{TCP, UDP, fold, sum};

/// Flows whose pieces grow at the same time. A packet of a further flow has the oldest piece written.
const MOST_GROUPS: usize = 8;
/// Most segments of a piece (`UDP_MAX_SEGMENTS` of kernels before 6.9).
const MOST_SEGMENTS: u16 = 64;
/// Most bytes of a piece: IPv4's total length has 16 bits.
const MOST_BYTES: usize = 65_535;
/// The device's header of a packet that stands for itself and has its checksum.
const PLAIN: [u8; HEADER] = [0; HEADER];

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const ECE: u8 = 0x40;

/// Where the parts of a packet begin that may be joined with others.
#[derive(Copy, Clone, Debug)]
struct Joinable {
    ipv4: bool,
    protocol: u8,
    /// Where the transport header begins, and where the payload does.
    transport: usize,
    headers: usize,
}

/// A piece that grows.
#[derive(Debug, Default)]
struct Group {
    /// The device's header and the first packet, then the payloads of the others.
    bytes: Vec<u8>,
    ipv4: bool,
    protocol: u8,
    transport: usize,
    headers: usize,
    /// Payload bytes of the first segment, which the others have as well, the last one excepted.
    step: usize,
    segments: u16,
    /// Sequence number and IPv4 identification that the next segment must have.
    next_sequence: u32,
    next_id: u16,
    /// The last segment has PSH: it goes with the piece's last segment.
    pushes: bool,
    /// True if no segment can follow: the last one was shorter, or has PSH.
    full: bool,
}

/// Pieces that grow, at most one for each flow.
#[derive(Debug, Default)]
pub struct Coalescer {
    /// The oldest first; those behind `active` are kept for their memory.
    groups: Vec<Group>,
    active: usize,
    /// True if UDP datagrams are joined, too.
    datagrams: bool,
}

/// Returns where the parts of a packet begin if it may be joined with others: TCP with payload and without flags
/// that only one segment may carry, or UDP with payload and a checksum; no IPv4 options, no IPv6 extension headers,
/// no fragments.
fn joinable(packet: &[u8]) -> Option<Joinable> {
    let (ipv4, protocol, transport) = match packet.first()? {
        0x45 => {
            // Reserved bit, MF and offset; DF may be set.
            let fragment = word(packet, 6)? & 0xbfff != 0;
            if fragment || usize::from(word(packet, 2)?) != packet.len() {
                return None;
            }
            (true, *packet.get(9)?, 20)
        }
        first if first >> 4 == 6 => {
            if usize::from(word(packet, 4)?) + 40 != packet.len() {
                return None;
            }
            (false, *packet.get(6)?, 40)
        }
        _ => return None,
    };
    let headers = match protocol {
        TCP => {
            let header: &[u8; 20] = packet.get(transport..)?.first_chunk()?;
            // The four bits behind the header's length are reserved, but for accurate ECN's.
            let plain = header[12] & 0x0f == 0 && header[TCP_FLAGS] & !(PSH | ECE) == ACK;
            let length = usize::from(header[12] >> 4) * 4;
            (plain && length >= 20).then_some(transport + length)?
        }
        UDP => {
            let header: &[u8; 8] = packet.get(transport..)?.first_chunk()?;
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            let has_checksum = header[6..8] != [0, 0];
            (has_checksum && length == packet.len() - transport).then_some(transport + 8)?
        }
        _ => return None,
    };
    (packet.len() > headers).then_some(Joinable { ipv4, protocol, transport, headers })
}

/// Returns the sum of the pseudo header (RFC 9293 §3.1, RFC 8200 §8.1) for a transport part of this length.
fn pseudo(packet: &[u8], ipv4: bool, protocol: u8, length: usize) -> u64 {
    let addresses = packet.get(if ipv4 { 12..20 } else { 8..40 }).unwrap_or_default();
    sum(addresses) + u64::from(protocol) + length as u64
}

/// Returns true if the IPv4 header's checksum and the transport's are right.
fn has_right_checksums(packet: &[u8], at: &Joinable) -> bool {
    let Joinable { ipv4, protocol, transport, .. } = *at;
    let (head, rest) = packet.split_at(transport.min(packet.len()));
    (!ipv4 || fold(sum(head)) == 0xffff)
        && fold(pseudo(head, ipv4, protocol, rest.len()) + sum(rest)) == 0xffff
}

fn sequence(packet: &[u8], transport: usize) -> u32 {
    let bytes = packet.get(transport + 4..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Returns true if both packets have equal bytes in `range`.
fn equal(a: &[u8], b: &[u8], range: std::ops::Range<usize>) -> bool {
    a.get(range.clone()) == b.get(range)
}

impl Group {
    /// Makes this packet the first one.
    fn begin(&mut self, packet: &[u8], at: &Joinable) {
        let Joinable { ipv4, protocol, transport, headers } = *at;
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend_from_slice(&PLAIN);
        bytes.extend_from_slice(packet);
        let step = packet.len() - headers;
        let flags = packet.get(transport + TCP_FLAGS).copied().unwrap_or(0);
        let pushes = protocol == TCP && flags & PSH != 0;
        *self = Group {
            bytes,
            ipv4,
            protocol,
            transport,
            headers,
            step,
            segments: 1,
            next_sequence: sequence(packet, transport).wrapping_add(step as u32),
            next_id: word(packet, 4).unwrap_or(0).wrapping_add(1),
            pushes,
            full: pushes,
        };
    }

    /// Returns the IP packet.
    fn packet(&self) -> &[u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }

    /// Returns true if a packet with its transport header at `transport` is of this piece's flow.
    fn is_flow(&self, packet: &[u8], ipv4: bool, protocol: u8, transport: usize) -> bool {
        let addresses = if ipv4 { 12..20 } else { 8..40 };
        let own = self.packet();
        (self.ipv4, self.protocol) == (ipv4, protocol)
            && equal(own, packet, addresses)
            && own.get(self.transport..self.transport + 4) == packet.get(transport..transport + 4)
    }

    /// Returns true if this packet, which is of the same flow, can be the next segment.
    fn continues(&self, packet: &[u8], at: &Joinable) -> bool {
        let (own, payload, transport) = (self.packet(), packet.len() - at.headers, at.transport);
        if self.full
            || self.headers != at.headers
            || payload > self.step
            || self.segments == MOST_SEGMENTS
            || own.len() + payload > MOST_BYTES
        {
            return false;
        }
        let network = match self.ipv4 {
            // Class and ECN; DF; hop limit and protocol. The identification has no meaning beside DF.
            true => {
                let atomic = packet.get(6).is_some_and(|byte| byte & 0x40 != 0);
                equal(own, packet, 0..2)
                    && equal(own, packet, 6..10)
                    && (atomic || word(packet, 4) == Some(self.next_id))
            }
            false => equal(own, packet, 0..4) && equal(own, packet, 6..8),
        };
        let flags = |of: &[u8]| of.get(transport + TCP_FLAGS).map(|flags| flags & !PSH);
        network
            && (self.protocol == UDP
                || (sequence(packet, transport) == self.next_sequence
                    && flags(own) == flags(packet)
                    // Acknowledgement and length of the header; window; options.
                    && equal(own, packet, transport + 8..transport + TCP_FLAGS)
                    && equal(own, packet, transport + 14..transport + 16)
                    && equal(own, packet, transport + 18..at.headers)))
    }

    /// Appends a segment.
    fn append(&mut self, packet: &[u8], at: &Joinable) {
        let payload = packet.get(at.headers..).unwrap_or_default();
        self.bytes.extend_from_slice(payload);
        self.segments += 1;
        self.next_sequence = self.next_sequence.wrapping_add(payload.len() as u32);
        self.next_id = self.next_id.wrapping_add(1);
        let flags = packet.get(at.transport + TCP_FLAGS).copied().unwrap_or(0);
        self.pushes = self.protocol == TCP && flags & PSH != 0;
        self.full = self.pushes || payload.len() < self.step;
    }

    /// Writes lengths, flags and what the device has to know into the headers.
    fn finish(&mut self) {
        if self.segments == 1 {
            return;
        }
        let (transport, headers) = (self.transport, self.headers);
        let (device, packet) = self.bytes.split_at_mut(HEADER);
        let length = packet.len();
        if self.ipv4 {
            put(packet, 2, length as u16);
            put(packet, 10, 0);
            let checksum = !fold(sum(packet.get(..transport).unwrap_or_default()));
            put(packet, 10, checksum);
        } else {
            put(packet, 4, (length - transport) as u16);
        }
        let covered = length - transport;
        let partial = fold(pseudo(packet, self.ipv4, self.protocol, covered));
        let (kind, checksum) = match (self.protocol, self.ipv4) {
            (UDP, _) => {
                put(packet, transport + 4, covered as u16);
                (GSO_UDP, UDP_CHECKSUM)
            }
            (_, true) => (GSO_TCP4, TCP_CHECKSUM),
            (_, false) => (GSO_TCP6, TCP_CHECKSUM),
        };
        put(packet, transport + usize::from(checksum), partial);
        if self.pushes
            && let Some(flags) = packet.get_mut(transport + TCP_FLAGS)
        {
            *flags |= PSH;
        }
        let words = [headers as u16, self.step as u16, transport as u16, checksum];
        write_device_header(device, [NEEDS_CHECKSUM, kind], words);
    }

    /// Has the piece written: the device's header, and the packet.
    fn write(&mut self, write: &mut impl FnMut(&[u8], &[u8])) {
        self.finish();
        if let Some((device, packet)) = self.bytes.split_at_checked(HEADER) {
            write(device, packet);
        }
    }
}

impl Coalescer {
    /// Creates a coalescer of TCP segments, and with `datagrams` of UDP datagrams as well.
    pub fn new(datagrams: bool) -> Coalescer {
        Coalescer { datagrams, ..Coalescer::default() }
    }

    /// Takes an IP packet. `write` gets the device's header and the IP packet of what is to be written now: pieces that
    /// are whole, and packets that are not joined with others.
    pub fn push(&mut self, packet: &[u8], write: &mut impl FnMut(&[u8], &[u8])) {
        let Some(at) = joinable(packet).filter(|at| at.protocol == TCP || self.datagrams) else {
            // Not before the segments that came before it. Their flow stands where theirs does, or it is none.
            if self.active > 0
                && let Some((ipv4, protocol, transport)) = transport(packet)
            {
                self.flush_flow(packet, ipv4, protocol, transport, write);
            }
            write(&PLAIN, packet);
            return;
        };
        let Joinable { ipv4, protocol, transport, .. } = at;
        if !has_right_checksums(packet, &at) {
            self.flush_flow(packet, ipv4, protocol, transport, write);
            write(&PLAIN, packet);
            return;
        }
        let own = self.groups.iter_mut().take(self.active);
        let own =
            own.enumerate().find(|(_, group)| group.is_flow(packet, ipv4, protocol, transport));
        match own {
            Some((_, group)) if group.continues(packet, &at) => group.append(packet, &at),
            Some((_, group)) => {
                group.write(write);
                group.begin(packet, &at);
            }
            None => {
                if self.active == MOST_GROUPS {
                    self.flush_at(0, write);
                }
                if self.active == self.groups.len() {
                    self.groups.push(Group::default());
                }
                if let Some(group) = self.groups.get_mut(self.active) {
                    group.begin(packet, &at);
                    self.active += 1;
                }
            }
        }
    }

    /// Has all pieces written. Call it when all packets of one read were pushed.
    pub fn flush(&mut self, write: &mut impl FnMut(&[u8], &[u8])) {
        self.groups.iter_mut().take(self.active).for_each(|group| group.write(write));
        self.active = 0;
    }

    fn flush_flow(
        &mut self,
        packet: &[u8],
        ipv4: bool,
        protocol: u8,
        transport: usize,
        write: &mut impl FnMut(&[u8], &[u8]),
    ) {
        let own = self.groups.iter().take(self.active);
        let own =
            own.enumerate().find(|(_, group)| group.is_flow(packet, ipv4, protocol, transport));
        if let Some((index, _)) = own {
            self.flush_at(index, write);
        }
    }

    /// Has this piece written, and keeps its memory behind the others'.
    fn flush_at(&mut self, index: usize, write: &mut impl FnMut(&[u8], &[u8])) {
        if let Some(order) = self.groups.get_mut(index..self.active) {
            order.rotate_left(1);
            self.active -= 1;
        }
        if let Some(group) = self.groups.get_mut(self.active) {
            group.write(write);
        }
    }
}

/// Returns IP version, protocol, and where the transport header of a packet begins that may follow pieces of its flow.
fn transport(packet: &[u8]) -> Option<(bool, u8, usize)> {
    let ipv4 = packet.first()? >> 4 == 4;
    let (protocol, at) = super::packet::upper(packet)?;
    Some((ipv4, protocol, at))
}

#[cfg(test)]
#[path = "coalesce_tests.rs"]
mod tests;
