//! sfqCoDel (queue/sfqcodel.cc): packets delivered and dropped of random arrivals.

use paceline_cc::{Body, Data, Ecn, Packet, Span, Spec, Stream, Time};
use paceline_path::{Limit, queue};
use paceline_peers::vector::{Outcome, Vectors, same};

use crate::bench::{at, congruential};

/// A run and its results.
#[derive(Copy, Clone)]
struct Run {
    seed: u32,
    flows: i64,
    /// Most packets that arrive in a millisecond.
    most: i64,
    millis: u64,
    /// Microseconds between departures.
    gap: u64,
    queue: &'static str,
    limit: u64,
    /// Packets delivered, dropped and left; digests of the delivered and of the dropped packets, in
    /// order.
    counts: (u64, u64, usize),
    digests: (u64, u64),
}

const RUNS: [Run; 7] = [
    Run {
        seed: 1,
        flows: 1,
        most: 2,
        millis: 4000,
        gap: 1003,
        queue: "target=5ms,interval=100ms",
        limit: 100_000,
        counts: (3931, 88, 4),
        digests: (139_648_656, 577_167_295),
    },
    Run {
        seed: 2,
        flows: 3,
        most: 2,
        millis: 5000,
        gap: 907,
        queue: "target=5ms,interval=100ms",
        limit: 100_000,
        counts: (5003, 3, 2),
        digests: (700_854_464, 862_626_371),
    },
    Run {
        seed: 3,
        flows: 5,
        most: 3,
        millis: 3000,
        gap: 1009,
        queue: "target=20ms,interval=50ms",
        limit: 100_000,
        counts: (2973, 1564, 73),
        digests: (102_961_592, 349_257_322),
    },
    Run {
        seed: 7,
        flows: 6,
        most: 3,
        millis: 5000,
        gap: 701,
        queue: "target=5ms,interval=100ms",
        limit: 100_000,
        counts: (7112, 496, 7),
        digests: (657_248_329, 84_247_087),
    },
    Run {
        seed: 6,
        flows: 7,
        most: 2,
        millis: 4000,
        gap: 1511,
        queue: "target=10ms,interval=100ms",
        limit: 100_000,
        counts: (2647, 1246, 47),
        digests: (809_774_589, 449_243_142),
    },
    Run {
        seed: 11,
        flows: 3,
        most: 3,
        millis: 4000,
        gap: 1103,
        queue: "target=5ms,interval=100ms",
        limit: 60,
        counts: (3626, 2452, 28),
        digests: (485_437_262, 267_875_419),
    },
    Run {
        seed: 12,
        flows: 3,
        most: 2,
        millis: 3000,
        gap: 1307,
        queue: "target=20ms,interval=100ms",
        limit: 25,
        counts: (2295, 695, 23),
        digests: (326_174_516, 366_833_586),
    },
];

/// Adds a packet, by its flow and its number in the flow, to a digest of a sequence of packets.
fn add_to(digest: &mut u64, packet: &Packet) {
    let (flow, number) = (u64::from(packet.flow), packet.number());
    *digest = (*digest * 1_000_003 + flow * 100_003 + number) % 1_000_000_007;
}

fn check(run: &Run) -> Outcome {
    let spec = Spec::parse(&format!("sfq_codel[{}]", run.queue)).expect("a queue");
    let limit = Limit::packets(run.limit);
    let mut queue = queue::build(&spec, limit, Stream::new(1, "peers")).expect("a queue");
    let mut random = congruential(run.seed);
    let (mut numbers, mut drops) = (vec![0u64; run.flows as usize], Vec::new());
    let (mut delivered, mut dropped, mut digests) = (0, 0, (0, 0));
    let mut next = run.gap + 7;
    for millis in 1..=run.millis {
        while next < 1000 * millis {
            if let Some(packet) = queue.pop(Time::ZERO + Span::from_micros(next), &mut drops) {
                delivered += 1;
                add_to(&mut digests.0, &packet);
            }
            next += run.gap;
        }
        for _ in 0..random() % (run.most + 1) {
            let draw = random();
            let flow = draw % run.flows;
            let number = numbers[flow as usize];
            numbers[flow as usize] += 1;
            let now = at(millis);
            let body = Body::Data(Data { number, segment: number, ..Data::default() });
            let size = (200 + draw / 16 % 1300) as u32;
            let flow = flow as u32;
            let ecn = Ecn::NotEct;
            let packet = Packet { flow, body, ecn, ..Packet::opaque(size) };
            queue.push(now, &packet, &mut drops);
        }
        for lost in drops.drain(..) {
            dropped += 1;
            add_to(&mut digests.1, &lost.packet);
        }
    }
    same("delivered, dropped, left", (delivered, dropped, queue.packets()), run.counts)?;
    same("digests of deliveries and drops", digests, run.digests)
}

pub(super) fn add(vectors: &mut Vectors) {
    for run in RUNS {
        let Run { seed, flows, millis, limit, .. } = run;
        let test =
            format!("queue/sfqcodel.cc: {flows} flows, {millis} ms, seed {seed}, limit {limit}");
        vectors.holds("sfq_codel", test, move || check(&run));
    }
}
