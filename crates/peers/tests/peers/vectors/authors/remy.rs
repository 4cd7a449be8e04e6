//! Remy's published program (41364b8): figures from running its memory on acknowledgements.

use std::sync::LazyLock;

use paceline_cc::{Span, Time};
use paceline_peers::vector::{Vectors, near};
use paceline_schemes::remy::{Memory, Signal, Tracker};

use crate::bench::congruential;

/// Signals, in the order of the columns.
const SIGNALS: [Signal; 6] = [
    Signal::SendEwma,
    Signal::RecEwma,
    Signal::RttRatio,
    Signal::SlowRecEwma,
    Signal::RttDiff,
    Signal::QueueingDelay,
];

/// Number of an acknowledgement, and the signals after it.
const ROWS: [(usize, [f64; 6]); 11] = [
    (0, [0.0; 6]),
    (5, [2.111679077, 1.903533936, 1.0, 0.073683494, 0.0, 1.903533936]),
    (11, [4.095883109, 4.097076851, 1.014925373, 0.200827159, 1.5, 4.097076851]),
    (17, [4.580183227, 4.621526697, 1.014925373, 0.317866441, 1.5, 4.621526697]),
    (23, [4.87959376, 4.857405641, 1.015, 0.425640586, 1.5, 4.857405641]),
    (29, [4.716497712, 4.70364634, 1.01, 0.519323641, 1.0, 4.70364634]),
    (35, [4.956962545, 8.954635766, 1.655, 0.887302264, 65.5, 8.954635766]),
    (41, [6.100754495, 9.093261502, 1.78, 1.078640622, 78.0, 9.093261502]),
    (47, [6.046702063, 4.081013193, 1.445, 1.053605581, 44.5, 4.081013193]),
    (53, [5.974973492, 8.081379399, 1.815, 1.311798062, 81.5, 8.081379399]),
    (59, [5.16203177, 5.568611927, 1.7975, 1.383259128, 79.75, 11.137223853]),
];

/// The memory after each of sixty acknowledgements; some packets are missing.
pub(crate) static MEMORIES: LazyLock<Vec<Memory>> = LazyLock::new(|| {
    let millis = |millis: f64| Time::ZERO + Span::from_secs_f64(millis / 1e3);
    let mut random = congruential(12_345);
    let mut tracker = Tracker::new(Span::ZERO);
    let (mut sent, mut received) = (10.0, 110.0f64);
    let (mut number, mut largest) = (0i64, -1i64);
    let acknowledge = |index: i64| {
        let draw = random();
        sent += 1.0 + (draw % 40) as f64 / 4.0;
        let late = (draw / 40 % if index < 30 { 8 } else { 200 }) as f64 / 2.0;
        received = received.max(sent + 100.0 + late);
        let ahead = number - largest;
        (largest, number) = (number, number + 1 + i64::from(draw % 3 == 0));
        tracker.on_ack(millis(sent), millis(received), ahead as u64);
        *tracker.memory()
    };
    (0..60).map(acknowledge).collect()
});

pub(super) fn vectors() -> Vectors {
    let mut vectors = Vectors::of("Remy, as published");
    for (index, expected) in ROWS {
        vectors.holds(
            "remy",
            format!("memory.cc: after {} acknowledgements", index + 1),
            move || {
                SIGNALS.into_iter().zip(expected).try_for_each(|(signal, expected)| {
                    near(signal.name(), MEMORIES[index].get(signal), expected, 1e-8)
                })
            },
        );
    }
    vectors
}
