//! What is asked of the Linux kernel. The only place with `unsafe` code.

#![allow(unsafe_code)]

pub mod capability;
pub mod diag;
pub mod folder;
pub mod host;
pub mod namespace;
pub mod nat;
pub mod netlink;
pub(crate) mod nftables;
pub(crate) mod pacing;
pub mod priority;
pub mod process;
pub mod process_identity;
pub mod route;
pub mod rule;
pub(crate) mod ruleset;
pub mod tcp_info;
pub mod tcx;
pub mod terminal;
pub mod tun;
pub mod udp;

pub use tun::{Tun, TunOptions};
