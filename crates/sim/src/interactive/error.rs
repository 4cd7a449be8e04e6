//! Why a run cannot be played with, or not changed in this way.

use paceline_cc::Span;
use thiserror::Error;

use crate::error::BuildError;
use crate::scenario::{Capacity, Scenario, SchemeChoice};

/// Why a run cannot be changed. It goes on as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// What the change asks for cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// There are fewer links.
    #[error("there is no link with the number {0}; the first has 0")]
    NoSuchLink(usize),
    /// There are fewer flows.
    #[error("there is no flow with the number {0}; the first has 0")]
    NoSuchFlow(usize),
    /// The capacity of a link is not a constant rate.
    #[error("link `{0}` has no constant rate that could be changed; begin a new run with one")]
    FixedRate(String),
    /// A rate of zero.
    #[error("a rate must be above zero")]
    ZeroRate,
    /// The queue of a link keeps its limit.
    #[error(
        "the queue of link `{0}` cannot change its limit; take another queue, such as droptail"
    )]
    FixedBuffer(String),
    /// An RTT out of range.
    #[error("a round-trip time of {0} cannot be set; take one from 2ns to 60s")]
    Rtt(Span),
    /// The scenario has something that cannot be changed while it runs.
    #[error("{0} cannot be part of a run that is changed on the way; use `run` for this scenario")]
    Unplayable(&'static str),
}

/// The scenario, if all of it can be changed on the way.
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
