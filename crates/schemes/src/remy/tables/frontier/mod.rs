//! Five tables from least delay to most throughput, for links whose capacity varies.
//!
//! Each was trained on traces that a model draws anew, with RTTs of 20 to 200 ms, one or two senders and jitter
//! (`scenarios/remy/frontier-delta*.toml`). Their specifications differ in delta, the weight of delay, and in the first rule.
//! No recording was used for that. docs/remy.md has the figures, and says which numbers were changed by hand.

mod balanced;
mod full_link;
mod least_delay;
mod more_throughput;
mod most_throughput;

use super::binary::{self, Node, TrainedTable};
use crate::remy::{RuleTable, TableError};

pub(super) const LEAST_DELAY: TrainedTable = TrainedTable {
    name: "least-delay",
    summary: "Links whose capacity varies: least delay, for example for calls; follows rate and RTT",
    table: || table(least_delay::NODES),
};

pub(super) const BALANCED: TrainedTable = TrainedTable {
    name: "balanced",
    summary: "Links whose capacity varies: throughput and delay near those of ABC with its router; follows rate and RTT",
    table: || table(balanced::NODES),
};

pub(super) const MORE_THROUGHPUT: TrainedTable = TrainedTable {
    name: "more-throughput",
    summary: "Links whose capacity varies: more throughput than `balanced`; follows rate and RTT",
    table: || table(more_throughput::NODES),
};

pub(super) const MOST_THROUGHPUT: TrainedTable = TrainedTable {
    name: "most-throughput",
    summary: "Links whose capacity varies: nearly the whole capacity, for example for downloads; follows rate and RTT",
    table: || table(most_throughput::NODES),
};

pub(super) const FULL_LINK: TrainedTable = TrainedTable {
    name: "full-link",
    summary: "Links whose capacity varies: the whole capacity, with queues of about a second, on slow links of two; follows rate and RTT",
    table: || table(full_link::NODES),
};

fn table(nodes: &[Node]) -> Result<RuleTable, TableError> {
    binary::table_for_real_clocks(nodes)
}
