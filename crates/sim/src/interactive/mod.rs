//! A run that can be changed while it runs: links, delays and flows.
//!
//! Equal changes at equal simulated times give equal runs, with equal digests. The run works like
//! any other, except that links do not compute departures ahead, because these may change.

mod error;
mod restart;
mod state;

pub use error::ChangeError;
pub use state::{FlowState, LinkCounts, LinkState, PacketEvent};

use std::sync::Arc;

use paceline_cc::{Rate, Span, Time, TrafficClass};
use paceline_path::{BufferSize, Link};

use crate::build::{Layout, lay_out};
use crate::choose;
use crate::error::BuildError;
use crate::parts::mean_rate;
use crate::places::Places;
use crate::scenario::{Capacity, FlowSpec, Record, RouterChoice, Scenario};
use crate::world::World;
use paceline_scenario::Names;

/// Maximum round-trip time that can be set.
const LONGEST_RTT: Span = Span::from_secs(60);

/// Interval at which the logs of links are read and emptied.
const LOG_READ: Span = Span::from_millis(50);

/// A scenario that runs step by step and can be changed in between.
///
/// ```
/// use paceline_sim::cc::{Rate, Span, Time};
/// use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario, SchemeChoice};
/// use paceline_sim::Interactive;
///
/// let cubic: SchemeChoice = "cubic".parse()?;
/// let mut scenario = Scenario::new("to play with");
/// scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
/// scenario.flows.push(FlowSpec::bulk(cubic, &["link"]));
///
/// let mut run = Interactive::new(scenario)?;
/// run.advance(Time::from_secs(5));
/// run.set_link_rate(0, Rate::from_mbps(3.0))?;
/// run.set_rtt(Span::from_millis(40))?;
/// run.start_flow(0, "vegas".parse()?)?;
/// run.advance(Time::from_secs(10));
/// assert!(run.flow(0).is_some_and(|flow| flow.starts == 2 && flow.in_flight_bytes > 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Interactive {
    /// The scenario, with one specification per flow.
    scenario: Scenario,
    names: Option<Names>,
    world: World,
    places: Places,
    layout: Layout,
    /// Current router of each link.
    routers: Vec<RouterChoice>,
    flows: Vec<InteractiveFlow>,
    /// The flow that currently has a number, by the packets' flow number.
    owners: Vec<Option<usize>>,
    /// Events of packets at links since the caller last took them; `None` if it has not asked for events.
    watched: Option<Vec<PacketEvent>>,
}

/// The state of a flow beside its ends.
#[derive(Debug)]
struct InteractiveFlow {
    on: bool,
    starts: u32,
    /// Current flow number of its packets.
    number: usize,
    is_abc: bool,
    /// Number of the first link on the path of its data.
    first_link: Option<usize>,
    at_links: LinkCounts,
}

impl Interactive {
    /// Creates a run at time zero. A flow whose start is [`Span::MAX`] is off until it is started.
    /// The scenario's duration and warm-up are ignored, and nothing is recorded.
    ///
    /// # Errors
    /// The scenario cannot be built, or contains a part that cannot be changed while it runs.
    pub fn new(scenario: Scenario) -> Result<Interactive, ChangeError> {
        Interactive::build(scenario, None)
    }

    /// Creates a run with the schemes and queues of `names`.
    ///
    /// # Errors
    /// Those of [`Interactive::new`].
    pub fn with_names(scenario: Scenario, names: &Names) -> Result<Interactive, ChangeError> {
        Interactive::build(scenario, Some(names.clone()))
    }

    fn build(scenario: Scenario, names: Option<Names>) -> Result<Interactive, ChangeError> {
        let mut scenario = error::playable(scenario)?;
        scenario.flows = scenario.flows.iter().flat_map(one_by_one).collect();
        scenario.record = Record::Counters;
        let mut settled = scenario.clone();
        let on: Vec<bool> = scenario.flows.iter().map(|flow| flow.start < Span::MAX).collect();
        for link in &mut settled.links {
            link.router = choose::router_of(
                &link.name,
                &link.router,
                active(&scenario, &on, None).filter(|flow| flow.path.contains(&link.name)),
                names.as_ref(),
            )?;
        }
        let (mut world, places, layout) = lay_out(&settled, names.as_ref(), None, true)?;
        for &stage in &places.links {
            world.change_link(stage, |link| link.record(true));
        }
        let routers = settled.links.into_iter().map(|link| link.router).collect();
        let mut flows = Vec::new();
        for (number, (spec, on)) in scenario.flows.iter().zip(on).enumerate() {
            let class = restart::halves(&spec.scheme, names.as_ref())?.class;
            let first_link = spec
                .path
                .first()
                .and_then(|first| scenario.links.iter().position(|link| link.name == *first));
            flows.push(InteractiveFlow {
                on,
                starts: u32::from(on),
                number,
                is_abc: class == TrafficClass::EXPLICIT,
                first_link,
                at_links: LinkCounts::default(),
            });
        }
        let owners = (0..flows.len()).map(Some).collect();
        Ok(Interactive {
            scenario,
            names,
            world,
            places,
            layout,
            routers,
            flows,
            owners,
            watched: None,
        })
    }

