//! SproutTunnel: carries the packets of a TUN device over a connection, under any scheme.
//!
//! Winstein's thesis, sections 2.3.3 and 2.4.7. [`queues`] decide which packet leaves next and which is
//! dropped, and [`neighbours`] which client gets a packet; both are without input or output. Packets that are
//! too long for the path are refused, as routers do (`refusals`), or carried in parts.
//! [`client()`] and [`server()`] are one loop on one thread each.

pub mod allowed;
mod carrier;
mod client;
mod device;
pub mod neighbours;
pub mod queues;
mod refusals;
mod server;
pub mod setup;

use std::net::{IpAddr, SocketAddr};

pub use carrier::CarrierStats;
pub use client::{ClientOptions, client};
pub use device::DeviceOptions;
pub use paceline_wire::Prefix;
use paceline_wire::{End, ServerStats};
pub use server::{ServerOptions, server};

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
        with: SocketAddr,
        /// The most bytes of a packet inside.
        mtu: usize,
        /// True if IPv6 inside needs larger packets: they are carried in parts.
        too_small: bool,
    },
    /// The path has come to carry only smaller packets, or larger ones again.
    PacketSize {
        /// The other end.
        with: SocketAddr,
        /// The most bytes of a packet inside that one packet of the path carries.
        mtu: usize,
    },
    /// The address of the other end has changed.
    Moved(SocketAddr),
    /// A client sends from an address inside that another client owns; its packets from there are dropped. Told once a
    /// minute for each client.
    SourceRefused {
        /// The client.
        with: SocketAddr,
        /// The address inside.
        source: IpAddr,
        /// The client that owns the address.
        owner: SocketAddr,
    },
    /// A connection is over.
    Ended {
        /// With whom it was.
        with: SocketAddr,
        /// Why; empty if the other end has closed it and all is well.
        reason: String,
        /// What went through the queues.
        stats: CarrierStats,
    },
    /// There is no connection at present, and why; it is tried again.
    Waiting(String),
    /// The server was interrupted, and ends; what it has counted.
    Stopping(ServerStats),
}

/// Why a connection has ended, in words; empty if it was closed and all is well.
fn reason(end: &End) -> String {
    match end {
        End::There { code: 0, .. } | End::Here { code: 0, .. } => String::new(),
        End::There { reason, .. } if reason.is_empty() => "the other end gave up".into(),
        End::There { reason, .. } | End::Here { reason, .. } => reason.clone(),
        End::Silence(span) => {
            format!("nothing has come for {span}: the other end has died, or the path is down")
        }
    }
}
