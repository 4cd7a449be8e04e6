//! Settings that a link takes from its flows where the scenario leaves them open: the queue, the
//! router, and the RTT of its buffer. It is an error if the flows disagree.

use std::sync::Arc;

use paceline_cc::MakeRouter;
use paceline_cc::{Halves, Span, Spec, SpecError};

use crate::error::BuildError;
use crate::scenario::{
    CustomRouter, FlowSpec, LinkSpec, MediumSpec, PortSpec, QueueChoice, RouterChoice, Scenario,
    SchemeChoice,
};
use paceline_scenario::CustomTransport;
use paceline_scenario::{Lookup, Names};

/// What the two ends of a flow are built from.
pub(crate) enum Ends {
    /// The halves of a scheme.
    Scheme(Halves),
    /// A complete transport.
    Transport(CustomTransport),
}

/// Returns what the ends of a flow with this scheme are built from.
pub(crate) fn ends(scheme: &SchemeChoice, names: Lookup<'_>) -> Result<Ends, SpecError> {
    match scheme {
        SchemeChoice::Custom(made) => Ok(Ends::Scheme(made.halves().clone())),
        SchemeChoice::Named(spec) => Ok(Ends::Scheme(names.scheme(&spec.sender)?)),
        SchemeChoice::Transport(made) => Ok(Ends::Transport(made.clone())),
    }
}

/// Returns all flows of a scenario, with those of random arrivals.
fn all(scenario: &Scenario) -> impl Iterator<Item = &FlowSpec> {
    scenario.flows.iter().chain(scenario.arrivals.iter().map(|arrivals| &arrivals.flow))
}

/// Returns the flows whose data passes a link.
fn over<'a>(scenario: &'a Scenario, link: &'a LinkSpec) -> impl Iterator<Item = &'a FlowSpec> {
    all(scenario).filter(|flow| flow.path.contains(&link.name))
}

/// Returns the flows whose data passes the queue of a station, or of the access point (port 0).
fn over_port<'a>(
    scenario: &'a Scenario,
    medium: &'a MediumSpec,
    number: usize,
) -> impl Iterator<Item = &'a FlowSpec> {
    all(scenario).filter(move |flow| medium.port_of(flow) == Some(number))
}

/// Returns the queue of a link; never [`QueueChoice::Auto`].
///
/// # Errors
/// [`BuildError::Queues`] if the link leaves the choice to flows whose schemes name different
/// queues.
pub fn queue(scenario: &Scenario, link: &LinkSpec) -> Result<QueueChoice, BuildError> {
    queue_of(&link.name, &link.queue, over(scenario, link))
}

/// Returns the queue of a station at a medium, or of its access point (port 0); never
/// [`QueueChoice::Auto`].
pub(crate) fn port_queue(
    scenario: &Scenario,
    medium: &MediumSpec,
    number: usize,
    port: &PortSpec,
) -> Result<QueueChoice, BuildError> {
    queue_of(&medium.port_name(number), &port.queue, over_port(scenario, medium, number))
}

fn queue_of<'a>(
    link: &str,
    choice: &QueueChoice,
    flows: impl Iterator<Item = &'a FlowSpec>,
) -> Result<QueueChoice, BuildError> {
    if !matches!(choice, QueueChoice::Auto) {
        return Ok(choice.clone());
    }
    let mut found: Option<(&FlowSpec, &Spec)> = None;
    for flow in flows {
        let Some(queue) = flow.scheme.queue() else { continue };
        match found {
            Some((first, other)) if other != queue => {
                return Err(BuildError::Queues {
                    link: link.to_string(),
                    flows: [first.name.clone(), flow.name.clone()],
                    queues: [other.to_string(), queue.to_string()],
                });
            }
            _ => found = found.or(Some((flow, queue))),
        }
    }
    Ok(found.map_or_else(QueueChoice::droptail, |(_, queue)| queue.clone().into()))
}

/// Returns the router of a link; never [`RouterChoice::Auto`]. Looks schemes up in `names`, or
/// among the built-in ones without `names`.
///
/// # Errors
/// [`BuildError::Routers`] if the link leaves the choice to flows whose schemes have different
/// routers; or a scheme cannot be built.
pub fn router(
    scenario: &Scenario,
    link: &LinkSpec,
    names: Option<&Names>,
) -> Result<RouterChoice, BuildError> {
    router_of(&link.name, &link.router, over(scenario, link), names)
}

/// Returns the router of a station at a medium, or of its access point (port 0); never
/// [`RouterChoice::Auto`].
pub(crate) fn port_router(
    scenario: &Scenario,
    medium: &MediumSpec,
    number: usize,
    port: &PortSpec,
    names: Option<&Names>,
) -> Result<RouterChoice, BuildError> {
    let flows = over_port(scenario, medium, number);
    router_of(&medium.port_name(number), &port.router, flows, names)
}

pub(crate) fn router_of<'a>(
    link: &str,
    choice: &RouterChoice,
    flows: impl Iterator<Item = &'a FlowSpec>,
    names: Option<&Names>,
) -> Result<RouterChoice, BuildError> {
    if *choice != RouterChoice::Auto {
        return Ok(choice.clone());
    }
    let mut found: Option<(&FlowSpec, MakeRouter)> = None;
    for flow in flows {
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
                    link: link.to_string(),
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
            SchemeChoice::Custom(made) => {
                RouterChoice::Custom(CustomRouter::new(made.label(), move |setup| router(setup)))
            }
            SchemeChoice::Transport(_) => RouterChoice::None,
        },
    })
}

/// Returns true if two flows have the same scheme with the same parameters.
fn is_same(one: &SchemeChoice, other: &SchemeChoice) -> bool {
    match (one.named(), other.named()) {
        (Some(one), Some(other)) => one.sender == other.sender,
        _ => false,
    }
}

/// Returns the factory of a link's routers.
pub(crate) fn make_router(
    choice: &RouterChoice,
    names: Lookup<'_>,
) -> Result<Option<MakeRouter>, SpecError> {
    match choice {
        RouterChoice::Auto | RouterChoice::None => Ok(None),
        RouterChoice::Scheme(spec) => Ok(names.scheme(spec)?.router),
        RouterChoice::Custom(made) => Ok(Some(made.maker())),
    }
}

/// Returns the RTT for a link's bandwidth-delay products: the link's own if it has one, otherwise
/// that of the flows whose data passes it, otherwise that of the flows whose acknowledgements do.
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
        flows = all(scenario).filter(|flow| flow.back.contains(&link.name)).collect();
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
