//! Tables of the study `diversity` (`crates/remy/studies/diversity.toml`): 10 Mbit/s, 100 ms and two senders.

use crate::remy::Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma};
use crate::remy::tables::binary::{self, Node, TrainedTable, cut, rule};

pub(super) static TABLES: &[TrainedTable] = &[
    TrainedTable {
        name: "diversity/throughput",
        summary: "10 Mbit/s, 100 ms and two senders; delay counts a tenth of throughput",
        table: || binary::table(THROUGHPUT),
    },
    TrainedTable {
        name: "diversity/delay",
        summary: "10 Mbit/s, 100 ms and two senders; delay counts ten times as much as throughput",
        table: || binary::table(DELAY),
    },
    TrainedTable {
        name: "diversity/together",
        summary: "As diversity/throughput, trained together with diversity/together-others",
        table: || binary::table(TOGETHER),
    },
    TrainedTable {
        name: "diversity/together-others",
        summary: "As diversity/delay, trained together with diversity/together",
        table: || binary::table(TOGETHER_OTHERS),
    },
];

/// Seed 2, 12 generations: 6,041 candidates, 1,638,720 simulated seconds, 51 CPU seconds.
static THROUGHPUT: &[Node] = &[
    cut(RecEwma, 1.0000000000000009),
    cut(SendEwma, 0.1249875),
    rule(0.635, 94, 1.1999),
    rule(0.888, 11, 0.9999),
    cut(SendEwma, 0.9998999999999998),
    cut(SlowRecEwma, 0.9998851165489672),
    cut(RecEwma, 1.000000000000001),
    rule(0.9688, 38, 0.1333),
    rule(0.9838, 14, 2.9993),
    cut(SlowRecEwma, 1.3638640834022617),
    rule(0.9688, 28, 0.1333),
    rule(0.9675, 11, 0.1333),
    cut(RttRatio, 2.7777777777777777),
    cut(SendEwma, 0.9999999997793286),
    rule(0.9625, 40, 0.1111),
    cut(SlowRecEwma, 0.9435178531362162),
    rule(0.8713, 106, 0.127),
    rule(0.9906, 9, 0.127),
    cut(SendEwma, 1.0000000000000009),
    rule(0.9756, 11, 0.1333),
    rule(0.939, 41, 0.1333),
];

/// Seed 2, 12 generations: 872 candidates, 219,960 simulated seconds, 3 CPU seconds.
static DELAY: &[Node] = &[rule(1.0, 61, 2.0833)];

/// Seed 3, 12 generations: 5,145 candidates, 1,054,140 simulated seconds, 23 CPU seconds.
static TOGETHER: &[Node] = &[
    cut(RecEwma, 1.5624999999999991),
    rule(1.0, 241, 1.6406),
    cut(RttRatio, 1.000210891089109),
    cut(SendEwma, 1.6404887308105014),
    rule(1.0, 91, 0.8927),
    rule(1.0, 91, 1.0712),
    cut(RttRatio, 1.1463564356435643),
    rule(1.0, 91, 1.9688),
    cut(SendEwma, 1.62719420370061),
    rule(1.0, 91, 1.8991),
    cut(SendEwma, 1.6407000000000014),
    rule(1.0, 91, 1.9688),
    rule(1.0, 91, 1.6407),
];

/// The other half of the training of `diversity/together`.
static TOGETHER_OTHERS: &[Node] = &[
    cut(RttRatio, 1.0000232772277227),
    cut(RecEwma, 2.4999999999999982),
    cut(RttRatio, 1.0),
    rule(1.0, 27, 2.625),
    cut(RecEwma, 1.574600001830505),
    rule(1.0, 61, 1.0414),
    cut(SendEwma, 2.0230467324109993),
    rule(1.0, 61, 1.0414),
    rule(1.0, 61, 1.4282),
    rule(1.0, 61, 1.9841),
    cut(SendEwma, 2.3606077449406344),
    cut(RecEwma, 1.9894713572372447),
    rule(1.0, 61, 10.5326),
    rule(1.0, 61, 3.0),
    cut(RttRatio, 1.0093107722772277),
    rule(1.0, 61, 3.4285),
    rule(1.0, 61, 2.8571),
];
