//! Builds the path of a scenario file, to emulate it in one process.

use std::path::Path;

use paceline_cc::{Span, Spec};
use paceline_emulator::Element;
use paceline_sim::scenario::{FlowSpec, LinkSpec, QueueChoice, Scenario};
use paceline_sim::{BuildError, choose};

use super::link::{limit, pipe};
use super::{DirectionSetup, Emulation, link, shared};
use crate::commands::run::read_scenario;
use crate::output::Error;
use crate::registries;

/// Reads a scenario and returns both directions of its path: that of its flows' data, and that of
/// their acknowledgements. If flows take different paths, `flow` says which one to emulate. At a
/// shared medium all other flows are simulated beside it.
pub(crate) fn sides(
    file: &Path,
    flow: Option<&str>,
    options: &Emulation,
) -> Result<(DirectionSetup, DirectionSetup), Error> {
    let mut scenario = read_scenario(file)?;
    scenario.seed = options.seed.unwrap_or(scenario.seed);
    scenario.warmup = options.warmup.unwrap_or_default();
    sides_of(&scenario, &file.display().to_string(), flow)
}

/// Returns both directions of the path of a scenario named `file`.
pub(crate) fn sides_of(
    scenario: &Scenario,
    file: &str,
    flow: Option<&str>,
) -> Result<(DirectionSetup, DirectionSetup), Error> {
    let arrivals = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
    let flows: Vec<_> = scenario.flows.iter().chain(arrivals).collect();
    let first = choose_flow(file, &flows, flow)?;
    if first.station.is_some() {
        return shared::sides(scenario, file, first);
    }
    let half = first.rtt / 2;
    let data = side(scenario, first, &first.path, (half, &first.data), "data")?;
    let acks = side(scenario, first, &first.back, (first.rtt - half, &first.acks), "acks")?;
    Ok((data, acks))
}

fn choose_flow<'a>(
    file: &str,
    flows: &[&'a FlowSpec],
    name: Option<&str>,
) -> Result<&'a FlowSpec, Error> {
    let names = || flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(name) = name {
        let named = flows.iter().find(|flow| flow.name == name);
        return named.copied().ok_or_else(|| {
            Error::Usage(format!("{file}: there is no flow `{name}`; its flows are {}", names()))
        });
    }
    let Some(&first) = flows.first() else {
        return Err(Error::Usage(format!("{file}: there is no flow whose path to emulate")));
    };
    let same = |flow: &FlowSpec| {
        (&flow.path, &flow.back, flow.rtt, &flow.data, &flow.acks, &flow.station)
            == (&first.path, &first.back, first.rtt, &first.data, &first.acks, &first.station)
    };
    // At a shared medium all flows but the emulated one are simulated, so the choice matters.
    let other =
        |flow: &&&FlowSpec| !same(flow) || (flow.station.is_some() && flow.name != first.name);
    match flows.iter().find(other) {
        None => Ok(first),
        Some(other) => Err(Error::Usage(format!(
            "{file}: flows `{}` and `{}` take different ways, and an emulation has one: choose it \
             with --flow, of {}",
            first.name,
            other.name,
            names()
        ))),
    }
}

fn side(
    scenario: &Scenario,
    flow: &FlowSpec,
    names: &[String],
    (delay, stretch): (Span, &paceline_sim::scenario::Stretch),
    what: &str,
) -> Result<DirectionSetup, Error> {
    let mut side = DirectionSetup::default();
    let seed = scenario.seed;
    for name in names {
        let spec = scenario.links.iter().find(|link| link.name == *name).ok_or_else(|| {
            Error::Usage(format!("flow `{}`: there is no link `{name}`", flow.name))
        })?;
        let (queue, spec) = choose(spec, scenario)?;
        let limit = limit(scenario, spec.buffer, &spec.capacity, spec.rtt.unwrap_or(flow.rtt));
        side.hops.push(link::link(scenario, &spec, &queue, limit)?);
        let place = format!("link {}", spec.name);
        side.hops.extend(
            pipe(&place, Span::ZERO, &spec.after, seed)?.map(|pipe| Element::Pipe(Box::new(pipe))),
        );
        let queue = link::QueueChoice { queue, router: spec.router.clone() };
        side.links.push((spec.name.clone(), format!("{queue} [{}]", spec.buffer)));
    }
    if let Some((name, queue)) = side.links.first().cloned() {
        (side.name, side.queue) = (Some(name), Some(queue));
    }
    let place = format!("{what} of {}", flow.name);
    side.hops.extend(pipe(&place, delay, stretch, seed)?.map(|pipe| Element::Pipe(Box::new(pipe))));
    Ok(side)
}

/// Returns a link's queue, and the link with its router named, as in the simulator.
fn choose(spec: &LinkSpec, scenario: &Scenario) -> Result<(Spec, LinkSpec), Error> {
    let fail = |error: BuildError| Error::Usage(error.to_string());
    let queue = match choose::queue(scenario, spec).map_err(fail)? {
        QueueChoice::Named(queue) => queue,
        // Queues in scenario files have names.
        other => return Err(Error::Usage(format!("the queue `{other}` has no name"))),
    };
    let router = choose::router(scenario, spec, Some(registries::names())).map_err(fail)?;
    Ok((queue, spec.clone().with(|spec| spec.router = router)))
}
