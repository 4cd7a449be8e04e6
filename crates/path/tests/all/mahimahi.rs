//! Compares a trace link with a simple reimplementation of Mahimahi's `LinkQueue`, millisecond by
//! millisecond.

use std::collections::VecDeque;

use crate::common::{packet, random_trace};
use paceline_cc::{Capacity, Stage, Stream, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Link, OpportunityOptions, Service};

/// Mahimahi's algorithm, with its names. Records departures as (number, millisecond).
struct LinkQueue {
    schedule: Vec<u64>,
    next_delivery: usize,
    base_timestamp: u64,
    finished: bool,
    repeat: bool,
    opportunity: u64,
    packet_queue: VecDeque<(u64, u64)>,
    packet_in_transit: Option<(u64, u64)>,
    departures: Vec<(u64, u64)>,
}

impl LinkQueue {
    fn use_a_delivery_opportunity(&mut self) {
        self.next_delivery = (self.next_delivery + 1) % self.schedule.len();
        if self.next_delivery == 0 {
            if self.repeat {
                self.base_timestamp += self.schedule[self.schedule.len() - 1];
            } else {
                self.finished = true;
            }
        }
    }

    fn rationalize(&mut self, now: u64) {
        while !self.finished && self.schedule[self.next_delivery] + self.base_timestamp <= now {
            let time = self.schedule[self.next_delivery] + self.base_timestamp;
            let mut bytes_left = self.opportunity;
            self.use_a_delivery_opportunity();
            while bytes_left > 0 {
                let next = self.packet_in_transit.or_else(|| self.packet_queue.pop_front());
                let Some((number, packet_bytes_left)) = next else { break };
                let amount = bytes_left.min(packet_bytes_left);
                bytes_left -= amount;
                self.packet_in_transit = Some((number, packet_bytes_left - amount));
                if packet_bytes_left == amount {
                    self.packet_in_transit = None;
                    self.departures.push((number, time));
                }
            }
        }
    }
}

#[test]
fn departures_match_mahimahi() {
    let mut stream = Stream::new(1, "mahimahi");
    for _ in 0..300 {
        let trace = random_trace(&mut stream);
        let options = OpportunityOptions {
            opportunity: if stream.chance(0.5) { 1504 } else { 300 + stream.below(4000) as u32 },
            overhead: if stream.chance(0.5) { 4 } else { 0 },
            repeat: stream.chance(0.8),
        };
        let mut model = LinkQueue {
            schedule: trace.opportunities().iter().map(|&ms| ms.into()).collect(),
            next_delivery: 0,
            base_timestamp: 0,
            finished: false,
            repeat: options.repeat,
            opportunity: options.opportunity.into(),
            packet_queue: VecDeque::new(),
            packet_in_transit: None,
            departures: Vec::new(),
        };
        let service = Service::trace(trace, options).expect("valid");
        let mut link = Link::new(Box::new(Fifo::new(Limit::NONE)), service);
        let mut departures = Vec::new();
        let mut number = 0;
        let busy = stream.uniform();
        for ms in 0..2000 {
            // The link is called only at its own times, the model every millisecond.
            while link.wake() <= Time::from_millis(ms) {
                let wake = link.wake();
                while let Some(packet) = link.pop(wake) {
                    departures.push((packet.number(), wake.as_nanos() / 1_000_000));
                }
            }
            model.rationalize(ms);
            while stream.chance(busy * 0.6) {
                let size = 1 + stream.below(1500) as u32;
                link.push(Time::from_millis(ms), &packet(number, size, Time::ZERO));
                model.packet_queue.push_back((number, u64::from(size + options.overhead)));
                number += 1;
            }
        }
        assert_eq!(departures, model.departures);
        let delivered = link.counters().delivered_bytes;
        let first = link.service().offered(Time::ZERO, Time::from_millis(2000));
        assert!(delivered <= first + u64::from(options.opportunity) * 12);
    }
}
