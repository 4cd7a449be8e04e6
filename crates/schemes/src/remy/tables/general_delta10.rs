//! Trained by `paceline remy train scenarios/remy/general-delta10.toml --generations 3` with seed 1: 506
//! candidates, 586,500 simulated seconds, 79 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RttRatio, SendEwma},
    TableError,
};

pub(super) const NAME: &str = "general-delta10";
pub(super) const SUMMARY: &str =
    "Trained here for 10 to 20 Mbit/s, 100 to 200 ms and 1 to 16 senders; delay counts ten times";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0000016310617814),
    rule(1.0, 1, 2.3625),
    cut(SendEwma, 3.94406612167909),
    rule(1.0, 0, 3.15),
    rule(1.0, 0, 5.76),
];
