//! Addresses of the simulated ends, and seeds of their random numbers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use paceline_sim::TransportSetup;

/// Address of the client.
pub(crate) const CLIENT: SocketAddr = address(1);
/// Address of the server.
pub(crate) const SERVER: SocketAddr = address(2);
/// Host name in the simulation's certificate.
pub(crate) const NAME: &str = "paceline.test";

const fn address(last: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), 4433)
}

/// Returns the seed of an endpoint's random numbers.
pub(crate) fn seed(setup: &TransportSetup, name: &str) -> [u8; 32] {
    let mut random = setup.random(name);
    let mut seed = [0; 32];
    for word in seed.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    seed
}
