//! Transmission: which packet is through when.

use paceline_cc::{Ecn, LinkView, Packet, Span, Time, TrafficClass};

use super::{EventKind, Link, LinkEvent};
use crate::service::Service;

impl Link {
    /// The next packet whose transmission ends at or before `now`.
    #[inline]
    pub(super) fn serve(&mut self, now: Time, place: &mut Packet) -> bool {
        if !self.one_by_one {
            return self.serve_trace(now, place);
        }
        if self.due > now || !self.busy {
            return false;
        }
        let ended = self.due;
        self.finish(ended);
        *place = self.serving;
        self.begin(ended);
        true
    }

    /// An idle service turns to what the queue holds at `now`, if it holds anything.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) {
        if !self.one_by_one {
            if let Service::Trace(trace) = &self.service {
                // Nothing starts before the next opportunity.
                self.due = if self.queue.is_empty() { Time::NEVER } else { trace.next() };
            }
            return;
        }
        self.take_next(now);
        self.due = match &mut self.service {
            _ if !self.busy => Time::NEVER,
            Service::Constant(constant) => constant.finish(now, self.serving.size),
            Service::Schedule(schedule) => schedule.finish(now, self.serving.size),
            Service::Trace(_) | Service::Wifi(_) => Time::NEVER,
        };
    }

    /// Uses opportunities up to `now` until a packet is through. Between calls, bytes are left of
    /// an opportunity only if a packet is there to use them.
    #[inline(never)]
    fn serve_trace(&mut self, now: Time, place: &mut Packet) -> bool {
        loop {
            if self.due > now || self.due == Time::NEVER {
                return false;
            }
            if self.credit == 0 {
                self.open_opportunity(self.due);
            }
            let used = self.credit.min(self.owed);
            self.credit -= used;
            self.owed -= used;
            if !self.busy || self.owed > 0 {
                // The queue dropped all it had, or the opportunity was too small.
                self.due = self.next_due();
                continue;
            }
            self.finish(self.at);
            *place = self.serving;
            if self.credit > 0 {
                self.fill_opportunity();
            }
            self.due = self.next_due();
            return true;
        }
    }

    /// Traces: when there is something to do next.
    fn next_due(&self) -> Time {
        match &self.service {
            _ if self.credit > 0 => self.at,
            Service::Trace(trace) if self.busy || !self.queue.is_empty() => trace.next(),
            _ => Time::NEVER,
        }
    }

    /// Traces: the opportunity at `at` has come, and there is something to send.
    fn open_opportunity(&mut self, at: Time) {
        let Service::Trace(trace) = &mut self.service else { return };
        trace.take();
        self.at = at;
        self.credit = u64::from(trace.bytes());
        if !self.busy {
            self.fill_opportunity();
        }
    }

    /// Traces: turns to the next packet, or lets the rest of the opportunity go.
    fn fill_opportunity(&mut self) {
        self.take_next(self.at);
        if self.busy {
            self.owed = u64::from(self.serving.size) + u64::from(self.overhead);
        } else {
            if let Some(router) = &mut self.router {
                router.on_unused(self.at, self.credit as u32);
            }
            self.credit = 0;
            self.owed = 0;
        }
    }

    /// Traces: lets the opportunities that went by while the link was idle go, so that an arrival
    /// at `now` finds the next one. The router hears of each.
    #[inline]
    pub(super) fn pass_unused(&mut self, now: Time) {
        let Service::Trace(trace) = &mut self.service else { return };
        if self.due != Time::NEVER || trace.next() > now {
            return;
        }
        if let Some(router) = &mut self.router {
            while trace.next() <= now && trace.next() != Time::NEVER {
                router.on_unused(trace.next(), trace.bytes());
                trace.take();
            }
        } else {
            trace.skip(now);
        }
    }

    /// Takes the next packet out of the queue and into transmission.
    #[inline]
    pub(super) fn take_next(&mut self, now: Time) {
        if self.watched {
            self.take_watched(now);
        } else {
            self.busy = self.queue.pop_into(now, &mut self.drops, &mut self.serving);
            if self.drops.len() != self.counted {
                self.note_drops(now);
            }
        }
    }

    #[inline(never)]
    fn take_watched(&mut self, now: Time) {
        let marks = self.queue.marks();
        self.busy = self.queue.pop_into(now, &mut self.drops, &mut self.serving);
        if self.drops.len() != self.counted {
            self.note_drops(now);
        }
        if !self.busy {
            return;
        }
        let packet = &mut self.serving;
        self.before = packet.ecn;
        self.marked = packet.ecn == Ecn::Ce && self.queue.marks() > marks;
        if let Some(router) = &mut self.router {
            let unused = self.queue.take_unused_share();
            if unused > 0 {
                router.on_unused_share(now, unused);
            }
            let (queue_packets, queue_bytes) =
                self.queue.backlog_for(TrafficClass::EXPLICIT, packet.flow);
            let view = LinkView { capacity: &self.service, queue_packets, queue_bytes };
            router.on_departure(now, packet, now.since(packet.queued), &view);
            let after = *packet;
            self.marked |= self.count_marks(self.before, &after);
        }
    }

    /// The transmission of the packet in transmission ended at `at`.
    #[inline]
    pub(super) fn finish(&mut self, at: Time) {
        let sojourn = at.since(self.serving.queued);
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes += u64::from(self.serving.size) + u64::from(self.overhead);
        self.counters.sojourn += sojourn;
        if self.recording {
            self.note_departure(at, sojourn);
        }
        self.busy = false;
    }

    #[inline(never)]
    fn note_departure(&mut self, at: Time, sojourn: Span) {
        let kind = EventKind::Departure { sojourn };
        let event = LinkEvent::new(at, kind, &self.serving, self.queue.bytes());
        self.events.push(LinkEvent { before: self.before, marked: self.marked, ..event });
    }
}
