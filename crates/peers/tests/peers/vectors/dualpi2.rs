//! DualPI2: Linux' sch_dualpi2 (29c297f), and RFC 9332.

use paceline_cc::Ecn;
use paceline_path::Limit;
use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use crate::bench::{Bench, at};

/// Linux' gains, in 1/256 Hz.
const GAINS: &str = "alpha=0.16015625,beta=3.19921875";
const ALPHA: f64 = 41.0 / 256.0;
const BETA: f64 = 819.0 / 256.0;

pub(crate) fn vectors() -> [Vectors; 2] {
    let mut linux = Vectors::of("Linux sch_dualpi2");
    probability(&mut linux);
    scheduling(&mut linux);
    step(&mut linux);
    [linux, coupling()]
}

fn bench(params: &str) -> Bench {
    Bench::new(&format!("dualpi2[{params}]"), Limit::packets(10_000), 1)
}

/// Pushes `count` packets; L4S packets belong to flow 1.
fn push(bench: &mut Bench, now: u64, count: u32, size: u32, ecn: Ecn) {
    let flow = u32::from(matches!(ecn, Ecn::Ect1 | Ecn::Ce));
    for _ in 0..count {
        bench.push(at(now), flow, size, ecn);
    }
}

fn probability(vectors: &mut Vectors) {
    // Base probability after `updates` intervals of 16 ms with packets waiting.
    let waited = |updates: u64| {
        let mut bench = bench(GAINS);
        push(&mut bench, 0, 3, 1000, Ecn::NotEct);
        for update in 1..=updates {
            push(&mut bench, 16 * update, 1, 1000, Ecn::NotEct);
        }
        bench.state("base_prob")
    };
    vectors.holds(
        "dualpi2",
        "calculate_probability: the first update, 16 ms of delay",
        move || near("p'", waited(1), ALPHA * 0.001 + BETA * 0.016, 1e-9),
    );
    vectors.holds("dualpi2", "calculate_probability: the third, 48 ms", move || {
        near("p'", waited(3), ALPHA * (0.001 + 0.017 + 0.033) + BETA * 0.048, 1e-9)
    });
    vectors.holds("dualpi2", "calculate_probability: an empty queue brings it down", || {
        let mut bench = bench(&format!("random=false,{GAINS}"));
        push(&mut bench, 0, 1, 1000, Ecn::NotEct);
        push(&mut bench, 16, 1, 1000, Ecn::NotEct);
        let before = bench.state("base_prob");
        bench.flows(at(17));
        push(&mut bench, 32, 1, 1000, Ecn::NotEct);
        let expected = (before - ALPHA * 0.015 - BETA * 0.016).max(0.0);
        near("p'", bench.state("base_prob"), expected, 1e-9)
    });
    vectors.holds("dualpi2", "calculate_probability: the longer of both delays", || {
        let mut bench = bench("");
        push(&mut bench, 0, 1, 1000, Ecn::Ect1);
        push(&mut bench, 10, 1, 1000, Ecn::NotEct);
        push(&mut bench, 16, 1, 1000, Ecn::NotEct);
        near("p'", bench.state("base_prob"), 0.16 * 0.001 + 3.2 * 0.016, 1e-9)
    });
}

fn scheduling(vectors: &mut Vectors) {
    for (test, l_size, c_size, take) in [
        ("dualpi2_qdisc_dequeue: of full packets C gets a tenth", 1500, 1500, 100),
        ("dualpi2_qdisc_dequeue: small packets in L", 200, 1500, 300),
    ] {
        vectors.holds("dualpi2", test, move || {
            let mut bench = bench("step_thresh=100s");
            push(&mut bench, 0, 400, l_size, Ecn::Ect1);
            push(&mut bench, 0, 200, c_size, Ecn::NotEct);
            // The credit of C (the classic queue) begins at -80 full packets, grows by 10 times L's
            // bytes and falls by 90 times C's.
            let mut credit = -80 * 1514;
            for index in 0..take {
                let from_l = credit <= 0;
                credit += if from_l { 10 * i64::from(l_size) } else { -90 * i64::from(c_size) };
                let flow = bench.pop(at(1)).map(|packet| packet.flow);
                same(&format!("packet {index}"), flow, Some(u32::from(from_l)))?;
            }
            Ok(())
        });
    }
    vectors.holds(
        "dualpi2",
        "dualpi2_skb_classify: ECT(1) and CE are L's, ECT(0) and others C's",
        || {
            let mut bench = bench("");
            for ecn in [Ecn::Ect1, Ecn::Ce, Ecn::Ect0, Ecn::NotEct] {
                push(&mut bench, 0, 1, 1000, ecn);
            }
            same("in L and C", (bench.state("l_packets"), bench.state("c_packets")), (2.0, 2.0))
        },
    );
}

