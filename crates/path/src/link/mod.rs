//! A link: a queue, a router's half of a scheme, and a service that transmits.
//!
//! A packet arrives: the router sees it, the queue takes it or drops it. When the service turns
//! to the next packet, the queue gives one up (or drops some first) and the router sees it again:
//! marks are decided when transmission *starts*. [`Stage::pop`] returns it when transmission has
//! ended. On a trace, both happen at opportunities.
//!
//! Everything happens at the link's own times, however late the driver calls: the next
//! transmission starts when the last one ended, and a packet pushed at time t finds the queue as
//! it is at t. What is through but not yet collected waits in `ready`.

mod ahead;
mod air;
mod change;
mod counters;
mod event;
mod port;
mod serve;

pub use counters::Counters;
pub use event::{EventKind, LinkEvent};

use std::collections::VecDeque;

use paceline_cc::{Body, Ecn, LinkView, Packet, Router, Stage, Time, TrafficClass};

use self::ahead::PrecomputedDepartures;

use crate::medium::Medium;
use crate::queue::{DroppedPacket, Queue};
use crate::service::Service;

/// A queue, an optional router and a service, as one stage.
pub struct Link {
    service: Service,
    /// In place of the queue and all that follows, if the link looks ahead.
    ahead: Option<PrecomputedDepartures>,
    queue: Box<dyn Queue>,
    router: Option<Box<dyn Router>>,
    /// The packet in transmission, if `busy`. Not an `Option`: packets are moved by the million,
    /// and in this way a move is one plain copy.
    serving: Packet,
    busy: bool,
    /// When the service next has something to do; [`Time::NEVER`] when idle.
    due: Time,
    /// Traces: bytes of the packet in transmission still to send, bytes of the current
    /// opportunity still to use, and its time.
    owed: u64,
    credit: u64,
    at: Time,
    /// Bytes that each packet costs beyond its size.
    overhead: u32,
    /// The service transmits one packet after the other.
    one_by_one: bool,
    /// True with a router or a log: then every packet is looked at closely.
    watched: bool,
    /// Transmitted, but the driver has not asked for them yet.
    ready: VecDeque<(Time, Packet)>,
    drops: Vec<DroppedPacket>,
    /// Drops up to here are counted.
    counted: usize,
    keep_drops: bool,
    counters: Counters,
    recording: bool,
    events: Vec<LinkEvent>,
    /// Packets that were taken out of the queue to be transmitted with others, and their bytes.
    held: usize,
    held_bytes: u64,
    /// In place of all else, if the link is an access point at a medium: see `air.rs`.
    air: Option<Box<Medium>>,
    /// Of the packet in transmission: its ECN field before the router, and if it was marked.
    before: Ecn,
    marked: bool,
}

/// What stands in for the packet in transmission while there is none.
const NOBODY: Packet = Packet {
    flow: 0,
    size: 0,
    route: 0,
    ecn: Ecn::NotEct,
    class: TrafficClass::DEFAULT,
    sent: Time::ZERO,
    queued: Time::ZERO,
    body: Body::Opaque(0),
};

impl Link {
    /// A link without a router.
    pub fn new(queue: Box<dyn Queue>, service: Service) -> Link {
        match service {
            Service::Wifi(wifi) => Link::over_air(queue, wifi),
            service => Link::served(queue, service),
        }
    }

    fn served(queue: Box<dyn Queue>, service: Service) -> Link {
        Link {
            overhead: service.overhead(),
            one_by_one: matches!(service, Service::Constant(_) | Service::Schedule(_)),
            service,
            ahead: None,
            queue,
            router: None,
            serving: NOBODY,
            busy: false,
            due: Time::NEVER,
            owed: 0,
            credit: 0,
            at: Time::ZERO,
            watched: false,
            ready: VecDeque::new(),
            drops: Vec::new(),
            counted: 0,
            keep_drops: false,
            counters: Counters::default(),
            recording: false,
            events: Vec::new(),
            held: 0,
            held_bytes: 0,
            air: None,
            before: Ecn::NotEct,
            marked: false,
        }
    }

    /// Gives the link the network's half of a scheme.
    pub fn with_router(mut self, router: Box<dyn Router>) -> Link {
        match self.port_mut() {
            Some(port) => (port.router, port.watched) = (Some(router), true),
            None => (self.router, self.watched) = (Some(router), true),
        }
        self
    }

