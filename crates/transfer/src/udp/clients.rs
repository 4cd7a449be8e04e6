//! The clients of one event loop of a server: their state, and how their packets are handled.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use paceline_cc::{Rate, Span, Time};
use paceline_wire::{Arrival, Connection, End, Server, Service, Sink, Transmit};

use super::arrivals::{Arrivals, RttSamples, SentSummary, Summary};
use super::events::{ConnectionResult, Event, Events};
use super::inbound::Inbound;
use super::note::Note;
use super::qlog::Qlog;
use super::shared_state::SharedState;
use super::store::{Owner, TransferStatus, WorkerReport, WorkerReports};

/// A server's state for one client.
struct Client {
    /// Its number, unique across all loops.
    number: u64,
    /// Its name in the list of clients, if each client has its own folder.
    name: Option<String>,
    /// Index of its connection, once known.
    slot: Option<usize>,
    arrivals: Arrivals,
    /// The files that it sends.
    inbound: Inbound,
    qlog: Option<Qlog>,
    /// RTTs of the data that this end sends.
    rtts: RttSamples,
    /// The client's report of a measurement: what it has measured as the receiver, or counted as
    /// the sender.
    measured: Option<Summary>,
    sent: Option<SentSummary>,
}

/// The clients of one loop, by the identifiers of their connections.
pub(super) struct Clients<'a> {
    shared: &'a SharedState<'a>,
    clients: HashMap<u32, Client>,
    events: Events,
    /// Sends the reports of workers to this loop.
    reports: WorkerReports,
    reported: mpsc::Receiver<(u32, WorkerReport)>,
}

