//! What a loop of a server knows of its clients, and does with what comes from them.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use paceline_cc::{Rate, Span, Time};
use paceline_wire::records::{Content, FileHash, Record, Unpacker};
use paceline_wire::{Arrival, Connection, End, Server, Service, Sink, Transmit};

use super::arrivals::{Arrivals, RttSamples, SentSummary, Summary};
use super::files::{IncomingFile, Target};
use super::note::{Note, Resume};
use super::open_files::{OpenFile, OpenFiles};
use super::output::Output;
use super::qlog::Qlog;
use super::server::{ConnectionResult, Event, ServerOptions};

/// Why a file is refused, if files go to standard output.
const ONE_SENDER: &str = "the receiver writes to standard output, which another sender has: try again when that one has \
    ended, or let the receiver keep files in a folder";
/// Why an entry that is not a file is refused.
const FILES_ALONE: &str = "this receiver takes no folders and links";

/// A file that is being received.
struct ReceivedFile {
    number: u32,
    incoming: IncomingFile,
    hash: FileHash,
    _counted: OpenFile,
}

/// What the server knows of a client.
struct Client {
    arrivals: Arrivals,
    unpacker: Unpacker,
    /// The file that is being received.
    file: Option<ReceivedFile>,
    /// What is to be told, the oldest first.
    notes: VecDeque<Note>,
    /// All its files were refused because another sender has standard output.
    turned_away: bool,
    /// What came is no stream of records: nothing more is done about it.
    broken: bool,
    qlog: Option<Qlog>,
    /// Round-trip times of what this end sends.
    rtts: RttSamples,
    /// What the other end of a measurement has measured, or counted.
    measured: Option<Summary>,
    sent: Option<SentSummary>,
}

/// The clients of one loop, by the identifiers of their connections.
pub(super) struct Clients<'a> {
    options: &'a ServerOptions,
    clients: HashMap<u32, Client>,
    /// How many there have been, at all loops.
    count: &'a AtomicU64,
    /// The files that are open, at all loops.
    open_files: OpenFiles,
    output: Output<'a>,
    events: mpsc::Sender<Event>,
}

/// Tells the thread that waits for events. It waits as long as there is a loop.
fn tell(events: &mpsc::Sender<Event>, event: Event) {
    let _ = events.send(event);
}

impl<'a> Clients<'a> {
    pub(super) fn new(
        options: &'a ServerOptions,
        count: &'a AtomicU64,
        open_files: OpenFiles,
        output: Output<'a>,
        events: mpsc::Sender<Event>,
    ) -> Clients<'a> {
        Clients { options, clients: HashMap::new(), count, open_files, output, events }
    }

    /// Tells what has happened.
    pub(super) fn tell(&self, event: Event) {
        tell(&self.events, event);
    }

    /// Whether a connection has got nothing but the answer that another sender has standard output.
    pub(super) fn is_turned_away(&self, connection: u32) -> bool {
        self.clients.get(&connection).is_some_and(|client| client.turned_away)
    }

    /// Forgets a client. Returns what was wrong, if something was, and notes what was measured.
    pub(super) fn end(&mut self, now: Time, connection: &Connection, end: &End) -> String {
        let client = self.clients.remove(&connection.local());
        self.output.owner.release(connection.local());
        let unfinished = client.as_ref().is_some_and(|client| client.file.is_some());
        let reason = match end {
            End::There { code: 0, .. } if unfinished => "it closed within a file".into(),
            End::There { code: 0, .. } | End::Here { code: 0, .. } => String::new(),
            End::There { reason, .. } if reason.is_empty() => "the other end gave up".into(),
            End::There { reason, .. } | End::Here { reason, .. } => reason.clone(),
            End::Silence(span) => {
                format!("nothing has come for {span}: the other end has died, or the path is down")
            }
        };
        let mut received = ConnectionResult {
            scheme: connection.peer_scheme().into(),
            ..ConnectionResult::default()
        };
        if let Some(client) = client {
            let stats = connection.received().unwrap_or_default();
            received.summary = client.arrivals.summary(stats);
            received.series = client.arrivals.series();
            received.sent = client.sent;
            received.is_measurement = connection.service() == Service::Filler;
            if let Some(sent) = connection.sent() {
                received.is_reverse = true;
                received.scheme = connection.scheme().into();
                received.summary = client.measured.unwrap_or_default();
                received.sent = Some(SentSummary::new(&sent, &client.rtts));
            }
            let logged = client.qlog.map_or(Ok(()), |qlog| qlog.finish(now, Some(end)));
            if let Err(error) = logged {
                self.tell(Event::NoLog(error.to_string()));
            }
        }
        let (from, received) = (connection.remote().0, Box::new(received));
        self.tell(Event::Ended { from, reason: reason.clone(), received });
        reason
    }

    fn client(&mut self, connection: u32, now: Time) -> &mut Client {
        let Clients { options, clients, count, events, .. } = self;
        clients.entry(connection).or_insert_with(|| {
            let count = 1 + count.fetch_add(1, Ordering::Relaxed);
            let begun = options.qlog.as_ref().map(|to| to.begin(count, connection, now));
            let qlog = begun.transpose().unwrap_or_else(|error| {
                tell(events, Event::NoLog(error.to_string()));
                None
            });
            Client {
                arrivals: Arrivals::new(now, options.series),
                unpacker: Unpacker::new(),
                file: None,
                notes: VecDeque::new(),
                turned_away: false,
                broken: false,
                qlog,
                rtts: RttSamples::new(),
                measured: None,
                sent: None,
            }
        })
    }

    /// A packet has left; one with an acknowledgement is logged.
    pub(super) fn on_sent(&mut self, now: Time, connection: &Connection, out: &Transmit) {
        let client = self.clients.get_mut(&connection.local());
        let qlog = client.and_then(|client| client.qlog.as_mut());
        if let (Some(qlog), Some(ack), true) = (qlog, connection.latest_ack(), out.ack) {
            qlog.on_ack(now, (out.number, out.length as u32), ack, false);
        }
    }

    /// Answers what a connection asks, and tells it what has become of its files.
    pub(super) fn talk(&mut self, now: Time, slot: usize, server: &mut Server) {
        let Some(connection) = server.connection(slot) else { return };
        let client = self.client(connection.local(), now);
        while let Some(bytes) = connection.receive_message() {
            match Note::read(&bytes) {
                Some(Note::Summarize) => {
                    let stats = connection.received().unwrap_or_default();
                    client.notes.push_back(Note::Summary(client.arrivals.summary(stats)));
                    if let Some(sent) = connection.sent() {
                        connection.stop();
                        client.notes.push_back(Note::Sent(SentSummary::new(&sent, &client.rtts)));
                    }
                }
                Some(Note::Limit { bps }) => connection.set_limit(Some(Rate::from_bps(bps))),
                Some(Note::Summary(summary)) => client.measured = Some(summary),
                Some(Note::Sent(sent)) => client.sent = Some(sent),
                _ => {}
            }
        }
        // What there is no room for now waits for the next acknowledgement.
        while let Some(note) = client.notes.front()
            && connection.send_message(note.to_bytes())
        {
            client.notes.pop_front();
        }
        server.reschedule(slot);
    }
}

