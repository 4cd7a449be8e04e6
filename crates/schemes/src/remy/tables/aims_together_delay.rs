//! Trained by `paceline remy train scenarios/remy/two-aims.toml --generations 4` with seed 1 (`others.toml`):
//! 956 candidates, 247,860 simulated seconds, 20 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{RuleTable, Signal::SendEwma, TableError};

pub(super) const NAME: &str = "aims-together-delay";
pub(super) const SUMMARY: &str = "As aims-delay, trained together with aims-together-throughput";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] =
    &[cut(SendEwma, 2.083299999999999), rule(1.0, 31, 2.5), rule(1.0, 61, 2.0833)];
