//! Links whose departures are known as soon as a packet enters.
//!
//! A link of constant rate with a droptail buffer and nothing that looks at packets on their way
//! out knows when a packet leaves it, and after a fixed propagation delay reaches the far end, at
//! the moment at which the packet enters. Such a link keeps one line of packets, from the buffer's
//! tail to the far end, and is called once for each packet instead of twice for itself and once for
//! the delay behind it. Packets leave, are dropped, counted and logged at the same nanosecond as by a
//! [`Link`] and a [`Pipe`](crate::Pipe) behind it.

use paceline_cc::{Packet, Rate, Span, Stage, Time};

use crate::link::Link;
use crate::port::{Counters, EventKind, LinkEvent, PortLog};
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

/// A link of constant rate with a droptail buffer and the delay behind it, which computes departures
/// when packets enter. Its rate, buffer and delay are fixed, and it has no router.
///
/// Counters and log lag behind: [`LookAheadLink::note_departures`] brings them up to a time.
#[derive(Debug)]
pub struct LookAheadLink {
    rate: Constant,
    limit: DroptailLimit,
    propagation: Span,
    /// In the order of their departures.
    line: Ring<ScheduledPacket>,
    /// At least this many packets at the front have left the link and are propagating. Behind these
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
    /// Drops and events. Arrivals and departures are counted by the fields above.
    log: PortLog,
}

impl LookAheadLink {
    /// Returns the stage that stands for `link`, which no packet must have entered, and a delay of
    /// `propagation` behind it. `None` if departures of `link` are not known ahead: its rate is not
    /// constant or zero, its queue is not a droptail buffer or limits sojourn times, or it has a router.
    pub fn new(link: &Link, propagation: Span) -> Option<LookAheadLink> {
        let Service::Constant(rate) = link.service() else { return None };
        if rate.rate() == Rate::ZERO || link.router().is_some() || !link.queue().is_empty() {
            return None;
        }
        let mut log = PortLog::default();
        log.record(link.log().records());
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

    /// Takes the memory of another that is not needed any more; no packet must have entered here.
    pub fn take_memory(&mut self, other: &mut LookAheadLink) {
        self.line.take_memory(&mut other.line);
        self.log.take_memory(&mut other.log);
    }

    /// Starts or stops to record events.
    pub fn record(&mut self, on: bool) {
        self.log.record(on);
    }

    /// Events and dropped packets.
    pub fn log(&self) -> &PortLog {
        &self.log
    }

    /// Events and dropped packets, for a driver that takes them out.
    pub fn log_mut(&mut self) -> &mut PortLog {
        &mut self.log
    }

    /// The capacity over time.
    pub fn service(&self) -> Service {
        Service::Constant(self.rate.clone())
    }

    /// Packets in the buffer and in transmission.
    #[inline]
    pub fn backlog_packets(&self) -> usize {
        self.line.len() - self.departed
    }

    /// Bytes in the buffer and in transmission.
    pub fn backlog_bytes(&self) -> u64 {
        let serving = self.line.get(self.departed).map_or(0, |scheduled| scheduled.packet.size);
        self.buffered() + u64::from(serving)
    }

    /// Packets that have left the link and are propagating.
    pub fn propagating(&self) -> usize {
        self.departed
    }

    /// Counts since the start, as of the last call of [`LookAheadLink::note_departures`].
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

    /// Brings the counters and the log up to `now`.
    pub fn note_departures(&mut self, now: Time) {
        if self.log.records() {
            self.log_departures(now);
        }
        self.mark_departed(now);
    }

    /// Takes the first packet of the line, if it has reached the far end; returns when the next one
    /// will.
    #[inline(always)]
    pub fn take_due(&mut self, now: Time) -> Option<(&Packet, Time)> {
        if self.log.records() {
            self.log_departures(now);
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

    /// Bytes in the buffer.
    #[inline]
    fn buffered(&self) -> u64 {
        self.line.get(self.departed).map_or(0, |serving| self.bytes - serving.end)
    }

    /// Counts the packets that have departed up to `now`. Until it is called, `departed` lags behind,
    /// and the buffer seems fuller than it is.
    fn mark_departed(&mut self, now: Time) {
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

    /// True if a packet of `size` bytes finds the buffer full, with the departures counted so far.
    #[inline(always)]
    fn is_full(&self, size: u64) -> bool {
        // The one in transmission does not count.
        self.backlog_packets() as u64 > self.limit.packets
            || (self.limit.bytes != u64::MAX && self.buffered() + size > self.limit.bytes)
    }

    /// The same, with the departures up to `now`.
    #[inline(never)]
    fn is_full_now(&mut self, now: Time, size: u64) -> bool {
        self.mark_departed(now);
        self.is_full(size)
    }

    /// A packet enters at `now`; false if the buffer is full.
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

    /// Records the events of the departures up to `now`.
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

    /// Records the event of an arrival, with the bytes in the buffer before an idle link turns to it.
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
