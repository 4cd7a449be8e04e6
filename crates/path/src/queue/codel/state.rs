//! CoDel's state machine without a buffer. Each queue controlled by CoDel has one.

use paceline_cc::{Packet, Span, Time};

use super::CodelParams;
use crate::queue::{DropReason, DroppedPacket, mark};

/// The buffer from which a CoDel takes its packets.
pub(in crate::queue) trait PacketSource {
    /// Moves the next packet into `place`. Returns false if there is none.
    fn take(&mut self, now: Time, drops: &mut Vec<DroppedPacket>, place: &mut Packet) -> bool;
    /// Returns the bytes left in the buffer. CoDel drops nothing while this is at most one MTU.
    fn backlog(&self) -> u64;
}

/// Tracks whether the sojourn time has been above the target for an interval (RFC 8289 §5.5,
/// `first_above_time`).
#[derive(Clone, Debug, Default)]
pub(in crate::queue) struct FirstAbove {
    /// When it will have been above the target for an interval; `None` while it is below.
    until: Option<Time>,
}

impl FirstAbove {
    /// Notes a departing packet, whose sojourn time was or was not `below` the target. Returns true
    /// if all packets of an interval were above it.
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

/// Returns the next drop by CoDel's control law: after the interval divided by √count.
pub(in crate::queue) fn next_drop(from: Time, interval: Span, count: u32) -> Time {
    from + interval.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
}

/// CoDel's state for one queue. Fields are named as in RFC 8289 §5.
#[derive(Clone, Debug, Default)]
pub(in crate::queue) struct CodelState {
    above: FirstAbove,
    drop_next: Time,
    pub(super) count: u32,
    pub(super) last_count: u32,
    pub(super) dropping: bool,
}

/// Arguments of a call of [`CodelState::pop_into`].
struct Dequeue<'a, S> {
    params: &'a CodelParams,
    source: &'a mut S,
    now: Time,
    drops: &'a mut Vec<DroppedPacket>,
    marks: &'a mut u64,
}

impl<S> Dequeue<'_, S> {
    /// Marks the packet, if `ecn` is set and the packet is ECN-capable; otherwise drops it and
    /// returns false.
    fn signal(&mut self, packet: &mut Packet) -> bool {
        if self.params.ecn && mark(packet, self.marks) {
            return true;
        }
        self.drops.push(DroppedPacket { packet: *packet, reason: DropReason::Aqm });
        false
    }
}

impl CodelState {
    /// Moves the next packet to transmit into `place`. Returns false if there is none. May drop and
    /// mark packets before.
    #[inline]
    pub(in crate::queue) fn pop_into<S: PacketSource>(
        &mut self,
        (params, source): (&CodelParams, &mut S),
        now: Time,
        (drops, marks): (&mut Vec<DroppedPacket>, &mut u64),
        place: &mut Packet,
    ) -> bool {
        let mut call = Dequeue { params, source, now, drops, marks };
        let Some(ok_to_drop) = self.take(&mut call, place) else {
            self.dropping = false;
            return false;
        };
        match (self.dropping, ok_to_drop) {
            (_, false) => {
                self.dropping = false;
                true
            }
            (true, true) => self.keep_dropping(&mut call, place),
            (false, true) => self.start_dropping(&mut call, place),
        }
    }

    /// Does the RFC's `dodequeue`: moves the next packet into `place`, and returns `ok_to_drop`,
    /// which is true if the sojourn time has been above the target for an interval. `None` without
    /// a packet.
    #[inline]
    fn take<S: PacketSource>(
        &mut self,
        call: &mut Dequeue<'_, S>,
        place: &mut Packet,
    ) -> Option<bool> {
        if !call.source.take(call.now, call.drops, place) {
            self.above = FirstAbove::default();
            return None;
        }
        let below = call.now.since(place.queued) < call.params.target
            || call.source.backlog() <= u64::from(call.params.mtu);
        Some(self.above.note(call.now, below, call.params.interval))
    }

    /// Makes the due drops of the dropping state, while packets stay above the target. Returns false
    /// if no packet is left.
    #[inline(never)]
    fn keep_dropping<S: PacketSource>(
        &mut self,
        call: &mut Dequeue<'_, S>,
        place: &mut Packet,
    ) -> bool {
        let interval = call.params.interval;
        // At high drop rates the next drop may also be due: hence the loop.
        while call.now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if call.signal(place) {
                self.drop_next = next_drop(self.drop_next, interval, self.count);
                return true;
            }
            let next = self.take(call, place);
            if next != Some(true) {
                self.dropping = false;
                return next.is_some();
            }
            self.drop_next = next_drop(self.drop_next, interval, self.count);
        }
        true
    }

    /// Enters the dropping state with a first drop or mark. Returns false if no packet is left.
    #[inline(never)]
    fn start_dropping<S: PacketSource>(
        &mut self,
        call: &mut Dequeue<'_, S>,
        place: &mut Packet,
    ) -> bool {
        let has_next = call.signal(place) || self.take(call, place).is_some();
        self.dropping = true;
        // If the dropping state ended less than 16 intervals ago, start near the drop rate that it
        // had then (RFC 8289 §5.4).
        let delta = self.count.saturating_sub(self.last_count);
        let interval = call.params.interval;
        let lately = call.now.since(self.drop_next) < interval * 16;
        self.count = if delta > 1 && lately { delta } else { 1 };
        self.drop_next = next_drop(call.now, interval, self.count);
        self.last_count = self.count;
        has_next
    }

    /// Passes names and values to `see`, for plots.
    pub(in crate::queue) fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dropping", f64::from(u8::from(self.dropping)));
        see("count", f64::from(self.count));
    }
}
