//! Trained by `paceline remy train scenarios/remy/signals-all.toml --generations 6` with seed 1:
//! 2,340 candidates, 2,474,300 simulated seconds, 451 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "signals-all";
pub(super) const SUMMARY: &str =
    "As general-delta1, with all four signals, six generations: for claim R17";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0000123388704318),
    cut(SendEwma, 1.4415885219888311),
    cut(SlowRecEwma, 1.0494213623321464),
    rule(1.02, 3, 0.6944),
    rule(1.02, 35, 0.8333),
    rule(1.0, 2, 1.0),
    cut(RecEwma, 1.961924772763917),
    cut(SendEwma, 1.2296771367012063),
    rule(1.012, 0, 1.5238),
    rule(0.994, 1, 1.7414),
    cut(SendEwma, 4.241654736278804),
    cut(RecEwma, 3.144508071251817),
    rule(0.99, 1, 3.1598),
    rule(0.97, 1, 2.7648),
    cut(RttRatio, 1.0598006593691018),
    rule(0.9925, 1, 2.7648),
    cut(SendEwma, 6.673606614303271),
    rule(0.99, 1, 1.1703),
    rule(0.99, 1, 21.2338),
];
