//! Congestion control in Linux' own TCP, by eBPF (`struct_ops`) and without a kernel module.
//!
//! [`PROGRAMS`] lists the programs. [`load`] puts
//! one into the running kernel, [`unload`] removes it, [`list`] and [`stats`] show its state, and
//! [`accelerate`] lets a device mark its packets. Loaded programs are pinned to files below
//! [`PINS`] and belong to no process, so they stay loaded if the loader crashes.
//!
//! The eBPF programs are built in only with the feature `bpf`, because compiling them needs clang
//! and libbpf. Without the feature, loading returns an error that says so.

#[cfg(not(feature = "bpf"))]
mod absent;
mod c2tcp_limits;
mod error;
#[cfg(feature = "bpf")]
mod filter;
#[cfg(feature = "bpf")]
mod libbpf_log;
#[cfg(feature = "bpf")]
mod loader;
mod options;
mod own_folder;
mod pins;
mod probe;
mod programs;
mod remy_table;
#[cfg(feature = "bpf")]
mod router;
mod sources;
mod watch;

#[cfg(not(feature = "bpf"))]
pub use absent::{accelerate, load, router_programs, sockets, stats, unload};
pub use c2tcp_limits::C2tcpLimits;
pub use error::KernelError;
#[cfg(feature = "bpf")]
pub use filter::accelerate;
#[cfg(feature = "bpf")]
pub use loader::{load, sockets, stats, unload};
pub use options::Options;
pub use pins::{PINS, ProgramState, list, loaded, options};
pub use probe::{Probe, Requirement, devices, probe};
pub use programs::{COUNTERS, PROGRAMS, Program, find};
pub use remy_table::{RemyTable, RemyTableError};
#[cfg(feature = "bpf")]
pub use router::router_programs;
pub use sources::MODULE_SOURCES;
pub use watch::Totals;
