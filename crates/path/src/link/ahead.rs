//! Departures that are known as soon as a packet enters.
//!
//! A link of constant rate with a droptail buffer and nothing that looks at packets on their way
//! out knows when a packet leaves it, and after a fixed propagation delay reaches the far end, at
//! the moment at which the packet enters. Such a link keeps one line of packets, from the buffer's
//! tail to the far end, and is called once for each packet instead of twice for itself and once for
//! the delay behind it. What it does is the same to the nanosecond.

use paceline_cc::{Packet, Rate, Span, Time};

use super::{Counters, EventKind, Link, LinkEvent};
use crate::queue::{DropReason, Dropped, DroptailLimit};
use crate::ring::Ring;
use crate::service::{Constant, Service};

/// A packet between its arrival at the link and the far end. What is new about it stands beside it:
/// a packet that has just been copied is not to be written into.
#[derive(Copy, Clone, Debug)]
struct Passage {
    packet: Packet,
    /// When it entered, its [`Packet::queued`].
    entered: Time,
    /// When it leaves the link.
    departure: Time,
}

/// The packets of a link that knows departures ahead, and of the delay behind it.
#[derive(Debug)]
pub(super) struct Ahead {
    limit: DroptailLimit,
    propagation: Span,
    /// Packets with the times at which they leave the link, in order.
    line: Ring<Passage>,
    /// The first so many of them have left the link and are propagating; the next one is in
    /// transmission, the others are in the buffer.
    departed: usize,
    /// When the packet in transmission leaves; [`Time::NEVER`] if there is none.
    next_departure: Time,
    /// When the first packet reaches the far end; [`Time::NEVER`] if there is none.
    due: Time,
    /// When the packet that entered last leaves.
    last_departure: Time,
    /// Bytes in the buffer.
    buffered: u64,
}

impl Ahead {
    fn new(limit: DroptailLimit, propagation: Span) -> Ahead {
        Ahead {
            limit,
            propagation,
            line: Ring::new(),
            departed: 0,
            next_departure: Time::NEVER,
            due: Time::NEVER,
            last_departure: Time::ZERO,
            buffered: 0,
        }
    }

    /// Packets in the buffer and in transmission.
    pub(super) fn backlog_packets(&self) -> usize {
        self.line.len() - self.departed
    }

    /// Bytes in the buffer and in transmission.
    pub(super) fn backlog_bytes(&self) -> u64 {
        let serving = self.line.get(self.departed).map_or(0, |passage| passage.packet.size);
        self.buffered + u64::from(serving)
    }

    /// Bytes in the buffer.
    pub(super) fn buffered(&self) -> u64 {
        self.buffered
    }

    /// Packets that have left the link and are propagating.
    pub(super) fn propagating(&self) -> usize {
        self.departed
    }

    /// A packet enters at `now`; returns the bytes in the buffer with it, before an idle link turns
    /// to it, or nothing if the buffer is full. Departures up to `now` have been noted.
    #[inline]
    fn enter(&mut self, now: Time, packet: &Packet, rate: &mut Constant) -> Option<u64> {
        let size = u64::from(packet.size);
        let idle = self.next_departure == Time::NEVER;
        let waiting = self.backlog_packets() as u64;
        // The one in transmission does not count.
        let full = waiting > self.limit.packets || self.buffered + size > self.limit.bytes;
        if full {
            return None;
        }
        let departure = rate.finish(if idle { now } else { self.last_departure }, packet.size);
        self.last_departure = departure;
        if self.line.is_empty() {
            self.due = departure + self.propagation;
        }
        if idle {
            self.next_departure = departure;
        } else {
            self.buffered += size;
        }
        self.line.push(Passage { departure, entered: now, packet: *packet });
        Some(if idle { size } else { self.buffered })
    }

