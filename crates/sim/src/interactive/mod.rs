//! A run that somebody plays with: links, delays and flows change while it runs.
//!
//! The same changes at the same simulated times give the same run, digest included. It runs as any
//! other: only links do not compute departures ahead, since these may change.

mod error;
mod restart;
mod state;

pub use error::ChangeError;
pub use state::{FlowState, LinkCounts, LinkState};

use std::sync::Arc;

use paceline_cc::{Rate, Span, Time, TrafficClass};
use paceline_path::{BufferSize, Link};

use crate::build::{Layout, Places, lay_out};
use crate::choose;
use crate::error::BuildError;
use crate::names::Names;
use crate::parts::mean_rate;
use crate::scenario::{Capacity, FlowSpec, Record, RouterChoice, Scenario};
use crate::world::World;

/// The longest round-trip time that can be set.
const LONGEST_RTT: Span = Span::from_secs(60);

/// The log of links is read at least this often, so that it stays short.
const LOG_READ: Span = Span::from_millis(50);

/// A scenario that runs step by step and can be changed on the way.
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
    /// With one specification for each flow.
    scenario: Scenario,
    names: Option<Names>,
    world: World,
    places: Places,
    layout: Layout,
    /// The present router of each link.
    routers: Vec<RouterChoice>,
    flows: Vec<InteractiveFlow>,
    /// By the number that packets have: the flow, while it has this number.
    owners: Vec<Option<usize>>,
}

/// What is known of a flow beside its ends.
#[derive(Debug)]
struct InteractiveFlow {
    on: bool,
    starts: u32,
    /// The number of its packets.
    number: usize,
    is_abc: bool,
    at_links: LinkCounts,
}

impl Interactive {
    /// A scenario at time zero. A flow whose start is [`Span::MAX`] is off until it is started. The
    /// scenario's duration and warm-up have no meaning, and nothing of it is recorded.
    ///
    /// # Errors
    /// If the scenario cannot be built, or has something that cannot be changed on the way.
    pub fn new(scenario: Scenario) -> Result<Interactive, ChangeError> {
        Interactive::build(scenario, None)
    }

