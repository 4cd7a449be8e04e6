//! Tables of the study `tcp-awareness` (`crates/remy/studies/tcp-awareness.toml`): 9 to 11 Mbit/s, 100 ms and two senders.

use crate::remy::Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma};
use crate::remy::tables::binary::{self, Node, TrainedTable, cut, rule};

pub(super) static TABLES: &[TrainedTable] = &[
    TrainedTable {
        name: "tcp-awareness/naive",
        summary: "9 to 11 Mbit/s, 100 ms, beside its own kind; delay counts 0.1",
        table: || binary::table(NAIVE),
    },
    TrainedTable {
        name: "tcp-awareness/aware",
        summary: "9 to 11 Mbit/s, 100 ms, beside its own kind or a NewReno; delay counts 0.1",
        table: || binary::table(AWARE),
    },
];

/// Seed 3, 12 generations: 3,726 candidates, 1,073,880 simulated seconds, 33 CPU seconds.
static NAIVE: &[Node] = &[
    cut(SlowRecEwma, 1.01428245649347),
    cut(RttRatio, 1.0184340128014882),
    rule(0.15, 111, 0.9524),
    cut(RttRatio, 1.0641718719710045),
    rule(0.23, 80, 0.9524),
    rule(0.21, 81, 1.0),
    cut(RecEwma, 1.417409250910178),
    cut(RecEwma, 1.063030784797234),
    rule(0.235, 79, 1.0),
    rule(0.21, 79, 0.9524),
    cut(SendEwma, 2.0507660298848687),
    rule(0.654, 20, 1.92),
    rule(0.135, 49, 1.0),
];

/// Seed 3, 12 generations: 4,044 candidates, 1,227,000 simulated seconds, 129 CPU seconds.
static AWARE: &[Node] = &[
    cut(SlowRecEwma, 1.0050292653530082),
    cut(SendEwma, 0.9524000000000002),
    cut(SendEwma, 0.7558999999936615),
    rule(0.72, 281, 0.5249),
    rule(1.02, 251, 2.5917),
    cut(SlowRecEwma, 0.931748493944177),
    rule(1.02, 251, 0.2381),
    rule(1.02, 251, 0.3175),
    cut(RttRatio, 2.077699501330473),
    cut(RecEwma, 1.404444802947983),
    cut(RttRatio, 1.009326561127752),
    rule(0.7, 85, 0.9524),
    rule(0.7, 95, 0.9524),
    rule(1.6, 94, 0.5209),
    rule(0.61, 122, 0.9524),
];
