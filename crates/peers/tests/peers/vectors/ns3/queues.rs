//! ns-3's test suites of queue disciplines. ns-3 asserts inequalities between single runs with its
//! own random numbers; this file asserts them for one stream of random numbers (PIE), or for sums
//! over forty (RED).

use paceline_cc::{Body, Ecn, Packet};
use paceline_path::{DropReason, Limit};
use paceline_peers::vector::{Outcome, Vectors, same, that};

use crate::bench::{Bench, at};

pub(super) fn add(vectors: &mut Vectors) {
    codel(vectors);
    fq_codel(vectors);
    pie(vectors);
    red(vectors);
}

fn number(packet: &Packet) -> Option<u64> {
    match &packet.body {
        Body::Data(data) => Some(data.number),
        _ => None,
    }
}

/// Returns the numbers of the packets that leave now.
fn order(bench: &mut Bench) -> Vec<u64> {
    std::iter::from_fn(|| bench.pop(at(0))).filter_map(|packet| number(&packet)).collect()
}

/// Pushes twenty packets at once; one leaves at 10 ms, two at 210 and one at 420. Returns drops,
/// marks and packets left after each.
fn codel_drops(queue: &str, ecn: Ecn) -> Vec<(usize, u64, u64)> {
    let mut bench = Bench::new(queue, Limit::packets(500), 1);
    bench.push_many(at(0), 20, 1000, ecn);
    let mut seen = Vec::new();
    for now in [10, 210, 210, 420] {
        bench.pop(at(now));
        seen.push((bench.drops.len(), bench.queue.marks(), bench.queue.packets() as u64));
    }
    seen
}

fn codel(vectors: &mut Vectors) {
    for (test, limit) in [
        ("codel-queue-disc-test-suite.cc BasicOverflow, packets", Limit::packets(500)),
        ("codel-queue-disc-test-suite.cc BasicOverflow, bytes", Limit::bytes(500_000)),
    ] {
        vectors.holds("codel", test, move || {
            let mut bench = Bench::new("codel[mtu=1500]", limit, 1);
            bench.push_many(at(0), 503, 1000, Ecn::NotEct);
            same("packets", bench.queue.packets(), 500)?;
            let drops = (bench.dropped(DropReason::Full), bench.dropped(DropReason::Aqm));
            same("drops", drops, (3, 0))
        });
    }
    vectors.holds("codel", "codel-queue-disc-test-suite.cc BasicEnqueueDequeue", || {
        let mut bench = Bench::new("codel[mtu=1500]", Limit::packets(500), 1);
        bench.push_many(at(0), 6, 1000, Ecn::NotEct);
        same("order", order(&mut bench), (0..6).collect())?;
        same("drops", bench.drops.len(), 0)
    });
    vectors.holds("codel", "codel-queue-disc-test-suite.cc BasicDrop", || {
        // The drop times 310 and 380.7 ms have passed at 420 ms.
        let expected = vec![(0, 0, 19), (1, 0, 17), (1, 0, 16), (3, 0, 13)];
        same("drops, marks, left", codel_drops("codel[mtu=1500]", Ecn::NotEct), expected)
    });
    vectors.holds("codel", "codel-queue-disc-test-suite.cc BasicMark, capable", || {
        let expected = vec![(0, 0, 19), (0, 1, 18), (0, 1, 17), (0, 2, 16)];
        same("drops, marks, left", codel_drops("codel[mtu=1500,ecn=true]", Ecn::Ect0), expected)
    });
    vectors.holds("codel", "codel-queue-disc-test-suite.cc BasicMark, not capable", || {
        let seen = codel_drops("codel[mtu=1500,ecn=true]", Ecn::NotEct);
        same("drops, marks", seen.last().map(|last| (last.0, last.1)), Some((3, 0)))
    });
}

