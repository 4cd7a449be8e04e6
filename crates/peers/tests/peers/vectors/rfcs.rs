//! RFCs and papers: figures computed by hand.

use paceline_cc::{Congestion, Ecn, Span};
use paceline_path::{DropReason, Limit};
use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use crate::bench::{Acks, Bench, Books, at, controller, ms, state};

pub(crate) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("RFCs, papers");
    vectors.holds("PRR", "RFC 6937 §4, first example: about one packet for two", prr_example);
    vectors.holds("dctcp", "RFC 8257 §3.3: alpha 0.5 takes a quarter of the window", || {
        let mut dctcp = controller("dctcp[alpha0=0.5]", 1460);
        dctcp.on_feedback(&Acks::new(1460, ms(10)).event(Congestion::Ecn));
        near("cwnd", state(&*dctcp, "cwnd"), 7.5, 1e-9)
    });
    vectors.holds("codel", "RFC 8289 §4.1: the times of drops", codel_times);
    vectors.holds("pie", "RFC 8033 §4.2: the probability of drops", pie_probability);
    vectors.holds("red", "Floyd and Jacobson 1993, §6: the average after a burst", || {
        let mut bench = Bench::new("red[min=500,max=900,w=0.002]", Limit::packets(1000), 1);
        bench.push_many(at(0), 51, 500, Ecn::NotEct);
        // 51 arrivals that find 0, 1, ... 50 packets in the queue.
        let expected = 51.0 + (0.998_f64.powi(51) - 1.0) / 0.002;
        near("average", bench.state("average"), expected, 1e-9)
    });
    vectors.holds(
        "dualpi2",
        "RFC 9332 §2.1: drops by the square, marks by twice the probability",
        coupling,
    );
    vectors
}

fn prr_example() -> Outcome {
    let mut books = Books::new(1000);
    books.send(20);
    books.now = at(100);
    for last in [1, 2] {
        books.sack(1, last, 20_000);
        books.send(1);
    }
    books.sack(1, 3, 10_000);
    that("repair", books.room(10_000) >= 1000 && books.repair())?;
    let mut sent = 0;
    for last in 4..20 {
        books.sack(1, last, 10_000);
        let packets = books.room(10_000) / 1000;
        books.send(packets);
        sent += packets;
    }
    same("in flight in the end", books.account.in_flight(), 10_000)?;
    that(&format!("{sent} sent"), (7..=9).contains(&sent))
}

/// All packets have waited for seconds when they begin to leave, one every millisecond.
fn codel_times() -> Outcome {
    let mut bench = Bench::new("codel[mtu=100]", Limit::packets(100_000), 1);
    for now in 0..3000 {
        bench.push_many(at(now), 4, 500, Ecn::NotEct);
    }
    let mut times = Vec::new();
    for now in 0..700u64 {
        let before = bench.drops.len();
        bench.pop(at(3000 + now));
        times.extend(std::iter::repeat_n(now as f64, bench.drops.len() - before));
    }
    // The first drop comes after an interval, the next ones after an interval divided by the root
    // of the count.
    let (mut expected, mut next) = (Vec::new(), 100.0_f64);
    while next < 700.0 {
        expected.push(next.ceil());
        next += 100.0 / (expected.len() as f64).sqrt();
    }
    same("drops", times.len(), expected.len())?;
    times
        .iter()
        .zip(&expected)
        .try_for_each(|(time, wanted)| near("a drop, ms", *time, *wanted, 1.0))
}

/// Runs RFC 8033's controller beside the queue: alpha 0.125, beta 1.25, scaled at small
/// probabilities.
fn pie_probability() -> Outcome {
    let mut bench = Bench::new("pie", Limit::packets(2000), 3);
    let mut waiting = std::collections::VecDeque::new();
    let (mut probability, mut old, mut delay) = (0.0_f64, 0.0_f64, 0.0_f64);
    for now in 1..4000u64 {
        if now % 15 == 0 {
            let scales = [
                (1e-6, 2048.0),
                (1e-5, 512.0),
                (1e-4, 128.0),
                (1e-3, 32.0),
                (1e-2, 8.0),
                (1e-1, 2.0),
            ];
            let scale = scales
                .iter()
                .find(|(below, _)| probability < *below)
                .map_or(1.0, |(_, scale)| *scale);
            let step = (0.125 * (delay - 0.015) + 1.25 * (delay - old)) / scale;
            probability += if probability >= 0.1 { step.min(0.02) } else { step };
            if delay == 0.0 && old == 0.0 {
                probability *= 0.98;
            } else if delay > 0.25 {
                probability += 0.02;
            }
            probability = probability.clamp(0.0, 1.0);
            old = delay;
        }
        if now % 10 == 0 {
            let drops = bench.drops.len();
            bench.push(at(now), 0, 1000, Ecn::NotEct);
            if bench.drops.len() == drops {
                waiting.push_back(now);
            }
            let tolerance = 1e-9 + 1e-6 * probability;
            near(&format!("at {now} ms"), bench.state("drop_prob"), probability, tolerance)?;
        }
        if now % 14 == 0 {
            bench.pop(at(now));
            let since = waiting.pop_front();
            delay = since.map_or(delay, |since| (now - since) as f64 / 1e3);
            delay = if waiting.is_empty() { 0.0 } else { delay };
        }
    }
    that("it has grown", probability > 0.05)
}

/// Classic and L4S packets arrive at 1.1 times the departure rate, for 20 s.
fn coupling() -> Outcome {
    let mut bench = Bench::new("dualpi2", Limit::packets(10_000), 5);
    let (mut classic, mut l4s, mut marked) = (0u64, 0u64, 0u64);
    let (mut base, mut looks, mut settled_drops) = (0.0, 0.0, 0);
    for tick in 0..200_000u64 {
        let now = at(0) + Span::from_micros(100 * tick);
        let settled = tick > 60_000;
        if tick == 60_001 {
            settled_drops = bench.dropped(DropReason::Aqm);
        }
        if tick % 12 == 0 {
            bench.push(now, 1, 1500, Ecn::NotEct);
            classic += u64::from(settled);
        }
        if tick % 24 == 0 {
            bench.push(now, 2, 1500, Ecn::Ect1);
        }
        if tick % 9 == 0 {
            let left = bench.pop(now).filter(|packet| settled && packet.flow == 2);
            l4s += u64::from(left.is_some());
            marked += u64::from(left.is_some_and(|packet| packet.ecn == Ecn::Ce));
            if settled {
                base += bench.state("base_prob");
                looks += 1.0;
            }
        }
    }
    let base = base / looks;
    let dropped = (bench.dropped(DropReason::Aqm) - settled_drops) as f64 / classic as f64;
    near("drops", dropped, base * base, 0.2 * base * base + 0.005)?;
    near("marks", marked as f64 / l4s as f64, (2.0 * base).min(1.0), 0.05)
}
