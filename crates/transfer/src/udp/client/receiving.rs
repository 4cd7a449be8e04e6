//! The work of an end that connects to a sender and receives its files.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Arc, mpsc};

use paceline_cc::{Ack, Time};
use paceline_os::{RealTimeError, Waker};
use paceline_wire::{Arrival, Connection, End, Sink};

use super::failure::Failure;
use super::transfer_progress::GOES_ON;
use super::work::Work;
use super::{ClientOptions, ReceiveOptions};
use crate::udp::arrivals::Arrivals;
use crate::udp::events::{ConnectionResult, Event, Events};
use crate::udp::inbound::Inbound;
use crate::udp::note::{Note, TAKEN_OVER};
use crate::udp::qlog::Qlog;
use crate::udp::store::{Owner, Store, TransferStatus, WorkerCount, WorkerReport, WorkerReports};

/// Stream bytes after which a connection counts as progress. A smaller file that was cut off starts
/// again.
const PROGRESS: u64 = 64 << 10;

/// Receives files over successive connections.
pub(super) struct ReceiveWork<'a> {
    options: &'a ClientOptions,
    into: &'a ReceiveOptions,
    store: Arc<Store>,
    workers: WorkerCount,
    reports: WorkerReports,
    reported: mpsc::Receiver<(u32, WorkerReport)>,
    events: Events,
    /// Number of connections so far.
    number: u64,
    /// Identifier of the current connection, its files, and its measurements.
    connection: u32,
    inbound: Inbound,
    arrivals: Arrivals,
    qlog: Option<Qlog>,
    /// Time at which the connection was last handled.
    now: Time,
    /// Bytes of the stream that were handled.
    taken: u64,
    /// Why the rest of the transfer is refused.
    refusal: Option<String>,
    is_interrupted: bool,
}

impl<'a> ReceiveWork<'a> {
    /// # Errors
    /// The process has too many open files.
    pub(super) fn new(
        (options, into): (&'a ClientOptions, &'a ReceiveOptions),
        store: Arc<Store>,
        events: Events,
    ) -> Result<ReceiveWork<'a>, RealTimeError> {
        let reports =
            WorkerReports::new().map_err(RealTimeError::system("making a file for wake-ups"))?;
        let (reports, reported) = reports;
        Ok(ReceiveWork {
            options,
            into,
            store,
            workers: WorkerCount::default(),
            reports,
            reported,
            events,
            number: 0,
            connection: 0,
            inbound: Inbound::default(),
            arrivals: Arrivals::new(Time::ZERO, false),
            qlog: None,
            now: Time::ZERO,
            taken: 0,
            refusal: None,
            is_interrupted: false,
        })
    }

    /// Hands the received bytes to the worker.
    fn hand_on(&mut self) {
        let ReceiveWork { store, workers, reports, events, connection, number, .. } = self;
        let (connection, number, client) = (*connection, *number, None);
        let owner = Owner { connection, number, client, reports, events };
        self.inbound.hand_on(store, workers, owner);
    }
}

impl Sink for ReceiveWork<'_> {
    fn on_stream(&mut self, _connection: u32, bytes: &[u8]) {
        if self.inbound.on_stream(bytes) {
            self.hand_on();
        }
    }
    fn on_packet(&mut self, _connection: u32, now: Time, arrival: &Arrival) {
        self.arrivals.on_packet(now, arrival.sent, arrival.size);
        if let Some(qlog) = &mut self.qlog {
            qlog.on_data(now, arrival.number, arrival.length, true);
        }
    }
}

