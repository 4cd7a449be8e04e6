//! The papers' claims, measured anew.
//!
//! A *claim* is a number or an ordering that a paper states. Claims are data (`claims/*.toml`):
//! what the paper says, in its own words, and *checks*, each with a tolerance and why. Where a
//! metric, a bound or a setting was changed after a first run, the claim says from what and why,
//! and keeps what was stated before; each claim is judged by both. An *experiment* is code: it
//! plans *tasks* (simulations, mostly), and turns what they recorded into *findings*: named
//! measures, which the checks refer to, figures, and *sweeps* of settings that a paper leaves
//! open. Tasks run side by side and are kept on disk by digest, so that a run that was stopped
//! goes on where it was; equal tasks are done once. A claim is reproduced if all of its checks
//! hold, partly if some do. A claim about recorded traces is never called reproduced on synthetic
//! ones, and no claim in shortened runs.

mod claim;
mod expectation;
mod experiments;
mod fields;
mod findings;
mod fluid;
mod front;
mod live;
mod markdown;
mod measured;
mod page;
pub mod pages;
mod record;
mod results;
mod run;
mod scenarios;
pub mod scheme_page;
mod setting;
mod store;
mod summary;
mod task;
mod trial;
mod verdict;

pub use claim::{CauseMeasure, Check, Claim, ClaimError, claims, parse};
pub use expectation::Expectation;
pub use experiments::{EXPERIMENTS, Experiment, experiment};
pub use fields::ReproduceFields;
pub use findings::{Exhibit, Findings, Sweep};
pub use live::Live;
pub use markdown::markdown;
pub use measured::{RecordedReproduction, read_record, record, recorded};
pub use page::page;
pub use record::Record;
pub use run::{Progress, Reproduction, reproduce};
pub use scenarios::{WrittenScenarios, write_scenarios};
pub use setting::{Cellular, Setting};
pub use store::Store;
pub use task::Task;
pub use trial::Trial;
pub use verdict::{BoundResult, CheckResult, ClaimResult, Limits, Verdict, judge};
