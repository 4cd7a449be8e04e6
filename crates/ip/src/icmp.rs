//! Answers of a router to packets that are longer than the next link's MTU: ICMP "fragmentation needed" (RFC 792, with
//! the MTU of RFC 1191, section 4) and ICMPv6 "packet too big" (RFC 4443, section 3.2). Without input or output.

use core::net::IpAddr;

use super::packet::{ICMP, ICMPV6, ends, fold, sum, upper};

/// The packet size that every link carries in IPv6 (RFC 8200, section 5).
pub const LEAST_IPV6: usize = 1280;
/// The longest answer in IPv4 (RFC 1812, section 4.3.2.3).
const LONGEST_IPV4: usize = 576;

/// Bytes of the IP headers, and of what comes before the quoted packet in both kinds of ICMP.
const IPV4: usize = 20;
const IPV6: usize = 40;
const ICMP_HEADER: usize = 8;

/// IPv4's flag "don't fragment".
const DONT_FRAGMENT: u8 = 0x40;
const TTL: u8 = 64;
/// The precedence "internetwork control" (RFC 1812, section 4.3.2.5).
const CONTROL: u8 = 0xc0;

const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const PACKET_TOO_BIG: u8 = 2;

/// Types of ICMP that are questions and answers. All others are taken for errors.
const QUERIES: [u8; 12] = [0, 8, 9, 10, 13, 14, 15, 16, 17, 18, 42, 43];
/// ICMPv6's types from here on are no errors (RFC 4443, section 2.1).
const INFORMATIONAL: u8 = 128;
const REDIRECT: u8 = 137;

/// Returns true if a router may refuse this packet when it is too long for the next link: IPv4 with "don't
/// fragment", and IPv6 of more than 1280 bytes. A router has to divide other packets.
pub fn may_refuse(packet: &[u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) => packet.get(6).is_some_and(|flags| flags & DONT_FRAGMENT != 0),
        Some(6) => packet.len() > LEAST_IPV6,
        _ => false,
    }
}

/// Returns the answer to a packet that was refused because it is longer than `mtu` bytes, headers included; the
/// packet must be one that [`super::packet::parse`] takes. `None` where there must be no answer (RFC 1812,
/// section 4.3.2.7; RFC 4443, section 2.4 e): to ICMP errors, to fragments other than the first, to
/// packets for a group or from an address that is no single host's, and if the headers cannot be followed.
///
/// The answer comes from the address that the packet goes to, and not from an address of this machine,
/// because a kernel takes no packets from a device that come from its own addresses. It quotes as much of
/// the packet as fits into 576 bytes (IPv4) or 1280 bytes (IPv6). In IPv6 the MTU is 1280 at least.
pub fn too_big(packet: &[u8], mtu: usize) -> Option<Vec<u8>> {
    let ((from, to), (protocol, at)) = (ends(packet)?, upper(packet)?);
    let kind = || packet.get(at).copied();
    let is_error = match protocol {
        ICMP if from.is_ipv4() => !QUERIES.contains(&kind()?),
        ICMPV6 if from.is_ipv6() => matches!(kind()?, ..INFORMATIONAL | REDIRECT),
        _ => false,
    };
    match (is_error || !is_one(from) || !is_one(to), from) {
        (true, _) => None,
        (false, IpAddr::V4(_)) => fragmentation_needed(packet, mtu),
        (false, IpAddr::V6(_)) => packet_too_big(packet, mtu),
    }
}

/// Returns true if this may be the address of a single host.
fn is_one(address: IpAddr) -> bool {
    match address {
        // Not this network, nor groups, nor what is reserved, with the broadcast address.
        IpAddr::V4(four) => {
            let [first, ..] = four.octets();
            first != 0 && first < 224 && !four.is_loopback()
        }
        IpAddr::V6(six) => !(six.is_multicast() || six.is_unspecified() || six.is_loopback()),
    }
}

fn fragmentation_needed(packet: &[u8], mtu: usize) -> Option<Vec<u8>> {
    let quoted = packet.get(..packet.len().min(LONGEST_IPV4 - IPV4 - ICMP_HEADER))?;
    let length = (IPV4 + ICMP_HEADER + quoted.len()) as u16;
    let mtu = mtu.min(usize::from(u16::MAX)) as u16;
    let mut answer = Vec::with_capacity(usize::from(length));
    answer.extend([0x45, CONTROL]);
    answer.extend(length.to_be_bytes());
    answer.extend([0, 0, DONT_FRAGMENT, 0, TTL, ICMP, 0, 0]);
    answer.extend(packet.get(16..20)?);
    answer.extend(packet.get(12..16)?);
    let checksum = !fold(sum(&answer));
    answer.get_mut(10..12)?.copy_from_slice(&checksum.to_be_bytes());
    answer.extend([UNREACHABLE, FRAGMENTATION_NEEDED, 0, 0, 0, 0]);
    answer.extend(mtu.to_be_bytes());
    answer.extend(quoted);
    let checksum = !fold(sum(answer.get(IPV4..)?));
    answer.get_mut(IPV4 + 2..IPV4 + 4)?.copy_from_slice(&checksum.to_be_bytes());
    Some(answer)
}

fn packet_too_big(packet: &[u8], mtu: usize) -> Option<Vec<u8>> {
    let quoted = packet.get(..packet.len().min(LEAST_IPV6 - IPV6 - ICMP_HEADER))?;
    let length = (ICMP_HEADER + quoted.len()) as u16;
    let mtu = mtu.clamp(LEAST_IPV6, u32::MAX as usize) as u32;
    let mut answer = Vec::with_capacity(IPV6 + usize::from(length));
    answer.extend([0x60, 0, 0, 0]);
    answer.extend(length.to_be_bytes());
    answer.extend([ICMPV6, TTL]);
    answer.extend(packet.get(24..40)?);
    answer.extend(packet.get(8..24)?);
    answer.extend([PACKET_TOO_BIG, 0, 0, 0]);
    answer.extend(mtu.to_be_bytes());
    answer.extend(quoted);
    // The checksum covers addresses, length and protocol, too (RFC 8200, section 8.1).
    let pseudo = sum(answer.get(8..IPV6)?) + u64::from(length) + u64::from(ICMPV6);
    let checksum = !fold(pseudo + sum(answer.get(IPV6..)?));
    answer.get_mut(IPV6 + 2..IPV6 + 4)?.copy_from_slice(&checksum.to_be_bytes());
    Some(answer)
}

#[cfg(test)]
#[path = "icmp_tests.rs"]
mod tests;