/// Returns which of `count` L4S packets are marked that leave together after `waited` ms.
fn marks_after(waited: u64, count: u32) -> Vec<bool> {
    let mut bench = bench("");
    push(&mut bench, 0, count, 1000, Ecn::Ect1);
    std::iter::from_fn(|| bench.pop(at(waited))).map(|packet| packet.ecn == Ecn::Ce).collect()
}

fn step(vectors: &mut Vectors) {
    vectors.holds("dualpi2", "step: 1 ms is not above 1 ms", || {
        same("marks", marks_after(1, 3), vec![false; 3])
    });
    vectors.holds("dualpi2", "step: 2 ms marks", || {
        same("marks of the first three", marks_after(2, 4)[..3].to_vec(), vec![true; 3])
    });
    vectors.by_design(
        "dualpi2",
        "step: of four packets that arrive together, those that find two before them",
        "Linux compares the length of queue L with the step when a packet arrives, Paceline when it leaves",
        || same("marks", marks_after(2, 4), vec![false, false, true, true]),
    );
    vectors.holds("dualpi2", "must_drop: no drop while less than two full packets wait", || {
        let mut bench = bench("random=false,alpha=0,beta=60");
        push(&mut bench, 0, 1, 1000, Ecn::NotEct);
        push(&mut bench, 16, 1, 1000, Ecn::NotEct);
        that("p' of 0.96", bench.state("base_prob") > 0.95)?;
        bench.flows(at(17));
        push(&mut bench, 18, 1, 1000, Ecn::NotEct);
        bench.pop(at(18));
        same("drops", bench.drops.len(), 0)
    });
}

/// Compares the numbers of marked and dropped packets of a thousand, at a fixed base probability.
fn shares(ecn: Ecn, base: f64, marked: usize, dropped: usize) -> Outcome {
    // The first update, at 16 ms of delay, sets the base probability, because alpha is 0.
    let params =
        format!("random=false,alpha=0,beta={},tupdate=16ms,step_thresh=100s", base / 0.016);
    let mut bench = bench(&params);
    push(&mut bench, 0, 2000, 1000, ecn);
    push(&mut bench, 16, 1, 1000, ecn);
    let (mut left, mut marks) = (0, 0);
    while left + bench.drops.len() < 1000 {
        let packet = bench.pop(at(20)).ok_or("nothing is left")?;
        left += 1;
        marks += usize::from(packet.ecn == Ecn::Ce);
    }
    let drops = bench.drops.len();
    let is_near = marks.abs_diff(marked) <= 2 && drops.abs_diff(dropped) <= 2;
    that(&format!("{marked} marked and {dropped} dropped: {marks} and {drops}"), is_near)
}

fn coupling() -> Vectors {
    let mut vectors = Vectors::of("RFC 9332, Appendix A");
    for (test, ecn, base, marked, dropped) in [
        ("C drops by p'^2", Ecn::NotEct, 0.3, 0, 90),
        ("C marks ECT(0) by p'^2", Ecn::Ect0, 0.3, 90, 0),
        ("L marks by 2 p'", Ecn::Ect1, 0.3, 600, 0),
        ("L marks by 2 p', of 0.05", Ecn::Ect1, 0.05, 100, 0),
        ("overload: C drops ECT(0), too", Ecn::Ect0, 0.6, 0, 360),
        ("overload: L drops by p'^2 and marks the rest", Ecn::Ect1, 0.6, 640, 360),
    ] {
        vectors.holds("dualpi2", test, move || shares(ecn, base, marked, dropped));
    }
    vectors
}