    /// The same with the schemes and queues of `names`.
    ///
    /// # Errors
    /// As of [`Interactive::new`].
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
            flows.push(InteractiveFlow {
                on,
                starts: u32::from(on),
                number,
                is_abc: class == TrafficClass::EXPLICIT,
                at_links: LinkCounts::default(),
            });
        }
        let owners = (0..flows.len()).map(Some).collect();
        Ok(Interactive { scenario, names, world, places, layout, routers, flows, owners })
    }

    /// The scenario as it has become: its flows with their present schemes, one specification each,
    /// its links with their present rates and buffers.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The time that has been reached.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Hand-overs of packets between stages since the start.
    pub fn hand_overs(&self) -> u64 {
        self.world.hand_overs()
    }

    /// The digest of every hand-over so far; empty if the scenario has it switched off.
    pub fn digest(&self) -> String {
        self.world.digest()
    }

    /// Lets everything happen that is due before `end`, and moves the time there.
    pub fn advance(&mut self, end: Time) {
        while self.world.now() < end {
            let next = (self.world.now() + LOG_READ).min(end);
            self.world.run_until(next);
            self.read_logs();
        }
    }

    fn read_logs(&mut self) {
        let Interactive { world, places, flows, owners, .. } = self;
        for &stage in &places.links {
            world.change_link(stage, |link| {
                for event in link.log().events() {
                    let owner = owners.get(event.flow as usize).copied().flatten();
                    if let Some(flow) = owner.and_then(|owner| flows.get_mut(owner)) {
                        flow.at_links.count(event, flow.is_abc);
                    }
                }
                link.log_mut().clear_events();
            });
        }
    }

    fn link_stage(&self, link: usize) -> Result<usize, ChangeError> {
        self.places.links.get(link).copied().ok_or(ChangeError::NoSuchLink(link))
    }

    /// Another rate of a link, from now on. The packet in transmission continues at it. A buffer
    /// that was given in time or in bandwidth-delay products stays as large as it was.
    ///
    /// # Errors
    /// If there is no such link, its capacity is not a constant rate, or the rate is zero.
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

    /// Another limit of a link's buffer, from now on. Packets that are in it stay. A time and a
    /// bandwidth-delay product are those of the present rate, or of the mean rate if that varies, and
    /// of the present RTT.
    ///
    /// # Errors
    /// If there is no such link, its queue's limit cannot be changed, or a bandwidth-delay product
    /// is asked for where the RTTs of flows differ.
    pub fn set_link_buffer(&mut self, link: usize, size: BufferSize) -> Result<(), ChangeError> {
        let stage = self.link_stage(link)?;
        let spec = &self.scenario.links[link];
        let rtt = match size {
            BufferSize::Bdp(_) => choose::rtt(&self.scenario, spec)?,
            _ => Span::ZERO,
        };
        let duration = self.scenario.duration;
        let changed = self.world.change_link(stage, |link| {
            let rate = mean_rate(&spec.capacity, link.service(), duration);
            link.set_limit(size.resolve(rate, rtt))
        });
        match changed {
            Some(true) => {
                self.scenario.links[link].buffer = size;
                Ok(())
            }
            _ => Err(ChangeError::FixedBuffer(spec.name.clone())),
        }
    }

    /// Another round-trip propagation delay of all flows, half of it each way, from now on. Packets
    /// on the way are moved by as much as the delay changes, none into the past, and none overtakes
    /// another.
    ///
    /// # Errors
    /// If it is shorter than 2 ns or longer than a minute.
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

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// A flow as it is now, or `None` if there is no such flow.
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
            sent: stats.sent,
            retransmits: stats.retransmits,
            lost: stats.lost,
            timeouts: stats.timeouts,
            goodput_bytes: receiver.stats().goodput,
            at_links: played.at_links,
        })
    }

    /// Names and values of the inner state of a flow's controller.
    pub fn inspect_flow(&self, index: usize, see: &mut dyn FnMut(&'static str, f64)) {
        let sender = self.places.flows.get(index).and_then(|place| self.world.sender(place.sender));
        if let Some(sender) = sender {
            sender.inspect(see);
        }
    }

    fn stage_of_link(&self, index: usize) -> Option<&Link> {
        self.world.link(*self.places.links.get(index)?)
    }

    /// A link as it is now, or `None` if there is no such link.
    pub fn link(&self, index: usize) -> Option<LinkState> {
        let link = self.stage_of_link(index)?;
        let counters = link.counters();
        Some(LinkState {
            backlog_packets: link.backlog_packets() as u64,
            backlog_bytes: link.backlog_bytes(),
            delivered_packets: counters.delivered_packets,
            delivered_bytes: counters.delivered_bytes,
            dropped: counters.dropped_packets(),
            marks: counters.marks + counters.brakes,
        })
    }

    /// Bytes that a link offered from `from` on and before `to`; zero if there is no such link.
    pub fn offered(&self, link: usize, from: Time, to: Time) -> u64 {
        self.stage_of_link(link).map_or(0, |link| link.service().offered_in(from..to))
    }

    /// Names and values of the inner state of a link's router, if it has one.
    pub fn inspect_router(&self, link: usize, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(router) = self.stage_of_link(link).and_then(Link::router) {
            router.inspect(see);
        }
    }
}

/// The flows of a specification, each with a specification of its own.
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

/// The flows that are on, and `also` as it would be, if it is another.
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

/// For errors: a scheme that cannot be had.
impl From<paceline_cc::SpecError> for ChangeError {
    fn from(error: paceline_cc::SpecError) -> ChangeError {
        ChangeError::Build(BuildError::from(error))
    }
}

/// The label of a scheme, as places have it.
fn label(spec: &FlowSpec) -> Arc<str> {
    Arc::from(spec.scheme.to_string())
}
