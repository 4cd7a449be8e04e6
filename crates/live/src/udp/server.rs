//! The receiving end, for many senders at once.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;

use paceline_cc::Time;
use paceline_wire::key::Identity;
use paceline_wire::records::{Record, Unpacker};
use paceline_wire::{Arrival, Connection, End, Server, ServerLimits, ServerStats, Sink, Transmit};

use super::arrivals::{Arrivals, Summary};
use super::client::mark;
use super::clock::{Clock, wait};
use super::course::ReceivedSeries;
use super::files::{Saving, Target};
use super::note::Note;
use super::outbox::Outbox;
use super::qlog::{LogTarget, Qlog};
use crate::linux::udp::{Inbox, Socket};
use crate::{Interrupts, LiveError};

/// What a server shall do.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its keys.
    pub identity: Identity,
    /// What it allows.
    pub limits: ServerLimits,
    /// Where files go.
    pub target: Target,
    /// True if it ends with its first connection.
    pub once: bool,
    /// Where to write a log of each connection in qlog's format.
    pub qlog: Option<LogTarget>,
    /// True if the course of each connection over time is to be kept, for a page.
    pub series: bool,
}

/// What was measured of a connection that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    /// The scheme of the sender.
    pub scheme: String,
    /// What arrived.
    pub summary: Summary,
    /// The same over time, if that was wanted.
    pub series: ReceivedSeries,
}

/// Something that a server has to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It is ready, at this address.
    Listening(SocketAddr),
    /// Somebody has connected.
    Connected(SocketAddr),
    /// A file has arrived whole, with so many bytes.
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
        received: Box<Received>,
    },
    /// A log could not be written.
    NoLog(String),
    /// It was interrupted, and ends; what it has counted.
    Stopping(ServerStats),
}

/// What the server knows of a client.
struct Client {
    arrivals: Arrivals,
    unpacker: Unpacker,
    files: HashMap<u32, Saving>,
    notes: Vec<Note>,
    /// What came is no stream of records: nothing more is done about it.
    broken: bool,
    qlog: Option<Qlog>,
}

/// All clients, by the identifiers of their connections.
struct Clients<'a> {
    options: &'a ServerOptions,
    clients: HashMap<u32, Client>,
    /// How many there have been.
    count: u64,
    events: Vec<Event>,
}

impl Clients<'_> {
    /// Forgets a client. Returns what was wrong, if something was, and notes what was measured.
    fn end(&mut self, now: Time, connection: &Connection, end: &End) -> String {
        let client = self.clients.remove(&connection.local());
        let unfinished = client.as_ref().map_or(0, |client| client.files.len());
        let reason = match end {
            End::There { code: 0, .. } if unfinished > 0 => "it closed within a file".into(),
            End::There { code: 0, .. } | End::Here { code: 0, .. } => String::new(),
            End::There { reason, .. } if reason.is_empty() => "the other end gave up".into(),
            End::There { reason, .. } | End::Here { reason, .. } => reason.clone(),
            End::Silence(span) => {
                format!("nothing has come for {span}: the other end has died, or the path is down")
            }
        };
        let mut received =
            Received { scheme: connection.peer_scheme().into(), ..Received::default() };
        if let Some(client) = client {
            let stats = connection.received().unwrap_or_default();
            received.summary = client.arrivals.summary(stats);
            received.series = client.arrivals.series();
            let logged = client.qlog.map_or(Ok(()), |qlog| qlog.finish(now, Some(end)));
            self.events.extend(logged.err().map(|error| Event::NoLog(error.to_string())));
        }
        let (from, received) = (connection.remote().0, Box::new(received));
        self.events.push(Event::Ended { from, reason: reason.clone(), received });
        reason
    }

    fn client(&mut self, connection: u32, now: Time) -> &mut Client {
        let Clients { options, clients, count, events } = self;
        clients.entry(connection).or_insert_with(|| {
            *count += 1;
            let begun = options.qlog.as_ref().map(|to| to.begin(*count, connection, now));
            let qlog = begun.transpose().unwrap_or_else(|error| {
                events.push(Event::NoLog(error.to_string()));
                None
            });
            Client {
                arrivals: Arrivals::new(now, options.series),
                unpacker: Unpacker::new(),
                files: HashMap::new(),
                notes: Vec::new(),
                broken: false,
                qlog,
            }
        })
    }

    /// A packet has left; one with an acknowledgement is logged.
    fn on_sent(&mut self, now: Time, connection: &Connection, out: &Transmit) {
        let client = self.clients.get_mut(&connection.local());
        let qlog = client.and_then(|client| client.qlog.as_mut());
        if let (Some(qlog), Some(ack), true) = (qlog, connection.latest_ack(), out.ack) {
            qlog.on_ack(now, (out.number, out.length as u32), ack, false);
        }
    }
}

