//! The laboratory on top of the simulator: what is done with runs rather than in them.
//!
//! - [`compare`]: schemes side by side on one link, and rows of the table of `paceline compare`.
//! - [`contest`](mod@contest): entries written as sweeps, and their standings.
//! - [`omniscient`]: the sender that knows the link's future, the bound for all others, and the
//!   self-inflicted delays that are measured against it.
//! - [`view`](mod@view): rows of that table for the charts of the report.
//! - [`validate`]: our figures beside those of ns-2, ns-3, real Linux and the papers.
//! - [`wireless`]: the XCP-b paper's network around a shared 802.11 medium.
//! - [`bench`](mod@bench): the scenarios by which the simulator's speed is measured.

pub mod bench;
pub mod compare;
pub mod contest;
pub mod omniscient;
pub mod validate;
pub mod view;
pub mod wireless;

use paceline_sim::scenario::Scenario;
use paceline_sim::{BuildError, Outcome};

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