impl Work for ReceiveWork<'_> {
    fn on_connected(
        &mut self,
        now: Time,
        connection: &mut Connection,
        _waker: &Waker,
    ) -> Result<(), RealTimeError> {
        self.number += 1;
        self.connection = connection.local();
        // The previous connection's worker finishes what it has.
        self.inbound = Inbound::default();
        self.arrivals = Arrivals::new(now, self.into.series);
        let log = self.into.qlog.as_ref();
        let begun = log.map(|to| to.begin(self.number, self.connection, now)).transpose();
        self.qlog = begun.unwrap_or_else(|error| {
            self.events.tell(Event::NoLog(error.to_string()));
            None
        });
        self.now = now;
        self.taken = 0;
        let bps = self.options.limit.map_or(0, |limit| limit.as_bps().max(1));
        connection.send_message(Note::Limit { bps }.to_bytes());
        Ok(())
    }

    fn step(
        &mut self,
        now: Time,
        connection: &mut Connection,
        _waker: &Waker,
    ) -> Result<bool, RealTimeError> {
        self.now = self.now.max(now);
        let before = self.taken;
        self.reports.clear();
        for (number, report) in self.reported.try_iter() {
            if number != self.connection {
                continue;
            }
            match &report {
                WorkerReport::Taken(bytes) => self.taken += bytes.len() as u64,
                WorkerReport::Note(Note::File { file: 0, kept: false, text }) => {
                    self.refusal = Some(text.clone());
                }
                _ => {}
            }
            self.inbound.on_report(report);
        }
        self.hand_on();
        self.inbound.consume(connection);
        while let Some(bytes) = connection.receive_message() {
            if let Some(Note::Summarize) = Note::read(&bytes) {
                let stats = connection.received().unwrap_or_default();
                self.inbound.tell(Note::Summary(self.arrivals.summary(stats)));
            }
        }
        self.inbound.talk(connection);
        Ok(self.taken > before && self.taken >= PROGRESS)
    }

    fn wake(&self) -> Time {
        Time::NEVER
    }

    fn input(&self) -> Option<BorrowedFd<'_>> {
        Some(self.reports.wake().as_fd())
    }

    fn interrupt(&mut self, connection: &mut Connection) {
        self.is_interrupted = true;
        connection.close(1, "the receiver was interrupted");
    }

    fn is_watching(&self) -> bool {
        self.qlog.is_some()
    }

    fn on_ack_sent(&mut self, now: Time, packet: (u64, u32), ack: &Ack) {
        if let Some(qlog) = &mut self.qlog {
            qlog.on_ack(now, packet, ack, false);
        }
    }

    /// The sender closes once it has its answers, and the worker may not have come to the end yet.
    fn can_judge(&mut self, end: &End) -> bool {
        if self.is_interrupted || !matches!(end, End::There { code: 0, .. }) {
            return true;
        }
        self.hand_on();
        self.inbound.finish()
    }

    fn on_end(&mut self, connection: &Connection, end: &End) -> Result<(), Failure> {
        // Write what has arrived, so that the next connection continues after it.
        self.hand_on();
        let judged = self.judge(end);
        self.report(connection, end, &judged);
        judged
    }
}

impl ReceiveWork<'_> {
    /// Reports the measurements of a connection that is over.
    fn report(&mut self, connection: &Connection, end: &End, judged: &Result<(), Failure>) {
        let logged = self.qlog.take().map_or(Ok(()), |qlog| qlog.finish(self.now, Some(end)));
        if let Err(error) = logged {
            self.events.tell(Event::NoLog(error.to_string()));
        }
        let reason = match judged {
            Ok(()) => String::new(),
            Err(Failure::Final(error) | Failure::CutOff(error)) => error.to_string(),
        };
        let received = ConnectionResult {
            scheme: connection.peer_scheme().into(),
            summary: self.arrivals.summary(connection.received().unwrap_or_default()),
            series: self.arrivals.series(),
            ..ConnectionResult::default()
        };
        let (from, received) = (connection.remote().0, Box::new(received));
        self.events.tell(Event::Ended { from, reason, received });
    }

    /// Returns whether a connection ended well.
    fn judge(&self, end: &End) -> Result<(), Failure> {
        let status = self.inbound.status();
        if matches!(status, TransferStatus::Complete | TransferStatus::PartlyKept) {
            return Ok(());
        }
        if let Some(text) = &self.refusal {
            return Err(Failure::text(text.clone()));
        }
        if self.is_interrupted {
            return Err(Failure::text(GOES_ON));
        }
        let text = match end {
            End::There { code: TAKEN_OVER, .. } => {
                return Err(Failure::text(
                    "another receiver has connected to this sender, which sends to one at a time: this receiver has ended",
                ));
            }
            // The sender closes like this when it could keep or send none of its arguments.
            End::There { code: 1, reason } if reason.is_empty() => {
                return Err(Failure::text("this receiver could keep none of the sender's files"));
            }
            End::There { reason, .. } if reason.is_empty() => {
                "the sender closed the connection before all had arrived".into()
            }
            End::There { reason, .. } => format!("the sender closed the connection: {reason}"),
            End::Here { reason, .. } => reason.clone(),
            End::Reset => "the sender was restarted".into(),
            End::Silence(span) => format!(
                "nothing has come from the sender for {span}: it has died, or the path is down"
            ),
        };
        let error = RealTimeError::Message(text);
        Err(match status {
            TransferStatus::Unrepeatable => Failure::Final(RealTimeError::Message(format!(
                "{error}; the sender cannot read this a second time, so the transfer cannot continue"
            ))),
            _ => Failure::CutOff(error),
        })
    }
}
