//! A flow with ends outside of the simulation: packets of real programs next to simulated flows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Packet, Stage, Time};

use crate::error::BuildError;
use crate::outcome::Outcome;
use crate::run::Simulation;
use crate::scenario::{FlowSpec, Record, Scenario};
use paceline_scenario::Names;
use paceline_scenario::{CustomTransport, TransportEnd};

/// An end of a flow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The end that sends data and receives acknowledgements.
    Sender,
    /// The end that receives data.
    Receiver,
}

/// Packets that have arrived at an end, each with its arrival time.
type Arrived = Arc<Mutex<VecDeque<(Time, Packet)>>>;

fn lock(arrived: &Arrived) -> MutexGuard<'_, VecDeque<(Time, Packet)>> {
    arrived.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A scenario with one flow whose ends are outside of the simulation. The caller hands packets in
/// at one end of that flow and takes them out at the other; all other flows of the scenario are
/// simulated. The flow's scheme, workload, start and stop are ignored, except that its scheme
/// chooses queues and routers where the scenario leaves them to flows.
///
/// The caller supplies the time, which must not go back. Events happen during the calls of
/// [`Gateway::advance`] and [`Gateway::push`]. A packet's body is a handle of the caller, and its
/// number is returned unchanged.
pub struct Gateway {
    simulation: Simulation,
    /// Packets arrived at the sender, then those arrived at the receiver.
    arrived: [Arrived; 2],
    stages: [usize; 2],
    routes: [u32; 2],
    lost: Vec<(FlowEnd, Packet)>,
}

/// Flows from outside have numbers from this on, which no simulated flow has.
const OUTSIDE: u32 = 1 << 31;

fn place(end: FlowEnd) -> usize {
    usize::from(end == FlowEnd::Receiver)
}

impl Gateway {
    /// Creates the scenario at time zero, with the flow of this name outside. Schemes and queues
    /// are those of `names`. Digests and series are not recorded.
    ///
    /// # Errors
    /// There is no such flow, it stands for several, its path duplicates packets (whose bodies the
    /// caller owns), or any error of [`Simulation::new`].
    pub fn new(scenario: &Scenario, names: &Names, flow: &str) -> Result<Gateway, BuildError> {
        let mut scenario = scenario.clone();
        scenario.digest = false;
        if matches!(scenario.record, Record::Series(_)) {
            scenario.record = Record::Metrics;
        }
        let number = check(&scenario, flow)
            .map_err(|problem| BuildError::Transport { flow: flow.to_string(), problem })?;
        let arrived: [Arrived; 2] = Default::default();
        let ends = arrived.clone();
        let made = CustomTransport::new("a program outside", move |_| {
            let [sender, receiver] = ends.clone().map(|arrived| Outside { arrived, bytes: 0 });
            Ok((Box::new(sender), Box::new(receiver)))
        });
        let mut simulation = Simulation::with_outside(scenario, names, (flow, made))?;
        simulation.world_mut().keep_drops();
        let stages = simulation.ends_of(number);
        let routes = stages.map(|stage| simulation.world().route_of(stage));
        Ok(Gateway { simulation, arrived, stages, routes, lost: Vec::new() })
    }

    /// Handles all events until `now`.
    pub fn advance(&mut self, now: Time) {
        self.simulation.advance(Time::from_nanos(now.as_nanos().saturating_add(1)));
        let Gateway { simulation, lost, routes, .. } = self;
        simulation.world_mut().drain_drops(|packet| {
            let ends = [FlowEnd::Sender, FlowEnd::Receiver];
            let from = ends.into_iter().zip(routes.iter());
            lost.extend(
                from.filter(|(_, route)| **route == packet.route).map(|(end, _)| (end, *packet)),
            );
        });
    }

    /// Sends a packet from one end of the flow to the other.
    pub fn push(&mut self, now: Time, from: FlowEnd, packet: &Packet) {
        self.advance(now);
        let packet = Packet { flow: packet.flow | OUTSIDE, ..*packet };
        self.simulation.world_mut().hand_in(self.stages[place(from)], &packet);
    }

    /// Takes the next packet that has arrived at an end, with its arrival time.
    pub fn pop(&mut self, at: FlowEnd) -> Option<(Time, Packet)> {
        lock(&self.arrived[place(at)]).pop_front()
    }

    /// Returns the arrival time of the packet that [`Gateway::pop`] would return; [`Time::NEVER`]
    /// if there is none.
    pub fn first(&self, at: FlowEnd) -> Time {
        lock(&self.arrived[place(at)]).front().map_or(Time::NEVER, |(time, _)| *time)
    }

    /// Takes a packet from this end that was dropped or lost since the last call.
    pub fn take_lost(&mut self, from: FlowEnd) -> Option<Packet> {
        let at = self.lost.iter().position(|(end, _)| *end == from)?;
        Some(self.lost.remove(at).1)
    }

    /// Returns the time of the next event of any flow.
    pub fn wake(&self) -> Time {
        self.simulation.world().next_event()
    }

    /// Returns the results so far. For the flow from outside they count all bytes that arrived,
    /// with repetitions, and have no delays.
    ///
    /// # Errors
    /// Only those that [`Gateway::new`] returns.
    pub fn outcome(&self) -> Result<Outcome, BuildError> {
        self.simulation.outcome()
    }
}

/// Returns the number of the flow among all flows, or why it cannot be outside.
fn check(scenario: &Scenario, name: &str) -> Result<usize, String> {
    let at = scenario.flows.iter().position(|flow| flow.name == name);
    let at = at.ok_or("the scenario has no flow of this name")?;
    let flow = &scenario.flows[at];
    if flow.count != 1 {
        return Err(format!("it stands for {} flows; write count = 1", flow.count));
    }
    let twice = |flow: &FlowSpec| {
        let links = scenario
            .links
            .iter()
            .filter(|link| flow.path.contains(&link.name) || flow.back.contains(&link.name));
        let mut stretches = links.map(|link| &link.after).chain([&flow.data, &flow.acks]);
        stretches.any(|stretch| stretch.impairments.duplicate > 0.0)
    };
    if twice(flow) {
        return Err("its path duplicates packets, which are not the simulation's; leave out \
                    duplicate"
            .into());
    }
    Ok(scenario.flows[..at].iter().map(|flow| flow.count as usize).sum())
}

/// An end that queues arriving packets for the caller.
struct Outside {
    arrived: Arrived,
    bytes: u64,
}

impl Stage for Outside {
    fn push(&mut self, now: Time, packet: &Packet) {
        self.bytes += u64::from(packet.size);
        lock(&self.arrived).push_back((now, *packet));
    }

    fn pop_into(&mut self, _now: Time, _place: &mut Packet) -> bool {
        false
    }

    fn wake(&self) -> Time {
        Time::NEVER
    }
}

impl TransportEnd for Outside {
    fn received(&self) -> u64 {
        self.bytes
    }
}
