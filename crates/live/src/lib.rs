//! Real-time emulation of links around any program.
//!
//! The links, queues and routers are those of the simulator; what differs is who supplies the
//! time and the packets. [`linux`] holds everything that asks the kernel for something (and all
//! `unsafe` code), [`emulator`] moves packets, [`shell`] runs a program inside, [`output`] says
//! what happened, [`traffic`] is something to run inside. [`udp`] carries data between hosts with the
//! schemes of the simulator.

pub mod clients_file;
pub mod emulator;
mod error;
mod interrupts;
pub mod linux;
pub mod output;
pub mod router;
pub mod saturate;
pub mod shell;
pub mod traffic;
pub mod tunnel;
pub mod udp;

pub use error::LiveError;
pub use interrupts::{Interrupts, Waker};