impl Client {
    fn on_stream(
        &mut self,
        connection: u32,
        bytes: &[u8],
        target: &Target,
        events: &mut Vec<Event>,
    ) {
        if self.broken {
            return;
        }
        let Client { unpacker, files, notes, .. } = self;
        let mut fail = |file: u32, text: String| {
            events.push(Event::Failed(text.clone()));
            let end = text.floor_char_boundary(500);
            let text = text.get(..end).unwrap_or("").to_string();
            notes.push(Note::File { file, kept: false, text });
        };
        let mut kept = Vec::new();
        let read = unpacker.push(bytes, &mut |record| match record {
            Record::Open { file, name, .. } => {
                let unique = format!("{connection:08x}-{file}");
                match Saving::begin(target, name, &unique) {
                    Ok(saving) => {
                        files.insert(file, saving);
                    }
                    Err(error) => fail(file, format!("a file cannot be made: {error}")),
                }
            }
            Record::Piece { file, bytes } => {
                if let Some(saving) = files.get_mut(&file)
                    && let Err(error) = saving.write(bytes)
                {
                    files.remove(&file);
                    fail(file, format!("a file cannot be written: {error}"));
                }
            }
            Record::Close { file, length, whole, .. } => {
                let Some(saving) = files.remove(&file) else { return };
                if !whole {
                    fail(file, "its hash is not the one that the sender says".into());
                    return;
                }
                match saving.keep() {
                    Ok(name) => kept.push((file, name, length)),
                    Err(error) => fail(file, format!("a file cannot be kept: {error}")),
                }
            }
        });
        if let Err(error) = read {
            self.broken = true;
            self.files.clear();
            fail(0, format!("what came are no files: {error}"));
        }
        for (file, name, bytes) in kept {
            let end = name.floor_char_boundary(500);
            let text = name.get(..end).unwrap_or("").to_string();
            notes.push(Note::File { file, kept: true, text });
            events.push(Event::Kept { name, bytes });
        }
    }
}

impl Sink for Clients<'_> {
    fn on_stream(&mut self, connection: u32, bytes: &[u8]) {
        let target = &self.options.target;
        if let Some(client) = self.clients.get_mut(&connection) {
            client.on_stream(connection, bytes, target, &mut self.events);
        }
    }
    fn on_packet(&mut self, connection: u32, now: Time, arrival: &Arrival) {
        let client = self.client(connection, now);
        client.arrivals.on_packet(now, arrival.sent, arrival.size);
        if let Some(qlog) = &mut client.qlog {
            qlog.on_data(now, arrival.number, arrival.length, true);
        }
    }
}

