//! Trained by `paceline remy train scenarios/remy/general-delta1.toml --generations 9` with seed 2: 3,664
//! candidates, 3,406,800 simulated seconds, 690 CPU seconds.

use super::binary::{self, Node, cut, rule};
use crate::remy::{
    RuleTable,
    Signal::{RecEwma, RttRatio, SendEwma},
    TableError,
};

pub(super) const NAME: &str = "general-delta1";
pub(super) const SUMMARY: &str = "Trained here for 10 to 20 Mbit/s, 100 to 200 ms and 1 to 16 senders; delay counts as throughput";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0007481296758105),
    cut(SendEwma, 1.428068583578171),
    cut(SendEwma, 1.0000008614755331),
    rule(1.045, 6, 0.6855),
    cut(SendEwma, 1.105946892975644),
    rule(1.025, 5, 1.05),
    rule(1.025, 6, 1.05),
    rule(1.025, 1, 1.1576),
    cut(SendEwma, 1.8252919170038064),
    cut(RecEwma, 1.4308090593028855),
    cut(SendEwma, 1.165397887340541),
    rule(0.9888, 1, 1.26),
    rule(1.0088, 1, 1.3714),
    cut(SendEwma, 1.6546763677944092),
    rule(0.9888, 1, 1.8144),
    rule(0.9888, 1, 2.0736),
    cut(RecEwma, 4.590109483644653),
    cut(SendEwma, 3.1548757778219043),
    rule(0.98, 1, 1.8286),
    cut(SendEwma, 3.8627758338206313),
    rule(0.965, 1, 1.8286),
    rule(0.985, 1, 1.8286),
    cut(SendEwma, 7.191744950333011),
    cut(SendEwma, 5.765141423278699),
    rule(0.985, 1, 5.6174),
    rule(0.985, 1, 4.6812),
    rule(0.985, 1, 1.8286),
];
