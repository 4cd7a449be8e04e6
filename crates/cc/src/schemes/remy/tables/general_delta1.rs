//! Trained for the networks and the aim of `scenarios/remy/general-delta1.toml`: seed 2, 2261
//! candidates, 1,558,000 simulated seconds, 271 CPU seconds; stopped in its sixth generation. The trainer
//! tried more actions for each division then, and did not confirm gains on networks drawn anew: the present
//! one gives another table.

use super::binary::{self, Node, cut, rule};
use crate::schemes::remy::Signal::{RecEwma, RttRatio, SendEwma, SlowRecEwma};
use crate::schemes::remy::{RuleTable, TableError};

pub(super) const NAME: &str = "general-delta1";
pub(super) const SUMMARY: &str = "Trained here for 10 to 20 Mbit/s, 100 to 200 ms and 1 to 16 senders; delay counts as throughput";

pub(super) fn table() -> Result<RuleTable, TableError> {
    binary::table(NODES)
}

static NODES: &[Node] = &[
    cut(RttRatio, 1.0007481296758105),
    cut(RecEwma, 1.10352656061371),
    rule(1.01, 12, 0.6944),
    rule(1.01, 2, 1.0),
    cut(RecEwma, 1.925844683285025),
    cut(SendEwma, 1.2326189859149614),
    cut(RecEwma, 1.2209834865595832),
    rule(0.9918, 2, 1.2),
    rule(0.9891, 1, 1.92),
    rule(0.9858, 1, 1.2),
    cut(RecEwma, 3.4741033946714777),
    cut(RttRatio, 1.076821188487347),
    rule(0.98, 2, 2.016),
    rule(0.98, 2, 3.2256),
    cut(SlowRecEwma, 4.106641886542605),
    rule(0.9545, 1, 4.9152),
    rule(0.9345, 1, 4.9152),
];
