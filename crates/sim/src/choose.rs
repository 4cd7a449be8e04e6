//! What a link takes over from its flows where the scenario does not say: the queue, the router,
//! the RTT that its buffer is measured by. Flows that disagree are an error.

use std::sync::Arc;

use paceline_cc::MakeRouter;
use paceline_cc::{Halves, Span, Spec, SpecError};

use crate::error::BuildError;
use crate::names::{Lookup, Names};
use crate::scenario::{
    FlowSpec, LinkSpec, MadeRouter, QueueChoice, RouterChoice, Scenario, SchemeChoice,
};
use crate::transport::MadeTransport;

/// What the two ends of a flow are made from.
pub(crate) enum Ends {
    /// The halves of a scheme.
    Scheme(Halves),
    /// A transport that comes whole.
    Transport(MadeTransport),
}

/// What the ends of a flow with this scheme are made from.
pub(crate) fn ends(scheme: &SchemeChoice, names: Lookup<'_>) -> Result<Ends, SpecError> {
    match scheme {
        SchemeChoice::Made(made) => Ok(Ends::Scheme(made.halves().clone())),
        SchemeChoice::Named(spec) => Ok(Ends::Scheme(names.scheme(&spec.sender)?)),
        SchemeChoice::Transport(made) => Ok(Ends::Transport(made.clone())),
    }
}

/// All flows of a scenario whose data passes a link, those of random arrivals included.
fn over<'a>(scenario: &'a Scenario, link: &'a LinkSpec) -> impl Iterator<Item = &'a FlowSpec> {
    let arrivals = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
    scenario.flows.iter().chain(arrivals).filter(|flow| flow.path.contains(&link.name))
}

/// The queue of a link; never [`QueueChoice::Auto`].
///
/// # Errors
/// [`BuildError::Queues`] if the link leaves the choice to flows whose schemes name different
/// queues.
pub fn queue(scenario: &Scenario, link: &LinkSpec) -> Result<QueueChoice, BuildError> {
    if !matches!(link.queue, QueueChoice::Auto) {
        return Ok(link.queue.clone());
    }
    let mut found: Option<(&FlowSpec, &Spec)> = None;
    for flow in over(scenario, link) {
        let Some(queue) = flow.scheme.queue() else { continue };
        match found {
            Some((first, other)) if other != queue => {
                return Err(BuildError::Queues {
                    link: link.name.clone(),
                    flows: [first.name.clone(), flow.name.clone()],
                    queues: [other.to_string(), queue.to_string()],
                });
            }
            _ => found = found.or(Some((flow, queue))),
        }
    }
    Ok(found.map_or_else(QueueChoice::droptail, |(_, queue)| queue.clone().into()))
}

/// The router of a link; never [`RouterChoice::Auto`]. Schemes are looked up in `names`, or among
/// those that are built in without any.
///
/// # Errors
/// [`BuildError::Routers`] if the link leaves the choice to flows whose schemes bring different
/// routers; a scheme that cannot be had.
pub fn router(
    scenario: &Scenario,
    link: &LinkSpec,
    names: Option<&Names>,
) -> Result<RouterChoice, BuildError> {
    if link.router != RouterChoice::Auto {
        return Ok(link.router.clone());
    }
    let mut found: Option<(&FlowSpec, MakeRouter)> = None;
    for flow in over(scenario, link) {
        if let Some((first, _)) = &found
            && is_same(&first.scheme, &flow.scheme)
        {
            continue;
        }
        let Ends::Scheme(halves) = ends(&flow.scheme, Lookup(names))? else { continue };
        let Some(router) = halves.router else { continue };
        match &found {
            Some((_, other)) if Arc::ptr_eq(other, &router) => {}
            Some((first, _)) => {
                return Err(BuildError::Routers {
                    link: link.name.clone(),
                    flows: [first.name.clone(), flow.name.clone()],
                    schemes: [first.scheme.to_string(), flow.scheme.to_string()],
                });
            }
            None => found = Some((flow, router)),
        }
    }
    Ok(match found {
        None => RouterChoice::None,
        Some((flow, router)) => match &flow.scheme {
            SchemeChoice::Named(spec) => RouterChoice::Scheme(spec.sender.clone()),
            SchemeChoice::Made(made) => {
                RouterChoice::Made(MadeRouter::new(made.label(), move || router()))
            }
            SchemeChoice::Transport(_) => RouterChoice::None,
        },
    })
}

/// True if two flows have the same scheme by name and parameters.
fn is_same(one: &SchemeChoice, other: &SchemeChoice) -> bool {
    match (one.named(), other.named()) {
        (Some(one), Some(other)) => one.sender == other.sender,
        _ => false,
    }
}

/// What makes the routers of a link.
pub(crate) fn make_router(
    choice: &RouterChoice,
    names: Lookup<'_>,
) -> Result<Option<MakeRouter>, SpecError> {
    match choice {
        RouterChoice::Auto | RouterChoice::None => Ok(None),
        RouterChoice::Scheme(spec) => Ok(names.scheme(spec)?.router),
        RouterChoice::Made(made) => Ok(Some(made.maker())),
    }
}

/// The RTT that bandwidth-delay products of a link are computed with: its own if it has one, or
/// else that of the flows whose data passes it, or of those whose acknowledgements do.
///
/// # Errors
/// [`BuildError::Rtt`] if there are no such flows, or their RTTs differ.
pub fn rtt(scenario: &Scenario, link: &LinkSpec) -> Result<Span, BuildError> {
    if let Some(rtt) = link.rtt {
        return Ok(rtt);
    }
    let fail = |problem: String| BuildError::Rtt { link: link.name.clone(), problem };
    let mut flows: Vec<&FlowSpec> = over(scenario, link).collect();
    if flows.is_empty() {
        flows = scenario.flows.iter().filter(|flow| flow.back.contains(&link.name)).collect();
    }
    let Some(first) = flows.first() else { return Err(fail("no flow passes it".into())) };
    match flows.iter().find(|flow| flow.rtt != first.rtt) {
        None => Ok(first.rtt),
        Some(other) => Err(fail(format!(
            "flow `{}` has an RTT of {}, flow `{}` of {}",
            first.name, first.rtt, other.name, other.rtt
        ))),
    }
}
