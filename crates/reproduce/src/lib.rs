//! The papers' claims, measured with Paceline.
//!
//! A *claim* is a number or an ordering that a paper states. Claims are data (`claims/*.toml`): a
//! quote from the paper, and *checks*, each with a tolerance and its reason. If a metric, a bound
//! or a setting was changed after a first run, the claim gives the old value and the reason, and is
//! judged both as stated before and with the change. Each claim is measured in several runs, which
//! differ in seeds, starts and processing times at hosts: the first run has the two verdicts, and
//! the medians over all runs a third. An *experiment* is code: it plans *tasks*,
//! mostly simulations, and derives *findings* from their records: named measures, to which checks
//! refer, figures, and *sweeps* of settings that a paper leaves open. Tasks run in parallel. Their
//! results are kept on disk by digest, so that a run that was stopped continues where it was; equal
//! tasks run once. Tasks that only show causes are planned where [`Setting::causes`] asks for them. A
//! claim is reproduced if all of its checks hold, partly if some do. A claim
//! about recorded traces is never called reproduced on synthetic ones, and no claim is in shortened
//! runs.

mod claim;
mod costs;
mod expectation;
mod experiments;
mod fields;
mod figures;
mod findings;
mod fluid;
mod front;
mod judged;
mod keep;
mod live;
mod markdown;
mod measured;
mod over_runs;
mod page;
pub mod pages;
mod pass;
mod request;
mod run;
mod scenarios;
pub mod scheme_page;
mod setting;
mod summary;
mod tables;
mod trained;
mod trial;
mod verdict;

pub use claim::{CauseMeasure, Check, Claim, ClaimError, claims, parse};
pub use costs::{Costs, ExperimentCost, TaskCost};
pub use expectation::Expectation;
pub use experiments::{EXPERIMENTS, Experiment, experiment};
pub use fields::ReproduceFields;
pub use findings::{Exhibit, Findings, Measures, Sweep};
pub use judged::{BoundResult, CheckResult, ClaimResult, RunsVerdict, judge};
pub use keep::keep;
pub use live::Live;
pub use markdown::markdown;
pub use measured::{RecordedReproduction, read_record, recorded};
pub use over_runs::OverRuns;
pub use paceline_tasks::{Progress, Record, Store, Task};
pub use page::page;
pub use request::{FindClaimError, ListedClaim, find_claims};
pub use run::{RUNS, Reproduction, reproduce};
pub use scenarios::{WrittenScenarios, write_scenarios};
pub use setting::{Cellular, Recordings, Setting};
pub use tables::{BUILT_IN, Tables, table_in};
pub use trial::Trial;
pub use verdict::{Limits, Verdict};
