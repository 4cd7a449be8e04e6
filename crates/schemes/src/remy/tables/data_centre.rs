//! Trained by `paceline remy train scenarios/remy/data-centre.toml --generations 3` with seed 1:
//! 396 candidates, 1,069 simulated seconds, 98 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, RttRatio},
    TableError,
};

pub(super) const NAME: &str = "data-centre";
pub(super) const SUMMARY: &str = "Trained here for 10 Gbit/s, 4 ms and 1 to 64 senders with flows of 20 MB; delay does not count";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RecEwma, 0.06940000000000004),
    cut(RttRatio, 1.000129967508123),
    rule(1.0, 1, 0.0335),
    rule(1.0, 1, 0.0578),
    rule(1.0, 31, 0.0026),
];
