//! An end that waits for the other end to connect. It has one connection at a time: the newest.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use paceline_cc::{Ack, Ecn, Span, Time};
use paceline_os::udp::{Group, Socket};
use paceline_os::{Interrupts, RealTimeError};
use paceline_wire::key::Identity;
use paceline_wire::{Arrival, Connection, Server, ServerLimits, Service, Sink};

use super::work::Work;
use crate::udp::listed::{LOOK_INTERVAL, ListedClients};
use crate::udp::loop_parts::{BURST, note_local};
use crate::udp::note::TAKEN_OVER;
use crate::udp::outbox::Outbox;

/// Address at which an end listens, its keys, and the clients that it accepts.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Address at which it listens.
    pub at: SocketAddr,
    /// This end's keys.
    pub identity: Identity,
    /// The file with the clients that it admits, which it reads again on SIGHUP; `None` admits
    /// every client that has this end's key.
    pub clients: Option<PathBuf>,
}

/// Destination and bytes of an answer to a handshake.
type HandshakeAnswer = (SocketAddr, Vec<u8>);

/// The handshakes and connections at this end's address.
pub(super) struct Listener {
    server: Server,
    /// Index of the current connection.
    current: Option<usize>,
    /// Index of a newer established connection.
    newer: Option<usize>,
    /// Local address at which each connection's newest packet arrived, by the connection's index.
    locals: BTreeMap<usize, IpAddr>,
    /// Answers to handshakes, each with the local address from which it leaves.
    answers: Vec<(Option<IpAddr>, HandshakeAnswer)>,
    listed: Option<ListedClients>,
    list_version: u64,
}

/// A sink that passes on the data of one connection only.
struct Only<'a> {
    connection: Option<u32>,
    sink: &'a mut dyn Sink,
}

impl Only<'_> {
    fn is(&self, connection: u32) -> bool {
        self.connection == Some(connection)
    }
}

impl Sink for Only<'_> {
    fn on_stream(&mut self, connection: u32, bytes: &[u8]) {
        if self.is(connection) {
            self.sink.on_stream(connection, bytes);
        }
    }
    fn on_packet(&mut self, connection: u32, now: Time, arrival: &Arrival) {
        if self.is(connection) {
            self.sink.on_packet(connection, now, arrival);
        }
    }
    fn on_rtt(&mut self, connection: u32, rtt: Span) {
        if self.is(connection) {
            self.sink.on_rtt(connection, rtt);
        }
    }
    fn on_ack(&mut self, connection: u32, now: Time, packet: (u64, u32), ack: &Ack) {
        if self.is(connection) {
            self.sink.on_ack(connection, now, packet, ack);
        }
    }
}

impl Listener {
    /// Creates a listener with these keys.
    ///
    /// # Errors
    /// The list of clients cannot be read, or the system gives no random numbers.
    pub(super) fn new(
        options: &ListenOptions,
        limits: ServerLimits,
    ) -> Result<Listener, RealTimeError> {
        let listed = options.clients.as_deref().map(ListedClients::read).transpose()?;
        let server = Server::new(options.identity.clone(), limits);
        let server = server.map_err(|error| RealTimeError::Message(error.to_string()))?;
        let (locals, answers) = (BTreeMap::new(), Vec::new());
        let mut listener = Listener {
            server,
            current: None,
            newer: None,
            locals,
            answers,
            listed,
            list_version: 0,
        };
        listener.admit_listed(None);
        Ok(listener)
    }

