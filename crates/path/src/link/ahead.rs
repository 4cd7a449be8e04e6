//! Departures that are known as soon as a packet enters.
//!
//! A link of constant rate with a droptail buffer and nothing that looks at packets on their way
//! out knows when a packet leaves it, and after a fixed propagation delay reaches the far end, at
//! the moment at which the packet enters. Such a link keeps one line of packets, from the buffer's
//! tail to the far end, and is called once for each packet instead of twice for itself and once for
//! the delay behind it. What it does is the same to the nanosecond.

use paceline_cc::{Packet, Rate, Span, Time};

use super::{Counters, EventKind, Link, LinkEvent};
use crate::queue::{DropReason, DroppedPacket, DroptailLimit};
use crate::ring::Ring;
use crate::service::{Constant, Service};

/// A packet between its arrival at the link and the far end. It entered at its [`Packet::queued`].
#[derive(Copy, Clone, Debug)]
struct ScheduledPacket {
    packet: Packet,
    /// When it leaves the link.
    departure: Time,
    /// Bytes that have entered since the start, its own included.
    end: u64,
}

/// The packets of a link that knows departures ahead, and of the delay behind it.
#[derive(Debug)]
pub(super) struct PrecomputedDepartures {
    limit: DroptailLimit,
    propagation: Span,
    /// In the order of their departures.
    line: Ring<ScheduledPacket>,
    /// At least the first so many of them have left the link and are propagating. Behind these
    /// comes the packet in transmission, and then the buffer.
    departed: usize,
    /// When the first packet reaches the far end; [`Time::NEVER`] if there is none.
    due: Time,
    /// When the packet that entered last leaves.
    last_departure: Time,
    /// Packets and bytes that have entered since the start, and their times in the link, summed.
    packets: u64,
    bytes: u64,
    sojourn: Span,
}

impl PrecomputedDepartures {
    fn new(limit: DroptailLimit, propagation: Span) -> PrecomputedDepartures {
        PrecomputedDepartures {
            limit,
            propagation,
            line: Ring::new(),
            departed: 0,
            due: Time::NEVER,
            last_departure: Time::ZERO,
            packets: 0,
            bytes: 0,
            sojourn: Span::ZERO,
        }
    }

    /// Takes the memory of another that is not needed any more; no packet must have entered here.
    pub(super) fn take_memory(&mut self, other: &mut PrecomputedDepartures) {
        self.line.take_memory(&mut other.line);
    }

    /// Packets in the buffer and in transmission.
    #[inline]
    pub(super) fn backlog_packets(&self) -> usize {
        self.line.len() - self.departed
    }

    /// Bytes in the buffer and in transmission.
    pub(super) fn backlog_bytes(&self) -> u64 {
        let serving = self.line.get(self.departed).map_or(0, |scheduled| scheduled.packet.size);
        self.buffered() + u64::from(serving)
    }

    /// Bytes in the buffer.
    #[inline]
    pub(super) fn buffered(&self) -> u64 {
        self.line.get(self.departed).map_or(0, |serving| self.bytes - serving.end)
    }

    /// Packets that have left the link and are propagating.
    pub(super) fn propagating(&self) -> usize {
        self.departed
    }

