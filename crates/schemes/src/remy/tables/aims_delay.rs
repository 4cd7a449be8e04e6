//! Trained by `paceline remy train scenarios/remy/two-aims-naive-delay.toml --generations 4` with seed 1:
//! 296 candidates, 70,920 simulated seconds, 4 CPU seconds.

use super::binary::{self, Node, rule};
use crate::remy::{RuleTable, TableError};

pub(super) const NAME: &str = "aims-delay";
pub(super) const SUMMARY: &str = "Trained here for 10 Mbit/s, 100 ms and two senders; delay counts ten times as much as throughput";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[rule(1.0, 61, 2.0833)];
