//! `paceline remy tune`: searches for numbers of a scheme that suit a specification.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use paceline_cc::Span;
use paceline_remy::train::{EvaluatorWork, Folder, TrainError};
use paceline_remy::tune::{Tuner, TuningEntry, TuningPlan};
use serde::Serialize;

use super::train::{LARGEST, Limits, hours, message, wall};
use crate::args;
use crate::output::{self, Error};
use crate::registries;
use crate::table::counted;

#[derive(Args)]
#[command(after_help = "\
The specification says on what networks the scheme is to do well, and what counts there: the
same file as of `train`. Every number of the scheme's parameters, and of its queue's, is
improved in turn, by the procedure that improves a rule of a table; words and switches stay as
they are given. DIR gets scheme.txt, which `compare` and other commands take as a scheme,
state.json from which the same command goes on after a stop or a kill, and log.jsonl with a line
for each step. It ends when no number has changed for two generations, or with --generations,
--duration or --cpu-hours. In the end the scheme is judged beside its first numbers on a test
set, by which nothing was chosen.

Examples:
  paceline remy tune scenarios/remy/cellular.toml copa -o tuned-copa --duration 10min
  paceline remy tune scenarios/remy/cellular.toml 'c2tcp[settle=0s]' -o tuned --vary target,interval
  paceline remy tune scenarios/remy/cellular.toml cubic+codel -o tuned --vary codel.target,beta")]
pub(crate) struct Tune {
    /// The specification: the networks and the objective
    #[arg(value_name = "SPEC.toml")]
    specification: PathBuf,
    /// The scheme, with the numbers to begin with
    #[arg(value_name = "SCHEME")]
    scheme: String,
    /// The folder of the tuning; if a tuning has begun there, it continues
    #[arg(short, long, value_name = "DIR", help_heading = "Outputs")]
    output: PathBuf,
    /// Numbers that may change, separated by commas; those of a queue are written codel.target
    /// [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Tuning")]
    vary: Vec<String>,
    /// Stop after this many generations, counted from the first; each improves every number once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "When to stop")]
    generations: Option<u64>,
    /// Stop after this elapsed time
    #[arg(long, value_name = "TIME", value_parser = args::length, help_heading = "When to stop")]
    duration: Option<Span>,
    /// Stop after this many hours of processor time, those of earlier runs included
    #[arg(long, value_name = "HOURS", value_parser = hours, help_heading = "When to stop")]
    cpu_hours: Option<f64>,
    /// The seed; equal specifications, schemes and seeds give equal results
    #[arg(long, default_value_t = 1, help_heading = "Tuning")]
    seed: u64,
    /// Number of threads; 0 for one per core. The result does not depend on it
    #[arg(long, default_value_t = 0, help_heading = "Tuning")]
    threads: u16,
    /// Print each step as a line of JSON, and the result as the last line
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Do not show progress
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// Result of the command.
#[derive(Serialize)]
struct TuneDocument {
    /// The scheme with its tuned numbers.
    scheme: String,
    /// The scheme at the beginning.
    start: String,
    generations: u64,
    score: f64,
    /// Score per network on the validation set.
    validation: f64,
    /// Score per network on the test set, and that of the scheme at the beginning.
    test: f64,
    start_test: f64,
    seed: u64,
    candidates: u64,
    simulated_s: f64,
    cpu_s: f64,
    simulated_s_per_cpu_s: f64,
    /// Reason why the tuning ended: `settled`, `generations` or `time`.
    end: &'static str,
}

impl Tune {
    pub(crate) fn run(self) -> Result<(), Error> {
        let bytes = output::read(&self.specification, LARGEST).map_err(|error| match error {
            Error::Usage(text) if !self.specification.exists() => Error::Usage(format!(
                "{text}; the specification stands before the scheme: `paceline remy tune SPEC.toml copa -o DIR`"
            )),
            error => error,
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::Usage(format!("{}: it is not UTF-8", self.specification.display()))
        })?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.into())
            .build()
            .map_err(|error| Error::Message(format!("no threads to run on: {error}")))?;
        let document = pool.install(|| self.tune(&text))?;
        match self.json {
            true => output::print_line(&document),
            false => output::print(&document.words()),
        }
    }

