//! Starting and stopping flows.

use paceline_cc::{Halves, Time, TrafficClass};

use super::{ChangeError, Interactive, LinkCounts, active, label};
use crate::choose::{self, Ends};
use crate::ends::{OneFlow, make_receiver, make_sender};
use crate::nodes::Endpoint;
use crate::parts::router_setup;
use crate::places::FlowPlace;
use crate::routes::{Route, Routes};
use crate::scenario::{FlowSpec, RouterChoice, SchemeChoice};
use paceline_scenario::{Lookup, Names};

/// Returns the halves of a scheme.
pub(super) fn halves(scheme: &SchemeChoice, names: Option<&Names>) -> Result<Halves, ChangeError> {
    match choose::ends(scheme, Lookup(names))? {
        Ends::Scheme(halves) => Ok(halves),
        Ends::Transport(_) => Err(ChangeError::Unplayable("a transport that comes whole")),
    }
}

impl Interactive {
    /// Starts a flow now with this scheme, whether it is on or off. Its ends are new and have no
    /// state of the old ones. Packets that the old ends have sent still pass the links and arrive
    /// at the old ends. Links that take their routers from the flows get those of the flows that
    /// are now on; a link's queue stays.
    ///
    /// # Errors
    /// There is no such flow, the scheme cannot be built, or it has a router for a link where
    /// another flow that is on has a different one. The flow then continues unchanged.
    pub fn start_flow(&mut self, index: usize, scheme: SchemeChoice) -> Result<(), ChangeError> {
        let known = self.scenario.flows.get(index).ok_or(ChangeError::NoSuchFlow(index))?;
        let mut spec = known.clone();
        spec.scheme = scheme;
        (spec.start, spec.stop) = (self.now().since(Time::ZERO), None);
        let routers = self.routers_with(index, &spec)?;
        let halves = halves(&spec.scheme, self.names.as_ref())?;
        let number = self.owners.len();
        let endpoints = self.ends(&spec, &halves, number as u32)?;

        self.stop_flow(index)?;
        self.set_routers(routers)?;
        let (carriers, stages) = self.world.stages();
        let old = &self.places.flows[index];
        let route_from = |from: usize| self.layout.routes.iter().find(|route| route.from == from);
        let lists = (
            route_from(old.sender).map(|route| route.carrier_list),
            route_from(old.receiver).map(|r| r.carrier_list),
        );
        let (Some(forward), Some(back)) = lists else { return Err(ChangeError::NoSuchFlow(index)) };
        let (sender, receiver) = (stages, stages + 1);
        self.layout.routes.push(Route { from: sender, carrier_list: forward, to: receiver });
        self.layout.routes.push(Route { from: receiver, carrier_list: back, to: sender });
        let routes =
            Routes::new(&self.layout.routes, &self.layout.carrier_lists, carriers, stages + 2);
        self.world.add_endpoints(endpoints, routes);
        let name = old.name.clone();
        let (scheme, start, stop) = (label(&spec), self.world.now(), Time::NEVER);
        self.places.flows[index] = FlowPlace { name, scheme, start, stop, sender, receiver };
        self.owners.push(Some(index));
        let flow = &mut self.flows[index];
        self.owners[flow.number] = None;
        flow.number = number;
        (flow.on, flow.starts) = (true, flow.starts + 1);
        flow.is_abc = halves.class == TrafficClass::EXPLICIT;
        flow.at_links = LinkCounts::default();
        self.scenario.flows[index] = spec;
        Ok(())
    }

    /// Stops a flow: it sends no new data from now on. Data in flight is still acknowledged, and
    /// retransmitted if lost. Does nothing if the flow is off.
    ///
    /// # Errors
    /// There is no such flow.
    pub fn stop_flow(&mut self, index: usize) -> Result<(), ChangeError> {
        let place = self.places.flows.get(index).ok_or(ChangeError::NoSuchFlow(index))?;
        let now = self.world.now();
        if std::mem::take(&mut self.flows[index].on) {
            self.world.change_sender(place.sender, |sender| sender.stop(now));
        }
        Ok(())
    }

    /// Returns the routers of all links if flow `index` were on with `spec`.
    fn routers_with(
        &self,
        index: usize,
        spec: &FlowSpec,
    ) -> Result<Vec<RouterChoice>, ChangeError> {
        let on: Vec<bool> = self.flows.iter().map(|flow| flow.on).collect();
        let router = |link: &crate::scenario::LinkSpec| {
            let flows = active(&self.scenario, &on, Some((index, spec)));
            let flows = flows.filter(|flow| flow.path.contains(&link.name));
            choose::router_of(&link.name, &link.router, flows, self.names.as_ref())
        };
        Ok(self.scenario.links.iter().map(router).collect::<Result<_, _>>()?)
    }

    /// Gives links their routers, where these have changed.
    fn set_routers(&mut self, routers: Vec<RouterChoice>) -> Result<(), ChangeError> {
        for (link, choice) in routers.into_iter().enumerate() {
            if self.routers[link] == choice {
                continue;
            }
            let made = choose::make_router(&choice, Lookup(self.names.as_ref()))?;
            let stage = self.places.links[link];
            let setup = router_setup(&self.scenario, &self.scenario.links[link].name);
            let router = made.map(|make| make(&setup));
            self.world.change_link(stage, |link| link.set_router(router));
            self.routers[link] = choice;
        }
        Ok(())
    }

    /// Builds new ends of a flow that starts now; its packets have the flow number `flow`.
    fn ends(
        &self,
        spec: &FlowSpec,
        halves: &Halves,
        flow: u32,
    ) -> Result<Vec<Endpoint>, ChangeError> {
        let route = self.layout.routes.len() as u32;
        let one = OneFlow {
            spec,
            ends: &Ends::Scheme(halves.clone()),
            scheme: &label(spec),
            name: spec.name.clone(),
            workload: spec.workload.clone(),
            start: self.now(),
            stop: Time::NEVER,
        };
        let sender = make_sender(&self.scenario, &one, halves, (flow, route))?;
        let receiver = make_receiver(&self.scenario, &one, halves, (flow, route + 1));
        Ok(vec![Endpoint::Sender(Box::new(sender)), Endpoint::Receiver(Box::new(receiver))])
    }
}
