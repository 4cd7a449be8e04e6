//! What trainings and tunings have in common: options, limits, several seeds, and how steps are shown.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use paceline_cc::Span;
use paceline_remy::score::contains_starved;
use paceline_remy::train::{
    Entry, EvaluatorWork, TrainError, Trainer, TrainingCost, TrainingEvaluator,
};
use paceline_remy::tune::{Tuner, TuningEntry};
use serde::Serialize;

use crate::args;
use crate::output::{self, Error};
use crate::threads::Threads;

/// Largest specification file in bytes.
pub(super) const LARGEST: u64 = 1 << 20;

/// Writes a note if a score per network on a set contains that of a sender none of whose packets arrived.
pub(super) fn note_starved(what: &str, set: &str, score_per_network: f64) {
    if contains_starved(score_per_network) {
        output::note(&format!(
            "{what}: no packet of a sender in the {set} set arrived, so that its score there means little; \
             a larger networks.on, or a longer duration, lets each sender send more"
        ));
    }
}

/// Options of `train` and `tune`.
#[derive(Args)]
pub(super) struct SearchArgs {
    /// The folder of the search; if one has begun there, it continues
    #[arg(short, long, value_name = "DIR", help_heading = "Outputs")]
    pub(super) output: PathBuf,
    /// Stop after this many generations, counted from the first; each improves every rule, or every
    /// number, once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "When to stop")]
    pub(super) generations: Option<u32>,
    /// Stop after this elapsed time, which the searches of --seeds share
    #[arg(long, alias = "budget", value_name = "TIME", value_parser = args::length, help_heading = "When to stop")]
    duration: Option<Span>,
    /// Stop after this many hours of processor time, those of earlier runs included; the searches
    /// of --seeds share them
    #[arg(long, value_name = "HOURS", value_parser = hours, help_heading = "When to stop")]
    cpu_hours: Option<f64>,
    /// The seed; equal specifications and seeds give equal results
    #[arg(long, value_parser = args::seed, default_value_t = 1, help_heading = "Search")]
    seed: u64,
    /// Number of searches, with consecutive seeds from --seed on; the best by validation is judged
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Search")]
    pub(super) seeds: u32,
    /// Number of threads; 0 for one per core. The result does not depend on it
    #[arg(long, default_value_t = 0, help_heading = "Search")]
    threads: u16,
    /// Print each step as a line of JSON, and the result as the last line
    #[arg(long, help_heading = "Outputs")]
    pub(super) json: bool,
    /// Do not show progress
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

impl SearchArgs {
    /// Returns the first seed.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs on the threads of the option.
    pub(super) fn install<T: Send>(
        &self,
        run: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        Threads::new(self.threads.into())?.install(run)
    }

    /// Searches with each of the seeds, one after the other. `one` gets a seed, the folder of its
    /// search, which is `DIR` if there is only one, and its limits: the remaining searches divide the
    /// remaining time equally.
    pub(super) fn each_seed<T>(
        &self,
        mut one: impl FnMut(u64, &Path, Limits) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.check_folder()?;
        let end = end_after(self.duration);
        let each = |number: u32| {
            let seed = self.seed.wrapping_add(number.into());
            let left = self.seeds - number;
            let end = end.map(|end| {
                let now = Instant::now();
                now + end.saturating_duration_since(now) / left
            });
            let cpu_hours = self.cpu_hours.map(|hours| hours / f64::from(self.seeds));
            let folder = match self.seeds {
                1 => self.output.clone(),
                _ => self.output.join(format!("seed-{seed}")),
            };
            one(seed, &folder, Limits { end, cpu_hours })
        };
        (0..self.seeds).map(each).collect()
    }

    /// Returns an error if the folder has one search and several are asked for, or the other way round: the table of one
    /// would replace that of the other.
    fn check_folder(&self) -> Result<(), Error> {
        let output = self.output.display();
        let entries = std::fs::read_dir(&self.output).into_iter().flatten().flatten();
        let has_several = entries
            .filter(|entry| entry.path().join("state.json").is_file())
            .any(|entry| entry.file_name().to_string_lossy().starts_with("seed-"));
        if self.seeds > 1 && self.output.join("state.json").is_file() {
            return Err(Error::Usage(format!(
                "{output}: has one search; choose another folder for --seeds {}",
                self.seeds
            )));
        }
        if self.seeds == 1 && has_several {
            return Err(Error::Usage(format!(
                "{output}: has searches of several seeds; continue them with --seeds, or choose another folder"
            )));
        }
        Ok(())
    }

    /// Returns how the steps of the search with this seed are shown.
    pub(super) fn shown(&self, seed: u64) -> Shown<'_> {
        let label = if self.seeds > 1 { format!("seed {seed}: ") } else { String::new() };
        Shown { json: self.json, quiet: self.quiet, label, of: None }
    }
}

/// Returns the time at which a duration that begins now ends.
pub(super) fn end_after(duration: Option<Span>) -> Option<Instant> {
    duration.map(|time| Instant::now() + args::wall(time.as_secs_f64()))
}

/// Limits that end a search.
#[derive(Copy, Clone)]
pub(super) struct Limits {
    /// End at this time.
    pub(super) end: Option<Instant>,
    /// End after this much processor time, that of earlier runs included.
    pub(super) cpu_hours: Option<f64>,
}

impl Limits {
    /// Returns true if the time is over, or this processor time is.
    fn are_reached(&self, cpu_s: f64) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
            || self.cpu_hours.is_some_and(|hours| cpu_s >= 3600.0 * hours)
    }
}

fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.trim().parse().map_err(|_| "expected a number of hours")?;
    if hours > 0.0 && hours < 1e6 { Ok(hours) } else { Err("expected hours above zero".into()) }
}

/// A training or a tuning.
pub(super) trait Search {
    /// A line of its log.
    type Entry: Step;

    /// Does one step: see [`Trainer::step`].
    fn step(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Self::Entry, TrainError>;
    /// Returns the seed, the cost so far, and the last score per network on the validation set.
    fn now(&self) -> (u64, TrainingCost, Option<f64>);
    /// Returns the reason to make no other step, if it has come to an end.
    fn end(&self, generations: Option<u32>) -> Option<&'static str>;
}

/// The result of a step.
pub(super) trait Step: Serialize {
    /// Returns number, generation and score in words.
    fn words(&self) -> String;
    /// Returns the gain, and the result in words.
    fn result(&self) -> (f64, &str);
}

impl Search for Trainer<TrainingEvaluator> {
    type Entry = Entry;

    fn step(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Entry, TrainError> {
        Trainer::step(self, stop)
    }

    fn now(&self) -> (u64, TrainingCost, Option<f64>) {
        (self.state().seed, self.state().spent, self.state().validation)
    }

    fn end(&self, generations: Option<u32>) -> Option<&'static str> {
        generations.is_some_and(|most| self.is_done(most)).then_some("generations")
    }
}

impl Step for Entry {
    fn words(&self) -> String {
        let Entry { step, generation, score, rules, .. } = self;
        format!("step {step}, generation {generation}: score {score:.3}, {rules} rules")
    }

    fn result(&self) -> (f64, &str) {
        (self.gain, &self.note)
    }
}

impl Search for Tuner {
    type Entry = TuningEntry;

    fn step(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<TuningEntry, TrainError> {
        Tuner::step(self, stop)
    }

    fn now(&self) -> (u64, TrainingCost, Option<f64>) {
        (self.state().seed, self.state().spent, self.state().validation)
    }

    fn end(&self, generations: Option<u32>) -> Option<&'static str> {
        let is_over = |most: u32| self.state().generation >= most.into();
        match self.is_settled() {
            true => Some("settled"),
            false => generations.is_some_and(is_over).then_some("generations"),
        }
    }
}

impl Step for TuningEntry {
    fn words(&self) -> String {
        let TuningEntry { step, generation, score, number, .. } = self;
        format!("step {step}, generation {generation}, {number}: score {score:.3}")
    }

    fn result(&self) -> (f64, &str) {
        (self.gain, &self.note)
    }
}

/// How steps are shown: as lines of JSON, as lines of text, or by a bar on a terminal.
pub(super) struct Shown<'a> {
    pub(super) json: bool,
    pub(super) quiet: bool,
    /// Begins each line of text.
    pub(super) label: String,
    /// The study and the table, in lines of JSON.
    pub(super) of: Option<(&'a str, &'a str)>,
}

/// A step as a line of JSON.
#[derive(Serialize)]
struct StepLine<'a, E: Serialize> {
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<&'a str>,
    #[serde(flatten)]
    entry: &'a E,
    /// Seed of the search.
    seed: u64,
}

impl Shown<'_> {
    /// Makes steps until the time or the generations are used up. Calls `keep` with each step's
    /// result. Returns the reason of the end.
    pub(super) fn go_on<S: Search>(
        &self,
        search: &mut S,
        work: &EvaluatorWork,
        limits: Limits,
        generations: Option<u32>,
        mut keep: impl FnMut(S::Entry),
    ) -> Result<&'static str, Error> {
        let has_bar = !self.quiet && !self.json && std::io::stderr().is_terminal();
        let has_lines = !self.quiet && !self.json && !has_bar;
        let bar = if has_bar { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(args::wall(0.2));
        // Includes the time of steps that were stopped. The work may be that of earlier searches, too.
        let spent_before = search.now().1.cpu_s - work.cpu_s();
        let no_time = || limits.are_reached(spent_before + work.cpu_s());
        let end = loop {
            if let Some(end) = search.end(generations) {
                break end;
            }
            let entry = match search.step(&no_time) {
                Ok(entry) => entry,
                Err(TrainError::Stopped) => break "time",
                Err(error) => return Err(message(error)),
            };
            let (seed, spent, validation) = search.now();
            let (gain, note) = entry.result();
            let left = limits.end.map(|end| end.saturating_duration_since(Instant::now()));
            let line = format!("{}{}{}", self.label, entry.words(), rest(spent, validation, left));
            if self.json {
                let (study, table) = self.of.unzip();
                output::print_line(&StepLine { study, table, entry: &entry, seed })?;
            } else if has_lines {
                output::note(&format!("{line}; {note}"));
            }
            if gain > 0.0 {
                bar.println(format!("{}{note}", self.label));
            }
            bar.set_message(line);
            keep(entry);
        };
        bar.finish_and_clear();
        Ok(end)
    }
}

/// Returns validation score, speed, cost and remaining time in words.
fn rest(spent: TrainingCost, validation: Option<f64>, left: Option<Duration>) -> String {
    let mut text = String::new();
    if let Some(validation) = validation {
        text += &format!(", validation {validation:.4} per network");
    }
    let speed = spent.simulated_s / spent.cpu_s.max(1e-9);
    text += &format!(", {speed:.0} simulated s/CPU s, {:.0} CPU s", spent.cpu_s);
    if let Some(left) = left {
        let seconds = left.as_secs();
        text += &format!(", {}:{:02} left", seconds / 60, seconds % 60);
    }
    text
}

pub(super) fn message(error: impl std::fmt::Display) -> Error {
    Error::Message(error.to_string())
}
