//! Tests of flows' shares, of the precedence of new flows, of overflow, and of the whole loop.

use paceline_cc::{Ecn, Span, Spec};

use super::*;
use crate::queue::testing::{open_loop, packet, stream};
use crate::queue::{Limit, build};

fn queue(text: &str, limit: Limit) -> Box<dyn Queue> {
    build(&Spec::parse(text).expect("legal"), limit, stream()).expect("known")
}

fn of_flow(flow: u32, number: u64, size: u32) -> Packet {
    Packet { flow, ..packet(number, size, Time::ZERO) }
}

/// Fills two flows with packets of these sizes. Returns each flow's number of packets among the
/// first `count` that leave.
fn shares(text: &str, sizes: [u32; 2], count: usize) -> [usize; 2] {
    let (mut queue, mut drops) = (queue(text, Limit::NONE), Vec::new());
    for number in 0..2000 {
        for (flow, size) in [(0, sizes[0]), (1, sizes[1])] {
            queue.push(Time::ZERO, &of_flow(flow, number, size), &mut drops);
        }
    }
    let mut shares = [0; 2];
    for _ in 0..count {
        let packet = queue.pop(Time::from_millis(1), &mut drops).expect("held");
        shares[packet.flow as usize] += 1;
    }
    shares
}

#[test]
fn backlogged_flows_share_bytes_or_packets() {
    let [large, small] = shares("fq_codel", [1500, 300], 1200);
    assert!((195..=205).contains(&large), "{large} {small}");
    assert_eq!(shares("sfq_codel", [1500, 300], 1200), [600, 600]);
    let [large, small] = shares("fq_codel[quantum=300]", [1500, 300], 1200);
    assert!((195..=205).contains(&large), "{large} {small}");
}

#[test]
fn a_new_flow_goes_first_once() {
    for text in ["fq_codel", "sfq_codel"] {
        let (mut queue, mut drops) = (queue(text, Limit::NONE), Vec::new());
        for number in 0..100 {
            for flow in [0, 1, 2] {
                queue.push(Time::ZERO, &of_flow(flow, number, 1500), &mut drops);
            }
        }
        let mut pop = |queue: &mut dyn Queue| queue.pop(Time::ZERO, &mut drops).map(|p| p.flow);
        for _ in 0..6 {
            pop(&mut *queue);
        }
        for number in 0..10 {
            queue.push(Time::ZERO, &of_flow(3, number, 1500), &mut Vec::new());
        }
        let order: Vec<_> = (0..9).filter_map(|_| pop(&mut *queue)).collect();
        // With its quantum of 1514 bytes, FQ-CoDel sends two packets before the flow is in debt.
        let ahead = order.iter().take_while(|flow| **flow == 3).count();
        assert_eq!(ahead, if text == "fq_codel" { 2 } else { 1 }, "{order:?}");
        assert!(order[ahead..ahead + 3].iter().all(|flow| *flow != 3), "{text} {order:?}");
    }
}

#[test]
fn a_sparse_flow_waits_for_little() {
    for text in ["fq_codel", "sfq_codel"] {
        // Every 50th packet belongs to flow 1; flow 0 overloads the link of 12 Mbit/s.
        let shape =
            |packet: &Packet| Packet { flow: u32::from(packet.number() % 50 == 49), ..*packet };
        let (mut queue, mut worst) = (queue(text, Limit::packets(1000)), Span::ZERO);
        let mut drops = Vec::new();
        for tick in 0..40_000u64 {
            let now = Time::ZERO + Span::from_micros(tick * 200);
            if tick % 4 == 0 {
                queue.push(now, &shape(&packet(tick / 4, 1500, now)), &mut drops);
            }
            if tick % 5 == 0 {
                let sparse = queue.pop(now, &mut drops).filter(|p| p.flow == 1);
                worst = worst.max(sparse.map_or(Span::ZERO, |p| now.since(p.queued)));
            }
        }
        assert!(worst <= Span::from_millis(3), "{text} {worst}");
        assert!(drops.iter().all(|dropped| dropped.packet.flow == 0), "{text}");
    }
}

