//! One event loop of a server: its socket, its connections and their clients.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once};

use paceline_cc::{Span, Time};
use paceline_os::priority;
use paceline_os::udp::{Inbox, Socket};
use paceline_os::{Interrupts, LiveError};
use paceline_wire::{ClientPublic, ConnectionCounts, End, Server, ServerStats, Service, Sink};

use super::client::mark;
use super::clients::Clients;
use super::clock::{Clock, wait, wait_for_all};
use super::listed::{LOOK_INTERVAL, ListedClients};
use super::outbox::Outbox;
use super::server::{Event, Events, ServerOptions};
use super::store::{Store, TransferStatus, WorkerCount};

/// Maximum number of packets that one connection sends before the next connection's turn and before
/// arrivals are looked at.
const BURST: usize = 256;

/// How long a server that ends waits for its clients' answers.
pub(crate) const FAREWELL: Span = Span::from_millis(1000);

/// State that all loops of a server share.
pub(super) struct SharedState<'a> {
    pub(super) options: &'a ServerOptions,
    pub(super) interrupts: &'a Interrupts,
    /// The clients that are admitted; `None` admits every client that has the server's key.
    pub(super) listed: Option<ListedClients>,
    /// Number of clients so far.
    pub(super) clients: AtomicU64,
    /// Number of current connections at all loops.
    pub(super) counts: ConnectionCounts,
    /// Number of measurements in progress at all loops: with `once`, the server waits for all flows
    /// of one measurement.
    pub(super) measurements: AtomicU64,
    /// Where files go.
    pub(super) store: Arc<Store>,
    /// Number of connections that bring files, at all loops.
    pub(super) workers: WorkerCount,
    pub(super) stop: StopSignal,
    /// Makes all loops together report only once that a real-time priority was refused.
    pub(super) ordinary: Once,
}

impl SharedState<'_> {
    /// Returns the name of the client with this key, if each client has its own folder.
    pub(super) fn folder_client(&self, key: Option<ClientPublic>) -> Option<String> {
        self.options.disk.client_quota?;
        let key = key?;
        let name = self.listed.as_ref().and_then(|listed| listed.name(&key));
        // A client just removed from the list is disconnected soon; until then its key is its name.
        Some(name.unwrap_or_else(|| key.to_string()))
    }
}

/// How one loop asks all loops to end.
pub(super) struct StopSignal {
    /// Stays readable once a byte was written to the other end.
    asked: PipeReader,
    ask: PipeWriter,
    /// True if the reason is a signal, which senders are then told.
    interrupted: AtomicBool,
}

impl StopSignal {
    pub(super) fn new() -> io::Result<StopSignal> {
        let (asked, ask) = io::pipe()?;
        Ok(StopSignal { asked, ask, interrupted: AtomicBool::new(false) })
    }

    /// Returns the file that is readable once all loops are to end.
    pub(super) fn asked(&self) -> BorrowedFd<'_> {
        self.asked.as_fd()
    }

    /// Asks all loops to end.
    pub(super) fn ask(&self) {
        // Loops never read the byte, and the pipe has room for one byte of each loop.
        let _ = (&self.ask).write_all(&[0]);
    }
}

/// The result of a loop.
#[derive(Copy, Clone, Debug)]
pub(super) struct LoopResult {
    /// False if a connection has ended with an error.
    pub(super) good: bool,
    /// True if the loops ended because of an interrupt.
    pub(super) interrupted: bool,
    pub(super) stats: ServerStats,
}

/// Notes the local address at which a connection's packet arrived.
#[inline]
pub(crate) fn note_local(locals: &mut BTreeMap<usize, IpAddr>, slot: usize, local: Option<IpAddr>) {
    if let Some(local) = local
        && locals.get(&slot) != Some(&local)
    {
        locals.insert(slot, local);
    }
}

/// An event loop of a server.
pub(super) struct Loop<'a> {
    shared: &'a SharedState<'a>,
    clock: Clock,
    socket: Socket,
    server: Server,
    clients: Clients<'a>,
    outbox: Outbox,
    /// Local address at which each connection's newest packet arrived, by the connection's index.
    locals: BTreeMap<usize, IpAddr>,
    /// Indices of the connections that are measurements.
    measuring: BTreeSet<usize>,
    /// Version of the list of clients that this loop uses.
    list_version: u64,
    /// The latest time that this loop has passed to connections and clients.
    told: Time,
    /// False if a connection has ended with an error.
    good: bool,
}

