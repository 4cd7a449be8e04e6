//! Events that a receiving end reports to its user, and their queue from its threads to the calling
//! one.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use paceline_wire::ServerStats;

use super::arrivals::{SentSummary, Summary};
use super::course::ReceivedSeries;
use super::store::Unfinished;

/// Results of a connection that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionResult {
    /// The sender's scheme.
    pub scheme: String,
    /// The receiver's measurements.
    pub summary: Summary,
    /// Their time series, if requested.
    pub series: ReceivedSeries,
    /// The sender's counters of a measurement. The sender is the other end, or this one if
    /// `is_reverse`.
    pub sent: Option<SentSummary>,
    /// True for a measurement, which carries no files.
    pub is_measurement: bool,
    /// True if this end was the sender.
    pub is_reverse: bool,
}

/// An event that a server reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The server listens at this address.
    Listening(SocketAddr),
    /// A client has connected from this address.
    Connected(SocketAddr),
    /// The list of clients was read again and has this many clients.
    Listed(usize),
    /// The list of clients could not be read again, for this reason; the previous list stays in
    /// use.
    NotListed(String),
    /// SIGHUP has arrived, and there is no list of clients to read again.
    NoList,
    /// Disk space in use, of the quota for all clients.
    Room {
        /// Bytes in use, as quotas count them.
        used: u64,
        /// The quota in bytes.
        quota: u64,
    },
    /// The folder has parts of interrupted transfers.
    Unfinished(Unfinished),
    /// A transfer continues.
    GoesOn {
        /// Number of the entry at which it continues.
        entry: u32,
        /// Total number of entries.
        entries: u32,
        /// Maximum number of bytes of that entry that the server already has.
        bytes: u64,
    },
    /// A transfer had been received completely before; its entries have these paths.
    Skipped(Vec<String>),
    /// A file or folder has arrived completely.
    Kept {
        /// Its path.
        name: String,
        /// Its length in bytes.
        bytes: u64,
    },
    /// A file was not kept, for this reason.
    Failed(String),
    /// A connection has ended. An empty reason means success.
    Ended {
        /// The client's address.
        from: SocketAddr,
        /// The reason; empty for success.
        reason: String,
        /// The connection's results.
        received: Box<ConnectionResult>,
    },
    /// A log could not be written.
    NoLog(String),
    /// A loop asked for a real-time priority and runs without it, for this reason.
    Ordinary(String),
    /// Number of events that were dropped because the thread that reports them was blocked.
    LeftOut(u64),
    /// The server was interrupted and ends, with these counters.
    Stopping(ServerStats),
}

/// Maximum number of events that wait to be reported. The reporting thread may block on a terminal,
/// or on a pipe that is not read.
const MOST_EVENTS: usize = 10_000;

/// Maximum time to finish writing files after the loops have ended.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// The sending half of the queue of events.
#[derive(Clone)]
pub(super) struct Events {
    sender: mpsc::SyncSender<Event>,
    /// Number of events that were dropped.
    left_out: Arc<AtomicU64>,
}

impl Events {
    pub(super) fn new() -> (Events, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::sync_channel(MOST_EVENTS);
        (Events { sender, left_out: Arc::default() }, receiver)
    }

    /// Queues an event without blocking. If [`MOST_EVENTS`] are queued, drops it.
    pub(super) fn tell(&self, event: Event) {
        if let Err(mpsc::TrySendError::Full(_)) = self.sender.try_send(event) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counter of dropped events.
    pub(super) fn left_out(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.left_out)
    }
}

/// Reports events until all loops and their workers have ended. After the loops it waits at most
/// [`LAST_WRITES`] for workers that a disk holds up.
pub(super) fn tell_all<T>(
    told: &mpsc::Receiver<Event>,
    loops: &[thread::ScopedJoinHandle<'_, T>],
    tell: &mut dyn FnMut(Event),
) {
    let mut ended_at = None;
    loop {
        match told.recv_timeout(Duration::from_millis(100)) {
            Ok(event) => tell(event),
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if loops.iter().all(thread::ScopedJoinHandle::is_finished)
                    && ended_at.get_or_insert_with(Instant::now).elapsed() > LAST_WRITES
                {
                    return;
                }
            }
        }
    }
}
