//! Transmission: which packet has been sent at which time.

use paceline_cc::{Packet, Time};

use super::Link;
use crate::service::Service;

impl Link {
    /// Transmits until the next packet ends, at or before `now`. Returns false if none does.
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

    /// Starts to transmit the next packet, if the service is idle and the queue is not empty at
    /// `now`.
    #[inline(always)]
    pub(super) fn begin(&mut self, now: Time) {
        if !self.one_by_one {
            if let Service::Trace(trace) = &self.service {
                // The transmission starts at the next opportunity.
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

    /// Uses opportunities until `now` until a packet has been sent. Between calls, an opportunity
    /// has bytes left only if a packet is there to use them.
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
                // The queue has dropped all packets, or the opportunity was too small.
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

    /// Traces: returns the time of the next action.
    fn next_due(&self) -> Time {
        match &self.service {
            _ if self.credit > 0 => self.at,
            Service::Trace(trace) if self.busy || !self.port.queue().is_empty() => trace.next(),
            _ => Time::NEVER,
        }
    }

    /// Traces: starts the opportunity at `at`. There must be a packet to send.
    fn open_opportunity(&mut self, at: Time) {
        let Service::Trace(trace) = &mut self.service else { return };
        trace.take();
        self.at = at;
        self.credit = u64::from(trace.bytes());
        if !self.busy {
            self.fill_opportunity();
        }
    }

    /// Traces: starts the next packet, or discards the rest of the opportunity.
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

    /// Traces: discards the opportunities that passed while the link was idle, so that an arrival
    /// at `now` uses the next one. Reports each to the router.
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

    /// Starts the transmission of the queue's next packet.
    #[inline]
    fn take_next(&mut self, now: Time) {
        self.busy = self.port.take(now, &self.service, &mut self.serving);
    }

    /// Ends the transmission of the current packet at `at`.
    #[inline]
    fn finish(&mut self, at: Time) {
        self.port.finish(at, &self.serving);
        self.busy = false;
    }
}
