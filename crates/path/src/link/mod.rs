//! A link: a port with a queue and a router's half of a scheme, and a service that transmits.
//!
//! A packet arrives: the router sees it, the queue takes it or drops it. When the service turns
//! to the next packet, the queue gives one up (or drops some first) and the router sees it again:
//! marks are decided when transmission *starts*. [`Stage::pop`] returns it when transmission has
//! ended. On a trace, both happen at opportunities.
//!
//! Everything happens at the link's own times, however late the driver calls: the next
//! transmission starts when the last one ended, and a packet pushed at time t finds the queue as
//! it is at t. Transmitted packets that the driver has not collected yet wait in `ready`.

mod change;
mod serve;

use std::collections::VecDeque;

use paceline_cc::{Packet, Router, Stage, Time};

use crate::port::{Counters, Port, PortLog, TakenPacket};
use crate::queue::Queue;
use crate::service::Service;

/// A queue, an optional router and a service, as one stage.
pub struct Link {
    port: Port,
    service: Service,
    /// The packet in transmission, if `busy`. Not an `Option`: packets are moved by the million,
    /// and in this way a move is one plain copy.
    serving: TakenPacket,
    busy: bool,
    /// When the service next has something to do; [`Time::NEVER`] when idle.
    due: Time,
    /// Traces: bytes of the packet in transmission still to send, bytes of the current
    /// opportunity still to use, and its time.
    owed: u64,
    credit: u64,
    at: Time,
    /// The service transmits one packet after the other.
    one_by_one: bool,
    /// Transmitted, but the driver has not asked for them yet.
    ready: VecDeque<(Time, Packet)>,
}

impl Link {
    /// A link without a router.
    pub fn new(queue: Box<dyn Queue>, service: Service) -> Link {
        Link::with_port(Port::new(queue), service)
    }

    /// A link with a port that no packet has entered.
    pub fn with_port(mut port: Port, service: Service) -> Link {
        port.set_overhead(service.overhead());
        Link {
            port,
            one_by_one: matches!(service, Service::Constant(_) | Service::Schedule(_)),
            service,
            serving: TakenPacket::unmarked(Packet::opaque(0)),
            busy: false,
            due: Time::NEVER,
            owed: 0,
            credit: 0,
            at: Time::ZERO,
            ready: VecDeque::new(),
        }
    }

    /// Gives the link the network's half of a scheme.
    pub fn with_router(mut self, router: Box<dyn Router>) -> Link {
        self.port.set_router(Some(router));
        self
    }

    /// Takes the memory of a link that is not needed any more, so that this one, which no packet
    /// must have entered, need not allocate what that one has. Queues and routers keep theirs.
    pub fn take_memory(&mut self, other: &mut Link) {
        self.port.take_memory(&mut other.port);
        other.ready.clear();
        std::mem::swap(&mut self.ready, &mut other.ready);
    }

    /// Starts or stops to record events.
    pub fn record(&mut self, on: bool) {
        self.port.record(on);
    }

    /// Events and dropped packets.
    pub fn log(&self) -> &PortLog {
        self.port.log()
    }

    /// Events and dropped packets, for a driver that takes them out.
    pub fn log_mut(&mut self) -> &mut PortLog {
        self.port.log_mut()
    }

    /// Counts since the start, the marks of the queue included.
    pub fn counters(&self) -> Counters {
        self.port.counters()
    }

    /// Packets in the queue and in transmission.
    pub fn backlog_packets(&self) -> usize {
        self.port.backlog_packets()
    }

    /// Bytes in the queue and in transmission, without overheads.
    pub fn backlog_bytes(&self) -> u64 {
        self.port.backlog_bytes()
    }

    /// Packets transmitted that the driver has not collected with [`Stage::pop`] yet.
    pub fn uncollected(&self) -> usize {
        self.ready.len()
    }

    /// The capacity over time.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The queue.
    pub fn queue(&self) -> &dyn Queue {
        self.port.queue()
    }

    /// The router, if there is one.
    pub fn router(&self) -> Option<&dyn Router> {
        self.port.router()
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

    /// Pops the first transmitted packet of `ready`, if its transmission ended by `now`.
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
}

impl Stage for Link {
    #[inline(never)]
    fn push(&mut self, now: Time, packet: &Packet) {
        if self.due <= now {
            self.catch_up(now);
        }
        if !self.one_by_one {
            self.pass_unused(now);
        }
        self.port.enqueue(now, packet, &self.service);
        if !self.busy {
            self.begin(now);
        }
    }

    #[inline(never)]
    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        if !self.ready.is_empty() {
            return self.collect(now, place);
        }
        self.due <= now && self.serve(now, place)
    }

    #[inline]
    fn wake(&self) -> Time {
        self.ready.front().map_or(self.due, |&(ended, _)| ended)
    }
}

#[cfg(test)]
mod tests;
