//! `paceline remy train`: searches for a table that suits a specification.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use paceline_cc::Span;
use paceline_remy::train::{
    Entry, EvaluatorWork, Folder, Plan, TrainError, Trainer, TrainingEvaluator,
};
use paceline_schemes::remy::RuleTree;
use serde::Serialize;

use super::page;
use crate::args;
use crate::output::{self, Error};
use crate::table::counted;

#[derive(Args)]
#[command(after_help = "\
The specification says what networks the table is for, what counts there, and how it is trained:
see docs/remy.md. DIR gets table.toml after each improvement, state.json from which the same
command goes on after a stop or a kill, log.jsonl with a line for each step, and page.html in the
end. Without --generations, --duration or --cpu-hours training goes on until it is stopped: Ctrl-C
loses nothing. Progress is the score on a validation set, which training does not see: one line for
each step, on standard error, or as JSON on standard output with --json.

With --seeds N there are N trainings in DIR/seed-S, one after the other. The table with the best
validation score is DIR/table.toml, and is judged on a test set by which nothing was chosen.

Examples:
  paceline remy train scenarios/remy/general-delta1.toml -o general --duration 30min
  paceline remy train scenarios/remy/general-delta1.toml -o general --generations 6 --seed 2
  paceline remy train scenarios/remy/general-delta1.toml -o many --seeds 3 --duration 1h --json
  paceline remy train mine.toml -o mine --from general-delta1 --duration 10min
  paceline remy eval general/table.toml --link 15Mbps --rtt 150ms --senders 2")]
pub(crate) struct Train {
    /// The specification: the networks and the objective of the table, and how to train it
    #[arg(value_name = "SPEC.toml")]
    specification: PathBuf,
    /// The folder of the training; if a training has begun there, it continues
    #[arg(short, long, value_name = "DIR", help_heading = "Outputs")]
    output: PathBuf,
    /// Stop after this many generations, counted from the first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "When to stop")]
    generations: Option<u32>,
    /// Stop after this elapsed time, which the trainings of --seeds share
    #[arg(long, alias = "budget", value_name = "TIME", value_parser = args::length, help_heading = "When to stop")]
    duration: Option<Span>,
    /// Stop after this many hours of processor time, those of earlier runs included; the trainings
    /// of --seeds share them
    #[arg(long, value_name = "HOURS", value_parser = hours, help_heading = "When to stop")]
    cpu_hours: Option<f64>,
    /// The seed of the training; equal specifications and seeds give equal tables
    #[arg(long, default_value_t = 1, help_heading = "Training")]
    seed: u64,
    /// Number of trainings, with consecutive seeds from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Training")]
    seeds: u32,
    /// Begin with this table, a file or a built-in one, instead of with a single rule
    #[arg(long, value_name = "TABLE", help_heading = "Training")]
    from: Option<String>,
    /// Number of threads; 0 for one per core. The table does not depend on it
    #[arg(long, default_value_t = 0, help_heading = "Training")]
    threads: u16,
    /// Print each step as a line of JSON, and the result as the last line
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Do not show progress
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// Result of one training.
#[derive(Clone, Serialize)]
struct Trained {
    table: PathBuf,
    rules: usize,
    generations: u32,
    score: f64,
    /// Score per network on the validation set.
    validation: f64,
    seed: u64,
    candidates: u64,
    simulated_s: f64,
    cpu_s: f64,
    simulated_s_per_cpu_s: f64,
    /// Reason why the training ended: `generations` or `time`.
    end: &'static str,
}

/// Result of the command: of several trainings the one with the best validation score.
#[derive(Serialize)]
struct TrainDocument {
    #[serde(flatten)]
    best: Trained,
    /// Score per network on the test set, if there are several trainings.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<f64>,
    /// All trainings, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trainings: Vec<Trained>,
}

/// A step as a line of JSON.
#[derive(Serialize)]
struct StepLine<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    /// Seed of the training.
    seed: u64,
}

/// A training that has ended, and its result.
struct Done {
    trainer: Trainer<TrainingEvaluator>,
    trained: Trained,
}

/// Limits that end a training.
#[derive(Copy, Clone)]
pub(super) struct Limits {
    /// End at this time.
    pub(super) end: Option<Instant>,
    pub(super) cpu_hours: Option<f64>,
}

