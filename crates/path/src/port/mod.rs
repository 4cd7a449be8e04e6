//! A port: a queue and a scheme's router half, where packets wait for transmission.
//!
//! A port does not transmit. Its owner, a link or a station at a medium, takes packets out of it,
//! and reports each as transmitted or given up.

mod counters;
mod event;
mod log;

pub use counters::Counters;
pub use event::{Departure, EventKind, LinkEvent};
pub use log::PortLog;

use paceline_cc::{Batch, Capacity, Ecn, LinkView, Packet, Router, Time, TrafficClass};

use crate::queue::{DropReason, DroppedPacket, Limit, Queue};

/// A queue, an optional router, and the log of both.
///
/// [`enqueue`](Port::enqueue) adds packets, [`take`](Port::take) returns the next one for
/// transmission, and [`finish`](Port::finish) or [`give_up`](Port::give_up) ends it.
pub struct Port {
    queue: Box<dyn Queue>,
    router: Option<Box<dyn Router>>,
    log: PortLog,
    /// True with a router, or if events or statistics are recorded: then every packet needs
    /// additional steps.
    is_watched: bool,
    /// Packets that were taken and are still in transmission, and their bytes.
    taken_packets: usize,
    taken_bytes: u64,
}

/// A packet that was taken out of a port for transmission.
#[derive(Copy, Clone, Debug)]
pub struct TakenPacket {
    /// The packet, with marks of the queue and the router.
    pub packet: Packet,
    /// Its ECN field before the router saw it.
    before: Ecn,
    /// True if the queue or the router marked it as it was taken.
    is_marked: bool,
}

impl TakenPacket {
    /// Wraps a packet that neither a queue nor a router has marked.
    pub fn unmarked(packet: Packet) -> TakenPacket {
        TakenPacket { packet, before: packet.ecn, is_marked: false }
    }
}

impl Port {
    /// Creates a port without a router.
    pub fn new(queue: Box<dyn Queue>) -> Port {
        Port {
            queue,
            router: None,
            log: PortLog::default(),
            is_watched: false,
            taken_packets: 0,
            taken_bytes: 0,
        }
    }

    /// Sets the overhead per packet in bytes.
    pub(crate) fn set_overhead(&mut self, overhead: u32) {
        self.log.set_overhead(overhead);
    }

    /// Adds a scheme's router half to the port.
    #[must_use]
    pub fn with_router(mut self, router: Box<dyn Router>) -> Port {
        self.set_router(Some(router));
        self
    }

    /// Replaces or removes the router. The old router's state is lost; its marks on packets stay.
    pub fn set_router(&mut self, router: Option<Box<dyn Router>>) {
        self.router = router;
        self.is_watched = self.log.is_on() || self.router.is_some();
    }

    /// Sets the queue's limit, like [`Queue::set_limit`].
    pub fn set_limit(&mut self, limit: Limit) -> bool {
        self.queue.set_limit(limit)
    }

    /// Starts or stops to record events.
    pub fn record(&mut self, on: bool) {
        self.log.record(on);
        self.is_watched = on || self.router.is_some();
    }

    /// Starts or stops to record what statistics need ([`PortLog::departures`]). This costs less
    /// than events.
    pub fn record_statistics(&mut self, on: bool) {
        self.log.record_statistics(on);
        self.is_watched = on || self.router.is_some();
    }

    /// Returns the log.
    pub fn log(&self) -> &PortLog {
        &self.log
    }

    /// Returns the log, for a driver that takes events and dropped packets out.
    pub fn log_mut(&mut self) -> &mut PortLog {
        &mut self.log
    }

    /// Returns the counters since the start, including the queue's marks.
    pub fn counters(&self) -> Counters {
        let mut counters = self.log.counters();
        counters.marks += self.queue.marks();
        counters
    }

    /// Returns the packets in the queue and in transmission.
    pub fn backlog_packets(&self) -> usize {
        self.queue.packets() + self.taken_packets
    }

    /// Returns the bytes in the queue and in transmission, without overheads.
    pub fn backlog_bytes(&self) -> u64 {
        self.queue.bytes() + self.taken_bytes
    }

    /// Returns the queue.
    pub fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    /// Returns the router, if there is one.
    pub fn router(&self) -> Option<&dyn Router> {
        self.router.as_deref()
    }

