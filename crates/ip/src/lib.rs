//! IP packets as bytes, without input or output: for the emulator, the tunnel and guests.
//!
//! [`packet`] reads headers and mends checksums, [`icmp`] answers packets that are too long, [`mss`] lowers TCP's
//! largest segment. [`offload`] cuts the pieces of several segments that the kernel hands over into packets,
//! [`coalesce`] joins packets into such pieces. [`marks`] writes ECN fields and congestion headers.

pub mod coalesce;
pub mod icmp;
pub mod marks;
pub mod mss;
pub mod offload;
pub mod packet;
