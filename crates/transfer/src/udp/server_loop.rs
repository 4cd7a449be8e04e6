//! One event loop of a server: its socket, its connections and their clients.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;

use paceline_cc::{Ecn, Time};
use paceline_os::RealTimeError;
use paceline_os::priority;
use paceline_os::udp::{Inbox, Socket};
use paceline_wire::{Connection, End, Server, Service};

use super::clients::Clients;
use super::clock::{Clock, wait, wait_for_all};
use super::events::{Event, Events};
use super::listed::LOOK_INTERVAL;
use super::loop_parts::{BURST, Deaf, FAREWELL, LoopResult, note_local};
use super::outbox::Outbox;
use super::shared_state::SharedState;
use super::store::TransferStatus;

/// A connection that has ended.
struct Ended {
    connection: Connection,
    end: End,
    was_half_open: bool,
    /// True if it was a measurement and others go on.
    others: bool,
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
    /// Connections that have ended and were not judged yet.
    ended: Vec<Ended>,
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
    ) -> Result<Loop<'a>, RealTimeError> {
        let clients = Clients::new(shared, events);
        let clients = clients.map_err(RealTimeError::system("making a file for wake-ups"))?;
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
            ended: Vec::new(),
            list_version: 0,
            told,
            good: true,
        })
    }

    /// Runs until all loops are asked to end or, with `once`, until a connection is over.
    ///
    /// # Errors
    /// The socket fails, or standard output takes no more files.
    pub(super) fn run(mut self) -> Result<LoopResult, RealTimeError> {
        let mut inbox = Inbox::default();
        let mut touched = Vec::new();
        let SharedState { stop, interrupts, .. } = self.shared;
        loop {
            self.admit_listed();
            let inputs = [Some(stop.asked()), Some(self.clients.wake())];
            let (wake, socket) = (self.wake(), self.socket.as_fd());
            let ready = wait_for_all(&mut self.clock, wake, socket, inputs, interrupts)?;
            if ready.interrupted {
                stop.interrupt();
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
            // The sender has the refusal. Nothing can be written any more, so the loop ends.
            if ended && let Some(why) = self.shared.store.output_failure() {
                let failure = RealTimeError::Message(why.into());
                self.end();
                return Err(failure);
            }
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
    fn receive(
        &mut self,
        inbox: &mut Inbox,
        touched: &mut Vec<usize>,
    ) -> Result<(), RealTimeError> {
        let Loop { clock, socket, server, clients, outbox, locals, told, .. } = self;
        let (ahead, now) = (clock.ahead(), clock.now());
        let mut answers = Vec::new();
        let mut accepted = server.stats().accepted;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, *told, now);
            *told = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                let slot =
                    server.on_datagram(at, group.from, Ecn::of_bits(group.ecn), bytes, clients);
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
        let Loop { socket, server, clients, outbox, locals, measuring, ended, told, .. } = self;
        let logs = self.shared.options.qlog.is_some();
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
                let was_half_open = server.is_half_open(slot);
                let others = measuring.remove(&slot)
                    && self.shared.measurements.fetch_sub(1, Ordering::AcqRel) > 1;
                locals.remove(&slot);
                let connection = server.remove(slot);
                ended.extend(connection.map(|connection| Ended {
                    connection,
                    end,
                    was_half_open,
                    others,
                }));
            }
        }
        self.judge_ended()
    }

    /// Judges the connections that have ended. Returns true if one is over that was more than a
    /// handshake. Connections whose workers still write remain for a later call.
    fn judge_ended(&mut self) -> bool {
        let mut over = false;
        for one in std::mem::take(&mut self.ended) {
            // The sender has its answers, and the worker may not have come to the end yet.
            let is_final = !self.shared.options.once
                || !matches!(one.end, End::There { code: 0, .. })
                || self.clients.finish(one.connection.local());
            if is_final {
                over |= self.judge(&one);
            } else {
                self.ended.push(one);
            }
        }
        over
    }

    /// Judges and reports a connection that has ended. Returns true if it was more than a handshake,
    /// and with `once` the loop is to end.
    fn judge(&mut self, ended: &Ended) -> bool {
        let Ended { connection, end, was_half_open, others } = ended;
        // With `once`, a connection that was refused because another sender uses the target does
        // not count as the first, nor does one whose transfer continues over another connection. A
        // sender that has given up, because this end has refused its transfer or each of its files,
        // does not come again.
        let status = self.clients.status(connection.local());
        let good = self.clients.end(self.told, connection, end).is_empty()
            && status != TransferStatus::PartlyKept;
        let counts = match status {
            TransferStatus::TurnedAway => false,
            TransferStatus::Underway | TransferStatus::Halted => has_given_up(end),
            _ => true,
        };
        let stood = !was_half_open && counts;
        self.good &= good || !stood;
        stood && !others
    }

    /// Ends the loop, because all loops were asked to end or this one asks them.
    fn end(mut self) -> LoopResult {
        for one in std::mem::take(&mut self.ended) {
            self.judge(&one);
        }
        let is_interrupted = self.shared.stop.is_interrupted();
        self.close_all(match (is_interrupted, self.shared.options.once) {
            (true, _) => "the receiver was interrupted",
            (false, true) => "the receiver has ended with its first connection (--once)",
            (false, false) => "the receiver has failed",
        });
        LoopResult { good: self.good, is_interrupted, stats: self.server.stats() }
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
                        server.on_datagram(
                            *told,
                            group.from,
                            Ecn::of_bits(group.ecn),
                            bytes,
                            &mut Deaf,
                        );
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

/// Returns whether the sender has closed the connection because none of its files can be kept or read.
fn has_given_up(end: &End) -> bool {
    matches!(end, End::There { code: 1, reason } if reason.is_empty())
}
