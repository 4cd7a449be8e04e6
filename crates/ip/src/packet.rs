//! Reads IP packets (lengths, flows, addresses), and changes ECN fields and checksums.

use core::net::IpAddr;

use paceline_cc::Ecn;

/// Extension headers of IPv6 that are walked over to find the transport header (RFC 8200 §4).
const MOST_EXTENSIONS: usize = 8;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const OPTIONS: u8 = 60;

/// TCP's protocol number.
pub const TCP: u8 = 6;
/// ICMP's protocol number, in IPv4.
pub const ICMP: u8 = 1;
/// ICMP's protocol number, in IPv6.
pub const ICMPV6: u8 = 58;
/// UDP's protocol number.
pub const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// Why bytes are no IP packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// Neither IPv4 nor IPv6.
    Version,
    /// The headers are longer than the packet.
    Headers,
    /// The packet is shorter than its header says.
    Truncated,
    /// The device's header contradicts the packet: its segments or its checksum.
    Offload,
}

/// The fields of an IP packet that queues, routers and offloads need.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ParsedPacket {
    /// True for IPv4, false for IPv6.
    pub ipv4: bool,
    /// Bytes of the whole packet, as its header has it.
    pub length: usize,
    /// The ECN field.
    pub ecn: Ecn,
    /// The protocol above IP and its extension headers.
    pub protocol: u8,
    /// Where the header of that protocol begins; `None` in fragments, which may lack it.
    pub transport: Option<usize>,
    /// True if it is a fragment of a larger packet.
    pub fragment: bool,
    /// A hash of addresses, protocol and ports, the same on every machine. Fragments and protocols
    /// without ports are hashed by addresses and protocol.
    pub flow: u32,
}

/// Reads an IP packet.
///
/// # Errors
/// The packet is none, or contradicts itself. Bytes beyond the packet's own length are no error.
pub fn parse(bytes: &[u8]) -> Result<ParsedPacket, PacketError> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => parse4(bytes),
        Some(6) => parse6(bytes),
        _ => Err(PacketError::Version),
    }
}

fn parse4(bytes: &[u8]) -> Result<ParsedPacket, PacketError> {
    let header: &[u8; 20] = bytes.first_chunk().ok_or(PacketError::Headers)?;
    let headers = usize::from(header[0] & 0x0f) * 4;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if headers < 20 || length < headers {
        return Err(PacketError::Headers);
    }
    if length > bytes.len() {
        return Err(PacketError::Truncated);
    }
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let transport = (!fragment).then_some(headers);
    let protocol = header[9];
    let mut hash = Hash::new(protocol);
    hash.add(&header[12..20]);
    hash.add_ports(bytes, protocol, transport);
    let flow = hash.end();
    Ok(ParsedPacket {
        ipv4: true,
        length,
        ecn: Ecn::of_bits(header[1]),
        protocol,
        transport,
        fragment,
        flow,
    })
}

fn parse6(bytes: &[u8]) -> Result<ParsedPacket, PacketError> {
    let header: &[u8; 40] = bytes.first_chunk().ok_or(PacketError::Headers)?;
    let length = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let Some(bytes) = bytes.get(..length) else { return Err(PacketError::Truncated) };
    let (protocol, upper, offset) = walk(bytes, header[6]);
    let fragment = offset.is_some();
    let transport = upper.filter(|_| !fragment);
    let mut hash = Hash::new(protocol);
    hash.add(&header[8..40]);
    hash.add_ports(bytes, protocol, transport);
    let ecn = Ecn::of_bits(header[1] >> 4);
    Ok(ParsedPacket { ipv4: false, length, ecn, protocol, transport, fragment, flow: hash.end() })
}

/// Walks over the extension headers. Returns the protocol after them, where its header begins, and, if this is a
/// fragment, where in the whole packet it begins. Chains that cannot be followed and fragments other than
/// the first have no header of that protocol.
fn walk(bytes: &[u8], first: u8) -> (u8, Option<usize>, Option<u16>) {
    let (mut protocol, mut at) = (first, 40);
    for _ in 0..MOST_EXTENSIONS {
        let Some(&[next, length]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
            return (protocol, None, (protocol == FRAGMENT).then_some(u16::MAX));
        };
        at += match protocol {
            HOP_BY_HOP | ROUTING | OPTIONS => (usize::from(length) + 1) * 8,
            AUTHENTICATION => (usize::from(length) + 2) * 4,
            FRAGMENT => {
                let field = bytes.get(at + 2..).and_then(|rest| rest.first_chunk());
                let offset = field.map_or(u16::MAX, |field| u16::from_be_bytes(*field) & 0xfff8);
                return (next, (offset == 0).then_some(at + 8), Some(offset));
            }
            _ => return (protocol, Some(at), None),
        };
        protocol = next;
    }
    (protocol, None, None)
}