    /// Handles an arriving packet: the router sees it, and the queue takes or drops it. `capacity`
    /// is that of the port's owner, for the router.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: &Packet, capacity: &dyn Capacity) {
        self.log.count_arrival(packet);
        if !self.is_watched {
            self.queue.push(now, packet, &mut self.log.drops);
            self.count_drops(now);
        } else if self.router.is_some() {
            self.enqueue_routed(now, packet, capacity);
        } else {
            self.enqueue_noting(now, packet, (packet.ecn, false));
        }
    }

    /// Takes the queue's next packet for transmission into `place`. Returns false if there is none.
    /// The router sees the packet: marks are decided when transmission starts.
    #[inline]
    pub fn take(&mut self, now: Time, capacity: &dyn Capacity, place: &mut TakenPacket) -> bool {
        let marks = if self.is_watched { self.queue.marks() } else { 0 };
        let is_taken = self.queue.pop_into(now, &mut self.log.drops, &mut place.packet);
        self.count_drops(now);
        if !is_taken {
            return false;
        }
        self.taken_packets += 1;
        self.taken_bytes += u64::from(place.packet.size);
        place.before = place.packet.ecn;
        place.is_marked =
            self.is_watched && place.packet.ecn == Ecn::Ce && self.queue.marks() > marks;
        if self.router.is_some() {
            self.route_departure(now, capacity, place);
        }
        true
    }

    /// Ends the transmission of a taken packet at `at`.
    #[inline]
    pub fn finish(&mut self, at: Time, taken: &TakenPacket) {
        self.release(taken);
        self.log.count_departure(at, &taken.packet);
        if self.log.records_statistics() {
            let (size, marked) = (taken.packet.size, taken.is_marked);
            let sojourn = at.since(taken.packet.queued);
            self.log.add_departure(Departure { time: at, sojourn, size, marked });
        } else if self.log.records() {
            self.record_departure(at, taken);
        }
    }

    /// Gives up a taken packet at `now`: it counts as dropped.
    pub fn give_up(&mut self, now: Time, taken: &TakenPacket) {
        self.release(taken);
        let dropped = DroppedPacket { packet: taken.packet, reason: DropReason::Unacknowledged };
        self.log.drop_packet(now, dropped, self.queue.bytes());
        // Unlike a packet dropped by the queue, this packet may already have a mark.
        if let Some(event) = self.log.last_event() {
            (event.before, event.marked) = (taken.before, taken.is_marked);
        }
    }

    /// Passes a packet that the port's owner receives to the router.
    pub fn show_input(&mut self, now: Time, packet: &mut Packet, capacity: &dyn Capacity) {
        let Some(router) = &mut self.router else { return };
        let (queue_packets, queue_bytes) =
            self.queue.backlog_for(TrafficClass::EXPLICIT, packet.flow);
        router.on_input(now, packet, &LinkView { capacity, queue_packets, queue_bytes });
    }

    /// Tells the router that an opportunity for `bytes` bytes passed at `now` without a packet.
    pub fn tell_unused(&mut self, now: Time, bytes: u32) {
        if let Some(router) = &mut self.router {
            router.on_unused(now, bytes);
        }
    }

    /// Tells the router of a block acknowledgement.
    pub fn tell_batch(&mut self, now: Time, batch: &Batch) {
        if let Some(router) = &mut self.router {
            router.on_batch(now, batch);
        }
    }

    #[inline]
    fn release(&mut self, taken: &TakenPacket) {
        self.taken_packets = self.taken_packets.saturating_sub(1);
        self.taken_bytes = self.taken_bytes.saturating_sub(u64::from(taken.packet.size));
    }

    /// Counts and records the packets that the queue has just dropped.
    #[inline]
    fn count_drops(&mut self, now: Time) {
        if self.log.has_uncounted_drops() {
            self.log.count_drops(now, self.queue.bytes());
        }
    }

    /// Does [`Port::enqueue`] with a router.
    #[inline(never)]
    fn enqueue_routed(&mut self, now: Time, packet: &Packet, capacity: &dyn Capacity) {
        let before = packet.ecn;
        let Some(router) = &mut self.router else { return };
        let mut packet = *packet;
        let (queue_packets, queue_bytes) =
            self.queue.backlog_for(TrafficClass::EXPLICIT, packet.flow);
        let view = LinkView { capacity, queue_packets, queue_bytes };
        router.on_arrival(now, &mut packet, &view);
        let is_marked = self.count_marks(before, &packet);
        self.enqueue_noting(now, &packet, (before, is_marked));
    }

    /// Passes an arriving packet to the queue, and records its event. Its ECN field was `before`
    /// when it arrived; `is_marked` if the router marked it.
    #[inline(always)]
    fn enqueue_noting(&mut self, now: Time, packet: &Packet, (before, is_marked): (Ecn, bool)) {
        let marks = self.queue.marks();
        self.queue.push(now, packet, &mut self.log.drops);
        if self.log.is_on() {
            let marked = is_marked || self.queue.marks() > marks;
            if marked || self.log.records() {
                let event = LinkEvent::new(now, EventKind::Arrival, packet, self.queue.bytes());
                self.log.add_event(LinkEvent { before, marked, ..event });
            }
        }
        self.count_drops(now);
    }

    /// Passes a departure to the router, which may mark the packet.
    #[inline(never)]
    fn route_departure(&mut self, now: Time, capacity: &dyn Capacity, place: &mut TakenPacket) {
        let Some(router) = &mut self.router else { return };
        let packet = &mut place.packet;
        let unused = self.queue.take_unused_share();
        if unused > 0 {
            router.on_unused_share(now, unused);
        }
        let (queue_packets, queue_bytes) =
            self.queue.backlog_for(TrafficClass::EXPLICIT, packet.flow);
        let view = LinkView { capacity, queue_packets, queue_bytes };
        router.on_departure(now, packet, now.since(packet.queued), &view);
        place.is_marked |= self.count_marks(place.before, &place.packet);
    }

    /// Counts the router's changes of the ECN field. Returns true if the router marked the packet.
    fn count_marks(&mut self, before: Ecn, packet: &Packet) -> bool {
        let is_mark = before != Ecn::Ce && packet.ecn == Ecn::Ce;
        let is_ect0_mark = packet.class == TrafficClass::EXPLICIT
            && before == Ecn::Ect1
            && packet.ecn == Ecn::Ect0;
        self.log.counters.marks += u64::from(is_mark);
        self.log.counters.ect0_marks += u64::from(is_ect0_mark);
        is_mark || is_ect0_mark
    }

    #[inline(never)]
    fn record_departure(&mut self, at: Time, taken: &TakenPacket) {
        let sojourn = at.since(taken.packet.queued);
        let kind = EventKind::Departure { sojourn };
        let event = LinkEvent::new(at, kind, &taken.packet, self.queue.bytes());
        self.log.add_event(LinkEvent { before: taken.before, marked: taken.is_marked, ..event });
    }
}
