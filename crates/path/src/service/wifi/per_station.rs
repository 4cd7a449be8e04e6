//! A queue and a router for each station, behind one of either.

use paceline_cc::{Batch, LinkView, Packet, Router, Span, Time};

use crate::queue::{Dropped, Queue};

use super::station_of;

/// A queue for each station; packets come from that of the station whose turn it is.
pub struct StationQueues {
    queues: Vec<Box<dyn Queue>>,
    /// The station of each flow by number; flows beyond belong to the last one.
    station_of: Vec<u32>,
    turn: usize,
    packets: usize,
    bytes: u64,
}

impl StationQueues {
    /// One queue a station, at least one.
    pub fn new(queues: Vec<Box<dyn Queue>>, station_of: Vec<u32>) -> StationQueues {
        StationQueues { queues, station_of, turn: 0, packets: 0, bytes: 0 }
    }

    fn of(&self, flow: u32) -> usize {
        station_of(&self.station_of, self.queues.len(), flow) as usize
    }

    /// Lets the queue at a place do something, and sums up.
    fn at<R>(&mut self, at: usize, act: impl FnOnce(&mut dyn Queue) -> R) -> Option<R> {
        let queue = &mut **self.queues.get_mut(at)?;
        let before = (queue.packets(), queue.bytes());
        let result = act(queue);
        self.packets = self.packets + queue.packets() - before.0;
        self.bytes = self.bytes + queue.bytes() - before.1;
        Some(result)
    }
}

impl Queue for StationQueues {
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<Dropped>) {
        self.at(self.of(packet.flow), |queue| queue.push(now, packet, drops));
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Packet> {
        self.at(self.turn, |queue| queue.pop(now, drops)).flatten()
    }

    fn turn_to(&mut self, station: u32) -> bool {
        self.turn = station as usize;
        true
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn marks(&self) -> u64 {
        self.queues.iter().map(|queue| queue.marks()).sum()
    }

    fn abc_backlog(&self, flow: u32) -> (usize, u64) {
        self.queues.get(self.of(flow)).map_or((0, 0), |queue| queue.abc_backlog(flow))
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(queue) = self.queues.first() {
            queue.inspect(see);
        }
    }
}

/// A router's half for each station.
pub struct StationRouters {
    routers: Vec<Box<dyn Router>>,
    station_of: Vec<u32>,
}

impl StationRouters {
    /// One router a station, at least one.
    pub fn new(routers: Vec<Box<dyn Router>>, station_of: Vec<u32>) -> StationRouters {
        StationRouters { routers, station_of }
    }

    fn of(&mut self, flow: u32) -> Option<&mut Box<dyn Router>> {
        let at = station_of(&self.station_of, self.routers.len(), flow) as usize;
        self.routers.get_mut(at)
    }
}

impl Router for StationRouters {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        if let Some(router) = self.of(packet.flow) {
            router.on_arrival(now, packet, link);
        }
    }

    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        if let Some(router) = self.of(packet.flow) {
            router.on_departure(now, packet, sojourn, link);
        }
    }

    fn on_batch(&mut self, now: Time, batch: &Batch) {
        if let Some(router) = self.routers.get_mut(batch.station as usize) {
            router.on_batch(now, batch);
        }
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(router) = self.routers.first() {
            router.inspect(see);
        }
    }
}
