//! The sender's timers: retransmission timeout, tail loss probe, loss by time, pacing, the
//! workload's and the controller's, all behind one wake-up.

use paceline_cc::{Congestion, NO_SEGMENT, Packet, Span, Time};

use super::{Lost, Sender};
use crate::ledger::Entry;

/// When things are due. The wake-up may be earlier than necessary: then it is moved on, which is
/// cheaper than moving it at each acknowledgement.
#[derive(Debug)]
pub(super) struct Timers {
    wake: Time,
    /// True if something may be sent at once.
    pending: bool,
    /// The last time when the retransmission timer was started.
    progress: Time,
    /// When the time threshold declares the next packet lost.
    pub(super) loss: Time,
    /// True if the tail was probed since the last progress (RFC 8985 §7).
    probed: bool,
}

impl Timers {
    pub(super) fn new() -> Timers {
        Timers {
            wake: Time::NEVER,
            pending: false,
            progress: Time::ZERO,
            loss: Time::NEVER,
            probed: false,
        }
    }
    /// When the sender is to be called.
    #[inline]
    pub(super) fn next(&self) -> Time {
        if self.pending { Time::ZERO } else { self.wake }
    }
    /// When the first timer may be due.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.wake
    }
    /// Something may be sent at once.
    #[inline]
    pub(super) fn attend(&mut self) {
        self.pending = true;
    }
    pub(super) fn arm(&mut self, at: Time) {
        self.wake = at;
    }
    /// Starts the retransmission timer anew.
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.progress = now;
        self.probed = false;
    }
}

impl Sender {
    /// When the retransmission timer expires.
    #[inline]
    fn timeout_at(&self) -> Time {
        if self.ledger.in_flight() == 0 {
            Time::NEVER
        } else {
            self.timers.progress + self.rtt.rto()
        }
    }

    /// When the tail is probed: two RTTs after the last progress, if nothing is being repaired and
    /// the window allows what exceeds it.
    /// A lone packet may wait for a delayed acknowledgement.
    #[inline]
    fn probe_at(&self) -> Time {
        let idle = self.timers.probed || !self.lost.is_empty() || self.recovery.is_reducing();
        let idle = idle || self.plan.exact_window;
        if idle || self.ledger.in_flight() == 0 || self.rtt.smoothed().is_zero() {
            return Time::NEVER;
        }
        let alone = self.ledger.in_flight() <= self.config.mss as u64;
        let slack = if alone { Span::from_millis(40) } else { Span::ZERO };
        self.timers.progress + self.rtt.smoothed() * 2 + slack
    }

    /// Sets the wake-up after a pop gave nothing.
    #[inline]
    pub(super) fn rearm(&mut self, now: Time) {
        // A controller that leaves its timer in the past must not stop time.
        let timer = self.plan.timer.max(now + Span::from_micros(1));
        let mut next = self.timers.loss.min(timer).min(self.source.next());
        next = next.min(self.timeout_at()).min(self.probe_at());
        let waits = self.source.ready() > 0 || !self.lost.is_empty();
        if waits && self.pacer.next() > now && self.ledger.in_flight() < self.window() {
            next = next.min(self.pacer.next());
        }
        self.timers.pending = false;
        // Keep an earlier wake-up: it will be moved on when its time comes.
        if next < self.timers.wake || self.timers.wake <= now {
            self.timers.wake = next;
        }
    }

    /// Handles whatever is due. True if a tail loss probe stands in `place`.
    #[cold]
    pub(super) fn on_timers(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.source.next() <= now {
            let media_rate = self.media_rate();
            self.source.set_target(media_rate);
            let fresh = self.source.update(now);
            if fresh {
                self.reconnect();
            }
        }
        if self.plan.timer <= now {
            self.controller.on_timer(now);
            self.replan();
        }
        if self.timers.loss <= now {
            self.on_loss_timer(now);
        }
        if self.timeout_at() <= now {
            self.on_timeout(now);
        } else if self.probe_at() <= now {
            self.probe(now, place);
            return true;
        }
        false
    }

    /// The retransmission timer expired (RFC 6298 §5.4-5.6): everything in flight counts as lost.
    fn on_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        self.rtt.back_off();
        self.timers.restart(now);
        self.timers.loss = Time::NEVER;
        let prior = self.ledger.in_flight();
        let mut count = 0;
        let (lost, fates, needs) = (&mut self.lost, &mut self.fates, self.needs);
        let reliable = self.config.reliable;
        fates.clear();
        self.ledger.lose_all(now, |number, entry| {
            count += 1;
            if reliable && entry.segment != NO_SEGMENT {
                note_lost(lost, number, entry);
            }
            super::feedback::note_fate(fates, needs, number, entry, true);
        });
        self.stats.lost += count;
        self.recovery.on_timeout(count, self.ledger.next(), self.next_segment);
        self.tell(now, prior, |feedback| {
            feedback.lost = prior;
            feedback.lost_packets = count as u32;
            feedback.congestion = Some(Congestion::Timeout);
        });
        if !self.config.reliable {
            self.on_progress(now);
        }
    }

    /// Sends new data beyond the window, or repeats the newest packet, so that its
    /// acknowledgement reveals a lost tail.
    fn probe(&mut self, now: Time, place: &mut Packet) {
        self.timers.probed = true;
        self.stats.probes += 1;
        let ready = self.source.ready();
        // New data if the receiver takes it (RFC 8985 §7.3).
        if ready > 0 && self.next_segment - self.cumulative < self.receive_window {
            let size = ready.min(self.config.mss as u64) as u32;
            self.source.take(size as u64);
            self.next_segment += 1;
            self.emit(now, self.next_segment - 1, size, false, place);
        } else {
            let newest = *self.ledger.entry(self.ledger.next() - 1);
            self.emit(now, newest.segment, newest.size, true, place);
        }
        // The timer starts anew with the probe (RFC 8985 §7.3).
        self.timers.progress = now;
    }
}

/// Queues a lost segment for retransmission, in the order of numbers.
pub(super) fn note_lost(lost: &mut std::collections::VecDeque<Lost>, number: u64, entry: &Entry) {
    lost.push_back(Lost { number, segment: entry.segment, size: entry.size });
}
