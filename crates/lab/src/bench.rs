//! The scenarios by which the simulator's speed is measured: the same as its peers'.

use paceline_cc::{Rate, Span, Spec};
use paceline_path::BufferSize;
use serde::Serialize;

use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario};
use paceline_sim::{BuildError, Simulation};

/// A scenario for measuring speed: Cubic flows over one droptail link, nothing recorded.
#[derive(Copy, Clone, Debug)]
pub struct BenchScenario {
    /// `a` to `d`.
    pub name: &'static str,
    /// What it is, in words.
    pub description: &'static str,
    flows: u32,
    rate: Rate,
    rtt: Span,
    buffer: u64,
    duration: Span,
}

/// The scenarios that htsim, ns-2 and ns-3 were measured on.
pub static SCENARIOS: [BenchScenario; 4] = [
    BenchScenario {
        name: "a",
        description: "1 flow, 12 Mbit/s, 100 ms, 250 packets, 100 s",
        flows: 1,
        rate: Rate::from_bps(12_000_000),
        rtt: Span::from_millis(100),
        buffer: 250,
        duration: Span::from_secs(100),
    },
    BenchScenario {
        name: "b",
        description: "8 flows, 15 Mbit/s, 150 ms, 1000 packets, 100 s",
        flows: 8,
        rate: Rate::from_bps(15_000_000),
        rtt: Span::from_millis(150),
        buffer: 1000,
        duration: Span::from_secs(100),
    },
    BenchScenario {
        name: "c",
        description: "2 flows, 1 Gbit/s, 150 ms, 12500 packets, 20 s",
        flows: 2,
        rate: Rate::from_bps(1_000_000_000),
        rtt: Span::from_millis(150),
        buffer: 12_500,
        duration: Span::from_secs(20),
    },
    BenchScenario {
        name: "d",
        description: "64 flows, 10 Gbit/s, 4 ms, 1000 packets, 1 s",
        flows: 64,
        rate: Rate::from_bps(10_000_000_000),
        rtt: Span::from_millis(4),
        buffer: 1000,
        duration: Span::from_secs(1),
    },
];

/// What a benchmark run has delivered; time and memory are the caller's to measure.
#[derive(Clone, Debug, Serialize)]
pub struct BenchResult {
    /// Data packets that reached their receivers.
    pub delivered_packets: u64,
    /// Hand-overs of packets between stages.
    pub hand_overs: u64,
    /// The digest of the run.
    pub digest: String,
}

impl BenchScenario {
    /// The scenario, `repeat` times as long.
    pub fn scenario(&self, repeat: u32) -> Scenario {
        let mut scenario = Scenario::new(self.name);
        scenario.duration = self.duration * repeat.max(1) as u64;
        scenario.record = Record::Counters;
        let mut link = LinkSpec::new("link", Capacity::Constant(self.rate));
        link.buffer = BufferSize::Packets(self.buffer);
        scenario.links.push(link);
        let cubic = Spec { name: "cubic".into(), args: Vec::new() };
        let scheme = paceline_cc::SchemeSpec { sender: cubic, queue: None };
        let mut flow = FlowSpec::bulk(scheme, &["link"]);
        flow.count = self.flows;
        flow.rtt = self.rtt;
        flow.ack = Some(paceline_cc::AckPolicy::EACH);
        scenario.flows.push(flow);
        scenario
    }

    /// Runs it, `repeat` times as long as the peers did: short runs are hard to time.
    ///
    /// # Errors
    /// None that a released version would have.
    pub fn run(&self, repeat: u32) -> Result<BenchResult, BuildError> {
        let scenario = self.scenario(repeat);
        let end = paceline_cc::Time::ZERO + scenario.duration;
        let mut simulation = Simulation::new(scenario)?;
        simulation.advance(end);
        let outcome = simulation.outcome()?;
        Ok(BenchResult {
            delivered_packets: outcome.packets,
            hand_overs: simulation.world().hand_overs(),
            digest: outcome.digest,
        })
    }
}
