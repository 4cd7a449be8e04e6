//! genericCC (18299d6), by Copa's authors: figures from running its `update_delta` on series of
//! RTTs and losses.

use paceline_cc::Span;
use paceline_peers::vector::{Outcome, Vectors, near};

use crate::bench::{Acks, at, controller, state};

/// A series with an acknowledgement every 2 ms.
#[derive(Copy, Clone)]
struct Course {
    name: &'static str,
    /// RTT in ms of an acknowledgement by its number, and whether it reveals a loss.
    rtt: fn(u64) -> f64,
    loses: fn(u64) -> bool,
    /// 1 / delta at every 250th acknowledgement, and its tolerance: a round trip's growth, or two
    /// where the RTT changes. There, windows of four RTTs age by each sample's own RTT here, and by
    /// the latest RTT in genericCC.
    inverse_delta: [f64; 12],
    tolerance: f64,
}

fn sawtooth(index: u64) -> f64 {
    (2 * index % 200) as f64
}

/// Five acknowledgements at 50 ms, then always 40 ms of queueing or more.
fn full(index: u64) -> f64 {
    if index < 5 { 50.0 } else { 90.0 + sawtooth(index) / 20.0 }
}

const COURSES: [Course; 4] = [
    Course {
        name: "a queue that empties each 200 ms",
        rtt: |index| 50.0 + sawtooth(index) / 10.0,
        loses: |_| false,
        inverse_delta: [2.0; 12],
        tolerance: 1.01,
    },
    Course {
        name: "a queue that never empties",
        rtt: full,
        loses: |_| false,
        inverse_delta: [3.0, 8.0, 13.0, 18.0, 23.0, 28.0, 34.0, 39.0, 44.0, 49.0, 54.0, 60.0],
        tolerance: 1.01,
    },
    Course {
        name: "a queue that never empties, and a loss each second",
        rtt: full,
        loses: |index| index % 500 == 499,
        inverse_delta: [3.0, 4.0, 9.0, 7.0, 12.0, 8.5, 14.5, 9.75, 14.75, 9.875, 14.875, 10.4375],
        tolerance: 1.01,
    },
    Course {
        name: "full for two seconds, then empties again",
        rtt: |index| match index {
            0..100 => 50.0 + (index % 50) as f64 / 5.0,
            100..1100 => 100.0 + (index % 50) as f64 / 10.0,
            _ => 50.0 + sawtooth(index) / 10.0,
        },
        loses: |_| false,
        inverse_delta: [2.0, 6.0, 10.0, 15.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0],
        tolerance: 2.01,
    },
];

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("Copa's authors");
    for course in COURSES {
        let test = format!("markoviancc.cc update_delta: {}", course.name);
        vectors.holds("copa", test, move || deltas(&course));
    }
    vectors
}

fn deltas(course: &Course) -> Outcome {
    let mut copa = controller("copa[variant=authors,delta=0.5]", 1000);
    let mut acks = Acks::new(1000, Span::ZERO);
    for index in 0..3000 {
        acks.now = at(10_000 + 2 * index);
        acks.rtt = Span::from_secs_f64((course.rtt)(index) / 1e3);
        let mut feedback = acks.of(1.0);
        if (course.loses)(index) {
            (feedback.lost, feedback.lost_packets) = (1000, 1);
        }
        copa.on_feedback(&feedback);
        if index % 250 == 249 {
            let expected = course.inverse_delta[(index / 250) as usize];
            let inverse = 1.0 / state(&*copa, "delta");
            near(&format!("1 / delta at {index}"), inverse, expected, course.tolerance)?;
        }
    }
    Ok(())
}
