//! Trained by `paceline remy train scenarios/remy/two-aims.toml --generations 4` with seed 1 (`table.toml`):
//! 956 candidates, 247,860 simulated seconds, 20 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RttRatio, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "aims-together-throughput";
pub(super) const SUMMARY: &str = "As aims-throughput, trained together with aims-together-delay";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(SlowRecEwma, 2.4239903978541384),
    cut(RttRatio, 1.000125712871287),
    cut(RttRatio, 1.0),
    rule(1.0, 62, 1.2),
    rule(1.0, 62, 1.0),
    cut(RttRatio, 1.188118811881188),
    rule(1.0, 2, 3.6),
    rule(1.0, 2, 3.0),
    rule(1.0, 1, 1.875),
];
