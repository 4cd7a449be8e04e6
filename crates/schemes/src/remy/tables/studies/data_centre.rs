//! Tables of the study `data-centre` (`crates/remy/studies/data-centre.toml`): 10 Gbit/s, 4 ms, 1 to 64 senders with flows of 20 MB; only completion times count, and repeats.

use crate::remy::Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma};
use crate::remy::tables::binary::{self, Node, TrainedTable, cut, rule};

pub(super) static TABLES: &[TrainedTable] = &[TrainedTable {
    name: "data-centre/data-centre",
    summary: "Data centre: 10 Gbit/s, 4 ms, 1 to 64 senders with flows of 20 MB; delay does not count, lost packets do",
    table: || binary::table(NODES),
}];

/// Seed 1, 8 generations: 2,598 candidates, 3,302 simulated seconds, 402 CPU seconds.
static NODES: &[Node] = &[
    cut(RecEwma, 0.06940000000000004),
    cut(SendEwma, 0.025100041020967512),
    cut(RttRatio, 1.0011657085728567),
    cut(SendEwma, 0.019900000000000022),
    rule(1.0, 154, 0.0086),
    rule(1.0, 154, 0.0158),
    rule(1.0, 154, 0.0239),
    cut(SlowRecEwma, 0.021355559348730076),
    rule(1.0, 154, 0.0097),
    cut(RttRatio, 1.0029493659275632),
    rule(1.0, 154, 0.0333),
    cut(SendEwma, 0.05346812799472487),
    rule(1.0, 154, 0.0462),
    rule(1.0, 154, 0.0462),
    rule(1.0, 1, 0.1561),
];
