//! `paceline remy tune`: searches for numbers of a scheme that suit a specification.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use paceline_remy::train::{EvaluatorWork, Folder, TrainError};
use paceline_remy::tune::{Tuner, TuningPlan};
use serde::Serialize;

use super::search::{LARGEST, Limits, SearchArgs, message, note_starved};
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
set, by which nothing was chosen. With --seeds N there are N tunings in
DIR/seed-S, one after the other; only the scheme with the best validation score is judged.

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
    /// Numbers that may change, separated by commas; those of a queue are written codel.target
    /// [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Search")]
    vary: Vec<String>,
    #[command(flatten)]
    search: SearchArgs,
}

/// Result of one tuning.
#[derive(Clone, Serialize)]
struct Tuned {
    /// The scheme with its tuned numbers.
    scheme: String,
    /// The scheme at the beginning.
    start: String,
    generations: u64,
    score: f64,
    /// Score per network on the validation set.
    validation: f64,
    seed: u64,
    candidates: u64,
    simulated_s: f64,
    cpu_s: f64,
    simulated_s_per_cpu_s: f64,
    /// Reason why the tuning ended: `settled`, `generations` or `time`.
    end: &'static str,
}

/// Result of the command: of several tunings the one with the best validation score.
#[derive(Serialize)]
struct TuneDocument {
    #[serde(flatten)]
    best: Tuned,
    /// Score per network on the test set, and that of the scheme at the beginning.
    test: f64,
    start_test: f64,
    /// All tunings, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tunings: Vec<Tuned>,
}

/// A tuning that has ended, and its result.
struct Done {
    tuner: Tuner,
    tuned: Tuned,
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
        // Creates no folder if the specification or the scheme is wrong.
        Tuner::new(&self.plan(&text, self.search.seed()), Arc::default())
            .map_err(|error| self.fail(error))?;
        let document = self.search.install(|| self.tune_all(&text))?;
        match self.search.json {
            true => output::print_line(&document),
            false => output::print(&document.words()),
        }
    }

    fn plan<'a>(&'a self, text: &'a str, seed: u64) -> TuningPlan<'a> {
        TuningPlan {
            text,
            folder: self.specification.parent(),
            scheme: &self.scheme,
            vary: &self.vary,
            seed,
            names: registries::names(),
        }
    }

    /// Tunes with each of the seeds. Scores the scheme with the best validation score on the test set.
    fn tune_all(&self, text: &str) -> Result<TuneDocument, Error> {
        let all = self
            .search
            .each_seed(|seed, folder, limits| self.tune(&self.plan(text, seed), folder, limits))?;
        let mut tunings: Vec<Tuned> = all.iter().map(|done| done.tuned.clone()).collect();
        let best = all.into_iter().reduce(|best, done| {
            if done.tuned.validation > best.tuned.validation { done } else { best }
        });
        let Some(Done { tuner, tuned: best }) = best else {
            return Err(Error::Message("there was no tuning".into()));
        };
        let (start_test, test) = tuner.judge().map_err(message)?;
        note_starved(&best.start, "test", start_test);
        if best.scheme != best.start {
            note_starved(&best.scheme, "test", test);
        }
        match tunings.len() {
            1 => tunings.clear(),
            _ => {
                output::write(&self.search.output, "scheme.txt", &format!("{}\n", best.scheme))?;
            }
        }
        Ok(TuneDocument { best, test, start_test, tunings })
    }

    /// Tunes in a folder until the tuning has settled, or the limits are reached.
    fn tune(&self, plan: &TuningPlan<'_>, folder: &Path, limits: Limits) -> Result<Done, Error> {
        let work = Arc::new(EvaluatorWork::default());
        let folder = Folder::open(folder).map_err(message)?;
        let (mut tuner, _) =
            Tuner::open(plan, Arc::clone(&work), folder).map_err(|error| self.fail(error))?;
        let shown = self.search.shown(plan.seed);
        let end = shown.go_on(&mut tuner, &work, limits, self.search.generations, drop)?;
        let validation = tuner.validate().map_err(message)?;
        note_starved(&tuner.scheme().to_string(), "validation", validation);
        let state = tuner.state();
        let spent = state.spent;
        let tuned = Tuned {
            scheme: tuner.scheme().to_string(),
            start: state.start.clone(),
            generations: state.generation,
            score: state.score,
            validation,
            seed: state.seed,
            candidates: spent.candidates,
            simulated_s: spent.simulated_s,
            cpu_s: spent.cpu_s,
            simulated_s_per_cpu_s: spent.simulated_s / spent.cpu_s.max(1e-9),
            end,
        };
        Ok(Done { tuner, tuned })
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

impl Tuned {
    fn words(&self) -> String {
        format!(
            "{}: seed {}, {:.4} per network of the validation set; {} after {}, {:.0} simulated seconds \
             in {:.0} CPU seconds\n",
            self.scheme,
            self.seed,
            self.validation,
            counted(self.candidates as usize, "candidate"),
            counted(self.generations as usize, "generation"),
            self.simulated_s,
            self.cpu_s
        )
    }
}

impl TuneDocument {
    fn words(&self) -> String {
        let mut text: String = self.tunings.iter().map(Tuned::words).collect();
        if self.tunings.is_empty() {
            text += &self.best.words();
        }
        let Tuned { scheme, start, .. } = &self.best;
        text + &format!(
            "{scheme}\n{:.4} per network of the test set, {start} {:.4}\n",
            self.test, self.start_test
        )
    }
}