impl<'a> Clients<'a> {
    /// Creates an empty set of clients.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(super) fn new(shared: &'a SharedState<'a>, events: Events) -> io::Result<Clients<'a>> {
        let (reports, reported) = WorkerReports::new()?;
        Ok(Clients { shared, clients: HashMap::new(), events, reports, reported })
    }

    /// Reports an event.
    pub(super) fn tell(&self, event: Event) {
        self.events.tell(event);
    }

    /// Returns the file that is readable when workers have sent reports.
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.reports.wake().as_fd()
    }

    /// Handles the reports of workers. `touched` receives the indices of their connections, which
    /// then need a call of `talk`.
    pub(super) fn on_reports(&mut self, touched: &mut Vec<usize>) {
        self.reports.clear();
        for (connection, report) in self.reported.try_iter() {
            // The connection may have ended meanwhile.
            let Some(client) = self.clients.get_mut(&connection) else { continue };
            client.inbound.on_report(report);
            if let Some(slot) = client.slot
                && touched.last() != Some(&slot)
            {
                touched.push(slot);
            }
        }
    }

    /// Returns the progress of a connection's transfer.
    pub(super) fn status(&self, connection: u32) -> TransferStatus {
        self.clients.get(&connection).map_or(TransferStatus::None, |client| client.inbound.status())
    }

    /// Returns true if everything that a connection has brought is written, so that its status is
    /// final. Call it after the end of the connection, and again after further reports.
    pub(super) fn finish(&mut self, connection: u32) -> bool {
        self.hand_on(connection);
        self.clients.get_mut(&connection).is_none_or(|client| client.inbound.finish())
    }

    /// Removes a client and reports its measurements. Returns the error, or an empty text.
    pub(super) fn end(&mut self, now: Time, connection: &Connection, end: &End) -> String {
        // Write what has arrived, so that a later connection continues after it.
        self.hand_on(connection.local());
        let client = self.clients.remove(&connection.local());
        let status = client.as_ref().map_or(TransferStatus::None, |client| client.inbound.status());
        let is_unfinished = matches!(
            status,
            TransferStatus::Underway | TransferStatus::Unrepeatable | TransferStatus::Halted
        );
        let reason = match end {
            End::There { code: 0, .. } if is_unfinished => "it closed within a transfer".into(),
            End::There { code: 0, .. } | End::Here { code: 0, .. } => String::new(),
            End::There { reason, .. } if reason.is_empty() => "the other end gave up".into(),
            End::There { reason, .. } | End::Here { reason, .. } => reason.clone(),
            End::Reset => "the server was restarted".into(),
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
        let Clients { shared, clients, events, .. } = self;
        clients.entry(connection).or_insert_with(|| {
            let number = 1 + shared.clients.fetch_add(1, Ordering::Relaxed);
            let log = shared.options.qlog.as_ref();
            let begun = log.map(|to| to.begin(number, connection, now));
            let qlog = begun.transpose().unwrap_or_else(|error| {
                events.tell(Event::NoLog(error.to_string()));
                None
            });
            Client {
                number,
                name: None,
                slot: None,
                arrivals: Arrivals::new(now, shared.options.series),
                inbound: Inbound::default(),
                qlog,
                rtts: RttSamples::new(),
                measured: None,
                sent: None,
            }
        })
    }

    /// Notes that a packet has left. Logs a packet that carries an acknowledgement.
    pub(super) fn on_sent(&mut self, now: Time, connection: &Connection, out: &Transmit) {
        let client = self.clients.get_mut(&connection.local());
        let qlog = client.and_then(|client| client.qlog.as_mut());
        if let (Some(qlog), Some(ack), true) = (qlog, connection.latest_ack(), out.ack) {
            qlog.on_ack(now, (out.number, out.length as u32), ack, false);
        }
    }

    /// Hands the received bytes to the client's worker, answers the requests of its connection, and
    /// tells it which of its files were kept.
    pub(super) fn talk(&mut self, now: Time, slot: usize, server: &mut Server) {
        let Some(connection) = server.connection(slot) else { return };
        let local = connection.local();
        if self.client(local, now).slot.is_none() {
            self.client(local, now).name = self.shared.folder_client(connection.client());
        }
        self.hand_on(local);
        let client = self.client(local, now);
        if client.slot.is_none() && connection.service() == Service::Filler {
            // This end sends no data before the other end has named its limit.
            connection.set_limit(Some(Rate::from_bps(0)));
        }
        client.slot = Some(slot);
        client.inbound.consume(connection);
        while let Some(bytes) = connection.receive_message() {
            match Note::read(&bytes) {
                Some(Note::Summarize) => {
                    let stats = connection.received().unwrap_or_default();
                    client.inbound.tell(Note::Summary(client.arrivals.summary(stats)));
                    if let Some(sent) = connection.sent() {
                        connection.stop();
                        client.inbound.tell(Note::Sent(SentSummary::new(&sent, &client.rtts)));
                    }
                }
                Some(Note::Limit { bps }) => {
                    connection.set_limit((bps > 0).then(|| Rate::from_bps(bps)));
                }
                Some(Note::Summary(summary)) => client.measured = Some(summary),
                Some(Note::Sent(sent)) => client.sent = Some(sent),
                _ => {}
            }
        }
        client.inbound.talk(connection);
        server.reschedule(slot);
    }

    /// Hands the received bytes to the client's worker.
    fn hand_on(&mut self, connection: u32) {
        let Clients { shared, clients, events, reports, .. } = self;
        if let Some(client) = clients.get_mut(&connection) {
            let (number, name) = (client.number, client.name.as_deref());
            let owner = Owner { connection, number, client: name, reports, events };
            client.inbound.hand_on(&shared.store, &shared.workers, owner);
        }
    }
}

impl Sink for Clients<'_> {
    fn on_stream(&mut self, connection: u32, bytes: &[u8]) {
        let Some(client) = self.clients.get_mut(&connection) else { return };
        // The client's name is unknown before the first [`Clients::talk`].
        if client.inbound.on_stream(bytes) && client.slot.is_some() {
            self.hand_on(connection);
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
