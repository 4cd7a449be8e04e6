//! CoDel's state machine, apart from any buffer: one per queue that it controls.

use paceline_cc::{Packet, Span, Time};

use super::CodelParams;
use crate::queue::{DropReason, Dropped, mark};

/// Where the law takes its packets from.
pub(in crate::queue) trait Source {
    /// The next packet.
    fn take(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Packet>;
    /// The bytes left behind it that the guard of one MTU looks at.
    fn backlog(&self) -> u64;
}

/// Since when the waiting time has been above the target.
#[derive(Clone, Debug, Default)]
pub(in crate::queue) struct Above {
    /// When it will have been above for an interval; `None` while below.
    until: Option<Time>,
}

impl Above {
    /// Learns of a departing packet; true if an interval has passed above the target.
    pub(in crate::queue) fn note(&mut self, now: Time, below: bool, interval: Span) -> bool {
        match self.until {
            _ if below => {
                self.until = None;
                false
            }
            None => {
                self.until = Some(now + interval);
                false
            }
            Some(until) => now >= until,
        }
    }
}

/// When to drop next, in intervals divided by √count.
pub(in crate::queue) fn next_drop(from: Time, interval: Span, count: u32) -> Time {
    from + interval.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
}

/// The state of one queue. Names of fields as in RFC 8289 §5.
#[derive(Clone, Debug, Default)]
pub(in crate::queue) struct Law {
    above: Above,
    drop_next: Time,
    pub(super) count: u32,
    pub(super) last_count: u32,
    pub(super) dropping: bool,
}

/// What one call needs: the parameters, the packets, the time, and where drops and marks go.
struct Turn<'a, S> {
    params: &'a CodelParams,
    source: &'a mut S,
    now: Time,
    drops: &'a mut Vec<Dropped>,
    marks: &'a mut u64,
}

impl<S> Turn<'_, S> {
    /// Tells the sender: marks the packet if that is allowed, and hands it back; else drops it.
    fn signal(&mut self, mut packet: Packet) -> Option<Packet> {
        if self.params.ecn && mark(&mut packet, self.marks) {
            return Some(packet);
        }
        self.drops.push(Dropped { packet, reason: DropReason::Aqm });
        None
    }
}

impl Law {
    /// The next packet to transmit; drops and marks on the way.
    pub(in crate::queue) fn pop<S: Source>(
        &mut self,
        params: &CodelParams,
        source: &mut S,
        now: Time,
        drops: &mut Vec<Dropped>,
        marks: &mut u64,
    ) -> Option<Packet> {
        let mut turn = Turn { params, source, now, drops, marks };
        let Some((packet, ok_to_drop)) = self.take(&mut turn) else {
            self.dropping = false;
            return None;
        };
        match (self.dropping, ok_to_drop) {
            (_, false) => {
                self.dropping = false;
                Some(packet)
            }
            (true, true) => self.keep_dropping(packet, &mut turn),
            (false, true) => self.start_dropping(packet, &mut turn),
        }
    }

    /// The RFC's `dodequeue`: the next packet, and whether the waiting time has been above the
    /// target for an interval.
    fn take<S: Source>(&mut self, turn: &mut Turn<'_, S>) -> Option<(Packet, bool)> {
        let Some(packet) = turn.source.take(turn.now, turn.drops) else {
            self.above = Above::default();
            return None;
        };
        let below = turn.now.since(packet.queued) < turn.params.target
            || turn.source.backlog() <= u64::from(turn.params.mtu);
        Some((packet, self.above.note(turn.now, below, turn.params.interval)))
    }

    /// In the dropping state, the packet at hand still above target: the drops that are due.
    fn keep_dropping<S: Source>(
        &mut self,
        mut packet: Packet,
        turn: &mut Turn<'_, S>,
    ) -> Option<Packet> {
        let interval = turn.params.interval;
        // At high drop rates the next drop may be due at once: hence the loop.
        while turn.now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if let Some(marked) = turn.signal(packet) {
                self.drop_next = next_drop(self.drop_next, interval, self.count);
                return Some(marked);
            }
            let (next, ok_to_drop) = match self.take(turn) {
                Some((next, ok_to_drop)) => (Some(next), ok_to_drop),
                None => (None, false),
            };
            if !ok_to_drop {
                self.dropping = false;
                return next;
            }
            self.drop_next = next_drop(self.drop_next, interval, self.count);
            packet = next?;
        }
        Some(packet)
    }

    fn start_dropping<S: Source>(
        &mut self,
        packet: Packet,
        turn: &mut Turn<'_, S>,
    ) -> Option<Packet> {
        let next = match turn.signal(packet) {
            Some(marked) => Some(marked),
            None => self.take(turn).map(|(next, _)| next),
        };
        self.dropping = true;
        // If it stopped dropping only lately, the rate of then is a good one to start with.
        let delta = self.count.saturating_sub(self.last_count);
        let interval = turn.params.interval;
        let lately = turn.now.since(self.drop_next) < interval * 16;
        self.count = if delta > 1 && lately { delta } else { 1 };
        self.drop_next = next_drop(turn.now, interval, self.count);
        self.last_count = self.count;
        next
    }

    /// Names and values for plots.
    pub(in crate::queue) fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dropping", f64::from(u8::from(self.dropping)));
        see("count", f64::from(self.count));
    }
}
