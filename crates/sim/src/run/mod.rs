//! Runs a scenario and computes its results.

mod links;
#[cfg(test)]
mod tests;
mod windows;

use std::iter::repeat_n;
use std::sync::Arc;

use paceline_cc::{Span, Time, draws};
use paceline_flow::{SenderStats, Transfer, VideoStats, Workload};

use crate::bins::intervals;
use crate::build::build;
use crate::call;
use crate::error::BuildError;
use crate::metrics::{Samples, mbps, mean, power};
use crate::outcome::{
    ArrivalsOutcome, FlowOutcome, FlowSeries, FlowSums, Outcome, PooledDelays, completion_times,
    number_equal_names,
};
use crate::places::{FlowPlace, Places};
use crate::recorder::{FlowRecord, StateVisitor, note_state};
use crate::scenario::{Record, Scenario, SchemeChoice};
use crate::transport::TransportEndpoint;
use crate::world::World;
use paceline_scenario::Names;
use paceline_scenario::{CustomTransport, TransportEnd};

use windows::{ActiveTime, Windows};

/// Runs a scenario to its end.
///
/// # Errors
/// The scenario cannot be built: see [`BuildError`].
pub fn run(scenario: &Scenario) -> Result<Outcome, BuildError> {
    to_end(Simulation::new(scenario.clone())?)
}

/// Runs a scenario with the schemes and queues of `names`.
///
/// # Errors
/// Those of [`run`].
pub fn run_with(scenario: &Scenario, names: &Names) -> Result<Outcome, BuildError> {
    to_end(Simulation::with_names(scenario.clone(), names)?)
}

fn to_end(mut simulation: Simulation) -> Result<Outcome, BuildError> {
    simulation.advance(Time::ZERO + simulation.scenario.duration);
    simulation.outcome()
}

/// A running scenario that can be inspected in between.
pub struct Simulation {
    scenario: Arc<Scenario>,
    world: World,
    places: Places,
    /// Totals of the flows at the end of the warm-up.
    warmup_totals: Option<Vec<WarmupTotals>>,
    /// Goodput of random arrivals at the end of the warm-up.
    warm_arrivals: u64,
    /// Time until the end of the warm-up in which stations had packets to send, by medium and number.
    warm_busy: Vec<Vec<Span>>,
    windows: Windows,
    /// True if a random number was drawn.
    seed_used: bool,
}

/// Totals of a flow at the end of the warm-up.
#[derive(Copy, Clone, Debug, Default)]
struct WarmupTotals {
    goodput: u64,
    sender: SenderStats,
    on: Span,
    video: VideoStats,
}

impl Simulation {
    /// Creates a run at time zero, with built-in schemes and queues or those given as values. An
    /// `Arc` of a scenario is used without a copy, so that many runs can share it.
    ///
    /// # Errors
    /// The scenario cannot be built: see [`BuildError`].
    pub fn new(scenario: impl Into<Arc<Scenario>>) -> Result<Simulation, BuildError> {
        Simulation::build(scenario.into(), None, None)
    }

    /// Creates a run with the schemes and queues of `names`.
    ///
    /// # Errors
    /// Those of [`Simulation::new`].
    pub fn with_names(
        scenario: impl Into<Arc<Scenario>>,
        names: &Names,
    ) -> Result<Simulation, BuildError> {
        Simulation::build(scenario.into(), Some(names), None)
    }

    fn build(
        scenario: Arc<Scenario>,
        names: Option<&Names>,
        outside: Option<(&str, CustomTransport)>,
    ) -> Result<Simulation, BuildError> {
        let before = draws();
        let (world, places) = build(&scenario, names, outside)?;
        let seed_used = draws() != before;
        let windows = windows_of(&scenario, &places);
        Ok(Simulation {
            scenario,
            world,
            places,
            warmup_totals: None,
            warm_arrivals: 0,
            warm_busy: Vec::new(),
            windows,
            seed_used,
        })
    }

