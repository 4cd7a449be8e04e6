use std::sync::{Arc, Mutex};

use paceline_cc::{Capacity, Ecn, LinkView, Rate, Span, TrafficClass};
use paceline_trace::Trace;

use super::*;
use crate::port::EventKind;
use crate::queue::testing::packet;
use crate::queue::{DropReason, Fifo, Limit};
use crate::service::OpportunityOptions;

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

fn constant(mbps: f64, limit: Limit) -> Link {
    Link::new(Box::new(Fifo::new(limit)), Service::constant(Rate::from_mbps(mbps)))
}

fn trace(entries: &[u32], opportunity: u32, overhead: u32) -> Link {
    let trace = Trace::new("test", entries.to_vec()).expect("valid");
    let options = OpportunityOptions { opportunity, overhead, repeat: true };
    Link::new(Box::new(Fifo::new(Limit::NONE)), Service::trace(trace, options).expect("valid"))
}

/// Returns the numbers of packets until `end`, with the times at which the link says that they are
/// due.
fn collect(link: &mut Link, end: Time) -> Vec<(u64, Time)> {
    let mut out = Vec::new();
    while link.wake() <= end {
        let now = link.wake();
        while let Some(packet) = link.pop(now) {
            out.push((packet.number(), now));
        }
    }
    out
}

#[test]
fn a_constant_rate_sends_one_after_the_other() {
    let mut link = constant(12.0, Limit::packets(2));
    assert_eq!(link.wake(), Time::NEVER);
    for number in 0..4 {
        link.push(ms(10), &packet(number, 1500, Time::ZERO));
    }
    // One in transmission, two in the buffer, one dropped.
    assert_eq!((link.backlog_packets(), link.backlog_bytes()), (3, 4500));
    assert_eq!(collect(&mut link, ms(100)), [(0, ms(11)), (1, ms(12)), (2, ms(13))]);
    let counters = link.counters();
    assert_eq!((counters.arrived_packets, counters.arrived_bytes), (4, 6000));
    assert_eq!((counters.delivered_packets, counters.delivered_bytes), (3, 4500));
    assert_eq!((counters.dropped_full, counters.dropped_bytes), (1, 1500));
    assert_eq!(counters.mean_sojourn(), Span::from_millis(2));
    assert_eq!(link.service().offered(ms(10), ms(13)), 4500);
}

#[test]
fn small_packets_share_an_opportunity() {
    let mut link = trace(&[10], 1500, 0);
    for number in 0..16 {
        link.push(ms(1), &packet(number, 100, Time::ZERO));
    }
    let out = collect(&mut link, ms(30));
    assert_eq!(out.iter().filter(|&&(_, at)| at == ms(10)).count(), 15);
    assert_eq!(out[15], (15, ms(20)));
}

#[test]
fn a_large_packet_keeps_what_it_has_earned() {
    let mut link = trace(&[10], 1500, 0);
    link.push(ms(1), &packet(0, 500, Time::ZERO));
    link.push(ms(1), &packet(1, 1500, Time::ZERO));
    // 1000 bytes are left of the second opportunity: exactly enough for two more packets.
    for number in 2..5 {
        link.push(ms(1), &packet(number, 500, Time::ZERO));
    }
    let expected = [(0, ms(10)), (1, ms(20)), (2, ms(20)), (3, ms(20)), (4, ms(30))];
    assert_eq!(collect(&mut link, ms(100)), expected);
}

#[test]
fn a_full_packet_fills_an_opportunity_of_mahimahi() {
    let mut link = trace(&[5, 5, 10], 1504, 4);
    for number in 0..4 {
        link.push(ms(0), &packet(number, 1500, Time::ZERO));
    }
    let expected = [(0, ms(5)), (1, ms(5)), (2, ms(10)), (3, ms(15))];
    assert_eq!(collect(&mut link, ms(100)), expected);
    assert_eq!(link.counters().delivered_bytes, link.service().offered(ms(5), ms(15)) + 1504);
    assert_eq!(link.wake(), Time::NEVER, "an idle link sleeps");
    // It arrives exactly at an opportunity, and misses it.
    link.push(ms(50), &packet(4, 1500, Time::ZERO));
    assert_eq!(collect(&mut link, ms(100)), [(4, ms(55))]);
}

#[test]
fn a_trace_may_end() {
    let trace = Trace::new("test", vec![1, 3]).expect("valid");
    let options = OpportunityOptions { repeat: false, ..OpportunityOptions::default() };
    let service = Service::trace(trace, options).expect("valid");
    let mut link = Link::new(Box::new(Fifo::new(Limit::NONE)), service);
    link.push(ms(1), &packet(0, 1500, Time::ZERO));
    link.push(ms(1), &packet(1, 1500, Time::ZERO));
    assert_eq!(collect(&mut link, ms(10)), [(0, ms(3))]);
    assert_eq!((link.wake(), link.backlog_packets()), (Time::NEVER, 1));
    assert!(link.pop(Time::NEVER).is_none());
}

/// Records its calls; marks packet 1 CE and makes packet 2 brake.
#[derive(Clone, Default)]
struct Spy(Arc<Mutex<Vec<String>>>);

impl Spy {
    fn note(&self, line: String) {
        self.0.lock().expect("not poisoned").push(line);
    }
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("not poisoned"))
    }
}

