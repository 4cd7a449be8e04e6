//! Options of a server.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use paceline_wire::ServerLimits;
use paceline_wire::key::Identity;

use super::progress::Progress;
use super::qlog::LogTarget;
use super::store::{DiskLimits, Target};

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address at which it listens.
    pub listen: SocketAddr,
    /// The server's keys.
    pub identity: Identity,
    /// The file with the clients that it admits ([`clients_file`](crate::clients_file)), which it
    /// reads again on SIGHUP. `None` admits every client that has the server's key.
    pub clients: Option<PathBuf>,
    /// True if SIGHUP does not end a server without a list of clients. For services, which systemd
    /// reloads by SIGHUP.
    pub outlives_hangup: bool,
    /// Limits across all loops: a single loop may reach them alone.
    pub limits: ServerLimits,
    /// Number of event loops, each on its own thread with its own socket: 1 to [`MOST_LOOPS`](super::MOST_LOOPS). A
    /// connection stays at the loop at which it began.
    pub loops: NonZeroUsize,
    /// True if its threads ask for a real-time priority, where the system allows it.
    pub realtime: bool,
    /// Where it writes files.
    pub target: Target,
    /// True if it creates top-level links that point outside of their folder.
    pub outside_links: bool,
    /// Limits on the disk space of files. A quota per client needs `clients`.
    pub disk: DiskLimits,
    /// True if the server exits after its first connection. A handshake without further packets
    /// does not count, nor does a connection that broke off within a resumable transfer.
    pub once: bool,
    /// Where to write a log of each connection in qlog's format.
    pub qlog: Option<LogTarget>,
    /// True if the time series of each connection are kept, for a page.
    pub series: bool,
    /// Counters for a display on another thread.
    pub progress: Option<Arc<Progress>>,
}