impl Limits {
    /// Returns true if the time is over, or this processor time is.
    pub(super) fn are_reached(&self, cpu_s: f64) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
            || self.cpu_hours.is_some_and(|hours| cpu_s >= 3600.0 * hours)
    }
}

/// Largest specification file in bytes.
pub(super) const LARGEST: u64 = 1 << 20;

pub(super) fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.trim().parse().map_err(|_| "expected a number of hours")?;
    if hours > 0.0 && hours < 1e6 { Ok(hours) } else { Err("expected hours above zero".into()) }
}

impl Train {
    pub(crate) fn run(self) -> Result<(), Error> {
        let text = String::from_utf8(output::read(&self.specification, LARGEST)?)
            .map_err(|_| self.problem("it is not UTF-8"))?;
        let start = match &self.from {
            None => None,
            Some(name) => Some(super::table(name)?.tree()),
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.into())
            .build()
            .map_err(|error| Error::Message(format!("no threads to run on: {error}")))?;
        // Creates no folder if the specification is wrong.
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        Trainer::new(&self.plan(&text, start.as_ref(), self.seed), evaluator, work)
            .map_err(|error| self.fail(error))?;
        let report = match self.seeds {
            1 => {
                let budget = self.duration.map(|time| Instant::now() + wall(time));
                let limits = Limits { end: budget, cpu_hours: self.cpu_hours };
                let plan = self.plan(&text, start.as_ref(), self.seed);
                let done = pool.install(|| self.train(&plan, &self.output, limits))?;
                TrainDocument { best: done.trained, test: None, trainings: Vec::new() }
            }
            _ => pool.install(|| self.train_all(&text, start.as_ref()))?,
        };
        if self.json {
            return output::print_line(&report);
        }
        output::print(&report.words())
    }

    fn plan<'a>(&'a self, text: &'a str, start: Option<&'a RuleTree>, seed: u64) -> Plan<'a> {
        Plan { start, ..Plan::new(text, self.specification.parent(), seed) }
    }

    /// Trains with each of the seeds, one after the other. Scores the table with the best
    /// validation score on the test set.
    fn train_all(&self, text: &str, start: Option<&RuleTree>) -> Result<TrainDocument, Error> {
        let end = self.duration.map(|time| Instant::now() + wall(time));
        let mut best: Option<Done> = None;
        let mut trainings = Vec::new();
        for number in 0..self.seeds {
            let seed = self.seed.wrapping_add(number.into());
            let left = self.seeds - number;
            // The remaining trainings divide the remaining time equally.
            let end = end.map(|end| {
                let now = Instant::now();
                now + end.saturating_duration_since(now) / left
            });
            let cpu_hours = self.cpu_hours.map(|hours| hours / f64::from(self.seeds));
            let folder = self.output.join(format!("seed-{seed}"));
            let limits = Limits { end, cpu_hours };
            let done = self.train(&self.plan(text, start, seed), &folder, limits)?;
            trainings.push(done.trained.clone());
            if best.as_ref().is_none_or(|best| done.trained.validation > best.trained.validation) {
                best = Some(done);
            }
        }
        let Some(Done { trainer, trained }) = best else {
            return Err(Error::Message("there was no training".into()));
        };
        let test = trainer.judge().map_err(message)?;
        let table = output::write(&self.output, "table.toml", &trainer.readable().to_toml())?;
        if let Some(others) = trainer.others_readable() {
            output::write(&self.output, "others.toml", &others.to_toml())?;
        }
        Ok(TrainDocument { best: Trained { table, ..trained }, test: Some(test), trainings })
    }

    /// Trains in a folder until the limits are reached, and writes a page there.
    fn train(&self, plan: &Plan<'_>, folder: &Path, limits: Limits) -> Result<Done, Error> {
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        let folder = Folder::open(folder).map_err(message)?;
        let opened = Trainer::open(plan, evaluator, Arc::clone(&work), folder.clone());
        let (mut trainer, mut log) = opened.map_err(|error| self.fail(error))?;
        let end = self.go_on(&mut trainer, &mut log, &work, limits)?;
        let validation = trainer.validate().map_err(message)?;
        let uses = trainer.uses().map_err(message)?;
        folder.write("page.html", &page::page(&trainer, &uses, &log)).map_err(message)?;
        let spent = trainer.state().spent;
        let trained = Trained {
            table: folder.file("table.toml"),
            rules: trainer.table().rules().len(),
            generations: trainer.generations(),
            score: trainer.state().score,
            validation,
            seed: plan.seed,
            candidates: spent.candidates,
            simulated_s: spent.simulated_s,
            cpu_s: spent.cpu_s,
            simulated_s_per_cpu_s: spent.simulated_s / spent.cpu_s.max(1e-9),
            end,
        };
        Ok(Done { trainer, trained })
    }

    fn fail(&self, error: TrainError) -> Error {
        match error {
            TrainError::Specification(error) => self.problem(error),
            error => message(error),
        }
    }

    fn problem(&self, problem: impl std::fmt::Display) -> Error {
        Error::Usage(format!("{}: {problem}", self.specification.display()))
    }

    /// Makes steps until the time or the generations are used up. Returns the reason.
    fn go_on(
        &self,
        trainer: &mut Trainer<TrainingEvaluator>,
        log: &mut Vec<Entry>,
        work: &EvaluatorWork,
        limits: Limits,
    ) -> Result<&'static str, Error> {
        let has_bar = !self.quiet && !self.json && std::io::stderr().is_terminal();
        let has_lines = !self.quiet && !self.json && !has_bar;
        let bar = if has_bar { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(args::wall(0.2));
        // Includes the time of steps that were stopped.
        let spent_before = trainer.state().spent.cpu_s;
        let no_time = || limits.are_reached(spent_before + work.cpu_s());
        let seed = trainer.state().seed;
        let mut validation = trainer.state().validation;
        loop {
            if self.generations.is_some_and(|generations| trainer.is_done(generations)) {
                bar.finish_and_clear();
                return Ok("generations");
            }
            match trainer.step(&no_time) {
                Ok(entry) => {
                    validation = entry.validation.or(validation);
                    let left = limits.end.map(|end| end.saturating_duration_since(Instant::now()));
                    let line = line(&entry, validation, left);
                    if self.json {
                        output::print_line(&StepLine { entry: &entry, seed })?;
                    } else if has_lines {
                        let seed =
                            if self.seeds > 1 { format!("seed {seed}: ") } else { String::new() };
                        output::note(&format!("{seed}{line}; {}", entry.note));
                    }
                    bar.set_message(line);
                    if entry.gain > 0.0 {
                        bar.println(format!("{:6} {}", entry.step, entry.note));
                    }
                    log.push(entry);
                }
                Err(TrainError::Stopped) => {
                    bar.finish_and_clear();
                    return Ok("time");
                }
                Err(error) => return Err(message(error)),
            }
        }
    }
}

