//! Links that compute a packet's departure when the packet enters.
//!
//! On a link of constant rate with a droptail buffer, without a router, it is known when a packet
//! enters at which time it will leave the link and, after a fixed propagation delay, reach the far
//! end. Such a link keeps one line of packets, from the buffer's tail to the far end, and is called
//! once per packet instead of twice for the link and once for the delay after it. Packets leave,
//! are dropped, counted and logged at the same nanosecond as by a [`Link`] followed by a
//! [`Pipe`](crate::Pipe).

use paceline_cc::{Packet, Rate, Span, Stage, Time};

use crate::link::Link;
use crate::port::{Counters, Departure, EventKind, LinkEvent, PortLog};
use crate::queue::{DropReason, DroppedPacket, DroptailLimit};
use crate::ring::Ring;
use crate::service::{Constant, Service};

/// A packet between its arrival at the link and the far end. It entered at its [`Packet::queued`].
#[derive(Copy, Clone, Debug)]
struct ScheduledPacket {
    packet: Packet,
    /// Departure time from the link.
    departure: Time,
    /// Bytes that have entered since the start, including this packet.
    end: u64,
}

impl ScheduledPacket {
    /// Returns its departure, for statistics.
    #[inline]
    fn departed(&self) -> Departure {
        let ScheduledPacket { packet, departure: time, .. } = self;
        let sojourn = time.since(packet.queued);
        Departure { time: *time, sojourn, size: packet.size, marked: false }
    }
}

/// A link of constant rate with a droptail buffer, and the delay after it. Computes departures when
/// packets enter. Its rate, buffer and delay are fixed, and it has no router.
///
/// Counters and log are updated only by [`LookAheadLink::note_departures`].
#[derive(Debug)]
pub struct LookAheadLink {
    rate: Constant,
    limit: DroptailLimit,
    propagation: Span,
    /// Packets in the order of their departures.
    line: Ring<ScheduledPacket>,
    /// At least this many packets at the front have left the link and are propagating. After them
    /// come the packet in transmission and then the buffer.
    departed: usize,
    /// When the first packet reaches the far end; [`Time::NEVER`] if there is none.
    due: Time,
    /// Departure time of the packet that entered last.
    last_departure: Time,
    /// Packets and bytes that have entered since the start, and the sum of their times in the link.
    packets: u64,
    bytes: u64,
    sojourn: Span,
    /// Drops and events. The fields above count arrivals and departures.
    log: PortLog,
}

impl LookAheadLink {
    /// Creates a stage that replaces `link`, into which no packet must have entered, and a delay of
    /// `propagation` after it. `None` if departures of `link` cannot be computed ahead: its rate is
    /// not constant or is zero, its queue is not a droptail buffer or limits sojourn times, or it
    /// has a router.
    pub fn new(link: &Link, propagation: Span) -> Option<LookAheadLink> {
        let Service::Constant(rate) = link.service() else { return None };
        if rate.rate() == Rate::ZERO || link.router().is_some() || !link.queue().is_empty() {
            return None;
        }
        let mut log = PortLog::default();
        log.record_like(link.log());
        Some(LookAheadLink {
            rate: rate.clone(),
            limit: link.queue().droptail_limit()?,
            propagation,
            line: Ring::new(),
            departed: 0,
            due: Time::NEVER,
            last_departure: Time::ZERO,
            packets: 0,
            bytes: 0,
            sojourn: Span::ZERO,
            log,
        })
    }

    /// Starts or stops to record events.
    pub fn record(&mut self, on: bool) {
        self.log.record(on);
    }

    /// Starts or stops to record what statistics need ([`PortLog::departures`]).
    pub fn record_statistics(&mut self, on: bool) {
        self.log.record_statistics(on);
    }

    /// Returns events and dropped packets.
    pub fn log(&self) -> &PortLog {
        &self.log
    }

    /// Returns events and dropped packets, for a driver that takes them out.
    pub fn log_mut(&mut self) -> &mut PortLog {
        &mut self.log
    }

    /// Returns the capacity over time.
    pub fn service(&self) -> Service {
        Service::Constant(self.rate.clone())
    }

    /// Returns the packets in the buffer and in transmission.
    #[inline]
    pub fn backlog_packets(&self) -> usize {
        self.line.len() - self.departed
    }

    /// Returns the bytes in the buffer and in transmission.
    pub fn backlog_bytes(&self) -> u64 {
        let serving = self.line.get(self.departed).map_or(0, |scheduled| scheduled.packet.size);
        self.buffered() + u64::from(serving)
    }

    /// Returns the packets that have left the link and are propagating.
    pub fn propagating(&self) -> usize {
        self.departed
    }

