//! Builds a world from a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_cc::{Rate, Span, Stream, Time};
use paceline_flow::Workload;
use paceline_path::{BufferSize, Impairments, Limit, Link, Pipe, Port};
use paceline_wifi::{Hop, Medium, StationPorts};

use crate::ahead::look_ahead;
use crate::arrivals;
use crate::bins::LinkBins;
use crate::choose::{self, Ends};
use crate::ends::{OneFlow, make_receiver, make_sender};
use crate::error::BuildError;
use crate::host::Hosts;
use crate::nodes::{Carrier, Endpoint, SharedMedium};
use crate::parts::{Transmitter, mean_rate, queue, queue_stream, router_setup, transmitter};
use crate::places::{FlowPlace, Places};
use crate::recorder::{LinkRecord, Recorder};
use crate::routes::{CarrierLists, Route, Routes};
use crate::scenario::{
    Capacity, Direction, FlowSpec, QueueChoice, Record, RouterChoice, Scenario, Stretch,
};
use crate::stream_names::StreamNames;
use crate::transport::{TransportEndpoint, Unbuilt};
use crate::world::World;
use paceline_scenario::{CustomTransport, TransportEnds, TransportSetup};
use paceline_scenario::{Lookup, Names};

/// The data from which a world was laid out, for changing it while it runs.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) routes: Vec<Route>,
    /// The lists of carriers that routes use.
    pub(crate) carrier_lists: Vec<Vec<usize>>,
    /// Pipes of flows: stage, and the delay that each adds to half of the RTT.
    pub(crate) pipes: Vec<(usize, Span)>,
}

/// Builds the world of a scenario. Looks schemes and queues up in `names`, or among the built-in
/// ones without `names`. The ends of the flow called `outside.0`, if there is one, come from
/// `outside.1`.
pub(crate) fn build(
    scenario: &Scenario,
    names: Option<&Names>,
    outside: Option<(&str, CustomTransport)>,
) -> Result<(World, Places), BuildError> {
    lay_out(scenario, names, outside, false).map(|(world, places, _)| (world, places))
}

/// Builds a world and returns the data from which it was laid out. In a `changeable` world links do
/// not compute departures ahead, and flows share only pipes whose delay is exactly half of the RTT.
pub(crate) fn lay_out(
    scenario: &Scenario,
    names: Option<&Names>,
    outside: Option<(&str, CustomTransport)>,
    changeable: bool,
) -> Result<(World, Places, Layout), BuildError> {
    let mut builder = Builder {
        hosts: Hosts::new(scenario),
        rates: Vec::new(),
        host_pipes: BTreeMap::new(),
        changeable,
        flow_pipes: Vec::new(),
        scenario,
        names: Lookup(names),
        outside,
        carriers: Vec::new(),
        endpoints: Vec::new(),
        routes: Vec::new(),
        carrier_lists: CarrierLists::default(),
        pipes: BTreeMap::new(),
        after: Vec::new(),
        hops: vec![Vec::new(); scenario.media.len()],
        places: Places::default(),
        shared: Vec::new(),
        groups: Vec::new(),
        stream_names: StreamNames::default(),
    };
    for index in 0..scenario.links.len() {
        builder.link(index)?;
    }
    for index in 0..scenario.media.len() {
        builder.medium(index)?;
    }
    for flow in &scenario.flows {
        builder.flows(flow)?;
    }
    for index in 0..scenario.arrivals.len() {
        builder.arrivals(index)?;
    }
    builder.shared_hosts()?;
    Ok(builder.finish())
}

/// Added to the number of an endpoint while the number of carriers is unknown.
const ENDPOINT: usize = 1 << 31;

