//! What Paceline asks of the operating system: sockets, TUN devices, network namespaces, routes, firewalls, processes,
//! folders. Has `unsafe` code; invariant 6 of ARCHITECTURE.md names the other places that do.
//!
//! [`host`] has the settings of this machine that shells and tunnels change and put back, [`Interrupts`] the signals
//! that end a program.

#![allow(unsafe_code)]

pub mod capability;
pub mod diag;
mod error;
pub mod folder;
pub mod host;
mod interrupts;
pub mod namespace;
pub mod nat;
pub mod netlink;
pub(crate) mod nftables;
pub mod pacing;
pub mod priority;
pub mod process;
pub mod process_identity;
pub mod route;
pub mod rule;
pub mod ruleset;
pub mod tcp_info;
pub mod tcx;
pub mod terminal;
pub mod tun;
pub mod udp;

pub use error::RealTimeError;
pub use interrupts::{Interrupts, WakeUps, Waker};
pub use tun::{Tun, TunOptions};
