//! One event loop of a server: its socket, its connections, their clients.

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

/// How many packets of a connection leave before the next one's, and before arrivals are looked at again.
const BURST: usize = 256;

/// How long a server that ends waits for its clients to have heard it.
pub(crate) const FAREWELL: Span = Span::from_millis(1000);

/// What all loops of a server share.
pub(super) struct SharedState<'a> {
    pub(super) options: &'a ServerOptions,
    pub(super) interrupts: &'a Interrupts,
    /// The clients that are admitted; `None` if all are that have the key.
    pub(super) listed: Option<ListedClients>,
    /// How many clients there have been.
    pub(super) clients: AtomicU64,
    /// How many connections there are, at all loops.
    pub(super) counts: ConnectionCounts,
    /// Measurements that go on, at all loops: with `once`, the flows of one are waited for.
    pub(super) measurements: AtomicU64,
    /// Where files go.
    pub(super) store: Arc<Store>,
    /// How many connections bring files, at all loops.
    pub(super) workers: WorkerCount,
    pub(super) stop: StopSignal,
    /// That a loop runs as an ordinary program is told once for all of them.
    pub(super) ordinary: Once,
}

impl SharedState<'_> {
    /// Returns the name of the client with this key, if each client has a folder of its own.
    pub(super) fn folder_client(&self, key: Option<ClientPublic>) -> Option<String> {
        self.options.disk.client_quota?;
        let key = key?;
        let name = self.listed.as_ref().and_then(|listed| listed.name(&key));
        // One that was just taken off the list is turned out soon.
        Some(name.unwrap_or_else(|| key.to_string()))
    }
}

/// How one loop asks all of them to end.
pub(super) struct StopSignal {
    /// Readable for good once something was written to the other end.
    asked: PipeReader,
    ask: PipeWriter,
    /// True if the reason is a signal, so that senders are to be told.
    interrupted: AtomicBool,
}

impl StopSignal {
    pub(super) fn new() -> io::Result<StopSignal> {
        let (asked, ask) = io::pipe()?;
        Ok(StopSignal { asked, ask, interrupted: AtomicBool::new(false) })
    }

    /// The file that is readable once all loops are to end.
    pub(super) fn asked(&self) -> BorrowedFd<'_> {
        self.asked.as_fd()
    }

    /// Asks all loops to end.
    pub(super) fn ask(&self) {
        // Nobody reads it, and it has room for one byte of each loop.
        let _ = (&self.ask).write_all(&[0]);
    }
}

/// How a loop has ended.
#[derive(Copy, Clone, Debug)]
pub(super) struct LoopResult {
    /// False if a connection has ended badly.
    pub(super) good: bool,
    /// True if all loops were interrupted.
    pub(super) interrupted: bool,
    pub(super) stats: ServerStats,
}

/// Notes the address of this machine that a connection's packet came to.
#[inline]
pub(crate) fn note_local(locals: &mut BTreeMap<usize, IpAddr>, slot: usize, local: Option<IpAddr>) {
    if let Some(local) = local
        && locals.get(&slot) != Some(&local)
    {
        locals.insert(slot, local);
    }
}

/// A loop.
pub(super) struct Loop<'a> {
    shared: &'a SharedState<'a>,
    clock: Clock,
    socket: Socket,
    server: Server,
    clients: Clients<'a>,
    outbox: Outbox,
    /// The address of this machine that each connection's newest packet came to, by its place.
    locals: BTreeMap<usize, IpAddr>,
    /// The places of the measurements among the connections.
    measuring: BTreeSet<usize>,
    /// Which list of clients this loop's server has.
    list_version: u64,
    /// The latest time that anybody was told.
    told: Time,
    /// False if a connection has ended badly.
    good: bool,
}

impl<'a> Loop<'a> {
    /// A loop for the thread that calls this.
    ///
    /// # Errors
    /// There are too many open files.
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

    /// Goes round until all loops are asked to end, or, with `once`, until a connection is over.
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

    /// Returns when there is next something to do.
    fn wake(&self) -> Time {
        let look = self.shared.listed.as_ref().map_or(Time::NEVER, |_| self.told + LOOK_INTERVAL);
        self.server.wake().min(look)
    }

    /// Reads the list of clients again if SIGHUP has come, and admits by the newest one. The signal comes to one of the
    /// loops, and the others look at intervals.
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

    /// Takes in what has come, and answers handshakes. `touched` gets the connections' places.
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

    /// Sends what is due; true if a connection is over, and was more than a handshake.
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
                // One that was turned away was no connection for those who wait for the first, nor was one whose transfer
                // goes on over another connection.
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

    /// All loops were asked to end, or this one is to be the first.
    fn end(mut self) -> LoopResult {
        let interrupted = self.shared.stop.interrupted.load(Ordering::Acquire);
        self.close_all(match (interrupted, self.shared.options.once) {
            (true, _) => "the receiver was interrupted",
            (false, true) => "the receiver has ended with its first connection (--once)",
            (false, false) => "the receiver has failed",
        });
        LoopResult { good: self.good, interrupted, stats: self.server.stats() }
    }

    /// Tells everybody who is connected that this end is going, and why, until all of them have answered or
    /// [`FAREWELL`] is over.
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
                        // No new connections.
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

/// Takes nothing in: what arrives while the server says goodbye.
pub(crate) struct Deaf;

impl Sink for Deaf {}
