//! Why a run cannot be changed, or not in this way.

use paceline_cc::Span;
use thiserror::Error;

use crate::error::BuildError;
use crate::scenario::{Capacity, Scenario, SchemeChoice};

/// Why a run cannot be changed. The run continues unchanged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The requested change cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// There is no link with this number.
    #[error("there is no link with the number {0}; the first has 0")]
    NoSuchLink(usize),
    /// There is no flow with this number.
    #[error("there is no flow with the number {0}; the first has 0")]
    NoSuchFlow(usize),
    /// The capacity of this link is not a constant rate.
    #[error("link `{0}` has no constant rate that could be changed; begin a new run with one")]
    FixedRate(String),
    /// The rate is zero.
    #[error("a rate must be above zero")]
    ZeroRate,
    /// The queue of this link cannot change its limit.
    #[error(
        "the queue of link `{0}` cannot change its limit; take another queue, such as droptail"
    )]
    FixedBuffer(String),
    /// The RTT is out of range.
    #[error("a round-trip time of {0} cannot be set; take one from 2ns to 60s")]
    Rtt(Span),
    /// The scenario contains this part, which cannot be changed while it runs.
    #[error("{0} cannot be part of a run that is changed on the way; use `run` for this scenario")]
    Unplayable(&'static str),
}

/// Returns the scenario, if all of it can be changed while it runs.
pub(super) fn playable(scenario: Scenario) -> Result<Scenario, ChangeError> {
    let wifi = |capacity: &Capacity| matches!(capacity, Capacity::Wifi(_));
    let found = [
        (!scenario.media.is_empty(), "a shared medium"),
        (!scenario.arrivals.is_empty(), "flows that arrive at random"),
        (scenario.links.iter().any(|link| wifi(&link.capacity)), "an 802.11 link"),
        (
            scenario.flows.iter().any(|flow| matches!(flow.scheme, SchemeChoice::Transport(_))),
            "a transport that comes whole",
        ),
        (scenario.flows.iter().any(|flow| (flow.rtt / 2).is_zero()), "a flow without an RTT"),
    ];
    match found.into_iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(ChangeError::Unplayable(what)),
        None => Ok(scenario),
    }
}
