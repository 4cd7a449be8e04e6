//! The work of an end that sends files or the packets of a measurement.

use paceline_cc::{Ack, Rate, Span, Time};
use paceline_os::{RealTimeError, Waker};
use paceline_wire::{Arrival, Connection, End, Sink};

use super::earlier::{Earlier, acknowledged, sum};
use super::failure::Failure;
use super::observer::Rtts;
use super::transfer_progress::{NOT_AGAIN, ReportedFigures, TransferProgress};
use super::work::Work;
use super::{ClientOptions, TransferResult};
use crate::udp::arrivals::{Arrivals, RttSamples};
use crate::udp::course::SentCourse;
use crate::udp::note::Note;
use crate::udp::outbound::Outbound;
use crate::udp::qlog::Qlog;

/// Sends over successive connections.
pub(super) struct SendWork<'a> {
    options: &'a ClientOptions,
    /// The files; `None` for a measurement.
    outbound: Option<Outbound>,
    rtts: Rtts,
    earlier: Earlier,
    progress: TransferProgress,
    /// True once the transfer was announced to the receiver over this connection.
    is_begun: bool,
    /// Maximum packet size of this connection at its start, and the bytes of its IP and UDP
    /// headers.
    sizes: (u16, usize),
    /// Bytes of files that the receiver had at the start of this connection, as last displayed.
    from: u64,
    /// When a measurement ends.
    stop: Time,
    /// The results, once the work is done.
    pub(super) result: Option<TransferResult>,
}

impl<'a> SendWork<'a> {
    pub(super) fn new(
        options: &'a ClientOptions,
        outbound: Option<Outbound>,
        qlog: Option<Qlog>,
    ) -> SendWork<'a> {
        let sends_back = options.sends_back();
        let rtts = Rtts {
            rtts: RttSamples::new(),
            arrivals: sends_back.then(|| Arrivals::new(Time::ZERO, false)),
            arrived: 0,
            qlog,
            course: None,
            now: Time::ZERO,
        };
        SendWork {
            options,
            outbound,
            rtts,
            earlier: Earlier::default(),
            progress: TransferProgress::default(),
            is_begun: false,
            sizes: (0, 0),
            from: 0,
            stop: Time::NEVER,
            result: None,
        }
    }

    /// Notes the time at which the first connection was established.
    pub(super) fn on_first(&mut self, now: Time) {
        self.earlier.start = now;
    }

    /// Returns true if another connection can continue where this one was cut off.
    pub(super) fn is_repeatable(&self) -> bool {
        self.outbound.as_ref().is_some_and(Outbound::is_repeatable)
    }

    /// Begins what the receiver that connected asks for, at no more than the rate that it names.
    fn begin(
        &mut self,
        bps: u64,
        connection: &mut Connection,
        waker: &Waker,
    ) -> Result<(), RealTimeError> {
        let asked = (bps > 0).then(|| Rate::from_bps(bps));
        connection.set_limit(self.options.limit.into_iter().chain(asked).min());
        if let (Some(outbound), false) = (&mut self.outbound, self.is_begun) {
            outbound.on_connected(waker.clone())?;
            self.is_begun = true;
        }
        Ok(())
    }

    fn show(&mut self, connection: &Connection) {
        let Some(display) = self.options.progress.as_deref() else { return };
        if let Some(outbound) = &self.outbound {
            if std::mem::take(&mut self.progress.has_news) {
                let settled = outbound.files.iter().filter(|file| file.is_settled()).count();
                display.set_files_done(settled as u64);
            }
            if outbound.from() != self.from {
                self.from = outbound.from();
                display.on_connected(self.from);
            }
        }
        display.update(connection, self.rtts.arrived);
    }
}

impl Sink for SendWork<'_> {
    fn on_ack(&mut self, connection: u32, now: Time, packet: (u64, u32), ack: &Ack) {
        self.rtts.on_ack(connection, now, packet, ack);
    }
    fn on_packet(&mut self, connection: u32, now: Time, arrival: &Arrival) {
        self.rtts.on_packet(connection, now, arrival);
    }
    fn on_rtt(&mut self, connection: u32, rtt: Span) {
        self.rtts.on_rtt(connection, rtt);
    }
}

