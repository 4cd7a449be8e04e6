//! Mahimahi (ae477d4): figures from runs of its CoDel and PIE.

use paceline_cc::Ecn;
use paceline_path::Limit;
use paceline_peers::vector::{Outcome, Vectors, near, same};

use crate::bench::{Bench, at, congruential};

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("Mahimahi");
    for run in CODEL_RUNS {
        let test = format!("codel_packet_queue.cc: {} ms, seed {}", run.millis, run.seed);
        vectors.holds("codel-mahimahi", test, move || codel(&run));
    }
    for run in PIE_RUNS {
        let test = format!("pie_packet_queue.cc: seed {}", run.seed);
        vectors.holds("pie-mahimahi", test, move || pie(&run));
    }
    vectors
}

/// Random arrivals at CoDel, and the results.
#[derive(Copy, Clone)]
struct CodelRun {
    seed: u32,
    /// Packets that arrive in a millisecond: a random integer from 0 to twice `arrivals.0`, divided
    /// by `arrivals.1`.
    arrivals: (i64, i64),
    /// Milliseconds between two departures.
    gap: u64,
    millis: u64,
    queue: &'static str,
    limit: u64,
    delivered: u64,
    /// Digest of the delivered packets and their times.
    digest: u64,
    count: f64,
    left: usize,
}

const CODEL_RUNS: [CodelRun; 4] = [
    CodelRun {
        seed: 1,
        arrivals: (1, 1),
        gap: 2,
        millis: 3000,
        queue: "target=5ms,interval=100ms",
        limit: 2000,
        delivered: 1499,
        digest: 68_167_394,
        count: 250.0,
        left: 1258,
    },
    CodelRun {
        seed: 2,
        arrivals: (1, 1),
        gap: 3,
        millis: 4000,
        queue: "target=50ms,interval=100ms",
        limit: 200,
        delivered: 1333,
        digest: 916_423_283,
        count: 439.0,
        left: 199,
    },
    CodelRun {
        seed: 3,
        arrivals: (2, 1),
        gap: 2,
        millis: 2500,
        queue: "target=20ms,interval=100ms",
        limit: 1000,
        delivered: 1250,
        digest: 911_948_475,
        count: 169.0,
        left: 999,
    },
    CodelRun {
        seed: 4,
        arrivals: (1, 2),
        gap: 2,
        millis: 6000,
        queue: "target=5ms,interval=50ms",
        limit: 100_000,
        delivered: 1982,
        digest: 472_996_633,
        count: 0.0,
        left: 1,
    },
];

fn codel(run: &CodelRun) -> Outcome {
    let queue = format!("codel-mahimahi[{}]", run.queue);
    let mut bench = Bench::new(&queue, Limit::packets(run.limit), 1);
    let mut random = congruential(run.seed);
    let (mut delivered, mut digest) = (0u64, 0u64);
    for now in 1..=run.millis {
        for _ in 0..random() % (2 * run.arrivals.0 + 1) / run.arrivals.1 {
            bench.push(at(now), 1, (200 + random() % 1300) as u32, Ecn::NotEct);
        }
        if now % run.gap == 0
            && let Some(packet) = bench.pop(at(now))
        {
            delivered += 1;
            digest = (digest * 1_000_003 + packet.number() * 31 + now) % 1_000_000_007;
        }
    }
    same("delivered, left", (delivered, bench.queue.packets()), (run.delivered, run.left))?;
    same("count", bench.state("count"), run.count)?;
    same("digest", digest, run.digest)
}

/// Two bursts of packets at PIE, none of which may be dropped, so that randomness has no effect.
#[derive(Copy, Clone)]
struct PieRun {
    seed: u32,
    queue: &'static str,
    /// Packets per burst, and time of the second burst; the first one comes at 1 ms.
    burst: u32,
    second: u64,
    /// Milliseconds between two departures.
    gap: u64,
    /// Milliseconds between two readings. `seen` has the readings: drop probability, delay in ms,
    /// and number of consecutive readings with these values.
    every: u64,
    seen: &'static [(f64, f64, usize)],
}

const PIE_RUNS: [PieRun; 4] = [
    PieRun {
        seed: 1,
        queue: "qdelay_ref=15ms,max_burst=150ms",
        burst: 200,
        second: 1000,
        gap: 1,
        every: 93,
        seen: &[(0.0, 106.0, 1), (0.0, 14.0, 9), (1.0, 144.0, 1), (0.0, 80.0, 1), (0.0, 26.0, 4)],
    },
    PieRun {
        seed: 2,
        queue: "qdelay_ref=20ms,max_burst=100ms",
        burst: 300,
        second: 1500,
        gap: 2,
        every: 150,
        seen: &[
            (1.0, 459.0, 1),
            (0.46875, 308.0, 1),
            (0.0, 186.0, 1),
            (0.0, 26.0, 6),
            (0.0, 0.0, 1),
            (1.0, 472.0, 1),
            (0.320_312_5, 323.0, 1),
            (0.0, 178.0, 1),
            (0.0, 29.0, 3),
        ],
    },
    PieRun {
        seed: 3,
        queue: "qdelay_ref=50ms,max_burst=60ms",
        burst: 60,
        second: 900,
        gap: 3,
        every: 81,
        seen: &[(1.0, 99.0, 1), (0.0, 24.0, 10), (0.928_710_937_5, 91.0, 1), (0.0, 23.0, 4)],
    },
    PieRun {
        seed: 4,
        queue: "qdelay_ref=30ms,max_burst=300ms",
        burst: 40,
        second: 400,
        gap: 1,
        every: 43,
        seen: &[(0.078_125, 10.0, 9), (0.121_093_75, 14.0, 7)],
    },
];

fn pie(run: &PieRun) -> Outcome {
    let mut bench = Bench::new(&format!("pie-mahimahi[{}]", run.queue), Limit::packets(5000), 1);
    let mut random = congruential(run.seed);
    let rows = run.seen.iter().flat_map(|(probability, delay, times)| {
        std::iter::repeat_n((*probability, *delay), *times)
    });
    let mut now = 0;
    for (probability, delay) in rows {
        for _ in 0..run.every {
            now += 1;
            for _ in 0..if now == 1 || now == run.second { run.burst } else { 0 } {
                bench.push(at(now), 1, (200 + random() % 1300) as u32, Ecn::NotEct);
            }
            if now % run.gap == 0 {
                bench.pop(at(now));
            }
        }
        near(&format!("probability at {now} ms"), bench.state("drop_prob"), probability, 1e-9)?;
        same(&format!("delay at {now} ms"), bench.state("qdelay_ms"), delay)?;
        same(&format!("burst allowance at {now} ms"), bench.state("burst_allowance_ms"), 0.0)?;
    }
    same("drops", bench.drops.len(), 0)
}
