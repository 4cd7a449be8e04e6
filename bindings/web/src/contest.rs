//! Contests: the runs of `paceline contest` for schemes and controllers of the page, one after the
//! other.

use paceline_cc::{ParamValue as _, SchemeSpec, Span, spec::split_list};
use paceline_lab::contest::expand;
use paceline_lab::standings::{Attempt, Attempts, RunFigures, rank};
use paceline_path::BufferSize;
use paceline_report::Document;
use paceline_requests::compare::Comparison;
use paceline_sim::Names;
use paceline_sim::runs::Runs;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::traces::NamedTrace;

/// Most entries, and longest run of one.
const MOST_ENTRIES: usize = 500;
const LONGEST: Span = Span::from_secs(600);
/// The path of the command's contests.
const RTT: Span = Span::from_millis(40);
const ROUNDS: [&str; 2] = ["training", "secret"];

/// A contest, in the words of `paceline contest`.
#[derive(Deserialize)]
pub(crate) struct ContestRequest {
    /// Schemes with sweeps, separated by commas.
    schemes: String,
    training: NamedTrace,
    secret: NamedTrace,
    duration: String,
    seed: u64,
}

/// A contest in progress.
pub(crate) struct ContestJob {
    names: Names,
    entries: Vec<SchemeSpec>,
    /// The trace of each round, with a scheme that each entry replaces.
    rounds: Vec<Comparison>,
    attempts: Vec<Vec<Attempt>>,
}

impl ContestJob {
    pub(crate) fn new(request: ContestRequest, names: Names) -> Result<ContestJob, String> {
        let mut entries = Vec::new();
        for written in split_list(&request.schemes).map_err(|error| error.to_string())? {
            for entry in expand(written.trim())? {
                entries.push(names.check_scheme(&entry).map_err(|error| error.to_string())?);
            }
        }
        if entries.is_empty() || entries.len() > MOST_ENTRIES {
            return Err(format!("expected 1 to {MOST_ENTRIES} entries, not {}", entries.len()));
        }
        let duration = Span::read(request.duration.trim())
            .map_err(|problem| format!("duration `{}`: {problem}", request.duration))?;
        if duration.is_zero() || duration > LONGEST {
            return Err(format!("duration: expected a time above zero and up to {LONGEST}"));
        }
        let any = names.check_scheme("cubic").map_err(|error| error.to_string())?;
        let round = |trace: &NamedTrace| {
            Ok(Comparison {
                rtt: RTT,
                buffer: BufferSize::Unlimited,
                duration,
                seed: request.seed,
                runs: Runs::default(),
                ..Comparison::new(&trace.name, trace.capacity()?, any.clone())
            })
        };
        let rounds = [&request.training, &request.secret].map(round);
        let rounds = rounds.into_iter().collect::<Result<Vec<_>, String>>()?;
        Ok(ContestJob { names, entries, rounds, attempts: vec![Vec::new(); ROUNDS.len()] })
    }

    fn done(&self) -> usize {
        self.attempts.iter().map(Vec::len).sum()
    }

    /// Returns the number of runs and of finished ones, and the next one.
    pub(crate) fn progress(&self) -> Value {
        let (count, done) = (self.entries.len(), self.done());
        let next = self.entries.get(done % count).filter(|_| done < count * ROUNDS.len());
        json!({
            "runs": count * ROUNDS.len(),
            "done": done,
            "next": next.map(|entry| format!("{entry}, {} trace", ROUNDS[done / count])),
        })
    }

    /// Makes the next run, while `go_on` returns true: all entries on the training trace, then all on
    /// the secret one.
    pub(crate) fn step(&mut self, go_on: &dyn Fn() -> bool) -> Result<Value, String> {
        let (count, done) = (self.entries.len(), self.done());
        if let Some(round) = self.rounds.get(done / count) {
            let entry = &self.entries[done % count];
            let comparison = Comparison { scheme: entry.clone().into(), ..round.clone() };
            let (_, scenario) = comparison.run_number(1);
            let outcome = paceline_requests::run_while(&scenario, &self.names, go_on)
                .map_err(|error| format!("{entry}: {error}"))?;
            if let Some(outcome) = outcome {
                let link = outcome.links.first().ok_or("the scenario has no link")?;
                let figures = RunFigures {
                    throughput_mbps: link.throughput_mbps,
                    delay_ms: outcome.pooled.one_way_delay_ms.p95,
                    capacity_mbps: link.capacity_mbps,
                };
                let place = (ROUNDS[done / count], &*round.trace);
                let attempt = Attempt::of_runs((&entry.to_string(), "scheme"), place, &[figures]);
                self.attempts[done / count].push(attempt);
            }
        }
        Ok(self.progress())
    }

    /// Returns the JSON of `paceline contest` for the finished runs.
    pub(crate) fn result(&self) -> Result<Value, String> {
        let mut all = Vec::new();
        for ((attempts, round), comparison) in self.attempts.iter().zip(ROUNDS).zip(&self.rounds) {
            let mut ranked = attempts.clone();
            rank(&mut ranked);
            all.append(&mut ranked);
            let best = comparison.omniscient(1).map_err(|error| error.to_string())?;
            all.push(Attempt::of_bound((round, &comparison.trace), &[best]));
        }
        Ok(json!({ "json": Document::new(Attempts { attempts: &all }) }))
    }
}
