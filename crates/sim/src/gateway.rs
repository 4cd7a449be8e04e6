//! A flow whose ends are outside of the simulation: packets of real programs beside simulated flows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_cc::{Packet, Stage, Time};

use crate::error::BuildError;
use crate::names::Names;
use crate::outcome::Outcome;
use crate::run::Simulation;
use crate::scenario::{FlowSpec, Record, Scenario};
use crate::transport::{CustomTransport, TransportEnd};

/// An end of a flow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The end that sends data and receives acknowledgements.
    Sender,
    /// The end that receives data.
    Receiver,
}

/// Packets that have arrived at an end, with the times at which they did.
type Arrived = Arc<Mutex<VecDeque<(Time, Packet)>>>;

fn lock(arrived: &Arrived) -> MutexGuard<'_, VecDeque<(Time, Packet)>> {
    arrived.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A scenario of which somebody outside has one flow: packets are handed in at the flow's ends and
/// taken out at the other ends, while all other flows of the scenario are simulated beside it. The
/// flow's own scheme, workload, start and stop do not count, except that its scheme chooses queues
/// and routers where the scenario leaves them to flows.
///
/// Time is the caller's: it never goes back, and everything that is due happens when
/// [`Gateway::advance`] or [`Gateway::push`] is called. A packet's body is a handle of the caller's,
/// and its number comes back as it was.
pub struct Gateway {
    simulation: Simulation,
    /// The sender's, then the receiver's.
    arrived: [Arrived; 2],
    stages: [usize; 2],
    routes: [u32; 2],
    lost: Vec<(FlowEnd, Packet)>,
}

/// Flows that come from outside have numbers that no simulated flow has.
const OUTSIDE: u32 = 1 << 31;

fn place(end: FlowEnd) -> usize {
    usize::from(end == FlowEnd::Receiver)
}

impl Gateway {
    /// A scenario at time zero, whose flow of this name is outside. Schemes and queues are those of
    /// `names`. Digests and series are not recorded.
    ///
    /// # Errors
    /// There is no such flow; it stands for several; its path duplicates packets, which somebody
    /// else owns; what else [`Simulation::new`] does not take.
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

    /// Lets everything happen that is due by `now`.
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

    /// A packet comes in at an end of the flow, on its way to the other one.
    pub fn push(&mut self, now: Time, from: FlowEnd, packet: &Packet) {
        self.advance(now);
        let packet = Packet { flow: packet.flow | OUTSIDE, ..*packet };
        self.simulation.world_mut().hand_in(self.stages[place(from)], &packet);
    }

    /// The next packet that has arrived at an end, and when.
    pub fn pop(&mut self, at: FlowEnd) -> Option<(Time, Packet)> {
        lock(&self.arrived[place(at)]).pop_front()
    }

    /// When the packet arrived that is the next for [`Gateway::pop`]; [`Time::NEVER`] if none is
    /// there.
    pub fn first(&self, at: FlowEnd) -> Time {
        lock(&self.arrived[place(at)]).front().map_or(Time::NEVER, |(time, _)| *time)
    }

    /// A packet from this end that was dropped or lost on its way since the last call.
    pub fn take_lost(&mut self, from: FlowEnd) -> Option<Packet> {
        let at = self.lost.iter().position(|(end, _)| *end == from)?;
        Some(self.lost.remove(at).1)
    }

    /// When something happens next, at whichever flow.
    pub fn wake(&self) -> Time {
        self.simulation.world().next_event()
    }

    /// What the simulation has shown so far. The flow from outside counts bytes that arrived,
    /// repetitions included, and has no delays.
    ///
    /// # Errors
    /// None that [`Gateway::new`] has not had before.
    pub fn outcome(&self) -> Result<Outcome, BuildError> {
        self.simulation.outcome()
    }
}

/// The number of the flow among all flows, or why it cannot be outside.
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

/// An end that keeps what arrives.
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
