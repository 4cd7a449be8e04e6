//! The receiving end, for many senders at once.

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

/// The most event loops of a server.
pub const MOST_LOOPS: usize = MOST_SOCKETS;

/// What a server shall do.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its keys.
    pub identity: Identity,
    /// The file with the clients that it admits ([`clients_file`](crate::clients_file)), which SIGHUP has it read
    /// again; `None` if it admits all who have its key.
    pub clients: Option<PathBuf>,
    /// True if SIGHUP does not end it where it has no list of clients to read again: a service, which systemd asks to
    /// reload so.
    pub outlives_hangup: bool,
    /// What it allows: all loops together, so that one of them may have all of the connections.
    pub limits: ServerLimits,
    /// How many event loops it has, each on a thread of its own, with a socket of its own: 1 to
    /// [`MOST_LOOPS`]. A connection stays at the loop at which it began.
    pub loops: NonZeroUsize,
    /// True if its threads are to run ahead of all ordinary programs, where that is allowed.
    pub realtime: bool,
    /// Where files go.
    pub target: Target,
    /// True if links are made that lead out of their folder at the top level.
    pub outside_links: bool,
    /// How much of the disk files may take. A quota for each client needs `clients`.
    pub disk: DiskLimits,
    /// True if it ends with its first connection. A handshake after which nothing comes is none, nor is a connection that
    /// broke off within a transfer that can go on.
    pub once: bool,
    /// Where to write a log of each connection in qlog's format.
    pub qlog: Option<LogTarget>,
    /// True if the course of each connection over time is to be kept, for a page.
    pub series: bool,
    /// Counters for a display on another thread.
    pub progress: Option<Arc<Progress>>,
}

/// What was measured of a connection that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionResult {
    /// The scheme of the sender.
    pub scheme: String,
    /// What arrived.
    pub summary: Summary,
    /// The same over time, if that was wanted.
    pub series: ReceivedSeries,
    /// What the sender of a measurement has counted: the other end, or this one if it was asked to send.
    pub sent: Option<SentSummary>,
    /// True if the connection was a measurement, without files.
    pub is_measurement: bool,
    /// True if this end was the sender.
    pub is_reverse: bool,
}

/// Something that a server has to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It is ready, at this address.
    Listening(SocketAddr),
    /// Somebody has connected.
    Connected(SocketAddr),
    /// The list of clients was read again: how many it has.
    Listed(usize),
    /// The list of clients cannot be read again, for this reason: the list before stays.
    NotListed(String),
    /// SIGHUP has come, and there is no list of clients to read again.
    NoList,
    /// What is kept has this many bytes, of the quota for all clients.
    Room {
        /// Bytes on the disk, as quotas count them.
        used: u64,
        /// The quota in bytes.
        quota: u64,
    },
    /// Transfers that were interrupted are here.
    Unfinished(Unfinished),
    /// A transfer goes on.
    GoesOn {
        /// Number of the entry at which it goes on.
        entry: u32,
        /// Number of all entries.
        entries: u32,
        /// Most bytes of that entry that are here.
        bytes: u64,
    },
    /// A transfer was received before, and all of it is in these places.
    Skipped(Vec<String>),
    /// A file or folder has arrived whole, with so many bytes.
    Kept {
        /// Where it is.
        name: String,
        /// Its length.
        bytes: u64,
    },
    /// A file has not arrived.
    Failed(String),
    /// A connection is over; an empty reason means that all is well.
    Ended {
        /// Whose.
        from: SocketAddr,
        /// Why, if there is something to say.
        reason: String,
        /// What was measured.
        received: Box<ConnectionResult>,
    },
    /// A log could not be written.
    NoLog(String),
    /// A loop was to run ahead of ordinary programs and runs as one of them, for this reason.
    Ordinary(String),
    /// Events that were left out because the thread that hears them was held up.
    LeftOut(u64),
    /// It was interrupted, and ends; what it has counted.
    Stopping(ServerStats),
}

/// Most events that wait to be told. Who is told may stand still: a terminal, or a pipe that is not read.
const MOST_EVENTS: usize = 10_000;
/// After the loops have ended, how long files are still written.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// The way to the thread that waits for events.
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

    /// Tells what has happened, without waiting: if [`MOST_EVENTS`] wait already, the event is left out.
    pub(super) fn tell(&self, event: Event) {
        if let Err(mpsc::TrySendError::Full(_)) = self.sender.try_send(event) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Serves until it is interrupted, or, with `once`, until its first connection is over. `tell` is
/// told what happens, on the thread that calls this. Returns false if a connection has ended badly.
///
/// # Errors
/// The address is taken, there are too many loops, or the system refuses something.
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
    // Before there are threads, so that signals are blocked in all of them.
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
        // What is wrong with the folder is told to the senders.
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
                // Whatever ends one of them ends all.
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

/// Counts what is kept, if that is limited, and tells it.
///
/// # Errors
/// The file system refuses.
pub(super) fn tell_room(store: &Store, tell: &mut dyn FnMut(Event)) -> Result<(), LiveError> {
    if let Some((used, Some(quota))) = store.count()? {
        tell(Event::Room { used, quota });
    }
    Ok(())
}

/// Tells events until all loops and their workers have ended. A worker that a disk holds up is waited for only so long.
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

/// Asks all loops to end when it is dropped, also by a panic.
pub(super) struct AskAtEnd<'a>(pub(super) &'a StopSignal);

impl Drop for AskAtEnd<'_> {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// One loop, from its beginning to its end.
fn run(
    shared: &SharedState<'_>,
    socket: Socket,
    number: u8,
    events: Events,
) -> Result<LoopResult, LiveError> {
    let options = shared.options;
    let mut limits = options.limits.clone();
    // Bytes of the stream count against the window until a worker has written them.
    limits.each.reads_later = true;
    let mut server = Server::new(options.identity.clone(), limits)
        .map_err(|error| LiveError::Message(error.to_string()))?;
    if options.loops.get() > 1 {
        server = server.numbered(number, &shared.counts);
    }
    Loop::new(shared, socket, server, events)?.run()
}
