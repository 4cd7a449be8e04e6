//! Connections over UDP: drives `paceline-wire` with real sockets in real time.
//!
//! [`send()`] sends files, a pipe or measurement packets to the other end. [`serve()`] is a server
//! that receives from many clients at once. [`receive()`] fetches files from a [`send()`] that
//! listens. A client is one event loop on one thread; a server has several, which share its
//! address.

pub(crate) mod addresses;
mod arrivals;
mod bulk;
mod client;
mod clients;
pub(crate) mod clock;
mod course;
mod events;
mod inbound;
mod listed;
pub(crate) mod loop_parts;
mod measured;
mod note;
mod opening;
mod outbound;
pub(crate) mod outbox;
mod progress;
mod qlog;
pub(crate) mod race;
mod request;
mod retry;
mod sent_row;
mod server;
mod server_loop;
mod server_options;
mod shared_state;
mod start_gate;
mod stop_signal;
mod store;

pub use addresses::{addresses, any_address, check_form, connect_to};
pub use arrivals::{SentSummary, Summary};
pub use bulk::{Interval, MOST_FLOWS, measure};
pub use client::{ClientOptions, ListenOptions, ReceiveOptions, TransferResult, receive, send};
pub use course::{ReceivedSeries, SentSeries};
pub use events::{ConnectionResult, Event};
pub use loop_parts::MOST_LOOPS;
pub use measured::Measured;
pub use outbound::{SentFile, Source, TransferBytes};
pub use progress::{Progress, Snapshot};
pub use qlog::LogTarget;
pub use request::{Peer, TransferRequest, Work};
pub use sent_row::{FileRow, FlowRow, FrameCounts, ProblemRow, SentRow, SentRows};
pub use server::serve;
pub use server_options::ServerOptions;
pub use start_gate::StartGate;
pub use store::{DiskLimits, Target, Unfinished};
