//! One environment: a drawn network, the agent's flow over it, observations and rewards.

use paceline_cc::{Halves, Rate, SchemeSpec, Span, Stream, Time};
use paceline_path::{BufferSize, Loss};
use paceline_sim::scenario::{Capacity, CustomScheme, FlowSpec, LinkSpec, Record, Scenario};
use paceline_sim::{BuildError, Simulation, mean_rate, transmitter};

use super::agent::{Agent, StepCounters};

/// Number of observed values per step.
pub(super) const FEATURES: usize = 6;
/// Bound of the magnitude of each observed value.
pub(super) const BOUND: f32 = 10.0;
/// Lowest rate that an agent can choose, in Mbit/s.
const MIN_RATE_MBPS: f64 = 0.05;

/// Distribution of the episodes' networks, and weights of the reward.
#[derive(Clone, Debug)]
pub(super) struct EpisodeConfig {
    /// Links to choose from; if empty, constant rates.
    pub(super) links: Vec<Capacity>,
    /// Range of rates in Mbit/s, drawn so that their logarithms are uniform.
    pub(super) rate_mbps: (f64, f64),
    /// Range of RTTs in milliseconds, drawn in the same way.
    pub(super) rtt_ms: (f64, f64),
    /// Range of buffers in bandwidth-delay products, drawn in the same way.
    pub(super) buffer_bdp: (f64, f64),
    /// Range of the share of packets lost behind the link, drawn uniformly.
    pub(super) loss: (f64, f64),
    /// Schemes of further flows beside the agent's.
    pub(super) rivals: Vec<SchemeSpec>,
    /// Length of a step.
    pub(super) step: Span,
    /// Number of steps in an episode.
    pub(super) steps: u32,
    /// Number of steps in an observation.
    pub(super) history: usize,
    /// The weights of throughput, delay and loss in the reward.
    pub(super) weights: [f64; 3],
    /// Whether runs have digests.
    pub(super) digest: bool,
}

/// The outcome of a step.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct StepResult {
    pub(super) reward: f64,
    pub(super) done: bool,
    /// Rate that the agent has chosen, and acknowledged bytes as a rate, in Mbit/s.
    pub(super) rate_mbps: f64,
    pub(super) throughput_mbps: f64,
    /// Mean RTT of the step in milliseconds; that of the previous step if there was no sample.
    pub(super) rtt_ms: f64,
    /// Packets lost divided by packets lost or acknowledged.
    pub(super) loss: f64,
}

/// Values drawn for an episode.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct DrawnNetwork {
    pub(super) capacity_mbps: f64,
    pub(super) rtt_ms: f64,
}

/// One environment.
pub(super) struct Episode {
    simulation: Simulation,
    agent: Agent,
    pub(super) drawn: DrawnNetwork,
    max_rate_mbps: f64,
    now: Time,
    steps: u32,
    last_rtt_ms: f64,
    pub(super) last_step: StepResult,
    /// The observation, with the newest step last.
    pub(super) observation: Vec<f32>,
}