    /// Creates a run with other ends for the flow of this name.
    pub(crate) fn with_outside(
        scenario: Scenario,
        names: &Names,
        outside: (&str, CustomTransport),
    ) -> Result<Simulation, BuildError> {
        Simulation::build(Arc::new(scenario), Some(names), Some(outside))
    }

    /// Returns the stages of a flow's sender and receiver, by the flow's number.
    pub(crate) fn ends_of(&self, flow: usize) -> [usize; 2] {
        let place = &self.places.flows[flow];
        [place.sender, place.receiver]
    }

    pub(crate) fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Returns the scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Runs until `end`.
    pub fn advance(&mut self, end: Time) {
        let before = draws();
        self.advance_to(end);
        self.seed_used |= draws() != before;
    }

    fn advance_to(&mut self, end: Time) {
        let warm = self.warmup_end();
        if self.warmup_totals.is_none() && warm <= end {
            self.stepwise(warm);
            let flows: Vec<WarmupTotals> =
                self.places.flows.iter().map(|place| self.sofar(place)).collect();
            let goodput = |place: &FlowPlace| self.goodput(place);
            self.warm_arrivals = self.places.arrivals.iter().map(goodput).sum();
            self.warm_busy = (0..self.places.media.len()).map(|index| self.busy(index)).collect();
            self.windows.open(warm, |flow| flows[flow].goodput);
            self.warmup_totals = Some(flows);
        }
        while let Some(edge) = self.windows.edge().filter(|edge| *edge <= end) {
            self.stepwise(edge);
            let Simulation { world, places, windows, .. } = self;
            windows.close(|flow| {
                let place = &places.flows[flow];
                (goodput(world, place), has_finished(world, place))
            });
        }
        self.stepwise(end);
    }

    /// Runs until `end`, and records the state of controllers at the end of each bin.
    fn stepwise(&mut self, end: Time) {
        let Record::Series(bin) = self.scenario.record else { return self.world.run_until(end) };
        while self.world.now() < end {
            let at = self.world.now().as_nanos() / bin.as_nanos();
            let edge = Time::from_nanos((at + 1) * bin.as_nanos());
            self.world.run_until(edge.min(end));
            if edge > end {
                return;
            }
            let Some(mut recorder) = self.world.recorder.take() else { continue };
            for (flow, place) in self.places.flows.iter().enumerate() {
                recorder.on_state(at as usize, flow, |see| self.inspect(place, see));
            }
            self.world.recorder = Some(recorder);
        }
    }

    /// Passes the internal values of a flow's controller to `see`.
    fn inspect(&self, place: &FlowPlace, see: &mut StateVisitor<'_>) {
        if let Some(sender) = self.world.sender(place.sender) {
            sender.inspect(see);
        } else if let Some(end) = self.world.transport_endpoint(place.sender) {
            end.end().inspect(see);
        }
    }

    /// Returns the counters of a transport's sending end; zeros for other flows.
    fn transport_counters(&self, place: &FlowPlace) -> SenderStats {
        self.transport_end(place).map_or_else(SenderStats::default, TransportEnd::counters)
    }

    /// Returns the sending end of a flow whose transport comes whole.
    fn transport_end(&self, place: &FlowPlace) -> Option<&dyn TransportEnd> {
        self.world.transport_endpoint(place.sender).map(TransportEndpoint::end)
    }

    fn goodput(&self, place: &FlowPlace) -> u64 {
        goodput(&self.world, place)
    }

    fn sofar(&self, place: &FlowPlace) -> WarmupTotals {
        let now = self.world.now();
        let goodput = self.goodput(place);
        match self.world.sender(place.sender) {
            Some(sender) => WarmupTotals {
                goodput,
                sender: sender.stats(),
                on: sender.on_time(now),
                video: sender.video().map_or_else(VideoStats::default, |(_, stats)| stats),
            },
            None => WarmupTotals {
                goodput,
                sender: self.transport_counters(place),
                video: self
                    .transport_end(place)
                    .map_or_else(VideoStats::default, TransportEnd::frame_counts),
                ..WarmupTotals::default()
            },
        }
    }

