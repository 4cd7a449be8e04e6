//! A queue for each station that looks like one queue to the link, and likewise a router for each.

use paceline_cc::{Batch, LinkView, Packet, Router, Span, Time, TrafficClass};

use crate::queue::{DroppedPacket, Queue};

use super::station_of;

/// A queue for each station of an 802.11 link. Packets enter that of their flow's station, and
/// leave that of the station selected last.
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
    fn push(&mut self, now: Time, packet: &Packet, drops: &mut Vec<DroppedPacket>) {
        self.at(self.of(packet.flow), |queue| queue.push(now, packet, drops));
    }

    fn pop(&mut self, now: Time, drops: &mut Vec<DroppedPacket>) -> Option<Packet> {
        self.at(self.turn, |queue| queue.pop(now, drops)).flatten()
    }

    fn select_subqueue(&mut self, station: u32) -> bool {
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

    fn backlog_for(&self, class: TrafficClass, flow: u32) -> (usize, u64) {
        self.queues.get(self.of(flow)).map_or((0, 0), |queue| queue.backlog_for(class, flow))
    }

    fn take_unused_share(&mut self) -> u32 {
        self.queues.get_mut(self.turn).map_or(0, |queue| queue.take_unused_share())
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
    /// The unused share that the link spoke of, until the departure tells whose it is.
    unused_share: u32,
}

impl StationRouters {
    /// One router a station, at least one.
    pub fn new(routers: Vec<Box<dyn Router>>, station_of: Vec<u32>) -> StationRouters {
        StationRouters { routers, station_of, unused_share: 0 }
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
        let unused = std::mem::take(&mut self.unused_share);
        if let Some(router) = self.of(packet.flow) {
            if unused > 0 {
                router.on_unused_share(now, unused);
            }
            router.on_departure(now, packet, sojourn, link);
        }
    }

    fn on_unused_share(&mut self, _now: Time, bytes: u32) {
        self.unused_share = self.unused_share.saturating_add(bytes);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use paceline_cc::{Capacity, Ecn};

    use super::*;
    use crate::queue::{Fifo, Limit};

    fn packet(flow: u32, size: u32) -> Packet {
        Packet { flow, ..Packet::opaque(size) }
    }

    #[test]
    fn stations_have_queues_of_their_own() {
        let fifo = |_| Box::new(Fifo::new(Limit::packets(5))) as Box<dyn Queue>;
        let mut queue = StationQueues::new((0..2).map(fifo).collect(), vec![0, 1]);
        let mut drops = Vec::new();
        for number in 0..9 {
            let packet = packet(u32::from(number == 8), 100 + number);
            queue.push(Time::ZERO, &packet, &mut drops);
        }
        // Five of the first station fit, three did not; the second has its own room.
        assert_eq!((queue.packets(), queue.bytes(), drops.len()), (6, 618, 3));
        let backlog = |flow| queue.backlog_for(TrafficClass::EXPLICIT, flow);
        assert_eq!((backlog(0), backlog(1)), ((5, 510), (1, 108)));
        let mut sizes = |station| {
            assert!(queue.select_subqueue(station));
            let popped = std::iter::from_fn(|| queue.pop(Time::ZERO, &mut drops));
            popped.map(|packet| packet.size).collect::<Vec<_>>()
        };
        let first = vec![100, 101, 102, 103, 104];
        assert_eq!((sizes(1), sizes(0), sizes(7)), (vec![108], first, vec![]));
        assert_eq!((queue.packets(), queue.bytes()), (0, 0));
    }

    /// A queue with shares, as a station's.
    struct Shared(u32);

    impl Queue for Shared {
        fn push(&mut self, _: Time, _: &Packet, _: &mut Vec<DroppedPacket>) {}
        fn pop(&mut self, _: Time, _: &mut Vec<DroppedPacket>) -> Option<Packet> {
            None
        }
        fn packets(&self) -> usize {
            0
        }
        fn bytes(&self) -> u64 {
            0
        }
        fn take_unused_share(&mut self) -> u32 {
            std::mem::take(&mut self.0)
        }
    }

    /// A station's router: says which of its calls came, in order.
    struct RecordingRouter(&'static str, Sender<(&'static str, u32)>);

    impl Router for RecordingRouter {
        fn on_departure(&mut self, _: Time, packet: &mut Packet, _: Span, _: &LinkView<'_>) {
            self.1.send((self.0, packet.size)).expect("somebody listens");
        }
        fn on_unused_share(&mut self, _: Time, bytes: u32) {
            self.1.send((self.0, bytes)).expect("somebody listens");
        }
    }

    struct NoCapacity;

    impl Capacity for NoCapacity {
        fn offered(&self, _: Time, _: Time) -> u64 {
            0
        }
    }

    #[test]
    fn unused_shares_are_those_of_the_station() {
        let mut queue = StationQueues::new(vec![Box::new(Shared(1)), Box::new(Shared(2))], vec![]);
        queue.select_subqueue(1);
        assert_eq!((queue.take_unused_share(), queue.take_unused_share()), (2, 0));
        let (told, calls) = channel();
        let told = |name| Box::new(RecordingRouter(name, told.clone())) as Box<dyn Router>;
        let mut routers = StationRouters::new(vec![told("first"), told("second")], vec![0, 1]);
        let link = LinkView { capacity: &NoCapacity, queue_packets: 0, queue_bytes: 0 };
        let departs = |routers: &mut StationRouters, flow| {
            let mut packet = Packet { ecn: Ecn::Ect1, ..packet(flow, 1500) };
            routers.on_departure(Time::ZERO, &mut packet, Span::ZERO, &link);
        };
        // The link tells it just before the departure.
        routers.on_unused_share(Time::ZERO, 7);
        departs(&mut routers, 1);
        departs(&mut routers, 0);
        let calls: Vec<_> = calls.try_iter().collect();
        assert_eq!(calls, [("second", 7), ("second", 1500), ("first", 1500)]);
    }
}
