//! Transmission: which packet is through when.

use paceline_cc::{Packet, Time};

use super::Link;
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
        *place = self.serving.packet;
        self.begin(ended);
        true
    }

    /// An idle service turns to what the queue holds at `now`, if it holds anything.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) {
        if !self.one_by_one {
            if let Service::Trace(trace) = &self.service {
                // Nothing starts before the next opportunity.
                self.due = if self.port.queue().is_empty() { Time::NEVER } else { trace.next() };
            }
            return;
        }
        self.take_next(now);
        self.due = match &mut self.service {
            _ if !self.busy => Time::NEVER,
            Service::Constant(constant) => constant.finish(now, self.serving.packet.size),
            Service::Schedule(schedule) => schedule.finish(now, self.serving.packet.size),
            Service::Trace(_) => Time::NEVER,
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
            *place = self.serving.packet;
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
            Service::Trace(trace) if self.busy || !self.port.queue().is_empty() => trace.next(),
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
            let overhead = self.port.log().overhead();
            self.owed = u64::from(self.serving.packet.size) + u64::from(overhead);
        } else {
            self.port.tell_unused(self.at, self.credit as u32);
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
        if self.port.router().is_none() {
            return trace.skip(now);
        }
        while trace.next() <= now && trace.next() != Time::NEVER {
            self.port.tell_unused(trace.next(), trace.bytes());
            trace.take();
        }
    }

    /// Takes the next packet out of the queue and into transmission.
    #[inline]
    fn take_next(&mut self, now: Time) {
        self.busy = self.port.take(now, &self.service, &mut self.serving);
    }

    /// The transmission of the packet in transmission ended at `at`.
    #[inline]
    fn finish(&mut self, at: Time) {
        self.port.finish(at, &self.serving);
        self.busy = false;
    }
}
