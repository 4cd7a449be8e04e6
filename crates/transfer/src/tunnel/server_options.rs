//! Options of a tunnel's server.

use std::net::SocketAddr;
use std::num::NonZeroUsize;

use paceline_wire::ServerLimits;
use paceline_wire::key::Identity;

use super::client_list::ClientListOptions;
use super::device::DeviceOptions;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address at which it listens.
    pub listen: SocketAddr,
    /// The server's keys.
    pub identity: Identity,
    /// Limits across all loops.
    pub limits: ServerLimits,
    /// Options of the device.
    pub device: DeviceOptions,
    /// The clients that it admits; `None` admits every client that has the server's key.
    pub clients: Option<ClientListOptions>,
    /// Number of event loops, each on its own thread with its own socket and its own queue of the
    /// device: 1 to [`MOST_LOOPS`](crate::udp::MOST_LOOPS). A connection stays at the loop at which it began.
    pub loops: NonZeroUsize,
    /// True if it ends with its first connection.
    pub once: bool,
    /// True if SIGHUP does not end a server without a list of clients. For services, which systemd
    /// may reload by SIGHUP.
    pub outlives_hangup: bool,
}
