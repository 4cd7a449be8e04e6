//! The log of a port: counters, events and dropped packets.

use paceline_cc::{Packet, Time};

use super::{Counters, Departure, EventKind, LinkEvent};
use crate::queue::DroppedPacket;

/// What a log keeps of the packets that pass.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Level {
    #[default]
    Counters,
    /// Each departure as a [`Departure`], and the events of drops and of arrivals that were marked.
    Statistics,
    Events,
}

/// Counters of a port or of a look-ahead link. Events, departures and dropped packets are kept only
/// for drivers that enable this.
#[derive(Debug, Default)]
pub struct PortLog {
    pub(super) counters: Counters,
    /// Overhead per packet in bytes.
    overhead: u32,
    /// Dropped packets. Those from `counted` on were just dropped and are not yet counted.
    pub(super) drops: Vec<DroppedPacket>,
    counted: usize,
    keeps_drops: bool,
    level: Level,
    events: Vec<LinkEvent>,
    departures: Vec<Departure>,
}

impl PortLog {
    pub(super) fn set_overhead(&mut self, overhead: u32) {
        self.overhead = overhead;
    }

    /// Returns the overhead per packet in bytes. Sizes in events do not include it.
    pub fn overhead(&self) -> u32 {
        self.overhead
    }

    /// Returns the counters, without a queue's marks.
    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the events since the last clear, in the order of their times; empty unless recording
    /// is on. If only statistics are recorded: the drops, and the arrivals that were marked.
    pub fn events(&self) -> &[LinkEvent] {
        &self.events
    }

    /// Removes all events.
    pub fn clear_events(&mut self) {
        self.events.clear();
    }

    /// Returns the departures since the last clear, in the order of their times; empty unless only
    /// statistics are recorded.
    pub fn departures(&self) -> &[Departure] {
        &self.departures
    }

    /// Removes all departures.
    pub fn clear_departures(&mut self) {
        self.departures.clear();
    }

    /// Takes all events.
    pub fn drain_events(&mut self) -> std::vec::Drain<'_, LinkEvent> {
        self.events.drain(..)
    }

    /// Sets whether dropped packets are kept for [`PortLog::drain_drops`], for a driver that owns
    /// their bytes. The driver must then collect them regularly.
    pub fn keep_drops(&mut self, on: bool) {
        self.keeps_drops = on;
    }

    /// Takes the packets dropped since the last call, if they are kept.
    pub fn drain_drops(&mut self) -> std::vec::Drain<'_, DroppedPacket> {
        self.counted = 0;
        self.drops.drain(..)
    }

    /// Starts or stops to record events.
    pub(crate) fn record(&mut self, on: bool) {
        self.level = if on { Level::Events } else { Level::Counters };
    }

    /// Starts or stops to record what statistics need: departures, drops and marks.
    pub(crate) fn record_statistics(&mut self, on: bool) {
        self.level = if on { Level::Statistics } else { Level::Counters };
    }

    /// Sets what is recorded to what another log records.
    pub(crate) fn record_like(&mut self, other: &PortLog) {
        self.level = other.level;
    }

    /// Returns true if events or statistics are recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.level != Level::Counters
    }

    /// Returns true if events are recorded.
    #[inline]
    pub(crate) fn records(&self) -> bool {
        self.level == Level::Events
    }

    /// Returns true if statistics are recorded.
    #[inline]
    pub(crate) fn records_statistics(&self) -> bool {
        self.level == Level::Statistics
    }

    /// Adds a departure. Call it only while statistics are recorded.
    #[inline]
    pub(crate) fn add_departure(&mut self, departure: Departure) {
        self.departures.push(departure);
    }

    /// Adds an event. Call it only while events are recorded, or statistics that need the event.
    #[inline]
    pub(crate) fn add_event(&mut self, event: LinkEvent) {
        self.events.push(event);
    }

    /// Returns the event added last, if events or statistics are recorded.
    pub(super) fn last_event(&mut self) -> Option<&mut LinkEvent> {
        self.events.last_mut().filter(|_| self.level != Level::Counters)
    }

    /// Counts a packet that arrives.
    #[inline]
    pub(super) fn count_arrival(&mut self, packet: &Packet) {
        self.counters.arrived_packets += 1;
        self.counters.arrived_bytes += u64::from(packet.size) + u64::from(self.overhead);
    }

    /// Counts a packet whose transmission ends at `at`.
    #[inline]
    pub(super) fn count_departure(&mut self, at: Time, packet: &Packet) {
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes += u64::from(packet.size) + u64::from(self.overhead);
        self.counters.sojourn += at.since(packet.queued);
    }

    /// Returns true if dropped packets are not yet counted.
    #[inline]
    pub(super) fn has_uncounted_drops(&self) -> bool {
        self.drops.len() != self.counted
    }

    /// Counts the packets that were just dropped at `now`, and records their events.
    #[inline(never)]
    pub(super) fn count_drops(&mut self, now: Time, queue_bytes: u64) {
        for dropped in self.drops.iter().skip(self.counted) {
            self.counters.count_drop(dropped, self.overhead);
            if self.level != Level::Counters {
                let kind = EventKind::Drop { reason: dropped.reason };
                self.events.push(LinkEvent::new(now, kind, &dropped.packet, queue_bytes));
            }
        }
        if !self.keeps_drops {
            self.drops.clear();
        }
        self.counted = self.drops.len();
    }

    /// Counts and records a packet that was dropped at `now` without having been in a queue.
    pub(crate) fn drop_packet(&mut self, now: Time, dropped: DroppedPacket, queue_bytes: u64) {
        self.drops.push(dropped);
        self.count_drops(now, queue_bytes);
    }
}
