//! SproutTunnel: carries the packets of a TUN device over a connection, under any scheme.
//!
//! Winstein's thesis, sections 2.3.3 and 2.4.7. [`queues`] decide which packet leaves next and which is
//! dropped, and [`owners`] which client gets a packet; both are without input or output. Packets that are
//! too long for the path are refused, as routers do (`refusals`), or carried in parts.
//! [`client()`] is one loop on one thread, [`server()`] one or several: see `directory` and [`handover`].

pub mod allowed;
mod arrivals;
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
mod settings;
pub mod setup;
mod status;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

pub use carrier::CarrierStats;
pub use client::{ClientOptions, client};
pub use client_list::{ClientListOptions, free_addresses};
pub use control::RunningTunnel;
pub use device::DeviceOptions;
pub use paceline_wire::Prefix;
use paceline_wire::{End, ServerStats};
pub use server::{MOST_LOOPS, ServerOptions, server};
pub use status::{PeerStatus, TunnelStatus};

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address outside.
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

/// Something that an end of a tunnel has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server is ready, at this address.
    Listening(SocketAddr),
    /// The device stands.
    Device(String),
    /// A connection stands.
    Connected {
        /// The other end.
        with: Peer,
        /// The most bytes of a packet inside.
        mtu: usize,
        /// True if IPv6 inside needs larger packets: they are carried in parts.
        too_small: bool,
    },
    /// The path has come to carry only smaller packets, or larger ones again.
    PacketSize {
        /// The other end.
        with: Peer,
        /// The most bytes of a packet inside that one packet of the path carries.
        mtu: usize,
    },
    /// The address of the other end has changed.
    Moved(SocketAddr),
    /// A client sends from an address inside that is not its own; its packets from there are dropped. Told once a
    /// minute for each client.
    SourceRefused {
        /// The client.
        with: Peer,
        /// The address inside.
        source: IpAddr,
        /// The connected client that owns the address; `None` if the list of clients decides.
        owner: Option<Peer>,
    },
    /// A list of so many clients counts from now on.
    ListRead(usize),
    /// SIGHUP has come, and there is no list of clients to read again.
    NoList,
    /// The list of clients cannot be used, and why; the former one stays.
    ListProblem(String),
    /// A connection is over.
    Ended {
        /// The other end.
        with: Peer,
        /// Why; empty if the other end has closed it and all is well.
        reason: String,
        /// What went through the queues.
        stats: CarrierStats,
    },
    /// There is no connection at present, and why; it is tried again.
    Waiting(String),
    /// There is no control socket, and why: `paceline tunnel status` does not show this end.
    NoControl(String),
    /// Events of a server's loops that were left out because too many waited to be told.
    LeftOut(u64),
    /// The server was interrupted, and ends; what it has counted.
    Stopping(ServerStats),
}

/// Why a connection has ended, in words; empty if it was closed and all is well.
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
