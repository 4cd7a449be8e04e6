//! MSS clamping: lowers the largest segment size in the SYNs of TCP to what the link carries, so that segments fit from
//! the start, also where ICMP errors do not arrive.

use super::offload::{TCP_CHECKSUM, TCP_FLAGS};
use super::packet::{TCP, replace, upper};

/// Bytes of the headers that a packet has beside its segment (RFC 6691, section 2).
const HEADERS_IPV4: usize = 40;
const HEADERS_IPV6: usize = 60;

const SYN: u8 = 0x02;
/// Where checksum and options stand in a TCP header.
const CHECKSUM: usize = TCP_CHECKSUM as usize;
const OPTIONS: usize = 20;

/// Kinds of options (RFC 9293, section 3.2).
const END: u8 = 0;
const NOTHING: u8 = 1;
const MSS: u8 = 2;

/// Returns where the TCP header of a SYN begins; `None` for all other packets.
pub fn opening(packet: &[u8]) -> Option<usize> {
    let (protocol, at) = upper(packet)?;
    let opens = protocol == TCP && packet.get(at + TCP_FLAGS)? & SYN != 0;
    opens.then_some(at)
}

/// Lowers the largest segment size of a SYN, whose TCP header begins at `at` ([`opening`]), to what fits into packets
/// of `mtu` bytes. The checksum is mended by the difference (RFC 1624, equation 3). A smaller size stays. A SYN without
/// the option stands for 536 (IPv4) or 1220 bytes (IPv6) and is not changed. Returns true if the packet was changed.
pub fn clamp(packet: &mut [u8], at: usize, mtu: usize) -> bool {
    let ipv4 = packet.first().is_some_and(|first| first >> 4 == 4);
    let most = mtu.saturating_sub(if ipv4 { HEADERS_IPV4 } else { HEADERS_IPV6 });
    let Some(header) = packet.get_mut(at..) else { return false };
    clamp_option(header, most.min(usize::from(u16::MAX)) as u16).is_some()
}

fn clamp_option(header: &mut [u8], most: u16) -> Option<()> {
    let length = usize::from(header.get(12)? >> 4) * 4;
    let header = header.get_mut(..length)?;
    let place = mss_at(header)?;
    let &[high, low] = header.get(place..)?.first_chunk()?;
    if u16::from_be_bytes([high, low]) <= most {
        return None;
    }
    let &[first, second] = header.get(CHECKSUM..)?.first_chunk()?;
    let mut checksum = u16::from_be_bytes([first, second]);
    for (offset, byte) in most.to_be_bytes().into_iter().enumerate() {
        checksum = replace(header, place + offset, byte, checksum)?;
    }
    header.get_mut(CHECKSUM..CHECKSUM + 2)?.copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// Returns where the value of the option stands in a TCP header.
fn mss_at(header: &[u8]) -> Option<usize> {
    let mut at = OPTIONS;
    loop {
        match *header.get(at)? {
            END => return None,
            NOTHING => at += 1,
            kind => {
                let length = usize::from(*header.get(at + 1)?);
                if kind == MSS && length == 4 && at + 4 <= header.len() {
                    return Some(at + 2);
                }
                // An option has two bytes at least.
                at += length.max(2);
            }
        }
    }
}

#[cfg(test)]
#[path = "mss_tests.rs"]
mod tests;
