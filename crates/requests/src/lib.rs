//! Requests to simulate, and their answers: the library under the command line, Python and the
//! page.
//!
//! - [`compare`]: schemes side by side over links: requests, runs, rows.
//! - [`gap`]: simulated runs beside real ones over the same path.
//! - [`evaluation`]: tables of rules and schemes on networks with on-off senders.
//! - [`ScenarioChanges`]: settings of a scenario file that a caller may replace.
//! - [`written`]: the text form of links, schemes and times.
//! - [`run`], [`run_while`]: one run of a scenario.
//! - [`summary`](mod@summary): several runs as medians and ranges, and ratios of schemes;
//!   [`ScenarioRuns`]: the runs of a scenario.
//! - [`omniscient`]: the sender that knows the link's future, the bound for all others, and the
//!   self-inflicted delays that are measured against it.
//! - [`columns`]: the columns of `compare` and `run`, from which their rows, tables and documents are made.
//! - [`RunFields`] and [`CompareFields`]: the JSON of `paceline run` and `paceline compare`.
//! - [`view`](mod@view): rows of that table for the charts of the report; [`run_page_info`]: the
//!   text of pages about runs.
//! - [`numbers`]: the text form of figures.
//! - [`PlanValues`]: the plans of controllers in other languages.

mod bins;
pub mod columns;
pub mod compare;
pub mod evaluation;
mod fields;
pub mod gap;
mod likeness;
pub mod numbers;
pub mod omniscient;
mod parameters;
mod plan_values;
mod run_page;
mod scenario_changes;
mod scenario_runs;
pub mod summary;
pub mod view;
pub mod written;

pub use bins::MOST_BINS_OF_RUNS;
pub use fields::{CompareFields, RunFields};
pub use likeness::Likeness;
pub use parameters::ParameterFields;
pub use plan_values::{ECN_WORDS, FEEDBACK_SIGNALS, PlanLimits, PlanValues, congestion_word};
pub use run_page::run_page_info;
pub use scenario_changes::ScenarioChanges;
pub use scenario_runs::ScenarioRuns;

use paceline_cc::{Span, Time};
use paceline_sim::scenario::Scenario;
use paceline_sim::{BuildError, Names, Outcome, Simulation};

/// Runs a scenario to its end with the schemes and queues of `names`, and adds the self-inflicted
/// delays to the outcome.
///
/// # Errors
/// The scenario cannot be built: see [`BuildError`].
pub fn run(scenario: &Scenario, names: &Names) -> Result<Outcome, BuildError> {
    let mut outcome = paceline_sim::run_with(scenario, names)?;
    omniscient::add_self_inflicted(scenario, &mut outcome)?;
    Ok(outcome)
}

/// Longest simulated time between two calls of `go_on` in [`run_while`].
const STRETCH: Span = Span::from_millis(50);

/// Runs a scenario with the schemes and queues of `names`, and calls `go_on` on the way; returns
/// `None` if `go_on` has returned false. The outcome is that of [`run`].
///
/// # Errors
/// The scenario cannot be built: see [`BuildError`].
pub fn run_while(
    scenario: &Scenario,
    names: &Names,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Outcome>, BuildError> {
    let mut simulation = Simulation::with_names(scenario.clone(), names)?;
    let end = Time::ZERO + scenario.duration;
    let mut now = Time::ZERO;
    while now < end {
        if !go_on() {
            return Ok(None);
        }
        now = (now + STRETCH).min(end);
        simulation.advance(now);
    }
    let mut outcome = simulation.outcome()?;
    omniscient::add_self_inflicted(scenario, &mut outcome)?;
    Ok(Some(outcome))
}