    /// When the first packet reaches the far end.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.due
    }

    /// Adds what has entered and what has left the link to `counters`, which have the drops.
    pub(super) fn count(&self, counters: &mut Counters) {
        counters.arrived_packets += self.packets + counters.dropped_packets();
        counters.arrived_bytes += self.bytes + counters.dropped_bytes;
        let inside = || (self.departed..self.line.len()).filter_map(|at| self.line.get(at));
        let bytes: u64 = inside().map(|scheduled| u64::from(scheduled.packet.size)).sum();
        let sojourn = inside().map(|scheduled| scheduled.departure.since(scheduled.packet.queued));
        counters.delivered_packets += self.packets - self.backlog_packets() as u64;
        counters.delivered_bytes += self.bytes - bytes;
        counters.sojourn += sojourn.fold(self.sojourn, |all, one| all - one);
    }

    /// Notes the departures up to `now`. Until it is called, `departed` lags behind, and the buffer
    /// seems fuller than it is.
    fn note_departures(&mut self, now: Time) {
        // A packet whose departure is `NEVER` has not left, even at that time.
        let latest = now.min(Time::from_nanos(Time::NEVER.as_nanos() - 1));
        let mut departed = self.departed;
        while let Some(serving) = self.line.get(departed)
            && serving.departure <= latest
        {
            departed += 1;
        }
        self.departed = departed;
    }

    /// True if a packet of `size` bytes finds the buffer full, were no departures but those noted.
    #[inline(always)]
    fn is_full(&self, size: u64) -> bool {
        // The one in transmission does not count.
        self.backlog_packets() as u64 > self.limit.packets
            || (self.limit.bytes != u64::MAX && self.buffered() + size > self.limit.bytes)
    }

    /// Notes the departures up to `now`, and looks again.
    #[inline(never)]
    fn is_full_now(&mut self, now: Time, size: u64) -> bool {
        self.note_departures(now);
        self.is_full(size)
    }

    /// A packet enters at `now`; false if the buffer is full.
    #[inline(always)]
    fn enter(&mut self, now: Time, packet: &Packet, rate: &mut Constant) -> bool {
        let size = u64::from(packet.size);
        if self.is_full(size) && self.is_full_now(now, size) {
            return false;
        }
        let start = now.max(self.last_departure);
        let departure = rate.finish(start, packet.size);
        self.last_departure = departure;
        self.packets += 1;
        self.bytes += size;
        self.sojourn += departure.since(now);
        if self.line.is_empty() {
            self.due = departure + self.propagation;
        }
        let end = self.bytes;
        self.line.push_with(
            || ScheduledPacket { departure, end, packet: *packet },
            |place| {
                place.packet = *packet;
                place.packet.queued = now;
                place.departure = departure;
                place.end = end;
            },
        );
        true
    }

    /// Takes the first packet, if it has reached the far end; returns when the next one will.
    #[inline(always)]
    fn take_due(&mut self, now: Time) -> Option<(&Packet, Time)> {
        if self.due > now {
            return None;
        }
        let (scheduled, next) = self.line.take_front()?;
        self.departed = self.departed.saturating_sub(1);
        self.due = match next {
            Some(next) => next.departure + self.propagation,
            None => Time::NEVER,
        };
        Some((&scheduled.packet, self.due))
    }

    /// Notes the departures up to `now` with the log of each.
    #[cold]
    fn log_departures(&mut self, now: Time, log: &mut Vec<LinkEvent>) {
        while let Some(ScheduledPacket { packet, departure, .. }) = self.line.get(self.departed)
            && *departure <= now
            && *departure != Time::NEVER
        {
            let kind = EventKind::Departure { sojourn: departure.since(packet.queued) };
            log.push(LinkEvent::new(*departure, kind, packet, self.buffered()));
            self.departed += 1;
        }
    }

    /// Logs an arrival, with the bytes in the buffer before an idle link turns to it.
    #[cold]
    fn log_arrival(&self, now: Time, packet: &Packet, entered: bool, log: &mut Vec<LinkEvent>) {
        let alone = entered && self.backlog_packets() == 1;
        let bytes = self.buffered() + if alone { u64::from(packet.size) } else { 0 };
        log.push(LinkEvent::new(now, EventKind::Arrival, packet, bytes));
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
        self.ahead = Some(PrecomputedDepartures::new(limit, propagation));
        true
    }

    /// Notes the departures up to `now`, so that counters and the log are as of then. Only a link
    /// that looks ahead lags behind.
    pub fn note_departures(&mut self, now: Time) {
        let Link { ahead: Some(ahead), recording, events, .. } = self else { return };
        if *recording {
            ahead.log_departures(now, events);
        }
        ahead.note_departures(now);
    }

    /// A packet arrives at a link that looks ahead.
    #[inline(always)]
    pub(super) fn push_ahead(&mut self, now: Time, packet: &Packet) {
        let Link { ahead: Some(ahead), service: Service::Constant(rate), events, .. } = self else {
            return;
        };
        if self.recording {
            ahead.log_departures(now, events);
        }
        let entered = ahead.enter(now, packet, rate);
        if self.recording {
            ahead.log_arrival(now, packet, entered, events);
        }
        if !entered {
            self.drop_full(now, packet);
        }
    }

    /// Takes the first packet of the link's own line, if it has reached the far end; returns when the
    /// next one will.
    #[inline(always)]
    pub(super) fn take_ahead(&mut self, now: Time) -> Option<(&Packet, Time)> {
        let Link { ahead: Some(ahead), recording, events, .. } = self else { return None };
        if *recording {
            ahead.log_departures(now, events);
        }
        ahead.take_due(now)
    }

    #[cold]
    fn drop_full(&mut self, now: Time, packet: &Packet) {
        let mut packet = *packet;
        packet.queued = now;
        self.drops.push(DroppedPacket { packet, reason: DropReason::Full });
        self.note_drops(now);
    }
}
