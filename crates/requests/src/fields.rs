//! The fields of the JSON documents of `paceline run` and `paceline compare`, which the command
//! line, the page and Python write (docs/json.md). `paceline_report::Document` puts
//! `schema_version` before them.

use paceline_sim::Outcome;
use serde::Serialize;

use crate::compare::CompareRow;
use crate::summary::{RatioRow, SummaryRow, ratios, summary};

/// The JSON of `paceline run`.
#[derive(Clone, Debug, Serialize)]
pub struct RunFields<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// Sum of the goodputs of all flows, in Mbit/s.
    goodput_mbps: f64,
    /// Jain's index of the flows' goodputs.
    jain: f64,
}

impl RunFields<'_> {
    /// Returns the fields of a run.
    pub fn of(outcome: &Outcome) -> RunFields<'_> {
        RunFields { outcome, goodput_mbps: outcome.goodput_mbps(), jain: outcome.jain() }
    }
}

/// The JSON of `paceline compare`.
#[derive(Clone, Debug, Serialize)]
pub struct CompareFields<'a> {
    /// A row for each run of each scheme on each trace.
    runs: &'a [CompareRow],
    /// A row for each scheme on each trace.
    summary: Vec<SummaryRow>,
    /// Rows of one scheme over another.
    ratios: Vec<RatioRow>,
}

impl CompareFields<'_> {
    /// Returns the fields of these rows.
    pub fn of(rows: &[CompareRow]) -> CompareFields<'_> {
        CompareFields { runs: rows, summary: summary(rows), ratios: ratios(rows) }
    }
}