    /// Takes the memory of a link that is not needed any more, so that this one, which no packet
    /// must have entered, need not allocate what that one has. Queues and routers keep theirs.
    pub fn take_memory(&mut self, other: &mut Link) {
        if let (Some(ahead), Some(other)) = (&mut self.ahead, &mut other.ahead) {
            ahead.take_memory(other);
        }
        if let (Some(air), Some(other)) = (&mut self.air, &mut other.air) {
            air.take_memory(other);
        }
        other.ready.clear();
        std::mem::swap(&mut self.ready, &mut other.ready);
        other.drops.clear();
        std::mem::swap(&mut self.drops, &mut other.drops);
        other.events.clear();
        std::mem::swap(&mut self.events, &mut other.events);
    }

    /// Starts or stops the log.
    pub fn record(&mut self, on: bool) {
        if let Some(port) = self.port_mut() {
            return port.record(on);
        }
        self.recording = on;
        self.watched = on || self.router.is_some();
    }

    /// The log since it was last cleared.
    pub fn events(&self) -> &[LinkEvent] {
        &self.port().events
    }

    /// Empties the log.
    pub fn clear_events(&mut self) {
        drop(self.drain_events());
    }

    /// Takes the log.
    pub fn drain_events(&mut self) -> std::vec::Drain<'_, LinkEvent> {
        match self.air.as_deref_mut().and_then(|medium| medium.station_mut(0)) {
            Some(port) => port.events.drain(..),
            None => self.events.drain(..),
        }
    }

    /// Keeps dropped packets for [`Link::drain_drops`], for a driver that owns their bytes; it
    /// must then collect them from time to time.
    pub fn keep_drops(&mut self, on: bool) {
        if let Some(port) = self.port_mut() {
            return port.keep_drops(on);
        }
        self.keep_drops = on;
    }

    /// Takes the packets dropped since the last call, if they are kept.
    pub fn drain_drops(&mut self) -> std::vec::Drain<'_, DroppedPacket> {
        let link = match self.air.as_deref_mut().and_then(|medium| medium.station_mut(0)) {
            Some(port) => port,
            None => {
                self.counted = 0;
                return self.drops.drain(..);
            }
        };
        link.drain_drops()
    }

    /// What the link has done since the start.
    pub fn counters(&self) -> Counters {
        let port = self.port();
        let mut counters = port.counters;
        counters.marks += port.queue.marks();
        if let Some(ahead) = &self.ahead {
            ahead.count(&mut counters);
        }
        counters
    }

    /// Packets in the queue and in transmission.
    pub fn backlog_packets(&self) -> usize {
        if let Some(ahead) = &self.ahead {
            return ahead.backlog_packets();
        }
        let port = self.port();
        port.queue.packets() + port.held + usize::from(port.busy)
    }

    /// Bytes in the queue and in transmission, without overheads.
    pub fn backlog_bytes(&self) -> u64 {
        if let Some(ahead) = &self.ahead {
            return ahead.backlog_bytes();
        }
        let port = self.port();
        let serving = if port.busy { u64::from(port.serving.size) } else { 0 };
        port.queue.bytes() + port.held_bytes + serving
    }

    /// Packets transmitted that the driver has not collected with [`Stage::pop`] yet, or that are
    /// propagating behind a link that looks ahead.
    pub fn uncollected(&self) -> usize {
        match (&self.ahead, &self.air) {
            (Some(ahead), _) => ahead.propagating(),
            (None, Some(air)) => air.uncollected(),
            (None, None) => self.ready.len(),
        }
    }

    /// The capacity over time.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The queue.
    pub fn queue(&self) -> &dyn Queue {
        &*self.port().queue
    }

    /// The router, if there is one.
    pub fn router(&self) -> Option<&dyn Router> {
        self.port().router.as_deref()
    }

    /// Does everything that was due by `now`, so that a packet can arrive.
    #[inline(never)]
    fn catch_up(&mut self, now: Time) {
        while self.due <= now {
            let ended = self.due;
            let mut packet = Packet::opaque(0);
            if !self.serve(now, &mut packet) {
                break;
            }
            // On a trace, the service may have passed several opportunities.
            self.ready.push_back((ended.max(self.at), packet));
        }
    }

    /// The first of those that are through.
    #[inline(never)]
    fn collect(&mut self, now: Time, place: &mut Packet) -> bool {
        match self.ready.pop_front_if(|(ended, _)| *ended <= now) {
            Some((_, packet)) => {
                *place = packet;
                true
            }
            None => false,
        }
    }

    #[inline(never)]
    fn push_watched(&mut self, now: Time, packet: &Packet) {
        let mut packet = *packet;
        let event = self.watch_arrival(now, &mut packet);
        let marks = self.queue.marks();
        self.queue.push(now, &packet, &mut self.drops);
        if let Some(event) = event {
            let marked = event.marked || self.queue.marks() > marks;
            self.events.push(LinkEvent { marked, queue_bytes: self.queue.bytes(), ..event });
        }
        if self.drops.len() != self.counted {
            self.note_drops(now);
        }
    }

    /// The router's and the log's part in an arrival. The event, if there is a log.
    fn watch_arrival(&mut self, now: Time, packet: &mut Packet) -> Option<LinkEvent> {
        let before = packet.ecn;
        if let Some(router) = &mut self.router {
            let (queue_packets, queue_bytes) =
                self.queue.backlog_for(TrafficClass::EXPLICIT, packet.flow);
            let view = LinkView { capacity: &self.service, queue_packets, queue_bytes };
            router.on_arrival(now, packet, &view);
        }
        let marked = self.count_marks(before, packet);
        self.recording.then(|| LinkEvent {
            before,
            marked,
            ..LinkEvent::new(now, EventKind::Arrival, packet, 0)
        })
    }

    /// Counts what the router did to the ECN field; true if it marked the packet.
    fn count_marks(&mut self, before: Ecn, packet: &Packet) -> bool {
        let mark = before != Ecn::Ce && packet.ecn == Ecn::Ce;
        let brake = packet.class == TrafficClass::EXPLICIT
            && before == Ecn::ACCELERATE
            && packet.ecn == Ecn::BRAKE;
        self.counters.marks += u64::from(mark);
        self.counters.brakes += u64::from(brake);
        mark || brake
    }

    /// Counts and logs the drops that the queue has just made.
    #[inline(never)]
    fn note_drops(&mut self, now: Time) {
        let queue_bytes = match &self.ahead {
            Some(ahead) => ahead.buffered(),
            None => self.queue.bytes(),
        };
        for dropped in self.drops.iter().skip(self.counted) {
            self.counters.count_drop(dropped, self.overhead);
            if self.recording {
                let kind = EventKind::Drop { reason: dropped.reason };
                self.events.push(LinkEvent::new(now, kind, &dropped.packet, queue_bytes));
            }
        }
        if !self.keep_drops {
            self.drops.clear();
        }
        self.counted = self.drops.len();
    }
}