/// Runs five flows of twenty packets, of which the first three are ECN-capable; one packet leaves
/// every 110 ms. Returns marks and drops by flow.
fn five_flows() -> ([u32; 6], [u32; 6]) {
    let mut bench = Bench::new("fq_codel[ecn=true,mtu=1500,backlog=queue]", Limit::NONE, 1);
    for flow in 1..=5 {
        let ecn = if flow <= 3 { Ecn::Ect0 } else { Ecn::NotEct };
        for _ in 0..20 {
            bench.push(at(0), flow, 120, ecn);
        }
    }
    let (mut marks, mut drops) = ([0; 6], [0; 6]);
    for index in 1..=60 {
        if let Some(packet) = bench.pop(at(110 * index)) {
            marks[packet.flow as usize] += u32::from(packet.ecn == Ecn::Ce);
        }
    }
    for dropped in &bench.drops {
        drops[dropped.packet.flow as usize] += 1;
    }
    (marks, drops)
}

fn fq_codel(vectors: &mut Vectors) {
    vectors.holds("fq_codel", "fq-codel-queue-disc-test-suite.cc Deficit", || {
        let mut bench = Bench::new("fq_codel[quantum=90,mtu=1500]", Limit::NONE, 1);
        bench.push(at(0), 1, 120, Ecn::NotEct);
        same("the first", bench.pop(at(0)).map(|packet| packet.flow), Some(1))?;
        for flow in [1, 1, 2, 2] {
            bench.push(at(0), flow, 120, Ecn::NotEct);
        }
        // Flow 1 has a deficit of 30 bytes, so the new flow 2 is served first.
        same("order", bench.flows(at(0)), vec![2, 1, 2, 1])
    });
    vectors.by_design(
        "fq_codel",
        "fq-codel-queue-disc-test-suite.cc PacketLimit: one and two packets are left",
        "RFC 8290 §4.1 drops half of the packets of the longest queue, rounded down here; Linux and ns-3 drop until half of \
         its bytes are gone",
        || {
            let mut bench = Bench::new("fq_codel[limit=4,mtu=1500]", Limit::NONE, 1);
            for flow in [1, 1, 1, 2, 2] {
                bench.push(at(0), flow, 120, Ecn::NotEct);
            }
            let mut left = bench.flows(at(0));
            left.sort_unstable();
            same("flows", left, vec![1, 2, 2])
        },
    );
    vectors.by_design(
        "fq_codel",
        "fq-codel-queue-disc-test-suite.cc ECNMarking: four drops of packets that are not capable",
        "RFC 8289 §5.8 takes exact square roots; Linux and ns-3 take one step of Newton's method, so that the second drop \
         comes after 50 ms, not after 70.7 ms",
        || same("drops", five_flows().1, [0, 0, 0, 0, 4, 4]),
    );
    vectors.holds(
        "fq_codel",
        "fq-codel-queue-disc-test-suite.cc ECNMarking: six marks of those that are",
        || {
            let (marks, drops) = five_flows();
            same("marks", marks, [0, 6, 6, 6, 0, 0])?;
            same("drops", drops[..4].to_vec(), vec![0; 4])
        },
    );
    vectors.holds("fq_codel", "fq-codel-queue-disc-test-suite.cc IPFlowsSeparation", || {
        let mut bench = Bench::new("fq_codel[quantum=1500,mtu=1500]", Limit::NONE, 1);
        for flow in [1, 1, 1, 2] {
            bench.push(at(0), flow, 1500, Ecn::NotEct);
        }
        same("order", bench.flows(at(0)), vec![1, 2, 1, 1])
    });
}

/// Results of a queue under an open loop.
#[derive(Debug)]
struct Seen {
    aqm: u64,
    full: u64,
    marks: u64,
    /// Largest drop probability, and its largest step from above 0.1, as arrivals see them.
    most: f64,
    step: f64,
}