struct Builder<'a> {
    hosts: Hosts,
    /// Mean rate of each link.
    rates: Vec<Rate>,
    /// Pipes that delay acknowledgements and hold them in hosts, by delay and maximum processing
    /// time. Flows share them.
    host_pipes: BTreeMap<(Span, Span), usize>,
    changeable: bool,
    /// The pipes of flows, if the world is changeable: see [`Layout::pipes`].
    flow_pipes: Vec<(usize, Span)>,
    scenario: &'a Scenario,
    names: Lookup<'a>,
    /// Name and transport of a flow whose ends replace those of its scheme.
    outside: Option<(&'a str, CustomTransport)>,
    /// Links and pipes, the first stages of the world.
    carriers: Vec<Carrier>,
    /// Senders and receivers. Their numbers count from `ENDPOINT` until all carriers are known.
    endpoints: Vec<Endpoint>,
    routes: Vec<Route>,
    carrier_lists: CarrierLists,
    /// Pipes that only delay, by their delay. Flows share them.
    pipes: BTreeMap<Span, usize>,
    /// The pipe after each link, if it has one.
    after: Vec<Option<usize>>,
    /// Sending and receiving station, by medium and route.
    hops: Vec<Vec<Hop>>,
    places: Places,
    /// Flows whose hosts are shared, and not built before all flows are known.
    shared: Vec<SharedFlow>,
    /// Endpoints of each group, see [`World::groups`].
    groups: Vec<Vec<usize>>,
    stream_names: StreamNames,
}

/// A flow that shares its hosts with others.
struct SharedFlow {
    name: String,
    made: CustomTransport,
    setup: TransportSetup,
    flow: u32,
    route: u32,
    /// Index of its first endpoint; the second one follows.
    endpoint: usize,
}