    /// Returns the current scenario: flows with their current schemes, one specification each, and
    /// links with their current rates and buffers.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Returns the number of hand-overs of packets between stages since the start.
    pub fn hand_overs(&self) -> u64 {
        self.world.hand_overs()
    }

    /// Returns the digest of every arrival at an end so far; empty if the scenario has no digest.
    pub fn digest(&self) -> String {
        self.world.digest()
    }

    /// Handles all events before `end`, and advances the time to `end`.
    pub fn advance(&mut self, end: Time) {
        while self.world.now() < end {
            let next = (self.world.now() + LOG_READ).min(end);
            self.world.run_until(next);
            self.read_logs();
        }
    }

    fn read_logs(&mut self) {
        let Interactive { world, places, flows, owners, watched, .. } = self;
        for (index, &stage) in places.links.iter().enumerate() {
            world.change_link(stage, |link| {
                for event in link.log().events() {
                    let owner = owners.get(event.flow as usize).copied().flatten();
                    if let Some(flow) = owner.and_then(|owner| flows.get_mut(owner)) {
                        flow.at_links.count(event, flow.is_abc, flow.first_link == Some(index));
                    }
                    if let Some(events) = watched {
                        events.push(PacketEvent { link: index, flow: owner, event: *event });
                    }
                }
                link.log_mut().clear_events();
            });
        }
    }

    /// Sets whether events of packets at links are kept for [`Interactive::take_packet_events`].
    /// They are only read, so the run and its digest do not depend on it.
    pub fn watch_packets(&mut self, on: bool) {
        match on {
            true => drop(self.watched.get_or_insert_default()),
            false => self.watched = None,
        }
    }

