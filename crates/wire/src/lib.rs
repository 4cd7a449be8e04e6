//! Connections over datagrams, without input or output.
//!
//! A connection has a [`Sender`](paceline_flow::Sender) at the sending end and a
//! [`Receiver`](paceline_flow::Receiver) at the other, the same types that the simulator drives.
//! This crate writes their packets into datagrams, encrypts them, and reads them back. It has no
//! clock and no sockets: its driver passes the current time, passes datagrams in and takes
//! datagrams out.
//!
//! - [`packet`] and [`frame`] are the format, which `docs/wire.md` describes.
//! - [`key`] has the printable string that a server gives to those who may send to it,
//!   [`client_key`] the key by which a server recognises one client.
//! - [`records`] are the files in a stream.
//! - An [`Initiator`] makes a [`Connection`]; a [`Server`] accepts many.
//!
//! Keys and connection identifiers use the system's random numbers; nothing else is random.

mod admission;
mod bytes;
mod cipher;
pub mod client_key;
mod connection;
mod counts;
pub mod frame;
mod handout;
mod initiator;
pub mod key;
mod key_error;
mod key_pair;
mod key_text;
mod mtu;
mod noise;
pub mod packet;
mod prefix;
pub mod records;
mod reset;
pub mod saturator;
mod server;
mod terms;

pub use admission::{Admission, AdmittedClient};
pub use bytes::{FormatError, printable};
pub use cipher::TAG;
pub use client_key::ClientPublic;
pub use connection::{
    Arrival, Connection, End, HeldBudget, LONGEST_IDLE, Limits, Role, Sink, Transmit,
};
pub use counts::ConnectionCounts;
pub use handout::{Handout, MOST_NETWORKS, MOST_ROUTES};
pub use initiator::{ConnectError, Initiator};
pub use mtu::BASE_MTU;
pub use prefix::Prefix;
pub use reset::ResetTicket;
pub use server::{Server, ServerLimits, ServerStats};
pub use terms::{Answer, LONGEST_REFUSAL, LONGEST_SCHEME, Offer, Service};