/// Returns the protocol above IP and its extension headers, and where its header begins, also in the first
/// fragment of a packet. `None` in other fragments, and if the chain of headers cannot be followed.
pub fn upper(packet: &[u8]) -> Option<(u8, usize)> {
    match packet.first()? >> 4 {
        4 => {
            let header: &[u8; 20] = packet.first_chunk()?;
            let offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
            (offset == 0).then_some((header[9], usize::from(header[0] & 0x0f) * 4))
        }
        6 => {
            let (protocol, upper, _) = walk(packet, *packet.get(6)?);
            Some((protocol, upper?))
        }
        _ => None,
    }
}

/// Returns the source and the destination of an IP packet.
pub fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let four = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
    let six = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
    match packet.first()? >> 4 {
        4 => Some((four(12)?, four(16)?)),
        6 => Some((six(8)?, six(24)?)),
        _ => None,
    }
}

/// Writes the ECN field of a packet that has been parsed. IPv4's header checksum is mended by the
/// difference (RFC 1624, equation 3), so that a wrong one stays wrong.
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    let Some(head) = bytes.first_chunk_mut::<12>() else { return };
    let before = u16::from_be_bytes([head[0], head[1]]);
    if head[0] >> 4 != 4 {
        head[1] = head[1] & 0xcf | (ecn as u8) << 4;
        return;
    }
    head[1] = head[1] & 0xfc | ecn as u8;
    let after = u16::from_be_bytes([head[0], head[1]]);
    let checksum = mend(u16::from_be_bytes([head[10], head[11]]), before, after);
    [head[10], head[11]] = checksum.to_be_bytes();
}

/// Returns the checksum after one of the words that it covers has changed from `before` to `after` (RFC 1624, equation
/// 3).
pub fn mend(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    !fold(u64::from(sum))
}

/// Replaces a byte that a checksum covers, and returns the checksum after it. `at` counts from where the
/// checksum begins to count, or an even number of bytes before or behind. `None` if there is no such byte.
pub fn replace(bytes: &mut [u8], at: usize, byte: u8, checksum: u16) -> Option<u16> {
    let before = std::mem::replace(bytes.get_mut(at)?, byte);
    // The byte as part of the word that the checksum counts.
    let shift = if at.is_multiple_of(2) { 8 } else { 0 };
    Some(mend(checksum, u16::from(before) << shift, u16::from(byte) << shift))
}

/// Returns the sum of big-endian words (RFC 1071), not yet folded. An odd byte at the end counts as the
/// upper half of a word.
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = match *words.remainder() {
        [a] => u64::from(u16::from_be_bytes([a, 0])),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_be_bytes([a, b, c, 0])),
        _ => 0,
    };
    // 2¹⁶ is 1 in this arithmetic, so that words may be taken two at a time.
    let twos =
        words.map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]])));
    twos.sum::<u64>() + rest
}

/// Folds a sum of words into one word.
pub fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the ports, which stand first in the headers of the protocols that have them.
fn ports(bytes: &[u8], protocol: u8, transport: Option<usize>) -> Option<&[u8; 4]> {
    match protocol {
        TCP | UDP | DCCP | SCTP | UDP_LITE => bytes.get(transport?..)?.first_chunk::<4>(),
        _ => None,
    }
}

/// Returns the identity of a packet's flow: addresses, protocol and ports; of fragments, without ports. Callers that
/// hash it under a key of their own keep senders from choosing which flows collide.
pub fn flow_id(
    bytes: &[u8],
    parsed: &ParsedPacket,
) -> (Option<(IpAddr, IpAddr)>, u8, Option<[u8; 4]>) {
    let ports = ports(bytes, parsed.protocol, parsed.transport).copied();
    (ends(bytes), parsed.protocol, ports)
}

/// Mixes words into 32 bits. Senders can choose collisions; queues perturb the hash themselves.
struct Hash(u64);

impl Hash {
    fn new(protocol: u8) -> Hash {
        Hash(u64::from(protocol))
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    fn add(&mut self, bytes: &[u8]) {
        for chunk in bytes.as_chunks::<8>().0 {
            self.word(u64::from_be_bytes(*chunk));
        }
    }

    fn add_ports(&mut self, bytes: &[u8], protocol: u8, transport: Option<usize>) {
        if let Some(ports) = ports(bytes, protocol, transport) {
            self.word(u64::from(u32::from_be_bytes(*ports)) | 1 << 32);
        }
    }

    fn end(mut self) -> u32 {
        self.word(0);
        self.0 as u32
    }
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