    /// Returns the counters at the last call of [`LookAheadLink::note_departures`].
    pub fn counters(&self) -> Counters {
        let mut counters = self.log.counters();
        counters.arrived_packets += self.packets + counters.dropped_packets();
        counters.arrived_bytes += self.bytes + counters.dropped_bytes;
        let inside = || (self.departed..self.line.len()).filter_map(|at| self.line.get(at));
        let bytes: u64 = inside().map(|scheduled| u64::from(scheduled.packet.size)).sum();
        let sojourn = inside().map(|scheduled| scheduled.departure.since(scheduled.packet.queued));
        counters.delivered_packets += self.packets - self.backlog_packets() as u64;
        counters.delivered_bytes += self.bytes - bytes;
        counters.sojourn += sojourn.fold(self.sojourn, |all, one| all - one);
        counters
    }

    /// Updates the counters and the log to `now`.
    pub fn note_departures(&mut self, now: Time) {
        if self.log.records() {
            self.log_departures(now);
        }
        self.mark_departed(now);
    }

    /// Takes the first packet of the line, if it has reached the far end. Also returns when the
    /// next one will.
    #[inline(always)]
    pub fn take_due(&mut self, now: Time) -> Option<(&Packet, Time)> {
        if self.log.is_on() {
            self.log_before_taking(now);
        }
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

    /// Records the departures that must be in the log before the first packet is taken.
    #[inline]
    fn log_before_taking(&mut self, now: Time) {
        if self.log.records() {
            self.log_departures(now);
        } else if self.departed == 0
            && self.due <= now
            && let Some(first) = self.line.front()
        {
            self.log.add_departure(first.departed());
            self.departed = 1;
        }
    }

    /// Returns the bytes in the buffer.
    #[inline]
    fn buffered(&self) -> u64 {
        self.line.get(self.departed).map_or(0, |serving| self.bytes - serving.end)
    }

    /// Counts the packets that have departed until `now`. Before this call `departed` may be too
    /// small, and the buffer seems fuller than it is.
    fn mark_departed(&mut self, now: Time) {
        // A packet whose departure is `NEVER` never leaves, not even at that time.
        let latest = now.min(Time::from_nanos(Time::NEVER.as_nanos() - 1));
        let mut departed = self.departed;
        while let Some(serving) = self.line.get(departed)
            && serving.departure <= latest
        {
            departed += 1;
        }
        if self.log.records_statistics() {
            for serving in (self.departed..departed).filter_map(|at| self.line.get(at)) {
                self.log.add_departure(serving.departed());
            }
        }
        self.departed = departed;
    }

    /// Returns true if the buffer has no room for `size` bytes, with the departures counted so far.
    #[inline(always)]
    fn is_full(&self, size: u64) -> bool {
        // The packet in transmission does not count.
        self.backlog_packets() as u64 > self.limit.packets
            || (self.limit.bytes != u64::MAX && self.buffered() + size > self.limit.bytes)
    }

    /// Returns true if the buffer has no room for `size` bytes, with the departures until `now`.
    #[inline(never)]
    fn is_full_now(&mut self, now: Time, size: u64) -> bool {
        self.mark_departed(now);
        self.is_full(size)
    }

    /// Adds a packet at `now`. Returns false if the buffer is full.
    #[inline(always)]
    fn enter(&mut self, now: Time, packet: &Packet) -> bool {
        let size = u64::from(packet.size);
        if self.is_full(size) && self.is_full_now(now, size) {
            return false;
        }
        let start = now.max(self.last_departure);
        let departure = self.rate.finish(start, packet.size);
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

    /// Records the events of the departures until `now`.
    #[cold]
    fn log_departures(&mut self, now: Time) {
        while let Some(ScheduledPacket { packet, departure, .. }) = self.line.get(self.departed)
            && *departure <= now
            && *departure != Time::NEVER
        {
            let kind = EventKind::Departure { sojourn: departure.since(packet.queued) };
            let event = LinkEvent::new(*departure, kind, packet, self.buffered());
            self.log.add_event(event);
            self.departed += 1;
        }
    }

    /// Records the event of an arrival, with the bytes in the buffer before an idle link starts to
    /// transmit the packet.
    #[cold]
    fn log_arrival(&mut self, now: Time, packet: &Packet, entered: bool) {
        let alone = entered && self.backlog_packets() == 1;
        let bytes = self.buffered() + if alone { u64::from(packet.size) } else { 0 };
        self.log.add_event(LinkEvent::new(now, EventKind::Arrival, packet, bytes));
    }

    #[cold]
    fn drop_full(&mut self, now: Time, packet: &Packet) {
        let packet = Packet { queued: now, ..*packet };
        let dropped = DroppedPacket { packet, reason: DropReason::Full };
        self.log.drop_packet(now, dropped, self.buffered());
    }
}

impl Stage for LookAheadLink {
    #[inline(always)]
    fn push(&mut self, now: Time, packet: &Packet) {
        if self.log.records() {
            self.log_departures(now);
        }
        let entered = self.enter(now, packet);
        if self.log.records() {
            self.log_arrival(now, packet, entered);
        }
        if !entered {
            self.drop_full(now, packet);
        }
    }

    #[inline(always)]
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        let Some((packet, _)) = self.take_due(now) else { return false };
        *place = *packet;
        true
    }

    #[inline]
    fn wake(&self) -> Time {
        self.due
    }
}
