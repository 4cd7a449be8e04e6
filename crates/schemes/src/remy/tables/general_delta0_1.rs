//! Trained by `paceline remy train scenarios/remy/general-delta0.1.toml --generations 7` with seed 1:
//! 2,862 candidates, 2,751,900 simulated seconds, 548 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "general-delta0.1";
pub(super) const SUMMARY: &str =
    "Trained here for 10 to 20 Mbit/s, 100 to 200 ms and 1 to 16 senders; delay counts 0.1";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.1392871240051512),
    cut(SlowRecEwma, 1.5804118178878834),
    cut(SendEwma, 0.7471388017250369),
    rule(0.995, 6, 0.5142),
    rule(0.975, 6, 0.5142),
    rule(0.9813, 3, 0.1714),
    cut(SlowRecEwma, 2.5658860225984768),
    cut(SlowRecEwma, 1.5965270478436018),
    cut(SlowRecEwma, 1.2024280559003433),
    cut(RecEwma, 1.0000000000000009),
    rule(0.975, 6, 0.5208),
    rule(0.975, 6, 0.6249),
    rule(0.975, 5, 2.9997),
    cut(SendEwma, 0.9999560427717041),
    rule(0.875, 15, 1.0499),
    cut(SendEwma, 1.822171705387425),
    rule(0.95, 6, 0.9999),
    rule(0.95, 6, 1.2599),
    cut(RttRatio, 1.8165938864628821),
    rule(0.97, 2, 0.5952),
    rule(0.95, 1, 1.2401),
];
