//! A path that a program shares with simulated flows: a scenario in which the program replaces one
//! flow.

use paceline_cc::{Packet, Time};
use paceline_emulator::{Direction, Element, SharedLane, SharedPath, SimulatedFlow};
use paceline_sim::scenario::{FlowSpec, Scenario};
use paceline_sim::{FlowEnd, Gateway};

use super::DirectionSetup;
use crate::output::Error;
use crate::registries;

/// A simulated network for the packets of one flow. Data takes the uplink, acknowledgements the
/// downlink.
struct SharedGateway {
    gateway: Gateway,
    /// Name of the flow that the program replaces.
    flow: String,
}

/// Returns the end of the flow at which a direction's packets enter.
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
        // The outcome exists, since the scenario could be built.
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

/// Returns the two directions of a scenario's flow, for its data and its acknowledgements, with all
/// other flows simulated beside it. Their figures leave out the scenario's warm-up.
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
