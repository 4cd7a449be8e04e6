//! Linux itself as the ends of simulated flows: each host is a User-Mode Linux kernel whose clock
//! and network device the simulator provides. `crates/guest/PROTOCOL.md` describes the messages
//! between them.
//!
//! [`transport()`] builds the ends of a flow from a name such as `linux:cubic`; [`find`] finds a
//! built guest. Guests run on Linux on x86-64; on other systems there is an error that says so.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod account;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod affinity;
pub mod build;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calendar;
mod cpio;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod end;
mod error;
mod files;
mod folder;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod frame;
pub mod frames;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod guest;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod host;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod launch;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod media;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod probe;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod programs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ring;
mod settings;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod store;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod transfers;
mod transport;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod vhost;

pub use error::Error;
pub use files::{PROTOCOL, find};
pub use folder::remove_leftovers;
pub use transport::{FAMILY, describe, transport};
