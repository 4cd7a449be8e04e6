//! The server that receives from many clients at once.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use paceline_os::udp::{MOST_SOCKETS, Socket};
use paceline_os::{Interrupts, LiveError};
use paceline_wire::key::Identity;
use paceline_wire::{ConnectionCounts, Server, ServerLimits, ServerStats};

use super::arrivals::{SentSummary, Summary};
use super::course::ReceivedSeries;
use super::listed::ListedClients;
use super::progress::Progress;
use super::qlog::LogTarget;
use super::server_loop::{Loop, LoopResult, SharedState, StopSignal};
use super::store::{DiskLimits, Store, Target, Unfinished, WorkerCount};

/// Maximum number of event loops of a server.
pub const MOST_LOOPS: usize = MOST_SOCKETS;

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
    /// Number of event loops, each on its own thread with its own socket: 1 to [`MOST_LOOPS`]. A
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
}

/// Serves until an interrupt or, with `once`, until the first connection is over. Calls `tell` with
/// each event, on the calling thread. Returns false if a connection has ended with an error.
///
/// # Errors
/// The address is in use, there are too many loops, or the system refuses something.
pub fn serve(options: &ServerOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, LiveError> {
    let count = options.loops.get();
    if count > MOST_LOOPS {
        return Err(LiveError::Message(format!(
            "{count} loops: there can be {MOST_LOOPS} at most"
        )));
    }
    options.qlog.as_ref().map_or(Ok(()), LogTarget::check)?;
    let listed = options.clients.as_deref().map(ListedClients::read).transpose()?;
    let sockets = Socket::bind_several(options.listen, count)?;
    // Before any thread starts, so that every thread inherits the blocked signals.
    let interrupts = Interrupts::watch_for(listed.is_some() || options.outlives_hangup)?;
    let stop = StopSignal::new().map_err(LiveError::system("making a pipe"))?;
    let (clients, ordinary) = (AtomicU64::new(0), Once::new());
    let counts = ConnectionCounts::new();
    let measurements = AtomicU64::new(0);
    let interrupts = &interrupts;
    let asked = stop.asked().try_clone_to_owned();
    let asked = asked.map_err(LiveError::system("watching for the end"))?;
    let store = Store::new(options.target.clone(), options.outside_links, asked);
    let store = store.counting(options.progress.as_ref()).limited(options.disk);
    let store = Arc::new(store);
    let found = store.unfinished();
    if let Some(socket) = sockets.first() {
        tell(Event::Listening(socket.local()?));
    }
    tell_room(&store, tell)?;
    match found {
        Ok(found) if found.transfers > 0 => tell(Event::Unfinished(found)),
        // Senders are told of errors of the folder.
        Ok(_) | Err(_) => {}
    }
    let workers = WorkerCount::default();
    let shared = SharedState {
        options,
        interrupts,
        listed,
        clients,
        counts,
        measurements,
        store,
        workers,
        stop,
        ordinary,
    };
    let (events, told) = Events::new();
    let left_out = Arc::clone(&events.left_out);
    let all = thread::scope(|scope| {
        let loops = sockets.into_iter().zip(0..).map(|(socket, number)| {
            let (shared, events) = (&shared, events.clone());
            scope.spawn(move || {
                // If one loop ends for any reason, all end.
                let _asks = AskAtEnd(&shared.stop);
                run(shared, socket, number, events)
            })
        });
        let loops: Vec<_> = loops.collect();
        drop(events);
        tell_all(&told, &loops, tell);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        loops.into_iter().map(join).collect::<Result<Vec<LoopResult>, LiveError>>()
    })?;
    match left_out.load(Ordering::Relaxed) {
        0 => {}
        count => tell(Event::LeftOut(count)),
    }
    if all.iter().any(|ended| ended.interrupted) {
        tell(Event::Stopping(all.iter().map(|ended| ended.stats).sum()));
    }
    Ok(all.iter().all(|ended| ended.good))
}

/// Measures the disk space in use, if it is limited, and reports it.
///
/// # Errors
/// The file system returns an error.
pub(super) fn tell_room(store: &Store, tell: &mut dyn FnMut(Event)) -> Result<(), LiveError> {
    if let Some((used, Some(quota))) = store.count()? {
        tell(Event::Room { used, quota });
    }
    Ok(())
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

/// Asks all loops to end when it is dropped, also during a panic.
pub(super) struct AskAtEnd<'a>(pub(super) &'a StopSignal);

impl Drop for AskAtEnd<'_> {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// Runs one loop from its start to its end.
fn run(
    shared: &SharedState<'_>,
    socket: Socket,
    number: u8,
    events: Events,
) -> Result<LoopResult, LiveError> {
    let options = shared.options;
    let mut limits = options.limits.clone();
    // Received bytes count against the receive window until a worker has written them.
    limits.each.reads_later = true;
    let mut server = Server::new(options.identity.clone(), limits)
        .map_err(|error| LiveError::Message(error.to_string()))?;
    if options.loops.get() > 1 {
        server = server.numbered(number, &shared.counts);
    }
    Loop::new(shared, socket, server, events)?.run()
}
