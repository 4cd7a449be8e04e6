//! A link: a port with a queue and a scheme's router half, and a service that transmits.
//!
//! When a packet arrives, the router sees it, and the queue takes or drops it. When the service
//! starts the next packet, the queue returns one (and may first drop some), and the router sees it
//! again: marks are decided when transmission *starts*. [`Stage::pop`] returns the packet when
//! transmission has ended. On a trace, both happen at opportunities.
//!
//! Events have the link's own times, even if the driver calls late: the next transmission starts
//! when the last one ended, and a packet pushed at time t meets the queue of time t. Transmitted
//! packets that the driver has not yet collected wait in `ready`.

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
    /// The packet in transmission, if `busy`. Not an `Option`, so that moving a packet is one plain
    /// copy.
    serving: TakenPacket,
    busy: bool,
    /// Time of the service's next action; [`Time::NEVER`] when idle.
    due: Time,
    /// Traces: bytes of the packet in transmission that are still to be sent, unused bytes of the
    /// current opportunity, and its time.
    owed: u64,
    credit: u64,
    at: Time,
    /// True if the service transmits one packet after the other.
    one_by_one: bool,
    /// Transmitted packets that the driver has not yet collected.
    ready: VecDeque<(Time, Packet)>,
}

impl Link {
    /// Creates a link without a router.
    pub fn new(queue: Box<dyn Queue>, service: Service) -> Link {
        Link::with_port(Port::new(queue), service)
    }

    /// Creates a link with a port into which no packet has entered.
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

    /// Adds a scheme's router half to the link.
    pub fn with_router(mut self, router: Box<dyn Router>) -> Link {
        self.port.set_router(Some(router));
        self
    }

    /// Starts or stops to record events.
    pub fn record(&mut self, on: bool) {
        self.port.record(on);
    }

    /// Starts or stops to record what statistics need ([`PortLog::departures`]). This costs less
    /// than events.
    pub fn record_statistics(&mut self, on: bool) {
        self.port.record_statistics(on);
    }

    /// Returns events and dropped packets.
    pub fn log(&self) -> &PortLog {
        self.port.log()
    }

    /// Returns events and dropped packets, for a driver that takes them out.
    pub fn log_mut(&mut self) -> &mut PortLog {
        self.port.log_mut()
    }

    /// Returns the counters since the start, including the marks of the queue.
    pub fn counters(&self) -> Counters {
        self.port.counters()
    }

    /// Returns the packets in the queue and in transmission.
    pub fn backlog_packets(&self) -> usize {
        self.port.backlog_packets()
    }

    /// Returns the bytes in the queue and in transmission, without overheads.
    pub fn backlog_bytes(&self) -> u64 {
        self.port.backlog_bytes()
    }

    /// Returns the transmitted packets that the driver has not yet collected with [`Stage::pop`].
    pub fn uncollected(&self) -> usize {
        self.ready.len()
    }

    /// Returns the capacity over time.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns the queue.
    pub fn queue(&self) -> &dyn Queue {
        self.port.queue()
    }

    /// Returns the router, if there is one.
    pub fn router(&self) -> Option<&dyn Router> {
        self.port.router()
    }

    /// Handles all events until `now`, so that a packet can arrive.
    #[inline(never)]
    fn catch_up(&mut self, now: Time) {
        while self.due <= now {
            let ended = self.due;
            let mut packet = Packet::opaque(0);
            if !self.serve(now, &mut packet) {
                break;
            }
            // On a trace, the packet may have needed several opportunities.
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