impl Trained {
    fn words(&self) -> String {
        format!(
            "{}: {} after {}, {:.4} per network of the validation set; {} candidates, {:.0} simulated \
             seconds in {:.0} CPU seconds\n",
            self.table.display(),
            counted(self.rules, "rule"),
            counted(self.generations as usize, "generation"),
            self.validation,
            self.candidates,
            self.simulated_s,
            self.cpu_s
        )
    }
}

impl TrainDocument {
    fn words(&self) -> String {
        let mut text: String = self.trainings.iter().map(Trained::words).collect();
        match self.test {
            None => text += &self.best.words(),
            Some(test) => {
                let (table, seed) = (self.best.table.display(), self.best.seed);
                text += &format!(
                    "{table}: that of seed {seed}, the best by validation; {test:.4} per network of \
                     the test set\n"
                );
            }
        }
        text
    }
}

pub(super) fn wall(span: Span) -> Duration {
    args::wall(span.as_secs_f64())
}

/// Returns the state of a training as a line.
fn line(entry: &Entry, validation: Option<f64>, left: Option<Duration>) -> String {
    let Entry { step, generation, rules, score, spent, .. } = entry;
    let mut text = format!("step {step}, generation {generation}: score {score:.3}");
    if let Some(validation) = validation {
        text += &format!(", validation {validation:.4} per network");
    }
    let speed = spent.simulated_s / spent.cpu_s.max(1e-9);
    text += &format!(", {rules} rules, {speed:.0} simulated s/CPU s");
    if let Some(left) = left {
        let seconds = left.as_secs();
        text += &format!(", {}:{:02} left", seconds / 60, seconds % 60);
    }
    text
}

pub(super) fn message(error: impl std::fmt::Display) -> Error {
    Error::Message(error.to_string())
}