impl Episode {
    /// Returns episode `number` of the environment with this seed.
    ///
    /// # Errors
    /// The network cannot be built.
    pub(super) fn new(
        config: &EpisodeConfig,
        seed: u64,
        number: u64,
    ) -> Result<Episode, BuildError> {
        let mut random = Stream::new(seed, &format!("episode {number}"));
        let capacity = match config.links.len() as u64 {
            0 => Capacity::Constant(Rate::from_mbps(log_uniform(&mut random, config.rate_mbps))),
            many => config.links[random.below(many) as usize].clone(),
        };
        let rtt_ms = log_uniform(&mut random, config.rtt_ms);
        let buffer = log_uniform(&mut random, config.buffer_bdp);
        let loss = config.loss.0 + (config.loss.1 - config.loss.0) * random.uniform();
        let start = log_uniform(&mut random, (0.3, 1.5));
        let mut scenario = Scenario::new("gym");
        scenario.seed = random.next_u64();
        scenario.duration = config.step * (u64::from(config.steps) + 1);
        scenario.record = Record::Counters;
        scenario.digest = config.digest;
        let mut link = LinkSpec::new("link", capacity);
        link.buffer = BufferSize::Bdp(buffer);
        let transmitter = transmitter(&scenario, &link)?;
        let mean = mean_rate(&link.capacity, transmitter.capacity(), scenario.duration);
        let mean = mean.as_mbps().max(MIN_RATE_MBPS);
        if loss > 0.0 {
            link.after.impairments.loss = Loss::Bernoulli(loss);
        }
        scenario.links.push(link);
        let agent = Agent::new(Rate::from_mbps(mean * start));
        let (own, mss) = (agent.clone(), scenario.mss);
        let halves = Halves::sender(move |_| own.controller(mss));
        let rtt = Span::from_secs_f64(rtt_ms / 1e3);
        let mut flow = FlowSpec::bulk(CustomScheme::new("agent", halves), &["link"]);
        flow.rtt = rtt;
        scenario.flows.push(flow);
        for rival in &config.rivals {
            let mut flow = FlowSpec::bulk(rival.clone(), &["link"]);
            flow.rtt = rtt;
            scenario.flows.push(flow);
        }
        let simulation = Simulation::with_names(scenario, &paceline_remy::names())?;
        Ok(Episode {
            simulation,
            agent,
            drawn: DrawnNetwork { capacity_mbps: mean, rtt_ms },
            max_rate_mbps: 10.0 * mean,
            now: Time::ZERO,
            steps: 0,
            last_rtt_ms: rtt_ms,
            last_step: StepResult::default(),
            observation: vec![0.0; FEATURES * config.history],
        })
    }

    /// Multiplies the rate by 2^action, and simulates one step.
    pub(super) fn step(&mut self, config: &EpisodeConfig, action: f32) -> StepResult {
        let action = if action.is_finite() { f64::from(action.clamp(-1.0, 1.0)) } else { 0.0 };
        let rate_mbps = {
            let mut shared = self.agent.lock();
            let rate =
                (shared.rate.as_mbps() * action.exp2()).clamp(MIN_RATE_MBPS, self.max_rate_mbps);
            shared.rate = Rate::from_mbps(rate);
            shared.seen = StepCounters::default();
            rate
        };
        self.now += config.step;
        self.simulation.advance(self.now);
        let (seen, min_rtt_ms) = {
            let shared = self.agent.lock();
            (shared.seen, shared.min_rtt_ms)
        };
        let base = self.drawn.rtt_ms;
        let rtt_ms = match seen.rtts {
            0 => self.last_rtt_ms,
            many => seen.rtt_ms / f64::from(many),
        };
        let throughput_mbps = seen.acked_bytes as f64 * 8e-6 / config.step.as_secs_f64();
        let loss = f64::from(seen.lost) / f64::from((seen.lost + seen.acked).max(1));
        let known = if min_rtt_ms > 0.0 { min_rtt_ms } else { base };
        let features = [
            f64::from(seen.sent) / f64::from(seen.acked.max(1)) - 1.0,
            rtt_ms / known - 1.0,
            (rtt_ms - self.last_rtt_ms) / (1e3 * config.step.as_secs_f64()),
            loss,
            (throughput_mbps.max(1e-3) / rate_mbps).log2(),
            rate_mbps.log10(),
        ];
        self.observation.rotate_left(FEATURES);
        let at = self.observation.len() - FEATURES;
        for (cell, feature) in self.observation[at..].iter_mut().zip(features) {
            *cell = (feature as f32).clamp(-BOUND, BOUND);
        }
        let [throughput, delay, lost] = config.weights;
        let reward = throughput * throughput_mbps / self.drawn.capacity_mbps
            - delay * (rtt_ms / base - 1.0).max(0.0)
            - lost * loss;
        self.last_rtt_ms = rtt_ms;
        self.steps += 1;
        let done = self.steps >= config.steps;
        self.last_step = StepResult { reward, done, rate_mbps, throughput_mbps, rtt_ms, loss };
        self.last_step
    }

    /// Returns the digest of the run so far.
    pub(super) fn digest(&self) -> String {
        self.simulation.world().digest()
    }
}

/// Draws a number between two others whose logarithm is uniform.
fn log_uniform(random: &mut Stream, (from, to): (f64, f64)) -> f64 {
    from * (to / from).powf(random.uniform())
}