/// Serves until it is interrupted, or, with `once`, until its first connection is over. `tell` is
/// told what happens. Returns false if a connection has ended badly.
///
/// # Errors
/// The address is taken, or the system refuses something.
pub fn serve(options: &ServerOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, LiveError> {
    options.qlog.as_ref().map_or(Ok(()), LogTarget::check)?;
    let mut clock = Clock::start();
    let mut socket = Socket::bind(options.listen)?;
    let interrupts = Interrupts::watch()?;
    let mut server = Server::new(options.identity.clone(), options.limits.clone())
        .map_err(|error| LiveError::Message(error.to_string()))?;
    let (mut inbox, mut outbox) = (Inbox::default(), Outbox::new());
    let mut clients = Clients { options, clients: HashMap::new(), count: 0, events: Vec::new() };
    tell(Event::Listening(socket.local()?));
    let logs = options.qlog.is_some();
    let (mut touched, mut answers, mut good) = (Vec::new(), Vec::new(), true);
    let mut told = clock.now();
    loop {
        let ready = wait(&mut clock, server.wake(), socket.as_fd(), None, &interrupts)?;
        if ready.interrupted {
            close_all(&mut server, &mut socket, &mut outbox, &mut clients, clock.now());
            clients.events.drain(..).for_each(&mut *tell);
            tell(Event::Stopping(server.stats()));
            return Ok(good);
        }
        if ready.socket {
            let ahead = clock.ahead();
            let now = clock.now();
            let accepted = server.stats().accepted;
            socket.receive(&mut inbox, |group| {
                let at = clock.of_stamp(group.stamp, ahead, told, now);
                told = at;
                for bytes in group.bytes.chunks_mut(group.size) {
                    let ecn = mark(group.ecn);
                    let slot = server.on_datagram(at, group.from, ecn, bytes, &mut clients);
                    if let Some(slot) = slot
                        && touched.last() != Some(&slot)
                    {
                        touched.push(slot);
                    }
                    answers.extend(server.take_answer());
                }
                if server.stats().accepted > accepted {
                    clients.events.push(Event::Connected(group.from));
                }
            })?;
            for (to, answer) in answers.drain(..) {
                outbox.send_one(&mut socket, to, &answer);
            }
        }
        told = clock.now();
        touched.drain(..).for_each(|slot| talk(told, slot, &mut server, &mut clients));
        while let Some(slot) = server.due(told) {
            outbox.send(&mut socket, usize::MAX, |place| {
                let out = server.transmit(told, slot, place)?;
                if let (true, Some(connection)) = (logs, server.connection(slot)) {
                    clients.on_sent(told, connection, &out);
                }
                Some(out)
            });
            if let Some(connection) = server.connection(slot)
                && let Some(end) = connection.ended().cloned()
            {
                good &= clients.end(told, connection, &end).is_empty();
                server.remove(slot);
                clients.events.drain(..).for_each(&mut *tell);
                if options.once {
                    return Ok(good);
                }
            }
        }
        clients.events.drain(..).for_each(&mut *tell);
    }
}

/// Answers what a connection asks, and tells it what has become of its files.
fn talk(now: Time, slot: usize, server: &mut Server, clients: &mut Clients<'_>) {
    let Some(connection) = server.connection(slot) else { return };
    let client = clients.client(connection.local(), now);
    while let Some(bytes) = connection.receive_message() {
        if Note::read(&bytes) == Some(Note::Summarize) {
            let stats = connection.received().unwrap_or_default();
            client.notes.push(Note::Summary(client.arrivals.summary(stats)));
        }
    }
    for note in client.notes.drain(..) {
        connection.send_message(note.to_bytes());
    }
    server.reschedule(slot);
}

/// Tells everybody that this end is going.
fn close_all(
    server: &mut Server,
    socket: &mut Socket,
    outbox: &mut Outbox,
    clients: &mut Clients<'_>,
    now: Time,
) {
    let reason = "the receiver was interrupted";
    let slots: Vec<usize> = server.slots().collect();
    for slot in slots {
        if let Some(connection) = server.connection(slot) {
            connection.close(1, reason);
        }
        outbox.send(socket, 1, |place| server.transmit(now, slot, place));
        if let Some(connection) = server.connection(slot) {
            clients.end(now, connection, &End::Here { code: 1, reason: reason.into() });
        }
    }
}
