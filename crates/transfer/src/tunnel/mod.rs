//! SproutTunnel: carries the packets of a TUN device over a connection, with any scheme.
//!
//! Winstein's thesis, sections 2.3.3 and 2.4.7. [`queues`] decide which packet leaves next and
//! which is dropped; [`owners`] decide which client gets a packet; both are without input or
//! output. Packets that are too long for the path are refused, as routers do (`refusals`), or
//! carried in parts. [`client()`] is one loop on one thread, [`server()`] one or several: see
//! `directory` and [`handover`].

pub mod allowed;
mod arrivals;
mod byte_counter;
mod carrier;
mod client;
mod client_list;
mod control;
mod device;
mod directory;
pub mod handover;
mod loops;
pub mod neighbours;
pub mod owners;
pub mod queues;
mod refusals;
mod server;
mod server_loop;
mod server_options;
mod settings;
pub mod setup;
mod status;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

pub use carrier::CarrierStats;
pub use client::{ClientOptions, client};
pub use client_list::{ClientListOptions, free_addresses, network_error};
pub use control::RunningTunnel;
pub use device::DeviceOptions;
pub use paceline_wire::Prefix;
use paceline_wire::{End, ServerStats};
pub use server::server;
pub use server_options::ServerOptions;
pub use status::{PeerStatus, TunnelStatus};

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its outside address.
    pub remote: SocketAddr,
    /// Its name in the server's list of clients.
    pub name: Option<String>,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} ({name})", self.remote),
            None => self.remote.fmt(f),
        }
    }
}

impl From<SocketAddr> for Peer {
    fn from(remote: SocketAddr) -> Peer {
        Peer { remote, name: None }
    }
}

/// An event that an end of a tunnel reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server listens at this address.
    Listening(SocketAddr),
    /// The device with this name is up.
    Device(String),
    /// A connection is established.
    Connected {
        /// The other end.
        with: Peer,
        /// Maximum length of an inside packet in bytes.
        mtu: usize,
        /// True if inside IPv6 needs larger packets, which are then carried in parts.
        too_small: bool,
    },
    /// The maximum packet size of the path has changed.
    PacketSize {
        /// The other end.
        with: Peer,
        /// Maximum length, in bytes, of an inside packet that one packet of the path carries.
        mtu: usize,
    },
    /// The address of the other end has changed.
    Moved(SocketAddr),
    /// A client sends from an inside address that is not its own, and its packets from there are
    /// dropped. At most one event per minute and client.
    SourceRefused {
        /// The client.
        with: Peer,
        /// The inside address.
        source: IpAddr,
        /// The connected client that owns the address; `None` if the list of clients decides.
        owner: Option<Peer>,
    },
    /// A list with this number of clients is in use.
    ListRead(usize),
    /// SIGHUP has arrived, and there is no list of clients to read again.
    NoList,
    /// The list of clients has this mistake; the former list stays in use.
    ListProblem(String),
    /// A connection is over.
    Ended {
        /// The other end.
        with: Peer,
        /// The reason; empty if the other end closed the connection without an error.
        reason: String,
        /// Counters of the queues.
        stats: CarrierStats,
    },
    /// There is currently no connection, for this reason. The client tries again.
    Waiting(String),
    /// There is no control socket, for this reason: `paceline tunnel status` does not show this
    /// end.
    NoControl(String),
    /// Number of events dropped because too many were waiting to be reported.
    LeftOut(u64),
    /// The server was interrupted and ends, with these counters.
    Stopping(ServerStats),
}

/// Returns why a connection has ended, in words; empty if it was closed without an error.
fn reason(end: &End) -> String {
    match end {
        End::There { code: 0, .. } | End::Here { code: 0, .. } => String::new(),
        End::There { reason, .. } if reason.is_empty() => "the other end gave up".into(),
        End::There { reason, .. } | End::Here { reason, .. } => reason.clone(),
        End::Reset => "the server was restarted".into(),
        End::Silence(span) => {
            format!("nothing has come for {span}: the other end has died, or the path is down")
        }
    }
}
