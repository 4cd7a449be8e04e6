//! The tables of the thesis' studies, by the names of study and table.
//!
//! `paceline remy studies` trained them with three seeds each; of these, the one with the median validation score is here.
//! docs/remy.md ("The thesis' studies") has the figures.

mod data_centre;
mod diversity;
mod multiplexing;
mod operating_range;
mod rtt;
mod signals;
mod structure;
mod tcp_awareness;

use super::binary::TrainedTable;

/// Returns the tables, study by study.
pub(super) fn tables() -> impl Iterator<Item = &'static TrainedTable> {
    [
        data_centre::TABLES,
        operating_range::TABLES,
        structure::TABLES,
        tcp_awareness::TABLES,
        multiplexing::TABLES,
        rtt::TABLES,
        signals::TABLES,
        diversity::TABLES,
    ]
    .into_iter()
    .flatten()
}
