//! Benchmark scenarios for the simulator's speed: those on which other simulators were measured,
//! and two more.

use paceline_cc::{Rate, Span, Spec};
use paceline_path::BufferSize;
use serde::Serialize;

use paceline_flow::{Amount, On, Workload};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Record, Scenario};
use paceline_sim::{BuildError, Simulation};

/// A benchmark scenario: Cubic flows over one droptail link, with every packet acknowledged.
#[derive(Copy, Clone, Debug)]
pub struct BenchScenario {
    /// Name of the scenario, `a` to `f`.
    pub name: &'static str,
    /// Description for readers.
    pub description: &'static str,
    /// Factor by which the run is longer when it is timed, because short runs are hard to time.
    pub timed: u32,
    /// Two factors for counting instructions: the difference of two runs with these lengths gives
    /// the instructions per packet.
    pub counted: (u32, u32),
    flows: u32,
    rate: Rate,
    rtt: Span,
    buffer: u64,
    duration: Span,
    /// Time between the starts of two flows.
    stagger: Span,
    /// Whether this is a training's run: its flows switch on and off, it records sums of delays,
    /// and a longer benchmark consists of more runs with other seeds, each built anew, instead of
    /// one longer run.
    trains: bool,
}

/// Values that the first four scenarios share.
const PLAIN: BenchScenario = BenchScenario {
    name: "",
    description: "",
    timed: 20,
    counted: (1, 3),
    flows: 1,
    rate: Rate::ZERO,
    rtt: Span::ZERO,
    buffer: 0,
    duration: Span::from_secs(100),
    stagger: Span::ZERO,
    trains: false,
};

/// The scenarios on which htsim, ns-2 and ns-3 were measured (`a` to `d`), one with 100,000 flows
/// (`e`), and the short run that a training of schemes repeats (`f`).
pub static SCENARIOS: [BenchScenario; 6] = [
    BenchScenario {
        name: "a",
        description: "1 flow, 12 Mbit/s, 100 ms, 250 packets, 100 s",
        rate: Rate::from_bps(12_000_000),
        rtt: Span::from_millis(100),
        buffer: 250,
        ..PLAIN
    },
    BenchScenario {
        name: "b",
        description: "8 flows, 15 Mbit/s, 150 ms, 1000 packets, 100 s",
        flows: 8,
        rate: Rate::from_bps(15_000_000),
        rtt: Span::from_millis(150),
        buffer: 1000,
        ..PLAIN
    },
    BenchScenario {
        name: "c",
        description: "2 flows, 1 Gbit/s, 150 ms, 12500 packets, 20 s",
        timed: 2,
        counted: (1, 2),
        flows: 2,
        rate: Rate::from_bps(1_000_000_000),
        rtt: Span::from_millis(150),
        buffer: 12_500,
        duration: Span::from_secs(20),
        ..PLAIN
    },
    BenchScenario {
        name: "d",
        description: "64 flows, 10 Gbit/s, 4 ms, 1000 packets, 1 s",
        timed: 4,
        flows: 64,
        rate: Rate::from_bps(10_000_000_000),
        rtt: Span::from_millis(4),
        buffer: 1000,
        duration: Span::from_secs(1),
        ..PLAIN
    },
    BenchScenario {
        name: "e",
        description: "100000 flows that start within 0.2 s, 10 Gbit/s, 300 ms, 100000 packets, 1 s",
        timed: 3,
        counted: (1, 2),
        flows: 100_000,
        rate: Rate::from_bps(10_000_000_000),
        rtt: Span::from_millis(300),
        buffer: 100_000,
        duration: Span::from_secs(1),
        stagger: Span::from_micros(2),
        ..PLAIN
    },
    BenchScenario {
        name: "f",
        description: "2 on-off flows, 15 Mbit/s, 150 ms, 1000 packets, 100 s, sums of delays",
        flows: 2,
        rate: Rate::from_bps(15_000_000),
        rtt: Span::from_millis(150),
        buffer: 1000,
        trains: true,
        ..PLAIN
    },
];

/// Work of a benchmark run. The caller measures time and memory.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BenchResult {
    /// Data packets that reached their receivers.
    pub delivered_packets: u64,
    /// Packets handed over between stages.
    pub hand_overs: u64,
}

impl BenchScenario {
    /// Returns the number of flows.
    pub fn flows(&self) -> u32 {
        self.flows
    }

    /// Returns the scenario, `repeat` times as long unless it is a training's run.
    pub fn scenario(&self, repeat: u32) -> Scenario {
        let mut scenario = Scenario::new(self.name);
        let times = if self.trains { 1 } else { repeat.max(1) };
        scenario.duration = self.duration * u64::from(times);
        scenario.record = if self.trains { Record::Sums } else { Record::Counters };
        scenario.digest = false;
        let mut link = LinkSpec::new("link", Capacity::Constant(self.rate));
        link.buffer = BufferSize::Packets(self.buffer);
        scenario.links.push(link);
        let cubic = Spec { name: "cubic".into(), args: Vec::new() };
        let scheme = paceline_cc::SchemeSpec { sender: cubic, queue: None };
        let mut flow = FlowSpec::bulk(scheme, &["link"]);
        flow.count = self.flows;
        flow.rtt = self.rtt;
        flow.stagger = self.stagger;
        flow.ack = Some(paceline_cc::AckPolicy::EACH);
        if self.trains {
            let (on, off) = (Amount::Exponential(5.0), Amount::Exponential(5.0));
            flow.workload =
                Workload::OnOff { on: On::Time(on), off, starts_off: true, fresh: true };
        }
        scenario.flows.push(flow);
        scenario
    }

    /// Runs the scenario, `repeat` times as long (a training's run: `repeat` times), without the
    /// digest of events.
    ///
    /// # Errors
    /// None in a released version.
    pub fn run(&self, repeat: u32) -> Result<BenchResult, BuildError> {
        let mut result = BenchResult::default();
        for run in 0..if self.trains { repeat.max(1) } else { 1 } {
            let mut scenario = self.scenario(repeat);
            scenario.seed += u64::from(run);
            let end = paceline_cc::Time::ZERO + scenario.duration;
            let mut simulation = Simulation::new(scenario)?;
            simulation.advance(end);
            if self.trains {
                simulation.outcome()?;
            }
            result.delivered_packets += simulation.packets();
            result.hand_overs += simulation.world().hand_overs();
        }
        Ok(result)
    }

    /// Returns the digest of the run's events; of the first run if there are several.
    ///
    /// # Errors
    /// None in a released version.
    pub fn digest(&self, repeat: u32) -> Result<String, BuildError> {
        let mut scenario = self.scenario(repeat);
        scenario.digest = true;
        Ok(paceline_sim::run(&scenario)?.digest)
    }
}