impl Client {
    fn on_stream(
        &mut self,
        connection: u32,
        bytes: &[u8],
        (target, output, open_files): (&Target, Output<'_>, &OpenFiles),
        events: &mpsc::Sender<Event>,
    ) {
        if self.broken {
            return;
        }
        let Client { unpacker, file, notes, turned_away, .. } = self;
        let fail = |notes: &mut VecDeque<Note>, file: u32, text: String| {
            tell(events, Event::Failed(text.clone()));
            notes.push_back(Note::File { file, kept: false, text });
        };
        let read = unpacker.push(bytes, &mut |record| match record {
            Record::Transfer(transfer) => {
                if transfer.resumable {
                    notes.push_back(Note::Resume(Resume { entry: 1, ..Resume::default() }));
                }
            }
            Record::Entry(entry) if !matches!(entry.content, Content::File { .. }) => {
                fail(notes, entry.number, FILES_ALONE.into());
            }
            Record::Entry(entry) if target.is_output() && !output.owner.take(connection) => {
                *turned_away = true;
                fail(notes, entry.number, ONE_SENDER.into());
            }
            Record::Entry(entry) => {
                *turned_away = false;
                let number = entry.number;
                let unique = format!("{connection:08x}-{number}");
                let counted = match open_files.count() {
                    Ok(counted) => counted,
                    Err(text) => return fail(notes, number, text),
                };
                let name = String::from_utf8_lossy(entry.name());
                match IncomingFile::begin(target, &name, &unique) {
                    Ok(incoming) => {
                        let hash = FileHash::default();
                        *file = Some(ReceivedFile { number, incoming, hash, _counted: counted });
                    }
                    Err(error) => fail(notes, number, format!("a file cannot be made: {error}")),
                }
            }
            Record::Piece { number, bytes } => {
                let Some(received) = file else { return };
                received.hash.update(bytes);
                if let Err(error) = received.incoming.write(bytes, output) {
                    *file = None;
                    fail(notes, number, format!("a file cannot be written: {error}"));
                }
            }
            Record::Close { number, whole } => {
                let Some(received) = file.take_if(|file| file.number == number) else { return };
                if whole != Some(received.hash.whole()) {
                    let text = match whole {
                        Some(_) => "its hash is not the one that the sender says",
                        None => "the sender gave it up",
                    };
                    return fail(notes, number, text.into());
                }
                match received.incoming.keep() {
                    Ok(name) => {
                        let text = name.clone();
                        notes.push_back(Note::File { file: number, kept: true, text });
                        tell(events, Event::Kept { name, bytes: received.hash.length() });
                    }
                    Err(error) => fail(notes, number, format!("a file cannot be kept: {error}")),
                }
            }
            Record::End => {}
        });
        if let Err(error) = read {
            self.broken = true;
            self.file = None;
            fail(&mut self.notes, 0, format!("what came are no files: {error}"));
        }
    }
}

impl Sink for Clients<'_> {
    fn on_stream(&mut self, connection: u32, bytes: &[u8]) {
        let place = (&self.options.target, self.output, &self.open_files);
        if let Some(client) = self.clients.get_mut(&connection) {
            client.on_stream(connection, bytes, place, &self.events);
        }
    }
    fn on_rtt(&mut self, connection: u32, rtt: Span) {
        if let Some(client) = self.clients.get_mut(&connection) {
            client.rtts.push(rtt);
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