#[test]
fn the_fattest_pays_for_an_overflow() {
    let (mut fq, mut drops) = (queue("fq_codel[limit=300]", Limit::NONE), Vec::new());
    for number in 0..201 {
        fq.push(Time::ZERO, &of_flow(0, number, 500), &mut drops);
    }
    for number in 0..99 {
        fq.push(Time::ZERO, &of_flow(1, number, 1500), &mut drops);
    }
    assert!(drops.is_empty());
    // Flow 1 has fewer packets and more bytes: half of its 100 packets are dropped, oldest first.
    fq.push(Time::ZERO, &of_flow(1, 99, 1500), &mut drops);
    assert_eq!(drops.len(), 50);
    let oldest = |flow: u32| {
        move |(at, dropped): (usize, &DroppedPacket)| {
            dropped.packet.flow == flow && dropped.packet.number() == at as u64
        }
    };
    assert!(drops.iter().enumerate().all(oldest(1)));
    drops.clear();
    // Half of flow 0 are then 125 packets: at most 64 are dropped at once.
    for number in 0..49 {
        fq.push(Time::ZERO, &of_flow(0, 201 + number, 500), &mut drops);
    }
    assert!(drops.is_empty());
    fq.push(Time::ZERO, &of_flow(0, 250, 500), &mut drops);
    assert!(drops.len() == 64 && drops.iter().enumerate().all(oldest(0)));

    let (mut sfq, mut drops) = (queue("sfq_codel", Limit::packets(30)), Vec::new());
    for number in 0..20 {
        sfq.push(Time::ZERO, &of_flow(0, number, 100), &mut drops);
    }
    for number in 0..12 {
        sfq.push(Time::ZERO, &of_flow(1, number, 1500), &mut drops);
    }
    // The flow with the most packets loses them from its tail.
    let dropped: Vec<_> = drops.iter().map(|d| (d.packet.flow, d.packet.number())).collect();
    assert_eq!(dropped, [(0, 19), (0, 18)]);
}

#[test]
fn an_oversized_packet_does_not_empty_the_buffer() {
    for text in ["fq_codel", "sfq_codel"] {
        let (mut queue, mut drops) = (queue(text, Limit::bytes(10_000)), Vec::new());
        for number in 0..5 {
            queue.push(Time::ZERO, &of_flow(0, number, 1500), &mut drops);
        }
        queue.push(Time::ZERO, &of_flow(1, 5, 10_001), &mut drops);
        assert_eq!((queue.packets(), drops.len()), (5, 1), "{text}");
    }
}

#[test]
fn codel_works_in_each_queue() {
    for text in ["fq_codel", "fq_codel[backlog=queue]", "sfq_codel"] {
        let shape = |packet: &Packet| Packet { flow: packet.number() as u32 % 2, ..*packet };
        let mut queue = queue(text, Limit::packets(1000));
        let outcome = open_loop(&mut *queue, 950, 1000, 60_000, shape);
        // Against unresponsive flows, CoDel's drop rate grows with the square root of time.
        assert!((outcome.loss() - 0.05).abs() < 0.02, "{text} {outcome:?}");
        assert!(outcome.by_flow[0].abs_diff(outcome.by_flow[1]) < 100, "{text} {outcome:?}");
    }
    let capable = |packet: &Packet| Packet { ecn: Ecn::Ect0, ..*packet };
    let outcome =
        open_loop(&mut *queue("fq_codel[ecn=true]", Limit::NONE), 950, 1000, 8_000, capable);
    assert!(outcome.dropped == 0 && outcome.marked > 50, "{outcome:?}");
}

#[test]
fn sfq_codel_starts_again_from_count_less_two() {
    let (mut sfq, mut drops) = (queue("sfq_codel", Limit::NONE), Vec::new());
    let mut times = Vec::new();
    for tick in 0..1200u64 {
        let now = Time::from_millis(tick);
        // Above target except from 500 to 510 ms, with packets in the bin at all times.
        let wait = if (500..510).contains(&tick) { 0 } else { 20 };
        for number in 0..2 {
            let at = now - Span::from_millis(wait);
            sfq.push(at, &of_flow(0, tick * 2 + number, 1500), &mut drops);
        }
        if tick < 20 {
            continue;
        }
        while sfq.packets() > 40 {
            sfq.pop(now, &mut drops);
        }
        times.extend(drops.drain(..).map(|_| tick));
    }
    assert!(!times.is_empty() && times.iter().all(|time| *time >= 100), "{times:?}");
}

#[test]
fn the_hash_spreads_flows_and_depends_on_the_perturbation() {
    let bins = |perturbation: u64| {
        let mut bins: FlowSlots<()> = FlowSlots::new(1024, perturbation);
        (0..300).map(|flow| bins.of(flow, || ())).max().map_or(0, |most| most + 1)
    };
    // 300 flows use about 1024 · (1 − e^(−300/1024)) = 260 bins.
    assert!((240..=280).contains(&bins(0)), "{}", bins(0));
    assert_ne!((0..8).map(bins).min(), (0..8).map(bins).max());
}