impl Work for SendWork<'_> {
    fn on_connected(
        &mut self,
        now: Time,
        connection: &mut Connection,
        waker: &Waker,
    ) -> Result<(), RealTimeError> {
        let options = self.options;
        self.earlier.connections += 1;
        self.sizes = (connection.mtu(), options.limits.ip_udp(&connection.remote().0));
        self.from = 0;
        self.progress = TransferProgress {
            abandons: options.abandons,
            idle: connection.idle(),
            ..TransferProgress::default()
        };
        match &mut self.outbound {
            // This may be a different receiver.
            Some(outbound) if options.listen.is_some() => outbound.forget_receiver(),
            Some(outbound) => outbound.on_connected(waker.clone())?,
            None => {}
        }
        self.is_begun = options.listen.is_none();
        if self.outbound.is_none() {
            self.stop = now + options.limits.stop;
        }
        if self.rtts.qlog.is_some() {
            connection.log_losses();
        }
        if options.series && self.rtts.course.is_none() {
            self.rtts.course = Some(SentCourse::new(now));
        }
        connection.set_limit(options.limit);
        if options.sends_back() {
            // The other end sends nothing before it has received this limit.
            let bps = options.limit.map_or(0, |limit| limit.as_bps().max(1));
            connection.send_message(Note::Limit { bps }.to_bytes());
        }
        if let Some(display) = options.progress.as_deref() {
            display.on_connected(0);
        }
        Ok(())
    }

    fn step(
        &mut self,
        now: Time,
        connection: &mut Connection,
        waker: &Waker,
    ) -> Result<bool, RealTimeError> {
        let mut is_further = false;
        if let Some(outbound) = &mut self.outbound
            && connection.ended().is_none()
        {
            outbound.pump(connection);
            is_further = outbound.reaches(connection.stream_acknowledged());
        }
        let files = self.outbound.as_mut().map(|outbound| (outbound, waker));
        let stepped = self.progress.step(now, self.stop, connection, files, &self.rtts);
        let asked = self.progress.asked_limit.take().filter(|_| self.options.listen.is_some());
        let stepped =
            stepped.and_then(|()| asked.map_or(Ok(()), |bps| self.begin(bps, connection, waker)));
        match stepped {
            // A different receiver may succeed.
            Err(error) if self.options.listen.is_some() => connection.close(1, &error.to_string()),
            stepped => stepped?,
        }
        self.show(connection);
        Ok(is_further)
    }

    fn wake(&self) -> Time {
        self.progress.deadline.min(self.stop.max(self.progress.stopped))
    }

    fn interrupt(&mut self, connection: &mut Connection) {
        self.progress.interrupted = true;
        connection.close(1, "the sender was interrupted");
    }

    fn is_over(&self) -> bool {
        self.progress.asked && self.progress.abandons
    }

    fn on_end(&mut self, connection: &Connection, end: &End) -> Result<(), Failure> {
        let checked = self.progress.check(end, self.outbound.as_ref());
        if checked.is_err() {
            self.earlier.add(connection, self.sizes.0);
            if let Some(outbound) = &mut self.outbound {
                outbound.on_lost(connection.stream_sent());
            }
        }
        match checked {
            // A different receiver may still keep what this one could not, or has given up.
            Err(Failure::Final(error))
                if self.options.listen.is_some() && !self.progress.interrupted =>
            {
                Err(Failure::CutOff(error))
            }
            checked => checked,
        }
    }

    fn why_not_again(&self) -> Option<&'static str> {
        let is_unrepeatable = self.outbound.as_ref().is_some_and(|one| !one.is_repeatable());
        is_unrepeatable.then_some(NOT_AGAIN)
    }

    fn finish(&mut self, now: Time, connection: &Connection) {
        let (earlier, outbound, (mtu, _)) = (&self.earlier, self.outbound.as_ref(), self.sizes);
        let qlog = self.rtts.qlog.take();
        let logged = qlog.map(|qlog| qlog.finish(now, connection.ended()));
        let rtts = &self.rtts;
        let series = rtts.course.as_ref().map(|course| course.series(mtu));
        let ReportedFigures { sent, mut summary, rtt_ms, least_rtt } =
            self.progress.figures(connection, rtts);
        // The receiver's figures are unknown for connections that were cut off.
        summary.packets += earlier.sent.sent.saturating_sub(earlier.sent.lost);
        summary.bytes += earlier.acknowledged;
        summary.goodput += earlier.goodput;
        self.result = Some(TransferResult {
            duration: self.progress.finished.since(earlier.start),
            files: outbound.map_or_else(Vec::new, |outbound| outbound.files.clone()),
            sent: sum(earlier.sent, sent),
            summary,
            rtt_ms,
            least_rtt,
            mtu: connection.mtu(),
            address: connection.remote().0,
            handshake: earlier.start.since(Time::ZERO),
            acknowledged: earlier.acknowledged + acknowledged(connection, mtu),
            connections: earlier.connections,
            transfer_bytes: outbound.map(|outbound| outbound.bytes).unwrap_or_default(),
            problems: outbound.map_or_else(Vec::new, Outbound::problems),
            video: connection.sender().and_then(|sender| sender.video()).map(|(_, stats)| stats),
            series,
            unlogged: logged.and_then(Result::err).map(|error| error.to_string()),
        });
    }

    fn is_watching(&self) -> bool {
        self.rtts.is_watching()
    }

    fn on_sent(&mut self, now: Time, number: u64, length: usize) {
        self.rtts.on_sent(now, number, length, self.sizes.1);
    }

    fn on_change(&mut self, now: Time, connection: &mut Connection) {
        self.rtts.on_change(now, connection);
    }
}
