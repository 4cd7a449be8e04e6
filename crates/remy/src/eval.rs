//! `paceline remy eval`: what tables and schemes reach on one network, over several seeds.

use paceline_cc::Span;
use paceline_sim::BuildError;
use paceline_sim::scenario::SchemeChoice;
use rayon::prelude::*;
use serde::Serialize;

use crate::clock::CpuClock;
use crate::network::{Network, PACKET};
use crate::score::{self, SenderFigures};

/// What a table or scheme reached: means over its senders, and over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalRow {
    /// The table or scheme.
    pub table: String,
    /// How many senders.
    pub senders: u32,
    /// Packets over a sender's equal share of the time, in Mbit/s: see [`SenderFigures::throughput`].
    pub throughput_mbps: f64,
    /// The mean time from sending a packet to its arrival.
    pub delay_ms: f64,
    /// The utility of a sender with throughput in units of the link's rate and delay in units of the
    /// RTT: 0 for a sender that gets its whole share without any queue.
    pub normalized_score_per_sender: f64,
    /// Its standard deviation over the seeds; 0 with one seed.
    pub score_sd: f64,
    /// Simulated seconds per second of processor time.
    pub simulated_s_per_cpu_s: f64,
    /// Packets over the time that a sender was on, in Mbit/s: what applications see.
    #[serde(skip)]
    pub raw_throughput_mbps: f64,
}

/// One run.
struct Run {
    senders: Vec<SenderFigures>,
    cpu_s: f64,
}

/// Runs a scheme over a network of the given rate in packets per millisecond, once per seed.
///
/// # Errors
/// If the scenario cannot be built.
pub fn eval(
    name: &str,
    network: &Network,
    packets_per_ms: f64,
    scheme: &SchemeChoice,
    duration: Span,
    seeds: &[u64],
) -> Result<EvalRow, BuildError> {
    let run = |&seed: &u64| {
        let start = CpuClock::start();
        let senders = score::run(network, scheme, duration, seed)?;
        Ok(Run { senders, cpu_s: start.seconds() })
    };
    let runs: Vec<Run> = seeds.par_iter().map(run).collect::<Result<_, BuildError>>()?;
    let over = |figure: &dyn Fn(&SenderFigures) -> f64| -> Vec<f64> {
        let own = |run: &Run| {
            let senders = run.senders.iter().filter(|sender| !sender.other);
            mean(senders.map(figure))
        };
        runs.iter().map(own).collect()
    };
    let mbps = f64::from(PACKET) * 8.0 / 1e3;
    let rtt = network.rtt.as_millis_f64();
    let scores = over(&|sender| sender.utility(packets_per_ms, rtt, 1.0));
    let cpu_s: f64 = runs.iter().map(|run| run.cpu_s).sum();
    let delay = |sender: &SenderFigures| sender.delay_ms;
    Ok(EvalRow {
        table: name.to_string(),
        senders: network.senders,
        throughput_mbps: mbps * mean(over(&SenderFigures::throughput)),
        raw_throughput_mbps: mbps * mean(over(&SenderFigures::raw_throughput)),
        delay_ms: mean(over(&delay)),
        normalized_score_per_sender: mean(scores.iter().copied()),
        score_sd: deviation(&scores),
        simulated_s_per_cpu_s: seeds.len() as f64 * duration.as_secs_f64() / cpu_s.max(1e-9),
    })
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values {
        (sum, count) = (sum + value, count + 1);
    }
    sum / f64::from(count.max(1))
}

/// The standard deviation of a sample.
fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}
