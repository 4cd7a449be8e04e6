//! Trained for `scenarios/remy/general-delta0.1.toml`: seed 1, three generations, 589 candidates,
//! 550,000 simulated seconds, 90 CPU seconds. The trainer did not confirm gains on networks drawn anew
//! then, as it does not now with `confirm = false`.

use super::binary::{self, Node, cut, rule};
use crate::schemes::remy::Signal::{RttRatio, SlowRecEwma};
use crate::schemes::remy::{RuleTable, TableError};

pub(super) const NAME: &str = "general-delta0.1";
pub(super) const SUMMARY: &str = "Trained here for 10 to 20 Mbit/s, 100 to 200 ms and 1 to 16 senders; delay counts 0.1 of throughput";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.1392871240051512),
    rule(0.924, 20, 0.625),
    cut(SlowRecEwma, 2.389781250355983),
    rule(0.988, 2, 0.0579),
    rule(0.935, 3, 1.5625),
];