    /// The packet in transmission has left: the next one leaves the buffer.
    #[inline]
    fn depart(&mut self) {
        self.departed += 1;
        self.next_departure = Time::NEVER;
        if let Some(passage) = self.line.get(self.departed) {
            self.next_departure = passage.departure;
            self.buffered -= u64::from(passage.packet.size);
        }
    }

    /// When the first packet reaches the far end.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.due
    }
}

impl Link {
    /// Computes departures when packets enter, and carries packets on for `propagation` behind the
    /// link, if the link can: it has a constant rate above zero, a droptail buffer without a limit
    /// of time, and no router. Returns whether it does. Call it before the first packet.
    pub fn look_ahead(&mut self, propagation: Span) -> bool {
        let Service::Constant(constant) = &self.service else { return false };
        if constant.rate() == Rate::ZERO || self.router.is_some() || !self.queue.is_empty() {
            return false;
        }
        let Some(limit) = self.queue.droptail_limit() else { return false };
        self.ahead = Some(Ahead::new(limit, propagation));
        true
    }

    /// Notes the departures up to `now`, so that counters and the log are as of then. Only a link
    /// that looks ahead lags behind.
    pub fn settle(&mut self, now: Time) {
        let Link { ahead: Some(ahead), counters, recording, events, .. } = self else { return };
        note_departures(ahead, now, counters, recording.then_some(events));
    }

    /// A packet arrives at a link that looks ahead.
    #[inline]
    pub(super) fn push_ahead(&mut self, now: Time, packet: &Packet) {
        let Link { ahead: Some(ahead), service, counters, recording, events, .. } = self else {
            return;
        };
        let Service::Constant(rate) = service else { return };
        if ahead.next_departure <= now {
            note_departures(ahead, now, counters, recording.then_some(&mut *events));
        }
        counters.arrived_packets += 1;
        counters.arrived_bytes += u64::from(packet.size);
        let entered = ahead.enter(now, packet, rate);
        if *recording {
            let bytes = entered.unwrap_or(ahead.buffered);
            events.push(LinkEvent::new(now, EventKind::Arrival, packet, bytes));
        }
        if entered.is_none() {
            self.drop_full(now, packet);
        }
    }

    #[cold]
    fn drop_full(&mut self, now: Time, packet: &Packet) {
        let mut packet = *packet;
        packet.queued = now;
        self.drops.push(Dropped { packet, reason: DropReason::Full });
        self.note_drops(now);
    }

    /// The first packet, if it has reached the far end.
    #[inline]
    pub(super) fn pop_ahead(&mut self, now: Time, place: &mut Packet) -> bool {
        let Link { ahead: Some(ahead), counters, recording, events, .. } = self else {
            return false;
        };
        if ahead.due > now {
            return false;
        }
        if ahead.departed == 0 {
            note_departures(ahead, now, counters, recording.then_some(events));
        }
        let Some(passage) = ahead.line.front() else { return false };
        *place = passage.packet;
        place.queued = passage.entered;
        ahead.line.drop_front();
        ahead.departed -= 1;
        let next = ahead.line.front().map_or(Time::NEVER, |passage| passage.departure);
        ahead.due = next + ahead.propagation;
        true
    }
}

/// Counts and logs the departures up to `now`.
#[inline]
fn note_departures(
    ahead: &mut Ahead,
    now: Time,
    counters: &mut Counters,
    mut events: Option<&mut Vec<LinkEvent>>,
) {
    while ahead.next_departure <= now {
        let at = ahead.next_departure;
        if at == Time::NEVER {
            return;
        }
        if let Some(Passage { entered, packet, .. }) = ahead.line.get(ahead.departed) {
            let sojourn = at.since(*entered);
            counters.delivered_packets += 1;
            counters.delivered_bytes += u64::from(packet.size);
            counters.sojourn += sojourn;
            if let Some(events) = &mut events {
                let kind = EventKind::Departure { sojourn };
                events.push(LinkEvent::new(at, kind, packet, ahead.buffered));
            }
        }
        ahead.depart();
    }
}
