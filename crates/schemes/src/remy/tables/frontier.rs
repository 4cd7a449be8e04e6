//! Five tables from least delay to most throughput, for links whose capacity varies. Each has one rule.
//!
//! They are the best of 32 rules on six synthetic traces (`lte-driving`, `lte-driving.up`, `lte-walking`, `umts-driving`,
//! `umts-driving.up`, `evdo-driving`) with RTTs of 20, 50, 100 and 160 ms and two runs each, by geometric means of utilisation
//! and of the 95th percentile of the queueing delay. No recording was used. docs/remy.md has the figures.

use super::binary::{self, Node, on_rate};
use crate::remy::{RuleTable, TableError};

/// A table with its name and its summary.
pub(super) struct FrontierTable {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) table: fn() -> Result<RuleTable, TableError>,
}

pub(super) const LEAST_DELAY: FrontierTable = FrontierTable {
    name: "least-delay",
    summary: "Links whose capacity varies: least delay, for example for calls; follows rate and RTT",
    table: || one_rule(on_rate(1.1, 3, 1.25, 0.0)),
};

pub(super) const LESS_DELAY: FrontierTable = FrontierTable {
    name: "less-delay",
    summary: "Links whose capacity varies: less delay than `balanced`; follows rate and RTT",
    table: || one_rule(on_rate(1.2, 3, 1.25, 0.0)),
};

pub(super) const BALANCED: FrontierTable = FrontierTable {
    name: "balanced",
    summary: "Links whose capacity varies: throughput and delay near those of ABC with its router; follows rate and RTT",
    table: || one_rule(on_rate(1.2, 3, 1.25, 10.0)),
};

pub(super) const MORE_THROUGHPUT: FrontierTable = FrontierTable {
    name: "more-throughput",
    summary: "Links whose capacity varies: more throughput than `balanced`; follows rate and RTT",
    table: || one_rule(on_rate(1.2, 6, 1.25, 10.0)),
};

pub(super) const MOST_THROUGHPUT: FrontierTable = FrontierTable {
    name: "most-throughput",
    summary: "Links whose capacity varies: nearly the whole capacity, for example for downloads; follows rate and RTT",
    table: || one_rule(on_rate(1.1, 6, 1.25, 60.0)),
};

fn one_rule(rule: Node) -> Result<RuleTable, TableError> {
    binary::table_for_real_clocks(&[rule])
}
