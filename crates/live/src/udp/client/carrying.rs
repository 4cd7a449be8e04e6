//! The loop of a client while a connection stands.

use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_wire::{Connection, End};

use super::earlier::{Earlier, acknowledged, sum};
use super::failure::Failure;
use super::transfer_progress::{ReportedFigures, TransferProgress};
use super::{Client, ClientOptions, TransferResult, mark};
use crate::LiveError;
use crate::udp::clock::wait;
use crate::udp::course::SentCourse;
use crate::udp::note::Note;
use crate::udp::outbound::Outbound;
use crate::udp::retry::Retry;

/// How many packets leave before arrivals are looked at again.
const BURST: usize = 256;

/// Longest time until a client that is asked to end by its [`Progress`] notices.
const LOOK: Span = Span::from_millis(100);

impl Client {
    pub(super) fn carry(
        &mut self,
        options: &ClientOptions,
        (mut connection, mtu): (Connection, u16),
        mut outbound: Option<&mut Outbound>,
        earlier: &mut Earlier,
        retry: &mut Retry,
    ) -> Result<TransferResult, Failure> {
        earlier.connections += 1;
        let start = self.clock.now();
        let waker = self.interrupts.waker();
        if let Some(outbound) = &mut outbound {
            outbound.on_connected(waker.clone())?;
        }
        let mut from = 0;
        let stop = match outbound {
            Some(_) => Time::NEVER,
            None => start + options.limits.stop,
        };
        let mut progress = TransferProgress {
            abandons: options.abandons,
            idle: connection.idle(),
            ..TransferProgress::default()
        };
        let (mut due, mut told) = (Time::NEVER, start);
        let mut postponed = false;
        if self.rtts.qlog.is_some() {
            connection.log_losses();
        }
        if options.series && self.rtts.course.is_none() {
            self.rtts.course = Some(SentCourse::new(start));
        }
        if let Some(limit) = options.limit {
            connection.set_limit(Some(limit));
            if !options.offer.back.is_empty() {
                connection.send_message(Note::Limit { bps: limit.as_bps() }.to_bytes());
            }
        }
        let display = options.progress.as_deref();
        if let Some(display) = display {
            display.on_connected(0);
        }
        let ip_udp = options.limits.ip_udp(&connection.remote().0);
        loop {
            // What was due happens at its time, so that a wait that ends late costs no rate.
            let now = self.clock.on_time(due, told);
            if let Some(outbound) = &mut outbound
                && connection.ended().is_none()
            {
                outbound.pump(&mut connection);
                if outbound.reaches(connection.stream_acknowledged()) {
                    retry.on_progress(now);
                }
            }
            let files = outbound.as_deref_mut().map(|outbound| (outbound, &waker));
            progress.step(now, stop, &mut connection, files, &self.rtts)?;
            if let Some(display) = display {
                if std::mem::take(&mut progress.has_news)
                    && let Some(outbound) = &outbound
                {
                    let settled = outbound.files.iter().filter(|file| file.is_settled()).count();
                    display.set_files_done(settled as u64);
                }
                if let Some(outbound) = &outbound
                    && outbound.from() != from
                {
                    from = outbound.from();
                    display.on_connected(from);
                }
                display.update(&connection, self.rtts.arrived);
                if display.is_stopped() && !progress.interrupted {
                    progress.interrupted = true;
                    connection.close(1, "the sender was interrupted");
                }
            }
            let Client { socket, outbox, rtts, .. } = self;
            let watching = rtts.is_watching();
            let count = outbox.send(socket, BURST, |place| {
                let out = connection.transmit(now, place)?;
                if let (true, Some(number)) = (watching, out.data) {
                    rtts.on_sent(now, number, out.length, ip_udp);
                }
                Some(out)
            });
            if outbox.was_too_large() {
                connection.on_too_large(now);
            }
            if watching {
                rtts.on_change(now, &mut connection);
            }
            if let Some(end) = connection.ended() {
                if *end == End::Reset {
                    retry.on_restart();
                }
                if let Err(failure) = progress.check(end, outbound.as_deref()) {
                    earlier.add(&connection, mtu);
                    if let Some(outbound) = &mut outbound {
                        outbound.on_lost(connection.stream_sent());
                    }
                    return Err(failure);
                }
                break;
            }
            if progress.asked && progress.abandons {
                break;
            }
            let full = count == BURST;
            told = now;
            due = connection.wake();
            let next = due.min(progress.deadline).min(stop.max(progress.stopped));
            let next = if display.is_some() { next.min(now + LOOK) } else { next };
            let until = if full { Time::ZERO } else { next };
            let found = wait(&mut self.clock, until, self.socket.as_fd(), None, &self.interrupts)?;
            if found.interrupted {
                progress.interrupted = true;
                connection.close(1, "the sender was interrupted");
            }
            // What was due before this is done first, once.
            postponed = found.socket && !postponed && due <= self.clock.now();
            if found.socket && !postponed {
                told = self.receive(&mut connection, told)?;
                due = Time::NEVER;
                if watching {
                    self.rtts.on_change(told, &mut connection);
                }
            }
        }
        let qlog = self.rtts.qlog.take();
        let logged = qlog.map(|qlog| qlog.finish(self.clock.now(), connection.ended()));
        let rtts = &self.rtts;
        let series = rtts.course.as_ref().map(|course| course.series(mtu));
        let ReportedFigures { sent, mut summary, rtt_ms, least_rtt } =
            progress.figures(&connection, rtts);
        // Of connections that were cut off, the receiver's figures are not known.
        summary.packets += earlier.sent.sent.saturating_sub(earlier.sent.lost);
        summary.bytes += earlier.acknowledged;
        summary.goodput += earlier.goodput;
        Ok(TransferResult {
            duration: progress.finished.since(earlier.start),
            files: outbound.as_ref().map_or_else(Vec::new, |outbound| outbound.files.clone()),
            sent: sum(earlier.sent, sent),
            summary,
            rtt_ms,
            least_rtt,
            mtu: connection.mtu(),
            address: connection.remote().0,
            handshake: earlier.start.since(Time::ZERO),
            acknowledged: earlier.acknowledged + acknowledged(&connection, mtu),
            connections: earlier.connections,
            transfer_bytes: outbound.as_ref().map(|outbound| outbound.bytes).unwrap_or_default(),
            problems: outbound.as_ref().map_or_else(Vec::new, |outbound| outbound.problems()),
            video: connection.sender().and_then(|sender| sender.video()).map(|(_, stats)| stats),
            series,
            unlogged: logged.and_then(Result::err).map(|error| error.to_string()),
        })
    }

    /// Takes in what has come. Returns the latest time that the connection was told.
    fn receive(&mut self, connection: &mut Connection, told: Time) -> Result<Time, LiveError> {
        let ahead = self.clock.ahead();
        let now = self.clock.now();
        let Client { socket, inbox, clock, rtts, .. } = self;
        let mut last = told;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, last, now);
            last = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                let ecn = mark(group.ecn);
                connection.on_datagram(at, group.from, ecn, bytes, rtts);
            }
        })?;
        Ok(last)
    }
}