/// Pushes 400 packets of 1000 bytes, one every 10 ms; one leaves every `leave` ms.
fn pie_seen(params: &str, leave: u64, ecn: Ecn) -> Seen {
    let mut bench = Bench::new(&format!("pie[mtu=1000,{params}]"), Limit::packets(300), 7);
    let (mut most, mut step, mut last): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for now in 1..=400 * leave {
        if now % 10 == 0 && now <= 4000 {
            bench.push(at(now), 0, 1000, ecn);
            let probability = bench.state("drop_prob");
            most = most.max(probability);
            step = step.max(if last > 0.1 { probability - last } else { 0.0 });
            last = probability;
        }
        if now % leave == 0 {
            bench.pop(at(now));
        }
    }
    let (aqm, full) = (bench.dropped(DropReason::Aqm), bench.dropped(DropReason::Full));
    Seen { aqm, full, marks: bench.queue.marks(), most, step }
}

fn pie(vectors: &mut Vectors) {
    const BASE: &str = "t_update=30ms,qdelay_ref=20ms,max_burst=100ms";
    const FAR: &str = "t_update=30ms,qdelay_ref=80ms,max_burst=100ms";
    const SELDOM: &str = "t_update=90ms,qdelay_ref=20ms,max_burst=100ms";
    let drops = |params: &str, leave: u64| pie_seen(params, leave, Ecn::NotEct).aqm;
    for (test, more, less) in [
        ("pie-queue-disc-test-suite.cc 3: a higher reference drops less", (BASE, 12), (FAR, 12)),
        ("pie-queue-disc-test-suite.cc 4: a slower link drops more", (BASE, 15), (BASE, 12)),
        ("pie-queue-disc-test-suite.cc 5: slower updates drop less", (BASE, 15), (SELDOM, 15)),
    ] {
        vectors.holds("pie", test, move || {
            let (more, less) = (drops(more.0, more.1), drops(less.0, less.1));
            that(&format!("{more} > {less}"), more > less)
        });
    }
    // Condition in addition to early drops without drops at a full buffer.
    type Also = fn(&Seen) -> bool;
    let runs: [(&'static str, &'static str, u64, Ecn, Also); 8] = [
        ("pie-queue-disc-test-suite.cc 2: early drops only", BASE, 12, Ecn::NotEct, |_| true),
        (
            "pie-queue-disc-test-suite.cc 6: the estimator of rates",
            "delay=rate",
            14,
            Ecn::NotEct,
            |_| true,
        ),
        (
            "pie-queue-disc-test-suite.cc 7: without the cap a step above 0.02",
            "cap_drop=false",
            14,
            Ecn::NotEct,
            |seen| seen.step > 0.02,
        ),
        (
            "pie-queue-disc-test-suite.cc 8: with the cap none",
            "cap_drop=true",
            14,
            Ecn::NotEct,
            |seen| seen.step < 0.02 + 1e-15,
        ),
        (
            "pie-queue-disc-test-suite.cc 9: packets not capable of marks",
            "ecn=true,mark_ecnth=0.3",
            14,
            Ecn::NotEct,
            |seen| seen.marks == 0,
        ),
        (
            "pie-queue-disc-test-suite.cc 10: a queue that does not mark",
            "ecn=false,mark_ecnth=0.3",
            14,
            Ecn::Ect0,
            |seen| seen.marks == 0,
        ),
        (
            "pie-queue-disc-test-suite.cc 11: marks, and drops above 0.3",
            "ecn=true,mark_ecnth=0.3",
            14,
            Ecn::Ect0,
            |seen| seen.marks > 0 && seen.most > 0.3,
        ),
        (
            "pie-queue-disc-test-suite.cc 12: derandomized",
            "derandomize=true",
            14,
            Ecn::NotEct,
            |_| true,
        ),
    ];
    for (test, params, leave, ecn, also) in runs {
        vectors.holds("pie", test, move || {
            let seen = pie_seen(params, leave, ecn);
            that(&format!("{seen:?}"), seen.aqm > 0 && seen.full == 0 && also(&seen))
        });
    }
}

