//! Scenarios of the simulator: links, flows and a duration, as Rust values or as TOML files; the names that they can have for
//! schemes, queues and transports; and the several runs of one scenario. `paceline-sim`, which exports all of this, runs them.
//!
//! Of this only captures and logs run for a packet, and they only call their observer. In releases this crate is not
//! optimized.

mod capture;
mod connection_log;
mod names;
mod program_outcome;
pub mod runs;
pub mod scenario;
mod tcp_probe;
mod transport;

pub use capture::{Capture, CapturedFrame, FrameObserver};
pub use connection_log::{ConnectionEvent, ConnectionEventKind, ConnectionLog, ConnectionObserver};
pub use names::{Aliases, Lookup, Names, ReadTransport, Transports};
pub use program_outcome::ProgramOutcome;
pub use tcp_probe::{TcpEvent, TcpEventKind, TcpObserver, TcpProbe, TcpValues};
pub use transport::{
    CustomTransport, MakeHosts, MakeTransport, Media, TransportEnd, TransportEnds, TransportSetup,
};
