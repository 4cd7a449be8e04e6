//! The fields of the JSON document of `paceline reproduce`, which the command line and Python write
//! (docs/json.md). [`paceline_report::Document`] puts `schema_version` before them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::costs::Costs;
use crate::findings::Sweep;
use crate::judged::ClaimResult;
use crate::run::Reproduction;

/// The JSON of `paceline reproduce`.
#[derive(Clone, Debug, Serialize)]
pub struct ReproduceFields<'a> {
    summary: String,
    synthetic: bool,
    quick: bool,
    /// Whether runs were made that only show causes.
    causes: bool,
    runs: u32,
    claims: &'a [ClaimResult],
    /// Measures of each experiment, by name.
    measures: BTreeMap<&'a str, &'a BTreeMap<String, f64>>,
    /// Results for several values of settings that the papers leave open.
    sweeps: Vec<&'a Sweep>,
    /// Processor time, where it is asked for: it differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<&'a Costs>,
}

impl ReproduceFields<'_> {
    /// Returns the fields of a reproduction.
    pub fn of(done: &Reproduction) -> ReproduceFields<'_> {
        let measures = done.experiments.iter().map(|(one, found)| (one.name, &found.measures));
        ReproduceFields {
            summary: done.summary(),
            synthetic: done.synthetic,
            quick: done.quick,
            causes: done.causes,
            runs: done.runs,
            claims: &done.claims,
            sweeps: done.sweeps().collect(),
            measures: measures.collect(),
            costs: None,
        }
    }

    /// Returns the fields with the processor time.
    pub fn with_costs(done: &Reproduction) -> ReproduceFields<'_> {
        ReproduceFields { costs: Some(&done.costs), ..ReproduceFields::of(done) }
    }
}
