//! Sizes of packets that paths carry, and of their headers.

use core::net::{IpAddr, SocketAddr};

/// Packet size that every path is expected to carry (RFC 8200's minimum MTU).
pub const BASE_MTU: u16 = 1280;
/// Packet sizes that are tried at once if the largest does not pass: the sizes that common tunnels
/// and access lines leave of 1500 and 9000 bytes, and the base.
pub(crate) const SMALLER: [u16; 11] =
    [8900, 4000, 1492, 1480, 1460, 1440, 1420, 1400, 1360, 1320, BASE_MTU];

/// Returns the bytes of the IP and UDP headers of a datagram to this address.
pub(crate) fn ip_udp(to: &SocketAddr) -> usize {
    match to.ip().to_canonical() {
        IpAddr::V4(_) => 28,
        IpAddr::V6(_) => 48,
    }
}
