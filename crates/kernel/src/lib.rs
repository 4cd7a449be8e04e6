//! Congestion control in Linux' own TCP, by eBPF (`struct_ops`) and without a kernel module.
//!
//! [`integer`] is the arithmetic of the programs. [`PROGRAMS`] are the programs; [`load`],
//! [`unload`], [`list`] and [`stats`] put them into the running kernel and take them out again,
//! and [`accelerate`] lets a device mark their packets. What is loaded hangs on files below
//! [`PINS`] and on no process, so that a loader that crashes takes nothing away.
//!
//! The eBPF programs are built in only with the feature `bpf`, because that needs clang and
//! libbpf; without it loading is an error that says so.

#[cfg(not(feature = "bpf"))]
mod absent;
mod error;
#[cfg(feature = "bpf")]
mod filter;
pub mod integer;
#[cfg(feature = "bpf")]
mod loader;
mod options;
mod own_folder;
mod pins;
mod probe;
mod programs;
#[cfg(feature = "bpf")]
mod router;
mod watch;

#[cfg(not(feature = "bpf"))]
pub use absent::{accelerate, load, router_programs, sockets, stats, unload};
pub use error::KernelError;
#[cfg(feature = "bpf")]
pub use filter::accelerate;
#[cfg(feature = "bpf")]
pub use loader::{load, sockets, stats, unload};
pub use options::{Options, RESOLUTION};
pub use pins::{PINS, State, list, loaded, options};
pub use probe::{Probe, devices, probe};
pub use programs::{COUNTERS, PROGRAMS, Program, find};
#[cfg(feature = "bpf")]
pub use router::router_programs;
pub use watch::Totals;
