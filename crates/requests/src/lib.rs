//! What Paceline may be asked to simulate, and what it answers: one library under the command line, Python and
//! the page.
//!
//! - [`compare`]: schemes side by side over links: what may be asked, the runs, the rows.
//! - [`evaluation`]: what tables of rules and schemes reach on networks with on-off senders.
//! - [`ScenarioChanges`]: what whoever runs a scenario file may set anew. [`ArgumentError`]: which argument of
//!   a request is wrong.
//! - [`written`]: how links, schemes and times are written by users.
//! - [`run`], [`run_while`]: one run of a scenario.
//! - [`summary`](mod@summary): several runs as medians and ranges, and ratios of schemes; [`ScenarioRuns`]: the
//!   runs of a scenario.
//! - [`omniscient`]: the sender that knows the link's future, the bound for all others, and the
//!   self-inflicted delays that are measured against it.
//! - [`RunFields`] and [`CompareFields`]: the JSON of `paceline run` and `paceline compare`.
//! - [`view`](mod@view): rows of that table for the charts of the report; [`run_page_info`]: what pages say of runs.
//! - [`numbers`]: how figures are written.

mod argument;
mod bins;
pub mod compare;
pub mod evaluation;
mod fields;
pub mod numbers;
pub mod omniscient;
mod parameters;
mod run_page;
mod scenario_changes;
mod scenario_runs;
pub mod summary;
pub mod view;
pub mod written;

pub use argument::ArgumentError;
pub use bins::{MOST_BINS, check_bins};
pub use fields::{CompareFields, RunFields};
pub use parameters::ParameterFields;
pub use run_page::run_page_info;
pub use scenario_changes::ScenarioChanges;
pub use scenario_runs::ScenarioRuns;

use paceline_cc::{Span, Time};
use paceline_sim::scenario::Scenario;
use paceline_sim::{BuildError, Names, Outcome, Simulation};

/// Runs a scenario to its end; the outcome has the self-inflicted delays as well. Schemes are the
/// built-in ones, and `remy` may follow tables from files.
///
/// # Errors
/// What cannot be built: see [`BuildError`].
pub fn run(scenario: &Scenario) -> Result<Outcome, BuildError> {
    let mut outcome = paceline_sim::run_with(scenario, &paceline_remy::names())?;
    omniscient::add_self_inflicted(scenario, &mut outcome)?;
    Ok(outcome)
}

/// The most simulated time between two questions of [`run_while`].
const STRETCH: Span = Span::from_millis(50);

/// Runs a scenario with the schemes and queues of `names`, and asks on the way whether to go on;
/// `None` if not. The outcome is that of [`run`].
///
/// # Errors
/// What cannot be built: see [`BuildError`].
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
