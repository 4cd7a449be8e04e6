//! Trained by `paceline remy train scenarios/remy/signals-no-rtt_ratio.toml --generations 6` with seed 1:
//! 2,129 candidates, 2,502,900 simulated seconds, 369 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, SendEwma, SlowRecEwma},
    TableError,
};

pub(super) const NAME: &str = "signals-no-rtt_ratio";
pub(super) const SUMMARY: &str =
    "As general-delta1, without rtt_ratio, six generations: for claim R17";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(SlowRecEwma, 4.675252916328003),
    cut(SendEwma, 4.800000000000002),
    cut(RecEwma, 1.9377485581261342),
    cut(RecEwma, 1.05447926723025),
    cut(SendEwma, 0.711780540109173),
    rule(0.9688, 4, 4.8),
    rule(0.9795, 2, 4.8),
    rule(0.905, 5, 3.8095),
    cut(SlowRecEwma, 2.7199580332675),
    rule(0.9, 3, 1.5238),
    rule(0.915, 4, 1.5238),
    cut(SlowRecEwma, 2.692271075954163),
    cut(SendEwma, 7.304714761961326),
    rule(1.0, 5, 0.6772),
    rule(1.0, 4, 0.8533),
    cut(SendEwma, 5.945234847344511),
    rule(0.972, 2, 1.024),
    rule(0.972, 2, 1.024),
    rule(0.9175, 1, 1.3333),
];
