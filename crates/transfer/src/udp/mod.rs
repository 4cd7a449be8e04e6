//! Connections over UDP: drives `paceline-wire` with real sockets in real time.
//!
//! [`send()`] sends files, a pipe or measurement packets to the other end. [`serve()`] is a server
//! that receives from many clients at once. [`receive()`] fetches files from a [`send()`] that
//! listens. A client is one event loop on one thread; a server has several, which share its
//! address.

pub(crate) mod addresses;
mod arrivals;
mod bulk;
pub(crate) mod client;
mod clients;
pub(crate) mod clock;
mod course;
mod inbound;
mod listed;
mod note;
mod outbound;
pub(crate) mod outbox;
mod progress;
mod qlog;
pub(crate) mod race;
mod retry;
mod server;
pub(crate) mod server_loop;
mod store;

pub use addresses::{addresses, any_address, connect_to};
pub use arrivals::{Delays, SentSummary, Summary};
pub use bulk::{Interval, MOST_FLOWS, StartGate, measure};
pub use client::{ClientOptions, ListenOptions, ReceiveOptions, TransferResult, receive, send};
pub use course::{ReceivedSeries, SentSeries};
pub use outbound::{SentFile, Source, TransferBytes};
pub use progress::{Progress, Snapshot};
pub use qlog::LogTarget;
pub use server::{ConnectionResult, Event, MOST_LOOPS, ServerOptions, serve};
pub use store::{DiskLimits, Target, Unfinished};
