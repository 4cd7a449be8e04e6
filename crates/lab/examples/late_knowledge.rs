//! The frontier of a sender that knows the link's rate one round trip late, beside ABC and other schemes: `cargo run
//! --release -p paceline-lab --example late_knowledge -- RUNS SCHEMES TRACE...`, where SCHEMES are separated by
//! semicolons. The comparisons are those of `paceline compare --buffer 250 --duration 60s --runs RUNS --spread trace`,
//! and figures are geometric means over traces and runs, as in docs/remy.md.

use std::io::Write as _;

use paceline_lab::late::LateKnowledge;
use paceline_requests::compare::Comparison;
use paceline_sim::cc::Span;
use paceline_sim::runs::{Runs, Spread};
use paceline_sim::scenario::{Capacity, SchemeChoice};
use paceline_trace::Trace;
use rayon::prelude::*;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const RTTS_MS: [u64; 4] = [20, 50, 100, 160];
/// Times over which the rate is averaged.
const WINDOWS_MS: [u64; 5] = [20, 50, 100, 200, 400];
const TARGETS_MS: [u64; 10] = [0, 2, 5, 10, 15, 20, 30, 45, 60, 100];

/// Utilisation, and the 95th percentile of the queueing delay in ms.
type Point = [f64; 2];

/// Returns the means of a scheme over all traces and runs; `choose` makes it for the trace of a run.
fn point(
    traces: &[Trace],
    runs: u32,
    rtt: Span,
    choose: impl Fn(&Trace) -> SchemeChoice + Sync,
) -> Result<Point, Failure> {
    let of = |at: usize| -> Result<Point, Failure> {
        let (trace, number) = (&traces[at / runs as usize], at as u32 % runs + 1);
        let mut comparison =
            Comparison::new("trace", Capacity::trace(trace.clone()), choose(trace));
        comparison.rtt = rtt;
        comparison.runs = Runs { count: runs, spread: Spread::Trace };
        let (run, mut scenario) = comparison.run_number(number);
        // The run's recording begins later, and that is the one to know.
        scenario.flows[0].scheme = choose(&trace.starting_at(run.start));
        let outcome = paceline_sim::run_with(&scenario, &paceline_remy::names())?;
        let link = &outcome.links[0];
        Ok([link.utilization.max(1e-9).ln(), link.queue_delay_ms.p95.max(1e-9).ln()])
    };
    let count = traces.len() * runs as usize;
    let all = (0..count).into_par_iter().map(of).collect::<Result<Vec<Point>, Failure>>()?;
    Ok([0, 1].map(|part| (all.iter().map(|point| point[part]).sum::<f64>() / count as f64).exp()))
}

/// Returns the highest utilisation at this delay on the straight lines between points whose delays rise.
fn utilisation_at(points: &[Point], delay: f64) -> Option<f64> {
    let between = points.windows(2).filter_map(|pair| {
        let [[low, from], [high, to]] = [pair[0], pair[1]];
        let share = (delay - from) / (to - from);
        (from <= delay && delay <= to).then_some(low + (high - low) * share)
    });
    between.fold(None, |best, one| Some(best.map_or(one, |best: f64| best.max(one))))
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [runs, schemes, files @ ..] = words.as_slice() else {
        return Err("expected RUNS SCHEMES TRACE...".into());
    };
    let runs: u32 = runs.parse()?;
    let traces: Vec<Trace> =
        files.iter().map(|file| paceline_trace::load(file)).collect::<Result<_, _>>()?;
    let mut out = std::io::stdout();
    for ms in RTTS_MS {
        let rtt = Span::from_millis(ms);
        let mut sweeps = Vec::new();
        for window in WINDOWS_MS {
            let sweep = TARGETS_MS.map(|target| {
                let [window, target] = [window, target].map(Span::from_millis);
                let knowledge = LateKnowledge { rtt, window, target };
                point(&traces, runs, rtt, move |trace| knowledge.scheme(trace).into())
            });
            let sweep: Vec<Point> = sweep.into_iter().collect::<Result<_, _>>()?;
            let shown: Vec<String> =
                sweep.iter().map(|[used, delay]| format!("{used:.3}/{delay:.0}")).collect();
            writeln!(out, "RTT {ms} ms, window {window} ms: {}", shown.join(" "))?;
            sweeps.push((window, sweep));
        }
        for text in schemes.split(';') {
            let scheme: SchemeChoice = paceline_remy::names().check_scheme(text)?.into();
            let [used, delay] = point(&traces, runs, rtt, |_| scheme.clone())?;
            let best = sweeps
                .iter()
                .filter_map(|(window, sweep)| Some((utilisation_at(sweep, delay)?, *window)))
                .max_by(|one, other| one.0.total_cmp(&other.0));
            let words = match best {
                Some((late, window)) => format!(
                    "at this delay the late sender has {late:.3} (window {window} ms), {:.3} of it",
                    late / used
                ),
                None => "no late sender has this delay".into(),
            };
            writeln!(out, "RTT {ms} ms, {text}: {used:.3}/{delay:.0}; {words}")?;
        }
    }
    Ok(())
}