impl Builder<'_> {
    fn add(&mut self, carrier: Carrier) -> usize {
        self.carriers.push(carrier);
        self.carriers.len() - 1
    }

    fn link(&mut self, index: usize) -> Result<(), BuildError> {
        let spec = &self.scenario.links[index];
        let transmitter = transmitter(self.scenario, spec)?;
        let rate = mean_rate(&spec.capacity, transmitter.capacity(), self.scenario.duration);
        self.rates.push(rate);
        let rtt = match spec.buffer {
            BufferSize::Bdp(_) => choose::rtt(self.scenario, spec)?,
            _ => Span::ZERO,
        };
        let limit = spec.buffer.resolve_for(rate, rtt, self.scenario.mss);
        let choice = choose::queue(self.scenario, spec)?;
        let router = choose::router(self.scenario, spec, self.names.0)?;
        let port = |name: &str| self.port(name, (&choice, limit), &router);
        let carrier = match transmitter {
            Transmitter::Service(service) => {
                let mut link = Link::with_port(port(&spec.name)?, service);
                link.record_statistics(self.scenario.record.is_detailed());
                Carrier::Link(Box::new(link))
            }
            Transmitter::AccessPoint(access_point) => {
                let own = |station| port(&format!("{}, station {station}", spec.name));
                let ports = match &spec.capacity {
                    Capacity::Wifi(wifi) if wifi.queue_per_station => StationPorts::per_receiver(
                        (0..access_point.stations()).map(own).collect::<Result<_, _>>()?,
                    ),
                    _ => StationPorts::shared(port(&spec.name)?),
                };
                let medium = access_point.medium(ports);
                self.carrier_of(medium.map_err(BuildError::service(&spec.name))?)
            }
        };
        let stage = self.add(carrier);
        self.places.links.push(stage);
        let after = self.own_pipe(&format!("link {}", spec.name), Span::ZERO, &spec.after)?;
        self.after.push(after);
        Ok(())
    }

    /// Builds a queue, with the random stream of this name, and a router.
    fn port(
        &self,
        name: &str,
        (choice, limit): (&QueueChoice, Limit),
        router: &RouterChoice,
    ) -> Result<Port, BuildError> {
        let mut port =
            Port::new(queue(choice, limit, queue_stream(self.scenario, name), self.names)?);
        let make = choose::make_router(router, self.names)?;
        port.set_router(make.map(|make| make(&router_setup(self.scenario, name))));
        Ok(port)
    }

    fn carrier_of(&self, mut medium: Medium) -> Carrier {
        medium.record_statistics(self.scenario.record.is_detailed());
        Carrier::Medium(Box::new(SharedMedium { medium, first_record: 0 }))
    }

    fn medium(&mut self, index: usize) -> Result<(), BuildError> {
        let spec = &self.scenario.media[index];
        let mut ports = Vec::new();
        for number in 0..=spec.stations.len() {
            let Some(port) = spec.port(number) else { continue };
            let choice = choose::port_queue(self.scenario, spec, number, port)?;
            // The buffers of stations do not depend on a rate (`BufferSize::needs_rate`).
            let limit = port.buffer.resolve(Rate::ZERO, Span::ZERO);
            let router = choose::port_router(self.scenario, spec, number, port, self.names.0)?;
            let port = self.port(&spec.port_name(number), (&choice, limit), &router)?;
            ports.push(StationPorts::shared(port));
        }
        let random = Stream::new(self.scenario.seed, &format!("medium {}", spec.name));
        let mut config = spec.config();
        config.packet = self.scenario.mss;
        let medium = Medium::new(config, ports, &random);
        let carrier = self.carrier_of(medium.map_err(BuildError::service(&spec.name))?);
        let stage = self.add(carrier);
        self.places.media.push(stage);
        Ok(())
    }

    /// Adds a flow's medium to its carriers, as the last one on the way down and the first one on
    /// the way up. Sets the stations of both routes at the medium.
    fn over_medium(
        &mut self,
        flow: &FlowSpec,
        (forward, back): (&mut Vec<usize>, &mut Vec<usize>),
        route: usize,
    ) -> Result<(), BuildError> {
        let Some(hop) = &flow.station else { return Ok(()) };
        let (medium, station) = self.scenario.station(&hop.station).ok_or_else(|| {
            BuildError::NoSuchStation { flow: flow.name.clone(), station: hop.station.clone() }
        })?;
        let stage = self.places.media[medium];
        let down = Hop { from: 0, to: station as u32 };
        let up = Hop { from: station as u32, to: 0 };
        let hops = &mut self.hops[medium];
        hops.resize(route + 2, Hop::default());
        match hop.direction {
            Direction::Down => {
                forward.push(stage);
                back.insert(0, stage);
                hops[route..].copy_from_slice(&[down, up]);
            }
            Direction::Up => {
                forward.insert(0, stage);
                back.push(stage);
                hops[route..].copy_from_slice(&[up, down]);
            }
        }
        Ok(())
    }

    /// Returns a pipe with this delay and impairments, which flows may share; `None` if it would
    /// change nothing.
    fn pipe(
        &mut self,
        place: &str,
        delay: Span,
        stretch: &Stretch,
    ) -> Result<Option<usize>, BuildError> {
        let total = delay + stretch.delay;
        let alone = self.changeable && !stretch.delay.is_zero();
        let plain = stretch.impairments == Impairments::default() && !alone;
        if let Some(&stage) = self.pipes.get(&total).filter(|_| plain) {
            return Ok(Some(stage));
        }
        let made = self.own_pipe(place, delay, stretch)?;
        if let Some(stage) = made.filter(|_| plain) {
            self.pipes.insert(total, stage);
        }
        Ok(made)
    }

    /// Returns the pipe of a flow's acknowledgements: like [`Builder::pipe`], with a host that
    /// holds each one for up to `longest`.
    fn host_pipe(
        &mut self,
        place: &str,
        delay: Span,
        stretch: &Stretch,
        longest: Span,
    ) -> Result<Option<usize>, BuildError> {
        if longest.is_zero() {
            return self.pipe(place, delay, stretch);
        }
        let total = delay + stretch.delay;
        let alone = self.changeable && !stretch.delay.is_zero();
        let shared = stretch.impairments == Impairments::default() && !alone;
        if let Some(&stage) = self.host_pipes.get(&(total, longest)).filter(|_| shared) {
            return Ok(Some(stage));
        }
        let pipe = match shared {
            true => Pipe::new(total),
            false => self.impaired(place, total, stretch)?,
        };
        let stream = match shared {
            true => self.hosts.stream(&format!("flows over {total}, {longest}")),
            false => self.hosts.stream(place),
        };
        let pipe = pipe.with_processing(longest, stream);
        let stage = self.add(Carrier::Pipe(Box::new(pipe)));
        if shared {
            self.host_pipes.insert((total, longest), stage);
        }
        Ok(Some(stage))
    }

    /// Builds a pipe with the impairments of a stretch.
    fn impaired(&self, place: &str, delay: Span, stretch: &Stretch) -> Result<Pipe, BuildError> {
        let random = Stream::new(self.scenario.seed, place);
        Pipe::with_impairments(delay, stretch.impairments.clone(), random)
            .map_err(|source| BuildError::Pipe { place: place.to_string(), source })
    }

    /// Adds a pipe that is not shared. A route must not use a stage twice, so that links cannot
    /// share their pipes with each other or with flows.
    fn own_pipe(
        &mut self,
        place: &str,
        delay: Span,
        stretch: &Stretch,
    ) -> Result<Option<usize>, BuildError> {
        let delay = delay + stretch.delay;
        let pipe = if stretch.impairments != Impairments::default() {
            self.impaired(place, delay, stretch)?
        } else if delay.is_zero() {
            return Ok(None);
        } else {
            Pipe::new(delay)
        };
        Ok(Some(self.add(Carrier::Pipe(Box::new(pipe)))))
    }

    /// Returns the stages of a path's links, with the pipes after them.
    fn route(&self, flow: &FlowSpec, names: &[String]) -> Result<Vec<usize>, BuildError> {
        let mut stages = Vec::new();
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Err(BuildError::Twice { flow: flow.name.clone(), link: name.clone() });
            }
            let index = self.scenario.links.iter().position(|link| link.name == *name).ok_or_else(
                || BuildError::NoSuchLink { flow: flow.name.clone(), link: name.clone() },
            )?;
            stages.push(self.places.links[index]);
            stages.extend(self.after[index]);
        }
        Ok(stages)
    }

    /// Builds all flows of a specification.
    fn flows(&mut self, spec: &FlowSpec) -> Result<(), BuildError> {
        let ends = match &self.outside {
            Some((name, made)) if *name == spec.name => Ends::Transport(made.clone()),
            _ => choose::ends(&spec.scheme, self.names)?,
        };
        let scheme = Arc::from(spec.scheme.to_string());
        let starts = self.stream_names.unique(&format!("starts of {}", spec.name));
        let mut later = self.hosts.starts(self.scenario, spec, &starts);
        for i in 0..spec.count {
            let name = match spec.count {
                1 => spec.name.clone(),
                _ => format!("{}-{}", spec.name, i + 1),
            };
            let start = Time::ZERO + spec.start + spec.stagger * i as u64 + later();
            let end = spec.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
            let stop = if end == Time::NEVER { end } else { end - spec.stagger_stop * i as u64 };
            let workload = spec.workload.clone();
            let (ends, scheme) = (&ends, &scheme);
            let one = OneFlow { spec, ends, scheme, name, workload, start, stop };
            let place = self.flow(one)?;
            self.places.flows.push(place);
        }
        Ok(())
    }

    /// Builds flows of random arrivals. All are created at the start and stay idle until they
    /// arrive.
    fn arrivals(&mut self, index: usize) -> Result<(), BuildError> {
        let spec = &self.scenario.arrivals[index].flow;
        let ends = choose::ends(&spec.scheme, self.names)?;
        let scheme = Arc::from(spec.scheme.to_string());
        for (at, bytes) in arrivals::drawn(self.scenario, index) {
            let one = OneFlow {
                spec,
                ends: &ends,
                scheme: &scheme,
                name: format!("{}-{}", spec.name, self.places.arrivals.len() + 1),
                workload: Workload::Bytes(bytes),
                start: Time::ZERO + at,
                stop: Time::NEVER,
            };
            let place = self.flow(one)?;
            self.places.arrivals.push(place);
        }
        Ok(())
    }

    /// Builds a sender, a receiver, and the routes between them.
    fn flow(&mut self, one: OneFlow<'_>) -> Result<FlowPlace, BuildError> {
        let flow = (self.places.flows.len() + self.places.arrivals.len()) as u32;
        let route = self.routes.len() as u32;
        let (forward, back) = self.carriers_passed(&one, route)?;
        let sender = ENDPOINT + self.endpoints.len();
        let receiver = sender + 1;
        let (forward, back) = (self.carrier_lists.number(forward), self.carrier_lists.number(back));
        self.routes.push(Route { from: sender, carrier_list: forward, to: receiver });
        self.routes.push(Route { from: receiver, carrier_list: back, to: sender });
        one.check_programs()?;
        match one.ends {
            Ends::Scheme(halves) => {
                let sender = make_sender(self.scenario, &one, halves, (flow, route))?;
                let receiver = make_receiver(self.scenario, &one, halves, (flow, route + 1));
                self.endpoints.push(Endpoint::Sender(Box::new(sender)));
                self.endpoints.push(Endpoint::Receiver(Box::new(receiver)));
            }
            Ends::Transport(made) => {
                let (first, second) = self.transport(&one, made, (flow, route))?;
                let end = |end, route, receives| TransportEndpoint::new(end, flow, route, receives);
                self.endpoints.push(Endpoint::Transport(Box::new(end(first, route, false))));
                self.endpoints.push(Endpoint::Transport(Box::new(end(second, route + 1, true))));
            }
        }
        let OneFlow { name, scheme, start, stop, .. } = one;
        let (name, scheme) = (name.into(), Arc::clone(scheme));
        Ok(FlowPlace { name, scheme, start, stop, sender, receiver })
    }

    /// Returns the carriers of a flow's data and those of its acknowledgements: links, and a pipe
    /// for half of its RTT.
    fn carriers_passed(
        &mut self,
        one: &OneFlow<'_>,
        route: u32,
    ) -> Result<(Vec<usize>, Vec<usize>), BuildError> {
        let OneFlow { spec, name, .. } = one;
        let mut forward = self.route(spec, &spec.path)?;
        let mut back = self.route(spec, &spec.back)?;
        self.over_medium(spec, (&mut forward, &mut back), route as usize)?;
        let half = spec.rtt / 2;
        let own = self.stream_names.unique(name);
        let data = self.pipe(&format!("data of {own}"), half, &spec.data)?;
        // Real hosts outside of the simulation have their own processing times.
        let is_outside = self.outside.as_ref().is_some_and(|(outside, _)| *outside == spec.name);
        let longest = match is_outside {
            true => Span::ZERO,
            false => self.hosts.longest(self.scenario, spec, &self.rates),
        };
        let place = format!("acks of {own}");
        let acks = self.host_pipe(&place, spec.rtt - half, &spec.acks, longest)?;
        if self.changeable {
            let own = [(data, spec.data.delay), (acks, spec.acks.delay)];
            for (stage, extra) in own.into_iter().filter_map(|(stage, extra)| Some((stage?, extra)))
            {
                if !self.flow_pipes.contains(&(stage, extra)) {
                    self.flow_pipes.push((stage, extra));
                }
            }
        }
        forward.extend(data);
        back.extend(acks);
        if forward.is_empty() && back.is_empty() {
            return Err(BuildError::NoDelay { flow: name.clone() });
        }
        Ok((forward, back))
    }

    /// Builds the two ends of a transport. If other flows share their hosts, the ends do nothing until
    /// [`Builder::shared_hosts`] replaces them.
    fn transport(
        &mut self,
        one: &OneFlow<'_>,
        made: &CustomTransport,
        (flow, route): (u32, u32),
    ) -> Result<TransportEnds, BuildError> {
        let mut setup = TransportSetup::new(self.scenario.seed, flow);
        (setup.mss, setup.end) = (self.scenario.mss, Time::ZERO + self.scenario.duration);
        setup.workload = one.workload.clone();
        setup.programs = one.spec.programs.clone();
        (setup.start, setup.stop) = (one.start, one.stop);
        setup.capture = self.scenario.capture.clone();
        setup.log = self.scenario.log.clone();
        setup.probe = self.scenario.probe.clone();
        let name = one.name.clone();
        setup.name.clone_from(&name);
        if made.hosts().is_some() {
            let (made, endpoint) = (made.clone(), self.endpoints.len());
            self.shared.push(SharedFlow { name, made, setup, flow, route, endpoint });
            return Ok((Box::new(Unbuilt), Box::new(Unbuilt)));
        }
        made.make(&setup).map_err(|problem| BuildError::Transport { flow: name, problem })
    }

    /// Builds the hosts that flows share, and replaces the ends of these flows.
    fn shared_hosts(&mut self) -> Result<(), BuildError> {
        let mut left = std::mem::take(&mut self.shared);
        while let Some(first) = left.first() {
            let made = first.made.clone();
            let of_hosts;
            (of_hosts, left) =
                left.into_iter().partition::<Vec<_>, _>(|flow| flow.made.hosts() == made.hosts());
            let described = |flow: &SharedFlow| (flow.made.label().to_string(), flow.setup.clone());
            let described: Vec<_> = of_hosts.iter().map(described).collect();
            let flow = of_hosts.first().map(|flow| flow.name.clone()).unwrap_or_default();
            let ends = made.make_hosts(&described);
            let ends = ends.map_err(|problem| BuildError::Transport { flow, problem })?;
            let group = self.groups.len();
            self.groups.extend([Vec::new(), Vec::new()]);
            for (flow, (first, second)) in of_hosts.into_iter().zip(ends) {
                let SharedFlow { flow, route, endpoint, .. } = flow;
                for (side, end) in [first, second].into_iter().enumerate() {
                    let end = TransportEndpoint::new(end, flow, route + side as u32, side == 1);
                    let end = end.in_group(group + side);
                    self.endpoints[endpoint + side] = Endpoint::Transport(Box::new(end));
                    self.groups[group + side].push(ENDPOINT + endpoint + side);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> (World, Places, Layout) {
        if !self.changeable {
            look_ahead(&mut self.carriers, &mut self.carrier_lists.lists, &mut self.places);
        }
        let carriers = self.carriers.len();
        let settle =
            |stage: usize| if stage < ENDPOINT { stage } else { stage - ENDPOINT + carriers };
        for route in &mut self.routes {
            route.from = settle(route.from);
            route.to = settle(route.to);
        }
        for stage in self.groups.iter_mut().flatten() {
            *stage = settle(*stage);
        }
        for flow in self.places.flows.iter_mut().chain(&mut self.places.arrivals) {
            flow.sender = settle(flow.sender);
            flow.receiver = settle(flow.receiver);
        }
        for (&stage, hops) in self.places.media.iter().zip(self.hops) {
            if let Carrier::Medium(shared) = &mut self.carriers[stage] {
                shared.medium.set_hops(hops);
            }
        }
        let mut slots = carriers;
        for carrier in &mut self.carriers {
            if let Carrier::Medium(shared) = carrier {
                shared.first_record = slots;
                slots += shared.medium.len();
            }
        }
        let record = self.scenario.record;
        let recorder = (record != Record::Counters).then(|| {
            let from = Time::ZERO + self.scenario.warmup;
            let flows = self.places.flows.len();
            let mut recorder = Recorder::new(from, record, slots, flows);
            if !record.is_detailed() {
                return recorder;
            }
            for (record, place) in recorder.flows.iter_mut().zip(&self.places.flows) {
                record.stop = place.stop;
                match &self.endpoints[place.sender - carriers] {
                    Endpoint::Sender(sender) => {
                        let is_media = sender.video().is_some() || sender.audio().is_some();
                        record.segments = is_media.then(Vec::new);
                    }
                    // Its application is unknown: count it as on from start to stop.
                    _ => record.on_since = Some(place.start),
                }
            }
            let stations = carriers..slots;
            for stage in self.places.links.iter().copied().chain(stations) {
                let bins = recorder.bin.map(LinkBins::new);
                recorder.links[stage] = Some(LinkRecord { bins, ..LinkRecord::default() });
            }
            recorder
        });
        let stages = carriers + self.endpoints.len();
        let routes = Routes::new(&self.routes, &self.carrier_lists.lists, carriers, stages);
        let digest = self.scenario.digest;
        let mut world = World::new(self.carriers, self.endpoints, routes, recorder, digest);
        world.groups = self.groups;
        let layout = Layout {
            routes: self.routes,
            carrier_lists: self.carrier_lists.lists,
            pipes: self.flow_pipes,
        };
        (world, self.places, layout)
    }
}