impl Router for Spy {
    fn on_arrival(&mut self, now: Time, packet: &mut Packet, link: &LinkView<'_>) {
        self.note(format!("{now:?} arrival {} behind {}", packet.number(), link.queue_packets));
    }
    fn on_departure(&mut self, now: Time, packet: &mut Packet, sojourn: Span, link: &LinkView<'_>) {
        let (number, behind) = (packet.number(), link.queue_bytes);
        self.note(format!("{now:?} start {number} after {sojourn} before {behind} B"));
        match number {
            1 => packet.ecn = Ecn::Ce,
            2 => packet.ecn = Ecn::Ect0,
            _ => {}
        }
    }
    fn on_unused(&mut self, now: Time, bytes: u32) {
        self.note(format!("{now:?} unused {bytes}"));
    }
}

fn abc_packet(number: u64, size: u32) -> Packet {
    Packet { class: TrafficClass::EXPLICIT, ecn: Ecn::Ect1, ..packet(number, size, Time::ZERO) }
}

#[test]
fn a_router_sees_arrivals_starts_and_unused_opportunities() {
    let spy = Spy::default();
    let mut link = trace(&[10], 1504, 4).with_router(Box::new(spy.clone()));
    assert_eq!(link.wake(), Time::NEVER);
    link.push(ms(20), &abc_packet(0, 1500));
    assert_eq!(spy.heard(), ["10ms unused 1504", "20ms unused 1504", "20ms arrival 0 behind 0"]);
    link.push(ms(25), &abc_packet(1, 596));
    link.push(ms(25), &abc_packet(2, 1096));
    assert_eq!(spy.heard(), ["25ms arrival 1 behind 1", "25ms arrival 2 behind 2"]);
    // Packet 2 starts at 40 ms and ends at 50 ms, which leaves 1308 bytes.
    let marks: Vec<_> = std::iter::from_fn(|| link.pop(ms(40))).map(|p| p.ecn).collect();
    assert_eq!(marks, [Ecn::Ect1, Ecn::Ce]);
    let starts = [
        "30ms start 0 after 10ms before 1692 B",
        "40ms start 1 after 15ms before 1096 B",
        "40ms start 2 after 15ms before 0 B",
    ];
    assert_eq!(spy.heard(), starts);
    assert_eq!(link.pop(ms(50)).map(|p| p.ecn), Some(Ecn::Ect0));
    assert_eq!(spy.heard(), ["50ms unused 1308"]);
    assert_eq!((link.counters().marks, link.counters().ect0_marks), (1, 1));
}

#[test]
fn the_log_tells_what_happened() {
    let mut link = constant(12.0, Limit::packets(2)).with_router(Box::new(Spy::default()));
    link.record(true);
    for number in 0..4 {
        link.push(ms(10), &abc_packet(number, 1500));
    }
    collect(&mut link, ms(100));
    let kinds: Vec<_> = link.log().events().iter().map(|e| (e.time, e.number, e.kind)).collect();
    let departure = |at: u64| EventKind::Departure { sojourn: Span::from_millis(at - 10) };
    let expected = [
        (ms(10), 0, EventKind::Arrival),
        (ms(10), 1, EventKind::Arrival),
        (ms(10), 2, EventKind::Arrival),
        (ms(10), 3, EventKind::Arrival),
        (ms(10), 3, EventKind::Drop { reason: DropReason::Full }),
        (ms(11), 0, departure(11)),
        (ms(12), 1, departure(12)),
        (ms(13), 2, departure(13)),
    ];
    assert_eq!(kinds, expected);
    let last = link.log().events()[6];
    assert_eq!((last.before, last.after, last.marked), (Ecn::Ect1, Ecn::Ce, true));
    assert_eq!(link.log_mut().drain_events().count(), 8);
    link.record(false);
    link.push(ms(50), &abc_packet(5, 1500));
    assert!(link.log().events().is_empty());
}

#[test]
fn dropped_packets_can_be_had() {
    let mut link = constant(12.0, Limit::packets(1));
    link.log_mut().keep_drops(true);
    for number in 0..4 {
        link.push(ms(0), &packet(number, 1500, Time::ZERO));
    }
    assert_eq!(link.log_mut().drain_drops().map(|d| d.packet.number()).collect::<Vec<_>>(), [2, 3]);
    link.push(ms(0), &packet(4, 1500, Time::ZERO));
    assert_eq!(link.log_mut().drain_drops().map(|d| d.packet.number()).collect::<Vec<_>>(), [4]);
    assert_eq!(link.counters().dropped_full, 3);
}

#[test]
fn a_push_finds_the_queue_as_it_is_then() {
    // The driver calls late: packet 0 left at 1 ms, so the buffer has room at 1.5 ms.
    let mut link = constant(12.0, Limit::packets(1));
    link.push(ms(0), &packet(0, 1500, Time::ZERO));
    link.push(ms(0), &packet(1, 1500, Time::ZERO));
    link.push(Time::ZERO + Span::from_micros(1500), &packet(2, 1500, Time::ZERO));
    assert_eq!((link.wake(), link.uncollected()), (ms(1), 1));
    let out: Vec<_> = std::iter::from_fn(|| link.pop(ms(9))).map(|p| p.number()).collect();
    assert_eq!(out, [0, 1, 2]);
    assert_eq!(link.counters().sojourn, Span::from_micros(1000 + 2000 + 1500));
}
