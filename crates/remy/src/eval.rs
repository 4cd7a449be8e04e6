//! `paceline remy eval`: results of tables and schemes on one network, over several seeds.

use paceline_cc::Span;
use paceline_sim::BuildError;
use paceline_sim::metrics::{self, Distribution, sample_variance};
use paceline_sim::runs::{Run, Spread};
use paceline_sim::scenario::Capacity;
use rayon::prelude::*;
use serde::Serialize;

use crate::assess::StarvedSender;
use crate::clock::CpuClock;
use crate::evaluate::Contender;
use crate::score::SenderFigures;
use crate::{Network, PACKET};

/// Results of a table or scheme: means over its senders and over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvalRow {
    /// The table or scheme.
    pub table: String,
    /// Number of senders.
    pub senders: u32,
    /// Packets divided by a sender's equal share of the time, in Mbit/s: see
    /// [`SenderFigures::throughput`]. Senders that were never on do not count.
    pub throughput_mbps: f64,
    /// Mean time from sending a packet to its arrival, in milliseconds.
    pub delay_ms: f64,
    /// Utility of a sender with throughput in units of the link's rate and delay in units of the
    /// RTT: 0 for a sender that gets its whole share without any queue.
    pub normalized_score_per_sender: f64,
    /// Standard deviation of that utility over the seeds; 0 with one seed.
    pub score_sd: f64,
    /// Simulated seconds per second of processor time.
    pub simulated_s_per_cpu_s: f64,
    /// Senders none of whose packets arrived.
    pub starved: Vec<StarvedSender>,
    /// Packets divided by the time that a sender was on, in Mbit/s: the throughput of applications.
    #[serde(skip)]
    pub raw_throughput_mbps: f64,
    /// Medians and ranges over the seeds.
    pub over_runs: OverRuns,
}

/// Distributions of values of an [`EvalRow`] over the runs, one per seed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OverRuns {
    /// Of [`EvalRow::throughput_mbps`].
    pub throughput_mbps: Distribution,
    /// Of [`EvalRow::delay_ms`].
    pub delay_ms: Distribution,
    /// Of [`EvalRow::normalized_score_per_sender`].
    pub normalized_score_per_sender: Distribution,
}

/// The results of one run.
struct Measured {
    senders: Vec<SenderFigures>,
    cpu_s: f64,
}

/// Runs a scheme on a network with this rate in packets per millisecond, once per seed. On a link
/// that follows a recording, each run after the first starts at a different position of it, as
/// [`Run::of`] chooses with the first seed and this spread.
///
/// # Errors
/// If the scenario cannot be built.
pub fn eval(
    name: &str,
    network: &Network,
    packets_per_ms: f64,
    contender: &Contender,
    duration: Span,
    seeds: &[u64],
    spread: Spread,
) -> Result<EvalRow, BuildError> {
    let is_recorded = matches!(network.link, Capacity::Trace { .. } | Capacity::Schedule { .. });
    let mut first =
        network.scenario(contender.scheme(), duration, seeds.first().copied().unwrap_or(1));
    first.runs.spread = spread;
    let run = |(at, &seed): (usize, &u64)| {
        let start = match is_recorded {
            true => Run::of(&first, at as u32 + 1).start,
            false => Span::ZERO,
        };
        let clock = CpuClock::start();
        let senders = contender.run_from(network, duration, seed, start)?;
        Ok(Measured { senders, cpu_s: clock.seconds() })
    };
    let runs: Vec<Measured> =
        seeds.par_iter().enumerate().map(run).collect::<Result<_, BuildError>>()?;
    // A sender that was never on has no throughput.
    let rates_of = |figure: fn(&SenderFigures) -> f64| -> Vec<f64> {
        let own = |run: &Measured| {
            let was_on = || run.senders.iter().filter(|sender| !sender.other && sender.on_s > 0.0);
            was_on().next().map(|_| mean(was_on().map(figure)))
        };
        runs.iter().filter_map(own).collect()
    };
    let over = |figure: &dyn Fn(&SenderFigures) -> f64| -> Vec<f64> {
        let own = |run: &Measured| {
            let senders = run.senders.iter().filter(|sender| !sender.other);
            mean(senders.map(figure))
        };
        runs.iter().map(own).collect()
    };
    let mbps = f64::from(PACKET) * 8.0 / 1e3;
    let rtt = network.rtt.as_millis_f64();
    let scores = over(&|sender| sender.utility(packets_per_ms, rtt, 1.0));
    let cpu_s: f64 = runs.iter().map(|run| run.cpu_s).sum();
    // A sender of which nothing arrived has no delay.
    let delay = |run: &Measured| {
        let arrived = || run.senders.iter().filter(|sender| !sender.other && sender.packets > 0.0);
        arrived().next().map(|_| mean(arrived().map(|sender| sender.delay_ms)))
    };
    let delays: Vec<f64> = runs.iter().filter_map(delay).collect();
    let throughputs: Vec<f64> =
        rates_of(SenderFigures::throughput).into_iter().map(|rate| mbps * rate).collect();
    let range = |values: &[f64]| Distribution::of(values.iter().copied()).unwrap_or_default();
    let starved = runs.iter().zip(seeds);
    let starved = starved.flat_map(|(run, &seed)| StarvedSender::of(&run.senders, seed, 0));
    Ok(EvalRow {
        starved: starved.collect(),
        table: name.to_string(),
        senders: network.senders,
        throughput_mbps: mean(throughputs.iter().copied()),
        raw_throughput_mbps: mbps * mean(rates_of(SenderFigures::raw_throughput)),
        delay_ms: mean(delays.iter().copied()),
        normalized_score_per_sender: mean(scores.iter().copied()),
        score_sd: sample_variance(&scores).map_or(0.0, f64::sqrt),
        over_runs: OverRuns {
            throughput_mbps: range(&throughputs),
            delay_ms: range(&delays),
            normalized_score_per_sender: range(&scores),
        },
        simulated_s_per_cpu_s: seeds.len() as f64 * duration.as_secs_f64() / cpu_s.max(1e-9),
    })
}

/// Returns the mean; 0 without values.
fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    metrics::mean(values).unwrap_or(0.0)
}