    /// Returns the sums of each flow so far, in the scenario's order, without a name or an
    /// allocation. Sums of delays are zero if the scenario records counters only.
    pub fn sums(&self) -> impl ExactSizeIterator<Item = FlowSums> {
        self.places.flows.iter().enumerate().map(|(index, place)| self.sums_of(index, place))
    }

    /// Returns the transfers of a given size of each flow, in the scenario's order: the finished
    /// ones, oldest first, and the unfinished one, which ends now. Complete transports may report none.
    pub fn transfers(&self) -> impl ExactSizeIterator<Item = (&[Transfer], Option<Transfer>)> {
        let now = self.world.now();
        self.places.flows.iter().map(move |place| {
            let unfinished = match self.world.sender(place.sender) {
                Some(sender) => sender.unfinished_transfer(now),
                None => self
                    .world
                    .transport_endpoint(place.sender)
                    .and_then(|end| end.end().unfinished_transfer(now)),
            };
            (transfers(&self.world, place), unfinished)
        })
    }

    fn sums_of(&self, index: usize, place: &FlowPlace) -> FlowSums {
        let Some(warm) = self.warmup_totals.as_ref().map(|warm| warm[index]) else {
            return FlowSums::default();
        };
        let now = self.sofar(place);
        let delays = self.world.recorder.as_ref().map(|recorder| recorder.sums[index]);
        let delays = delays.unwrap_or_default();
        FlowSums {
            bytes: now.goodput - warm.goodput,
            packets: delays.packets,
            delay_s: delays.one_way.as_secs_f64(),
            rtt_samples: delays.samples,
            rtt_s: delays.rtt.as_secs_f64(),
            on_s: (now.on - warm.on).as_secs_f64(),
            lost: (now.sender - warm.sender).lost,
        }
    }

    /// Returns the end of the warm-up.
    fn warmup_end(&self) -> Time {
        Time::ZERO + self.scenario.warmup
    }

    /// Returns the measured time so far; zero during the warm-up.
    fn measured(&self) -> Span {
        self.world.now().since(self.warmup_end())
    }

    /// Returns the number of data packets that have reached their receivers since the start.
    pub fn packets(&self) -> u64 {
        let flows = self.places.flows.iter().chain(&self.places.arrivals);
        let packets = |place: &FlowPlace| match self.world.receiver(place.receiver) {
            Some(receiver) => receiver.stats().packets,
            None => self.world.transport_endpoint(place.receiver).map_or(0, |end| end.taken),
        };
        flows.map(packets).sum()
    }

    /// Returns the results so far. During the warm-up nothing is measured: rates, delays and
    /// counters are zero, except [`FlowOutcome::since_start`], [`Outcome::packets`] and the digest.
    ///
    /// # Errors
    /// An end of a complete transport has stopped working. Other errors were already returned by
    /// [`Simulation::new`].
    pub fn outcome(&self) -> Result<Outcome, BuildError> {
        self.check_transports()?;
        let mut outcome = Outcome {
            name: self.scenario.name.clone(),
            duration_s: self.measured().as_secs_f64(),
            packets: self.packets(),
            seed_used: self.seed_used,
            system_random: self.has_system_random(),
            digest: self.world.digest(),
            ..Outcome::default()
        };
        for index in 0..self.scenario.links.len() {
            outcome.links.push(self.link(index));
        }
        for index in 0..self.scenario.media.len() {
            outcome.media.push(self.medium(index));
        }
        for (index, place) in self.places.flows.iter().enumerate() {
            outcome.flows.push(self.flow(index, place));
        }
        number_equal_names(&mut outcome.flows);
        outcome.jain_1s = self.windows.jain();
        outcome.pooled = self.pooled(&outcome.flows);
        outcome.arrivals = self.arrivals();
        Ok(outcome)
    }