    fn tune(&self, text: &str) -> Result<TuneDocument, Error> {
        let plan = TuningPlan {
            text,
            folder: self.specification.parent(),
            scheme: &self.scheme,
            vary: &self.vary,
            seed: self.seed,
            names: registries::names(),
        };
        let work = Arc::new(EvaluatorWork::default());
        // Creates no folder if the specification or the scheme is wrong.
        Tuner::new(&plan, Arc::clone(&work)).map_err(|error| self.fail(error))?;
        let folder = Folder::open(&self.output).map_err(message)?;
        let (mut tuner, _) =
            Tuner::open(&plan, Arc::clone(&work), folder).map_err(|error| self.fail(error))?;
        let limits = Limits {
            end: self.duration.map(|time| Instant::now() + wall(time)),
            cpu_hours: self.cpu_hours,
        };
        let end = self.go_on(&mut tuner, &work, limits)?;
        let (start_test, test) = tuner.judge().map_err(message)?;
        let validation = tuner.validate().map_err(message)?;
        let state = tuner.state();
        let spent = state.spent;
        Ok(TuneDocument {
            scheme: tuner.scheme().to_string(),
            start: state.start.clone(),
            generations: state.generation,
            score: state.score,
            validation,
            test,
            start_test,
            seed: state.seed,
            candidates: spent.candidates,
            simulated_s: spent.simulated_s,
            cpu_s: spent.cpu_s,
            simulated_s_per_cpu_s: spent.simulated_s / spent.cpu_s.max(1e-9),
            end,
        })
    }

    /// Makes steps until the tuning has settled, or the time or the generations are used up.
    /// Returns the reason.
    fn go_on(
        &self,
        tuner: &mut Tuner,
        work: &EvaluatorWork,
        limits: Limits,
    ) -> Result<&'static str, Error> {
        let spent_before = tuner.state().spent.cpu_s;
        let no_time = || limits.are_reached(spent_before + work.cpu_s());
        loop {
            if tuner.is_settled() {
                return Ok("settled");
            }
            if self.generations.is_some_and(|most| tuner.state().generation >= most) {
                return Ok("generations");
            }
            match tuner.step(&no_time) {
                Ok(entry) if self.json => output::print_line(&entry)?,
                Ok(entry) if !self.quiet => {
                    let left = limits.end.map(|end| end.saturating_duration_since(Instant::now()));
                    output::note(&line(&entry, tuner.state().validation, left));
                }
                Ok(_) => {}
                Err(TrainError::Stopped) => return Ok("time"),
                Err(error) => return Err(message(error)),
            }
        }
    }

    fn fail(&self, error: TrainError) -> Error {
        match error {
            TrainError::Specification(error) => {
                Error::Usage(format!("{}: {error}", self.specification.display()))
            }
            TrainError::Evaluator(error) => Error::Usage(error.to_string()),
            error => message(error),
        }
    }
}

impl TuneDocument {
    fn words(&self) -> String {
        format!(
            "{}\n{:.4} per network of the test set, {} {:.4}; {} after {}, {:.0} simulated seconds in {:.0} \
             CPU seconds\n",
            self.scheme,
            self.test,
            self.start,
            self.start_test,
            counted(self.candidates as usize, "candidate"),
            counted(self.generations as usize, "generation"),
            self.simulated_s,
            self.cpu_s
        )
    }
}

/// Returns a step as a line.
fn line(entry: &TuningEntry, validation: Option<f64>, left: Option<Duration>) -> String {
    let TuningEntry { step, generation, number, score, note, spent, .. } = entry;
    let mut text = format!("step {step}, generation {generation}, {number}: score {score:.3}");
    if let Some(validation) = validation {
        text += &format!(", validation {validation:.4} per network");
    }
    text += &format!(", {:.0} CPU s", spent.cpu_s);
    if let Some(left) = left {
        let seconds = left.as_secs();
        text += &format!(", {}:{:02} left", seconds / 60, seconds % 60);
    }
    text + "; " + note
}