/// Pushes 300 packets at once; returns drops by the average, drops at a full buffer, and marks.
fn red_seen(params: &str, limit: Limit, ecn: Ecn, seed: u64) -> (u64, u64, u64) {
    let mut bench = Bench::new(&format!("red[{params}]"), limit, seed);
    bench.push_many(at(0), 300, 500, ecn);
    (bench.dropped(DropReason::Aqm), bench.dropped(DropReason::Full), bench.queue.marks())
}

fn red(vectors: &mut Vectors) {
    const BASE: &str = "min=70,max=150,w=0.02,max_p=0.02";
    let limit = Limit::packets(300);
    let drops = move |params: &str, limit: Limit| {
        let (early, full, _) = red_seen(params, limit, Ecn::NotEct, 7);
        early + full
    };
    vectors.holds("red", "red-queue-disc-test-suite.cc 1: order", || {
        let mut bench = Bench::new("red[min=2,max=5,w=0.002]", Limit::packets(8), 1);
        bench.push_many(at(0), 8, 500, Ecn::NotEct);
        same("order", order(&mut bench), (0..8).collect())
    });
    vectors.holds(
        "red",
        "red-queue-disc-test-suite.cc 2: no drop with a slow average",
        move || same("drops", drops("min=70,max=150,w=0.002,max_p=0.02", limit), 0),
    );
    vectors.holds("red", "red-queue-disc-test-suite.cc 2: the same in bytes", move || {
        let params = "min=35000B,max=75000B,w=0.002,max_p=0.02";
        same("drops", drops(params, Limit::bytes(150_000)), 0)
    });
    vectors.holds(
        "red",
        "red-queue-disc-test-suite.cc 3: drops with a faster average",
        move || that("there are drops", drops(BASE, limit) > 0),
    );
    for (test, params) in [
        (
            "red-queue-disc-test-suite.cc 4: a lower maximum drops more",
            "min=70,max=100,w=0.02,max_p=0.02",
        ),
        (
            "red-queue-disc-test-suite.cc 5: a higher probability drops more",
            "min=70,max=150,w=0.02,max_p=0.2",
        ),
        (
            "red-queue-disc-test-suite.cc 6: without the gentle slope more",
            "min=70,max=150,w=0.02,max_p=0.02,gentle=false",
        ),
        (
            "red-queue-disc-test-suite.cc 7: without waiting between drops more",
            "min=70,max=150,w=0.02,max_p=0.02,wait=false",
        ),
    ] {
        vectors.holds("red", test, move || drops_more(params, BASE, limit));
    }
    const ECN: &str = "min=30,max=90,w=0.002,max_p=0.5";
    for (test, marks, ecn, expected) in [
        (
            "red-queue-disc-test-suite.cc 8: drops of packets not capable",
            true,
            Ecn::NotEct,
            (true, false),
        ),
        (
            "red-queue-disc-test-suite.cc 9: drops of a queue that does not mark",
            false,
            Ecn::Ect0,
            (true, false),
        ),
        (
            "red-queue-disc-test-suite.cc 10: marks in place of drops",
            true,
            Ecn::Ect0,
            (false, true),
        ),
    ] {
        vectors.holds("red", test, move || {
            let (early, _, marked) = red_seen(&format!("{ECN},ecn={marks}"), limit, ecn, 7);
            same("early drops, marks", (early > 0, marked > 0), expected)
        });
    }
}

fn drops_more(params: &str, base: &str, limit: Limit) -> Outcome {
    let sum = |params: &str| -> u64 {
        let drops = |seed| {
            let (early, full, _) = red_seen(params, limit, Ecn::NotEct, seed);
            early + full
        };
        (0..40).map(drops).sum()
    };
    let (more, less) = (sum(params), sum(base));
    that(&format!("{more} > {less}"), more > less)
}