    /// Returns true if a flow's transport draws random numbers from the system.
    fn has_system_random(&self) -> bool {
        let arrivals = self.scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
        self.scenario.flows.iter().chain(arrivals).any(|flow| match &flow.scheme {
            SchemeChoice::Transport(transport) => transport.has_system_random(),
            SchemeChoice::Named(_) | SchemeChoice::Custom(_) => false,
        })
    }

    /// Returns an error if an end of a transport has stopped working.
    fn check_transports(&self) -> Result<(), BuildError> {
        for place in self.places.flows.iter().chain(&self.places.arrivals) {
            for stage in [place.sender, place.receiver] {
                let end = self.world.transport_endpoint(stage);
                if let Some(problem) = end.and_then(|end| end.end().failure()) {
                    return Err(BuildError::Transport { flow: place.name.to_string(), problem });
                }
            }
        }
        Ok(())
    }

    fn flow(&self, index: usize, place: &FlowPlace) -> FlowOutcome {
        let now = self.sofar(place);
        let before = self.warmup_totals.as_ref().map_or(now, |warm| warm[index]);
        let mut outcome = FlowOutcome {
            name: place.name.to_string(),
            scheme: place.scheme.to_string(),
            goodput_mbps: mbps(now.goodput - before.goodput, self.measured()),
            ..FlowOutcome::default()
        };
        (outcome.sender, outcome.since_start) = (now.sender - before.sender, now.sender);
        for stage in [place.sender, place.receiver] {
            let end = self.world.transport_endpoint(stage);
            outcome.programs.extend(end.map_or_else(Vec::new, |end| end.end().programs()));
        }
        let times = completion_times(transfers(&self.world, place), self.warmup_end());
        outcome.transfers = times.len();
        outcome.completion_ms = times.quantiles_if_any();
        let Some(recorder) = &self.world.recorder else { return outcome };
        let Some(record) = recorder.flows.get(index) else {
            outcome.sums = Some(self.sums_of(index, place));
            return outcome;
        };
        let measured =
            self.warmup_end().max(place.start)..self.world.now().min(record.stop).max(place.start);
        if let (Some(sender), Some(segments)) = (self.world.sender(place.sender), &record.segments)
        {
            let in_order = sender.is_reliable();
            outcome.audio = sender.audio().map(|packets| {
                let packets = call::sent_frames(packets, segments, in_order);
                call::audio_outcome(&packets, measured.clone())
            });
            outcome.frames = sender.video().map(|(frames, stats)| {
                let frames = call::sent_frames(frames, segments, in_order);
                call::outcome(&frames, measured.clone(), stats - before.video)
            });
        }
        if let Some(media) = self.transport_end(place).and_then(TransportEnd::media) {
            let frames = call::sent_frames(&media.frames, &media.arrivals, false);
            match media.is_audio {
                true => outcome.audio = Some(call::audio_outcome(&frames, measured)),
                false => {
                    let counts = now.video - before.video;
                    outcome.frames = Some(call::outcome(&frames, measured, counts));
                }
            }
        }
        outcome.one_way_delay_ms = record.one_way.quantiles();
        outcome.rtt_ms = record.rtt.quantiles();
        let own = record.age.quantile(self.world.now().min(record.stop), 0.95);
        outcome.end_to_end_p95_ms = own.map(Span::as_millis_f64);
        outcome.power = own.and_then(|age| power(outcome.goodput_mbps, age.as_millis_f64()));
        if let Record::Series(bin) = self.scenario.record {
            outcome.series = Some(self.flow_series(place, record, bin));
        }
        outcome
    }

