//! Trained by `paceline remy train scenarios/remy/signals-no-rec_ewma.toml --generations 6` with seed 1:
//! 1,369 candidates, 1,363,300 simulated seconds, 223 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RttRatio, SendEwma, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "signals-no-rec_ewma";
pub(super) const SUMMARY: &str =
    "As general-delta1, without rec_ewma, six generations: for claim R17";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0000123388704318),
    cut(SlowRecEwma, 1.4971547548799324),
    rule(1.0, 3, 0.6944),
    rule(1.0, 2, 0.7936),
    cut(SendEwma, 1.8687829037632626),
    cut(SendEwma, 1.1205537142980768),
    rule(0.98, 3, 1.1667),
    rule(0.992, 1, 1.225),
    cut(SendEwma, 4.140156086708362),
    rule(0.955, 1, 1.92),
    rule(0.98, 1, 1.6),
];
