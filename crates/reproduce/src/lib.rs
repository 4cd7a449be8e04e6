//! The papers' claims, measured anew.
//!
//! A *claim* is a number or an ordering that a paper states. Claims are data (`claims/*.toml`):
//! what the paper says, and *checks*, each with a tolerance that was stated before the run, and
//! why. An *experiment* is code: it plans *tasks* (simulations, mostly), and turns what they
//! recorded into *findings*: named measures, which the checks refer to, and figures. Tasks run
//! side by side and are kept on disk by digest, so that a run that was stopped goes on where it
//! was. A claim is reproduced if all of its checks hold, partly if some do.

mod claim;
mod experiments;
mod findings;
mod fluid;
mod markdown;
mod page;
mod record;
mod results;
mod run;
mod scenarios;
pub mod scheme_page;
mod setting;
mod store;
mod task;
mod verdict;

pub use claim::{Check, Claim, ClaimError, Expectation, claims, parse};
pub use experiments::{EXPERIMENTS, Experiment, experiment};
pub use findings::{Exhibit, Findings};
pub use markdown::markdown;
pub use page::page;
pub use record::Record;
pub use run::{Progress, Reproduction, reproduce};
pub use scenarios::{Written, write_scenarios};
pub use setting::{Cellular, Setting};
pub use store::Store;
pub use task::Task;
pub use verdict::{Judged, Verdict, judge};
