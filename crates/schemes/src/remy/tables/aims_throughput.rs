//! Trained by `paceline remy train scenarios/remy/two-aims-naive.toml --generations 4` with seed 1:
//! 285 candidates, 74,340 simulated seconds, 9 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{RuleTable, Signal::RecEwma, TableError};

pub(super) const NAME: &str = "aims-throughput";
pub(super) const SUMMARY: &str =
    "Trained here for 10 Mbit/s, 100 ms and two senders; delay counts a tenth of throughput";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] =
    &[cut(RecEwma, 1.0000000000000009), rule(1.0, 1, 0.1111), rule(1.0, 2, 0.1111)];
