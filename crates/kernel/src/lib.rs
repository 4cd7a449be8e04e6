//! Congestion control in Linux' own TCP, by eBPF (`struct_ops`) and without a kernel module.
//!
//! [`integer`] is the arithmetic of the programs.

pub mod integer;