    /// Reads the list of clients again if SIGHUP has arrived. Returns a message for the user, if
    /// there is one.
    pub(super) fn admit_listed(&mut self, interrupts: Option<&Interrupts>) -> Option<String> {
        let listed = self.listed.as_ref()?;
        let said = interrupts.filter(|interrupts| interrupts.take_reload()).map(|_| {
            match listed.reload() {
                Ok(count) => format!("the list of clients was read: {count} admitted"),
                Err(error) => {
                    format!("{error}; the list of clients that was read before stays")
                }
            }
        });
        if let Some(list) = listed.newer(&mut self.list_version) {
            self.server.admit_only(Some(list));
        }
        said
    }

    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        self.server.connection(self.current?)
    }

    pub(super) fn has_newer(&self) -> bool {
        self.newer.is_some()
    }

    /// Makes the newest established connection the current one and closes the previous one. Returns
    /// false if there is none.
    pub(super) fn take_newest(&mut self) -> bool {
        let Some(newer) = self.newer.take() else { return false };
        if let Some(older) = self.current.replace(newer) {
            self.leave(older);
        }
        true
    }

    /// Removes the current connection, which is over.
    pub(super) fn end_current(&mut self) {
        if let Some(current) = self.current.take() {
            self.leave(current);
        }
    }

    /// Closes a connection, unless it has already ended.
    fn leave(&mut self, slot: usize) {
        let connection = self.server.connection(slot);
        if connection.is_none_or(|connection| connection.ended().is_some()) {
            self.remove(slot);
        } else {
            self.server.close(slot, TAKEN_OVER, "a newer connection receives the same files");
        }
    }

    fn remove(&mut self, slot: usize) {
        self.server.remove(slot);
        self.locals.remove(&slot);
    }

    pub(super) fn wake(&self) -> Time {
        self.server.wake()
    }

    /// Returns when to check the list of clients next.
    pub(super) fn next_look(&self, now: Time) -> Time {
        self.listed.as_ref().map_or(Time::NEVER, |_| now + LOOK_INTERVAL)
    }

    /// Updates the current connection's wake-up in the timetable. Call it after each use of the
    /// connection.
    pub(super) fn reschedule(&mut self) {
        if let Some(current) = self.current {
            self.server.reschedule(current);
        }
    }

    /// Sends the packets of all connections whose time has come. Returns true if more may follow.
    pub(super) fn send(
        &mut self,
        now: Time,
        socket: &mut Socket,
        outbox: &mut Outbox,
        mut work: Option<&mut dyn Work>,
    ) -> bool {
        self.reschedule();
        let mut is_full = false;
        while let Some(slot) = self.server.due(now) {
            outbox.leave_from(self.locals.get(&slot).copied());
            let is_current = self.current == Some(slot);
            let server = &mut self.server;
            let mut watching = work.as_deref_mut().filter(|work| is_current && work.is_watching());
            let count = outbox.send(socket, BURST, |place| {
                let out = server.transmit(now, slot, place)?;
                if let (Some(work), Some(number)) = (&mut watching, out.data) {
                    work.on_sent(now, number, out.length);
                }
                Some(out)
            });
            if outbox.was_too_large()
                && let Some(connection) = self.server.connection(slot)
            {
                connection.on_too_large(now);
                self.server.reschedule(slot);
            }
            if count == BURST {
                self.server.postpone(now, slot);
                is_full = true;
            }
            let has_ended = self.server.connection(slot).is_none_or(|one| one.ended().is_some());
            if has_ended && !is_current {
                self.remove(slot);
                self.newer = self.newer.filter(|newer| *newer != slot);
            }
        }
        is_full
    }

    /// Handles a group of datagrams; `sink` receives the data of the current connection.
    pub(super) fn on_group(&mut self, now: Time, group: Group<'_>, sink: &mut dyn Sink) {
        let connection = self.connection().map(|connection| connection.local());
        let mut sink = Only { connection, sink };
        for bytes in group.bytes.chunks_mut(group.size) {
            let slot =
                self.server.on_datagram(now, group.from, Ecn::of_bits(group.ecn), bytes, &mut sink);
            if let Some(slot) = slot {
                note_local(&mut self.locals, slot, group.local);
                self.look_at(slot);
            }
            self.answers.extend(self.server.take_answer().map(|answer| (group.local, answer)));
        }
    }

    /// Notes a connection that may have become established.
    fn look_at(&mut self, slot: usize) {
        if self.current == Some(slot) || self.newer == Some(slot) || self.server.is_half_open(slot)
        {
            return;
        }
        let connection = self.server.connection(slot);
        let stands = connection.is_some_and(|one| {
            one.is_open() && one.service() == Service::Stream && one.sender().is_some()
        });
        let older = stands.then(|| self.newer.replace(slot)).flatten();
        if let Some(older) = older {
            self.leave(older);
        }
    }

    /// Sends the answers to handshakes.
    pub(super) fn answer(&mut self, socket: &mut Socket, outbox: &mut Outbox) {
        for (local, (to, answer)) in self.answers.drain(..) {
            outbox.leave_from(local);
            outbox.send_one(socket, to, &answer);
        }
    }
}
