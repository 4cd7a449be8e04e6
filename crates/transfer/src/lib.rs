//! Programs that carry data between hosts, driven by real sockets and the real time.
//!
//! [`udp`] sends and receives files and streams with the schemes of the simulator, [`tunnel`] carries the packets of a
//! TUN device, [`saturate`] measures cellular links, [`traffic`] is bulk traffic over the system's own TCP.

pub mod clients_file;
pub mod saturate;
pub mod traffic;
pub mod tunnel;
pub mod udp;
