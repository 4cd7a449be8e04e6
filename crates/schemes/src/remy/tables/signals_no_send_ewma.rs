//! Trained by `paceline remy train scenarios/remy/signals-no-send_ewma.toml --generations 6` with seed 1:
//! 1,419 candidates, 1,504,900 simulated seconds, 257 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, RttRatio},
    TableError,
};

pub(super) const NAME: &str = "signals-no-send_ewma";
pub(super) const SUMMARY: &str =
    "As general-delta1, without send_ewma, six generations: for claim R17";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0000123388704318),
    rule(1.0, 2, 0.6944),
    cut(RecEwma, 1.961924772763917),
    cut(RecEwma, 1.3140702873013883),
    cut(RttRatio, 1.0880716417910448),
    rule(0.995, 13, 1.2093),
    rule(1.015, 3, 1.2093),
    rule(0.98, 3, 1.6),
    rule(0.961, 1, 3.6864),
];
