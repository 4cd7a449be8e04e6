//! A path that a program shares with simulated flows: a scenario of which one flow is outside.

use paceline_cc::{Packet, Time};
use paceline_emulator::{Direction, Element, SharedLane, SharedPath, SimulatedFlow};
use paceline_sim::scenario::{FlowSpec, Scenario};
use paceline_sim::{FlowEnd, Gateway};

use super::DirectionSetup;
use crate::output::Error;
use crate::registries;

/// Data take the way up, acknowledgements the way down.
struct SharedGateway {
    gateway: Gateway,
    /// The flow that is outside.
    flow: String,
}

/// Where packets of a direction begin.
fn from(direction: Direction) -> FlowEnd {
    match direction {
        Direction::Up => FlowEnd::Sender,
        Direction::Down => FlowEnd::Receiver,
    }
}

fn to(direction: Direction) -> FlowEnd {
    match direction {
        Direction::Up => FlowEnd::Receiver,
        Direction::Down => FlowEnd::Sender,
    }
}

impl SharedPath for SharedGateway {
    fn push(&mut self, now: Time, direction: Direction, packet: &Packet) {
        self.gateway.push(now, from(direction), packet);
    }

    fn advance(&mut self, now: Time) {
        self.gateway.advance(now);
    }

    fn pop(&mut self, direction: Direction) -> Option<(Time, Packet)> {
        self.gateway.pop(to(direction))
    }

    fn take_lost(&mut self, direction: Direction) -> Option<Packet> {
        self.gateway.take_lost(from(direction))
    }

    fn wake(&self, direction: Direction) -> Time {
        self.gateway.wake().min(self.gateway.first(to(direction)))
    }

    fn flows(&self) -> Vec<SimulatedFlow> {
        // What could be built once can be told of.
        let flows = self.gateway.outcome().map(|outcome| outcome.flows).unwrap_or_default();
        let others = flows.into_iter().filter(|flow| flow.name != self.flow);
        let told = others.map(|flow| SimulatedFlow {
            name: flow.name,
            scheme: flow.scheme,
            goodput_mbps: flow.goodput_mbps,
            one_way_delay_ms: flow.one_way_delay_ms,
        });
        told.collect()
    }
}

/// The two ways of a flow of a scenario, that of its data and that of its acknowledgements, with
/// all other flows simulated beside it. What happens before the scenario's warm-up is left out of
/// their figures.
pub(super) fn sides(
    scenario: &Scenario,
    file: &str,
    flow: &FlowSpec,
) -> Result<(DirectionSetup, DirectionSetup), Error> {
    let gateway = Gateway::new(scenario, registries::names(), &flow.name)
        .map_err(|error| Error::Usage(format!("{file}: {error}")))?;
    let (data, acks) = SharedLane::both(SharedGateway { gateway, flow: flow.name.clone() });
    let side = |lane| DirectionSetup {
        hops: vec![Element::Shared(lane)],
        name: Some(flow.name.clone()),
        ..DirectionSetup::default()
    };
    Ok((side(data), side(acks)))
}
