//! What an end does that connects to a sender and receives its files.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::{Arc, mpsc};

use paceline_cc::Time;
use paceline_os::{LiveError, Waker};
use paceline_wire::{Arrival, Connection, End, Sink};

use super::ClientOptions;
use super::failure::Failure;
use super::transfer_progress::GOES_ON;
use super::work::Work;
use crate::udp::arrivals::Arrivals;
use crate::udp::inbound::Inbound;
use crate::udp::note::{Note, TAKEN_OVER};
use crate::udp::server::Events;
use crate::udp::store::{Owner, Report, Reports, Store, TransferStatus, WorkerCount};

/// Bytes of the stream after which a connection counts as progress: a smaller file that was cut off begins anew.
const PROGRESS: u64 = 64 << 10;

/// Receives files over one connection after the other.
pub(super) struct ReceiveWork<'a> {
    options: &'a ClientOptions,
    store: Arc<Store>,
    workers: WorkerCount,
    reports: Reports,
    reported: mpsc::Receiver<(u32, Report)>,
    events: Events,
    /// Number of connections so far.
    number: u64,
    /// The identifier of the current connection, what it brings, and what was measured of it.
    connection: u32,
    inbound: Inbound,
    arrivals: Arrivals,
    /// Bytes of its stream that were taken in.
    taken: u64,
    /// Why nothing more of the transfer is taken.
    refusal: Option<String>,
    is_interrupted: bool,
}

impl<'a> ReceiveWork<'a> {
    /// # Errors
    /// There are too many open files.
    pub(super) fn new(
        options: &'a ClientOptions,
        store: Arc<Store>,
        events: Events,
    ) -> Result<ReceiveWork<'a>, LiveError> {
        let reports = Reports::new().map_err(LiveError::system("making a file for wake-ups"))?;
        let (reports, reported) = reports;
        Ok(ReceiveWork {
            options,
            store,
            workers: WorkerCount::default(),
            reports,
            reported,
            events,
            number: 0,
            connection: 0,
            inbound: Inbound::default(),
            arrivals: Arrivals::new(Time::ZERO, false),
            taken: 0,
            refusal: None,
            is_interrupted: false,
        })
    }

    /// Hands the bytes that have come to the worker.
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
    }
}

impl Work for ReceiveWork<'_> {
    fn on_connected(
        &mut self,
        now: Time,
        connection: &mut Connection,
        _waker: &Waker,
    ) -> Result<(), LiveError> {
        self.number += 1;
        self.connection = connection.local();
        // The worker of the connection before ends with what it has.
        self.inbound = Inbound::default();
        self.arrivals = Arrivals::new(now, false);
        self.taken = 0;
        let bps = self.options.limit.map_or(0, |limit| limit.as_bps().max(1));
        connection.send_message(Note::Limit { bps }.to_bytes());
        Ok(())
    }

    fn step(
        &mut self,
        _now: Time,
        connection: &mut Connection,
        _waker: &Waker,
    ) -> Result<bool, LiveError> {
        let before = self.taken;
        self.reports.clear();
        for (number, report) in self.reported.try_iter() {
            if number != self.connection {
                continue;
            }
            match &report {
                Report::Taken(bytes) => self.taken += bytes.len() as u64,
                Report::Note(Note::File { file: 0, kept: false, text }) => {
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

    fn on_end(&mut self, _connection: &Connection, end: &End) -> Result<(), Failure> {
        // The next connection may go on behind what has come.
        self.hand_on();
        let status = self.inbound.status();
        if status == TransferStatus::Complete {
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
                    "another receiver has connected to this sender, which sends to one at a time: this one has ended for it",
                ));
            }
            // So it closes when each of its arguments has failed.
            End::There { code: 1, reason } if reason.is_empty() => {
                return Err(Failure::text("nothing of what the sender has is kept here"));
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
        let error = LiveError::Message(text);
        Err(match status {
            TransferStatus::Unrepeatable => Failure::Final(LiveError::Message(format!(
                "{error}; the sender cannot read this a second time: nothing goes on"
            ))),
            _ => Failure::CutOff(error),
        })
    }
}