impl<'a> Loop<'a> {
    /// Creates a loop for the calling thread.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(super) fn new(
        shared: &'a SharedState<'a>,
        socket: Socket,
        server: Server,
        events: Events,
    ) -> Result<Loop<'a>, LiveError> {
        let clients = Clients::new(shared, events);
        let clients = clients.map_err(LiveError::system("making a file for wake-ups"))?;
        if shared.options.realtime
            && let Err(error) = priority::real_time(priority::RealTime::End)
        {
            shared.ordinary.call_once(|| clients.tell(Event::Ordinary(error.to_string())));
        }
        let mut clock = Clock::start();
        let told = clock.now();
        Ok(Loop {
            shared,
            clock,
            socket,
            server,
            clients,
            outbox: Outbox::new(),
            locals: BTreeMap::new(),
            measuring: BTreeSet::new(),
            list_version: 0,
            told,
            good: true,
        })
    }

    /// Runs until all loops are asked to end or, with `once`, until a connection is over.
    pub(super) fn run(mut self) -> Result<LoopResult, LiveError> {
        let mut inbox = Inbox::default();
        let mut touched = Vec::new();
        let SharedState { stop, interrupts, .. } = self.shared;
        loop {
            self.admit_listed();
            let inputs = [Some(stop.asked()), Some(self.clients.wake())];
            let (wake, socket) = (self.wake(), self.socket.as_fd());
            let ready = wait_for_all(&mut self.clock, wake, socket, inputs, interrupts)?;
            if ready.interrupted {
                stop.interrupted.store(true, Ordering::Release);
                stop.ask();
            }
            if ready.interrupted || ready.input {
                return Ok(self.end());
            }
            if ready.socket {
                self.receive(&mut inbox, &mut touched)?;
            }
            self.told = self.clock.now();
            if ready.second_input {
                self.clients.on_reports(&mut touched);
            }
            for slot in touched.drain(..) {
                self.clients.talk(self.told, slot, &mut self.server);
                let is_open = !self.server.is_half_open(slot);
                let connection = self.server.connection(slot).filter(|_| is_open);
                if connection.is_some_and(|one| one.service() == Service::Filler)
                    && self.measuring.insert(slot)
                {
                    self.shared.measurements.fetch_add(1, Ordering::AcqRel);
                }
            }
            let ended = self.transmit();
            if ended && self.shared.options.once {
                return Ok(self.end());
            }
        }
    }

    /// Returns when the loop next has work.
    fn wake(&self) -> Time {
        let look = self.shared.listed.as_ref().map_or(Time::NEVER, |_| self.told + LOOK_INTERVAL);
        self.server.wake().min(look)
    }

    /// Reads the list of clients again on SIGHUP, and admits clients by the newest list. The signal
    /// reaches one loop; the others check at intervals.
    fn admit_listed(&mut self) {
        let SharedState { listed, interrupts, .. } = self.shared;
        let Some(listed) = listed else {
            if interrupts.take_reload() {
                self.clients.tell(Event::NoList);
            }
            return;
        };
        if interrupts.take_reload() {
            self.clients.tell(match listed.reload() {
                Ok(count) => Event::Listed(count),
                Err(error) => Event::NotListed(error.to_string()),
            });
        }
        if let Some(list) = listed.newer(&mut self.list_version) {
            self.server.admit_only(Some(list));
        }
    }

    /// Handles received packets and answers handshakes. `touched` receives the connections'
    /// indices.
    fn receive(&mut self, inbox: &mut Inbox, touched: &mut Vec<usize>) -> Result<(), LiveError> {
        let Loop { clock, socket, server, clients, outbox, locals, told, .. } = self;
        let (ahead, now) = (clock.ahead(), clock.now());
        let mut answers = Vec::new();
        let mut accepted = server.stats().accepted;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, *told, now);
            *told = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                let slot = server.on_datagram(at, group.from, mark(group.ecn), bytes, clients);
                if let Some(slot) = slot
                    && touched.last() != Some(&slot)
                {
                    touched.push(slot);
                    note_local(locals, slot, group.local);
                }
                answers.extend(server.take_answer().map(|answer| (group.local, answer)));
            }
            if server.stats().accepted > accepted {
                accepted = server.stats().accepted;
                clients.tell(Event::Connected(group.from));
            }
        })?;
        for (local, (to, answer)) in answers {
            outbox.leave_from(local);
            outbox.send_one(socket, to, &answer);
        }
        Ok(())
    }

    /// Sends the packets whose time has come. Returns true if a connection is over that was more
    /// than a handshake.
    fn transmit(&mut self) -> bool {
        let Loop { socket, server, clients, outbox, locals, measuring, told, .. } = self;
        let logs = self.shared.options.qlog.is_some();
        let mut over = false;
        while let Some(slot) = server.due(*told) {
            outbox.leave_from(locals.get(&slot).copied());
            let count = outbox.send(socket, BURST, |place| {
                let out = server.transmit(*told, slot, place)?;
                if let (true, Some(connection)) = (logs, server.connection(slot)) {
                    clients.on_sent(*told, connection, &out);
                }
                Some(out)
            });
            if count == BURST {
                server.postpone(*told, slot);
            }
            if let Some(connection) = server.connection(slot)
                && let Some(end) = connection.ended().cloned()
            {
                // With `once`, a refused connection does not count as the first, nor does one whose
                // transfer continues over another connection.
                let status = clients.status(connection.local());
                let good = clients.end(*told, connection, &end).is_empty();
                let counts =
                    !matches!(status, TransferStatus::TurnedAway | TransferStatus::Underway);
                let stood = !server.is_half_open(slot) && counts;
                self.good &= good || !stood;
                let others = measuring.remove(&slot)
                    && self.shared.measurements.fetch_sub(1, Ordering::AcqRel) > 1;
                over |= stood && !others;
                server.remove(slot);
                locals.remove(&slot);
            }
        }
        over
    }

    /// Ends the loop, because all loops were asked to end or this one asks them.
    fn end(mut self) -> LoopResult {
        let interrupted = self.shared.stop.interrupted.load(Ordering::Acquire);
        self.close_all(match (interrupted, self.shared.options.once) {
            (true, _) => "the receiver was interrupted",
            (false, true) => "the receiver has ended with its first connection (--once)",
            (false, false) => "the receiver has failed",
        });
        LoopResult { good: self.good, interrupted, stats: self.server.stats() }
    }

    /// Closes all connections with this reason, until all clients have answered or [`FAREWELL`] is
    /// over.
    fn close_all(&mut self, reason: &str) {
        self.told = self.clock.now();
        let slots: Vec<usize> = self.server.slots().collect();
        for slot in slots {
            if let Some(connection) = self.server.connection(slot) {
                connection.close(1, reason);
                let end = End::Here { code: 1, reason: reason.into() };
                self.clients.end(self.told, connection, &end);
            }
            self.server.reschedule(slot);
        }
        let end = self.told + FAREWELL;
        let mut inbox = Inbox::default();
        loop {
            while let Some(slot) = self.server.due(self.told) {
                self.outbox.leave_from(self.locals.get(&slot).copied());
                let (server, told) = (&mut self.server, self.told);
                self.outbox
                    .send(&mut self.socket, BURST, |place| server.transmit(told, slot, place));
                if server.connection(slot).is_none_or(|one| one.ended().is_some()) {
                    server.remove(slot);
                }
            }
            if self.server.slots().next().is_none() || self.told >= end {
                return;
            }
            let (until, interrupts) = (self.server.wake().min(end), self.shared.interrupts);
            let Ok(ready) = wait(&mut self.clock, until, self.socket.as_fd(), None, interrupts)
            else {
                return;
            };
            self.told = self.clock.now();
            let Loop { socket, server, told, .. } = self;
            let received = ready.socket.then(|| {
                socket.receive(&mut inbox, |group| {
                    for bytes in group.bytes.chunks_mut(group.size) {
                        server.on_datagram(*told, group.from, mark(group.ecn), bytes, &mut Deaf);
                        // Accept no new connections.
                        server.take_answer();
                    }
                })
            });
            if ready.interrupted || received.is_some_and(|received| received.is_err()) {
                return;
            }
        }
    }
}

/// A sink that discards what arrives while the server closes its connections.
pub(crate) struct Deaf;

impl Sink for Deaf {}
