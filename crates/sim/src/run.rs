//! Runs a scenario and takes stock.

use paceline_cc::{Capacity as _, Packet, Span, Stage, Time};
use paceline_flow::Transfer;
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Link};

use crate::build::{BuildError, FlowPlace, Places, build, service};
use crate::metrics::{Age, Samples};
use crate::outcome::{
    ArrivalsOutcome, FlowOutcome, FlowSeries, LinkOutcome, LinkSeries, Outcome, Pooled, completion,
    frames,
};
use crate::scenario::{Capacity, LinkSpec, Record, Scenario};
use crate::world::{Node, World};

/// Runs a scenario to its end.
///
/// # Errors
/// If the scenario cannot be built: see [`BuildError`].
pub fn run(scenario: &Scenario) -> Result<Outcome, BuildError> {
    let mut simulation = Simulation::new(scenario)?;
    simulation.advance(Time::ZERO + scenario.duration);
    simulation.outcome()
}

/// A scenario being run, for those who want to look at it on the way.
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    world: World,
    places: Places,
    /// Goodput of each flow at the end of the warm-up.
    warm: Option<Vec<u64>>,
    warm_arrivals: u64,
}

impl<'a> Simulation<'a> {
    /// A scenario at time zero.
    ///
    /// # Errors
    /// If the scenario cannot be built: see [`BuildError`].
    pub fn new(scenario: &'a Scenario) -> Result<Simulation<'a>, BuildError> {
        let (world, places) = build(scenario)?;
        Ok(Simulation { scenario, world, places, warm: None, warm_arrivals: 0 })
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Runs until `end`.
    pub fn advance(&mut self, end: Time) {
        let warm = Time::ZERO + self.scenario.warmup;
        if self.warm.is_none() && warm <= end {
            self.stepwise(warm);
            let goodput = |place: &FlowPlace| self.goodput(place);
            let flows = self.places.flows.iter().map(goodput).collect();
            self.warm_arrivals = self.places.arrivals.iter().map(goodput).sum();
            self.warm = Some(flows);
        }
        self.stepwise(end);
    }

    /// Runs until `end`, noting the state of controllers at the end of each bin.
    fn stepwise(&mut self, end: Time) {
        let Record::Series(bin) = self.scenario.record else { return self.world.run_until(end) };
        while self.world.now() < end {
            let at = self.world.now().as_nanos() / bin.as_nanos();
            let edge = Time::from_nanos((at + 1) * bin.as_nanos());
            self.world.run_until(edge.min(end));
            if edge > end {
                return;
            }
            let World { recorder, nodes, .. } = &mut self.world;
            let Some(recorder) = recorder else { continue };
            for place in &self.places.flows {
                if let Node::Sender(sender) = &nodes[place.sender] {
                    recorder.on_state(at as usize, sender);
                }
            }
        }
    }

    fn goodput(&self, place: &FlowPlace) -> u64 {
        match &self.world.nodes[place.receiver] {
            Node::Receiver(receiver) => receiver.stats().goodput,
            _ => 0,
        }
    }

    fn measured(&self) -> Span {
        self.world.now().since(Time::ZERO + self.scenario.warmup)
    }

    /// What the run has shown so far.
    ///
    /// # Errors
    /// None that [`Simulation::new`] has not had before.
    pub fn outcome(&self) -> Result<Outcome, BuildError> {
        let flows = self.places.flows.iter().chain(&self.places.arrivals);
        let received = flows.map(|place| match &self.world.nodes[place.receiver] {
            Node::Receiver(receiver) => receiver.stats().packets,
            _ => 0,
        });
        let mut outcome = Outcome {
            name: self.scenario.name.clone(),
            duration_s: self.measured().as_secs_f64(),
            packets: received.sum(),
            digest: self.world.digest(),
            ..Outcome::default()
        };
        for index in 0..self.scenario.links.len() {
            outcome.links.push(self.link(index)?);
        }
        let mut omniscient = Vec::new();
        for spec in &self.scenario.links {
            omniscient.push(self.omniscient(spec)?);
        }
        for (index, place) in self.places.flows.iter().enumerate() {
            let best = place.link.and_then(|link| omniscient[link]);
            outcome.flows.push(self.flow(index, place, best));
        }
        outcome.pooled = self.pooled(&outcome.flows);
        outcome.arrivals = self.arrivals();
        Ok(outcome)
    }

    fn link(&self, index: usize) -> Result<LinkOutcome, BuildError> {
        let stage = self.places.links[index];
        let mut outcome =
            LinkOutcome { name: self.scenario.links[index].name.clone(), ..LinkOutcome::default() };
        let Node::Link(link) = &self.world.nodes[stage] else { return Ok(outcome) };
        let from = Time::ZERO + self.scenario.warmup;
        let seconds = self.measured().as_secs_f64();
        let mbps = |bytes: u64, seconds: f64| bytes as f64 * 8.0 / 1e6 / seconds;
        let offered = link.service().offered(from, self.world.now());
        outcome.capacity_mbps = mbps(offered, seconds);
        let record = self.world.recorder.as_ref().and_then(|r| r.links[stage].as_ref());
        let Some(record) = record else {
            // Counters alone know nothing of the warm-up.
            let counters = link.counters();
            outcome.throughput_mbps =
                mbps(counters.delivered_bytes, self.world.now().as_secs_f64());
            outcome.utilization = outcome.throughput_mbps / outcome.capacity_mbps;
            outcome.queue_delay_ms.mean = counters.mean_sojourn().as_millis_f64();
            outcome.drops = counters.dropped_packets();
            outcome.marks = counters.marks + counters.brakes;
            return Ok(outcome);
        };
        outcome.throughput_mbps = mbps(record.delivered, seconds);
        if offered > 0 {
            outcome.utilization = record.delivered as f64 / offered as f64;
        }
        outcome.queue_delay_ms = record.sojourn.quantiles();
        outcome.drops = record.drops;
        outcome.marks = record.marks;
        if let Record::Series(bin) = self.scenario.record {
            let count = self.world.now().as_nanos().div_ceil(bin.as_nanos()) as usize;
            let mut series = LinkSeries { bin_s: bin.as_secs_f64(), ..LinkSeries::default() };
            for at in 0..count {
                let start = Time::ZERO + bin * at as u64;
                let end = (start + bin).min(self.world.now());
                let length = end.since(start).as_secs_f64();
                let (bytes, longest) = record.bins.get(at).copied().unwrap_or_default();
                series.capacity_mbps.push(mbps(link.service().offered(start, end), length));
                series.throughput_mbps.push(mbps(bytes, length));
                series.queue_delay_ms.push(longest.map_or(f64::NAN, Span::as_millis_f64));
            }
            outcome.series = Some(series);
        }
        Ok(outcome)
    }

    /// The 95th percentile of the age of the newest packet if the link were kept busy without ever
    /// making one wait, propagation not included: a packet arrives at each departure of a
    /// saturated link, and was sent just in time.
    fn omniscient(&self, spec: &LinkSpec) -> Result<Option<Span>, BuildError> {
        if self.world.recorder.is_none() {
            return Ok(None);
        }
        let packet = Packet::opaque(self.scenario.mss);
        let (mut from, mut end) = (Time::ZERO + self.scenario.warmup, self.world.now());
        if let Capacity::Constant(rate) = spec.capacity {
            // Every packet takes as long as the one before: some thousands tell all.
            from = Time::ZERO;
            end = end.min(Time::ZERO + rate.time_for(u64::from(packet.size) * 10_000));
        }
        let mut link = Link::new(Box::new(Fifo::new(Limit::NONE)), service(spec)?);
        let mut age = Age::new(from);
        link.push(Time::ZERO, &packet);
        link.push(Time::ZERO, &packet);
        // A bound on time and memory for links that would carry billions of packets.
        let mut left = 10_000_000u32;
        while link.wake() < end && left > 0 {
            let at = link.wake();
            while link.pop(at).is_some() && left > 0 {
                age.on_arrival(at, at);
                link.push(at, &packet);
                left -= 1;
            }
        }
        let end = if left == 0 { end.min(link.wake()) } else { end };
        Ok(age.quantile(end, 0.95))
    }

    fn flow(&self, index: usize, place: &FlowPlace, best: Option<Span>) -> FlowOutcome {
        let seconds = self.measured().as_secs_f64();
        let before = self.warm.as_ref().map_or(0, |warm| warm[index]);
        let mut outcome = FlowOutcome {
            name: place.name.clone(),
            scheme: place.scheme.clone(),
            goodput_mbps: (self.goodput(place) - before) as f64 * 8.0 / 1e6 / seconds,
            ..FlowOutcome::default()
        };
        if let Node::Sender(sender) = &self.world.nodes[place.sender] {
            outcome.sender = sender.stats().into();
            outcome.transfers = sender.transfers().len() as u64;
            let finished = !sender.transfers().is_empty();
            outcome.completion_ms = finished.then(|| completion(sender.transfers()));
        }
        let Some(recorder) = &self.world.recorder else { return outcome };
        let record = &recorder.flows[index];
        if let (Node::Sender(sender), Some(segments)) =
            (&self.world.nodes[place.sender], &record.segments)
        {
            let from = Time::ZERO + self.scenario.warmup;
            outcome.frames = sender.video().map(|video| frames(video, segments, from));
        }
        outcome.one_way_delay_ms = record.one_way.quantiles();
        outcome.rtt_ms = record.rtt.quantiles();
        let end = self.world.now();
        let least = best.unwrap_or(Span::ZERO) + place.forward;
        let own = record.age.quantile(end, 0.95);
        outcome.self_inflicted_p95_ms = own.map_or(0.0, |own| (own - least).as_millis_f64());
        if let Record::Series(bin) = self.scenario.record {
            let seconds = bin.as_secs_f64();
            let mbps = |&bytes: &u64| bytes as f64 * 8.0 / 1e6 / seconds;
            outcome.series = Some(FlowSeries {
                bin_s: seconds,
                goodput_mbps: record.bins.iter().map(mbps).collect(),
                state: record.state.clone(),
            });
        }
        outcome
    }

    fn pooled(&self, flows: &[FlowOutcome]) -> Pooled {
        let Some(recorder) = &self.world.recorder else { return Pooled::default() };
        if let [flow] = flows {
            return Pooled {
                one_way_delay_ms: flow.one_way_delay_ms,
                rtt_ms: flow.rtt_ms,
                self_inflicted_p95_ms: flow.self_inflicted_p95_ms,
            };
        }
        let (mut one_way, mut rtt) = (Samples::default(), Samples::default());
        for record in &recorder.flows {
            one_way.extend(&record.one_way);
            rtt.extend(&record.rtt);
        }
        let sum: f64 = flows.iter().map(|flow| flow.self_inflicted_p95_ms).sum();
        Pooled {
            one_way_delay_ms: one_way.quantiles(),
            rtt_ms: rtt.quantiles(),
            self_inflicted_p95_ms: sum / flows.len().max(1) as f64,
        }
    }

    fn arrivals(&self) -> Option<ArrivalsOutcome> {
        if self.scenario.arrivals.is_empty() {
            return None;
        }
        let mut transfers: Vec<Transfer> = Vec::new();
        let mut goodput = 0;
        for place in &self.places.arrivals {
            goodput += self.goodput(place);
            if let Node::Sender(sender) = &self.world.nodes[place.sender] {
                transfers.extend_from_slice(sender.transfers());
            }
        }
        let seconds = self.measured().as_secs_f64();
        Some(ArrivalsOutcome {
            arrived: self.places.arrivals.len() as u64,
            finished: transfers.len() as u64,
            goodput_mbps: (goodput - self.warm_arrivals) as f64 * 8.0 / 1e6 / seconds,
            completion_ms: completion(&transfers),
        })
    }
}