    /// Takes the events of packets at links since the last call, if they are watched: of each link
    /// in the order of their times.
    pub fn take_packet_events(&mut self) -> Vec<PacketEvent> {
        self.watched.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn link_stage(&self, link: usize) -> Result<usize, ChangeError> {
        self.places.links.get(link).copied().ok_or(ChangeError::NoSuchLink(link))
    }

    /// Sets the rate of a link from now on, also for the rest of the packet in transmission. A
    /// buffer that was given in time or in bandwidth-delay products keeps its size in bytes.
    ///
    /// # Errors
    /// There is no such link, its capacity is not a constant rate, or the rate is zero.
    pub fn set_link_rate(&mut self, link: usize, rate: Rate) -> Result<(), ChangeError> {
        let stage = self.link_stage(link)?;
        let now = self.world.now();
        match self.world.change_link(stage, |link| link.set_rate(now, rate)) {
            Some(true) => {
                self.scenario.links[link].capacity = Capacity::Constant(rate);
                Ok(())
            }
            _ if rate == Rate::ZERO => Err(ChangeError::ZeroRate),
            _ => Err(ChangeError::FixedRate(self.scenario.links[link].name.clone())),
        }
    }

    /// Sets the limit of a link's buffer from now on. Packets in the buffer stay. Times and
    /// bandwidth-delay products are converted with the current rate, or with the mean rate if it
    /// varies, and with the current RTT.
    ///
    /// # Errors
    /// There is no such link, its queue's limit cannot be changed, or a bandwidth-delay product is
    /// requested while the RTTs of the flows differ.
    pub fn set_link_buffer(&mut self, link: usize, size: BufferSize) -> Result<(), ChangeError> {
        let stage = self.link_stage(link)?;
        let spec = &self.scenario.links[link];
        let rtt = match size {
            BufferSize::Bdp(_) => choose::rtt(&self.scenario, spec)?,
            _ => Span::ZERO,
        };
        let Scenario { duration, mss, .. } = self.scenario;
        let changed = self.world.change_link(stage, |link| {
            let rate = mean_rate(&spec.capacity, link.service(), duration);
            link.set_limit(size.resolve_for(rate, rtt, mss))
        });
        match changed {
            Some(true) => {
                self.scenario.links[link].buffer = size;
                Ok(())
            }
            _ => Err(ChangeError::FixedBuffer(spec.name.clone())),
        }
    }

    /// Sets the round-trip propagation delay of all flows from now on, half of it each way. Packets
    /// under way are shifted by the change, but not into the past, and are not reordered.
    ///
    /// # Errors
    /// The RTT is shorter than 2 ns or longer than a minute.
    pub fn set_rtt(&mut self, rtt: Span) -> Result<(), ChangeError> {
        let half = rtt / 2;
        if half.is_zero() || rtt > LONGEST_RTT {
            return Err(ChangeError::Rtt(rtt));
        }
        let now = self.world.now();
        for &(stage, extra) in &self.layout.pipes {
            self.world.change_pipe(stage, |pipe| pipe.set_delay(now, half + extra));
        }
        self.scenario.flows.iter_mut().for_each(|flow| flow.rtt = half * 2);
        Ok(())
    }

    /// Returns the number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the current state of a flow; `None` if there is no such flow.
    pub fn flow(&self, index: usize) -> Option<FlowState> {
        let (played, place) = (self.flows.get(index)?, self.places.flows.get(index)?);
        let sender = self.world.sender(place.sender)?;
        let receiver = self.world.receiver(place.receiver)?;
        let stats = sender.stats();
        Some(FlowState {
            on: played.on,
            starts: played.starts,
            in_flight_bytes: sender.in_flight(),
            cwnd_bytes: sender.plan().cwnd,
            pacing: sender.plan().pacing,
            srtt: sender.rtt().smoothed(),
            latest_rtt: sender.rtt().latest(),
            sent: stats.sent,
            retransmits: stats.retransmits,
            lost: stats.lost,
            timeouts: stats.timeouts,
            goodput_bytes: receiver.stats().goodput,
            at_links: played.at_links,
        })
    }

    fn stage_of_link(&self, index: usize) -> Option<&Link> {
        self.world.link(*self.places.links.get(index)?)
    }

    /// Returns the current state of a link; `None` if there is no such link.
    pub fn link(&self, index: usize) -> Option<LinkState> {
        let link = self.stage_of_link(index)?;
        let counters = link.counters();
        Some(LinkState {
            backlog_packets: link.backlog_packets() as u64,
            backlog_bytes: link.backlog_bytes(),
            delivered_packets: counters.delivered_packets,
            delivered_bytes: counters.delivered_bytes,
            dropped: counters.dropped_packets(),
            marks: counters.marks + counters.ect0_marks,
        })
    }

    /// Returns the bytes that a link offered from `from` on and before `to`; zero if there is no
    /// such link.
    pub fn offered(&self, link: usize, from: Time, to: Time) -> u64 {
        self.stage_of_link(link).map_or(0, |link| link.service().offered_in(from..to))
    }

    /// Passes names and values of a link router's internal state to `see`, if it has a router. For
    /// tests.
    pub fn inspect_router(&self, link: usize, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(router) = self.stage_of_link(link).and_then(Link::router) {
            router.inspect(see);
        }
    }
}

/// Returns the flows of a specification, each with its own specification.
fn one_by_one(spec: &FlowSpec) -> Vec<FlowSpec> {
    let one = |i: u32| {
        spec.clone().with(|flow| {
            if spec.count > 1 {
                flow.name = format!("{}-{}", spec.name, i + 1);
            }
            flow.count = 1;
            flow.start = spec.start + spec.stagger * u64::from(i);
            flow.stop = spec.stop.map(|stop| stop - spec.stagger_stop * u64::from(i));
            (flow.stagger, flow.stagger_stop) = (Span::ZERO, Span::ZERO);
        })
    };
    (0..spec.count).map(one).collect()
}

/// Returns the flows that are on, with `also` in place of its current specification.
fn active<'a>(
    scenario: &'a Scenario,
    on: &'a [bool],
    also: Option<(usize, &'a FlowSpec)>,
) -> impl Iterator<Item = &'a FlowSpec> {
    let flows = scenario.flows.iter().zip(on).enumerate();
    flows.filter_map(move |(index, (flow, on))| match also {
        Some((changed, spec)) if changed == index => Some(spec),
        _ => on.then_some(flow),
    })
}

/// A scheme that cannot be built.
impl From<paceline_cc::SpecError> for ChangeError {
    fn from(error: paceline_cc::SpecError) -> ChangeError {
        ChangeError::Build(BuildError::from(error))
    }
}

/// Returns the label of a scheme, shared by places.
fn label(spec: &FlowSpec) -> Arc<str> {
    Arc::from(spec.scheme.to_string())
}