impl Link {
    /// Takes the next packet that is due at or before `now`, as [`Stage::pop_into`] does, but without
    /// a copy if the link looks ahead: then it stands in the link's own line, else in `place`. Returns
    /// beside it when the link is next to be called.
    #[inline(always)]
    pub fn take_due<'a>(
        &'a mut self,
        now: Time,
        place: &'a mut Packet,
    ) -> Option<(&'a Packet, Time)> {
        if self.ahead.is_some() {
            return self.take_ahead(now);
        }
        if self.pop_queued(now, place) { Some((place, self.wake())) } else { None }
    }

    #[inline(never)]
    fn push_queued(&mut self, now: Time, packet: &Packet) {
        if let Some(air) = self.air() {
            return air.push(now, packet);
        }
        if self.due <= now {
            self.catch_up(now);
        }
        if !self.one_by_one {
            self.pass_unused(now);
        }
        self.counters.arrived_packets += 1;
        self.counters.arrived_bytes += u64::from(packet.size) + u64::from(self.overhead);
        self.enqueue(now, packet);
        if !self.busy {
            self.begin(now);
        }
    }

    /// A packet goes into the queue, or is dropped.
    #[inline]
    fn enqueue(&mut self, now: Time, packet: &Packet) {
        if self.watched {
            self.push_watched(now, packet);
        } else {
            self.queue.push(now, packet, &mut self.drops);
            if self.drops.len() != self.counted {
                self.note_drops(now);
            }
        }
    }

    #[inline(never)]
    fn pop_queued(&mut self, now: Time, place: &mut Packet) -> bool {
        if !self.ready.is_empty() {
            return self.collect(now, place);
        }
        if let Some(air) = self.air() {
            return air.pop_into(now, place);
        }
        self.due <= now && self.serve(now, place)
    }
}

impl Stage for Link {
    #[inline(always)]
    fn push(&mut self, now: Time, packet: &Packet) {
        match self.ahead {
            Some(_) => self.push_ahead(now, packet),
            None => self.push_queued(now, packet),
        }
    }

    #[inline(always)]
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if self.ahead.is_none() {
            return self.pop_queued(now, place);
        }
        let Some((packet, _)) = self.take_ahead(now) else { return false };
        *place = *packet;
        true
    }

    #[inline]
    fn wake(&self) -> Time {
        match &self.ahead {
            Some(ahead) => ahead.wake(),
            None => match &self.air {
                Some(air) => air.wake(),
                None => self.ready.front().map_or(self.due, |&(ended, _)| ended),
            },
        }
    }
}

#[cfg(test)]
mod tests;