    /// Returns the time series of a flow, in the same bins as those of links.
    fn flow_series(&self, place: &FlowPlace, record: &FlowRecord, bin: Span) -> FlowSeries {
        let mut series = FlowSeries { bin_s: bin.as_secs_f64(), ..FlowSeries::default() };
        series.state.clone_from(&record.state);
        for (at, interval) in intervals(bin, self.world.now()).enumerate() {
            let length = interval.end.since(interval.start);
            let bytes = record.bins.get(at).copied().unwrap_or(0);
            series.goodput_mbps.push(mbps(bytes, length));
            // Values are recorded at the end of whole bins; the last bin may be shorter.
            if length < bin {
                note_state(&mut series.state, at, |see| self.inspect(place, see));
            }
        }
        let bins = series.goodput_mbps.len();
        series.state.iter_mut().for_each(|(_, values)| values.resize(bins, f64::NAN));
        series
    }

    fn pooled(&self, flows: &[FlowOutcome]) -> PooledDelays {
        let Some(recorder) = &self.world.recorder else { return PooledDelays::default() };
        if let [flow] = flows {
            return PooledDelays {
                one_way_delay_ms: flow.one_way_delay_ms,
                rtt_ms: flow.rtt_ms,
                end_to_end_p95_ms: flow.end_to_end_p95_ms,
                self_inflicted_p95_ms: None,
                power: flow.power,
            };
        }
        let (mut one_way, mut rtt) = (Samples::default(), Samples::default());
        for record in &recorder.flows {
            one_way.extend(&record.one_way);
            rtt.extend(&record.rtt);
        }
        let end_to_end_p95_ms = mean(flows.iter().filter_map(|flow| flow.end_to_end_p95_ms));
        let goodput_mbps: f64 = flows.iter().map(|flow| flow.goodput_mbps).sum();
        PooledDelays {
            one_way_delay_ms: one_way.quantiles(),
            rtt_ms: rtt.quantiles(),
            end_to_end_p95_ms,
            self_inflicted_p95_ms: None,
            power: end_to_end_p95_ms.and_then(|delay_ms| power(goodput_mbps, delay_ms)),
        }
    }

    fn arrivals(&self) -> Option<ArrivalsOutcome> {
        if self.scenario.arrivals.is_empty() {
            return None;
        }
        let (from, now) = (self.warmup_end(), self.world.now());
        let (mut arrived, mut goodput, mut times) = (0, 0, Samples::default());
        for place in &self.places.arrivals {
            goodput += self.goodput(place);
            // Flows that have not arrived yet have places too, so do not count those.
            arrived += u64::from((from..now).contains(&place.start));
            times.extend(&completion_times(transfers(&self.world, place), from));
        }
        let before = if self.warmup_totals.is_some() { self.warm_arrivals } else { goodput };
        Some(ArrivalsOutcome {
            arrived,
            finished: times.len(),
            goodput_mbps: mbps(goodput - before, self.measured()),
            completion_ms: times.quantiles_if_any(),
        })
    }
}

/// Returns the windows for fairness, by the times at which the flows actually start and stop.
fn windows_of(scenario: &Scenario, places: &Places) -> Windows {
    let finite = scenario.flows.iter().flat_map(|spec| {
        repeat_n(matches!(spec.workload, Workload::Bytes(_)), spec.count as usize)
    });
    let flows = places.flows.iter().zip(finite);
    let active =
        flows.map(|(place, finite)| ActiveTime { start: place.start, stop: place.stop, finite });
    Windows::new(active.collect())
}

/// Returns the bytes of packets that a flow's receiver has received for the first time.
fn goodput(world: &World, place: &FlowPlace) -> u64 {
    match world.receiver(place.receiver) {
        Some(receiver) => receiver.stats().goodput,
        None => world.transport_endpoint(place.receiver).map_or(0, |end| end.end().received()),
    }
}

/// Returns a flow's finished transfers of a given size, oldest first.
fn transfers<'a>(world: &'a World, place: &FlowPlace) -> &'a [Transfer] {
    match world.sender(place.sender) {
        Some(sender) => sender.transfers(),
        None => world.transport_endpoint(place.sender).map_or(&[], |end| end.end().transfers()),
    }
}

/// Returns true if a flow has finished a transfer of a given size.
fn has_finished(world: &World, place: &FlowPlace) -> bool {
    !transfers(world, place).is_empty()
}
