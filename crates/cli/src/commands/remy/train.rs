//! `paceline remy train`: finds a table for a specification.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use paceline_cc::Span;
use paceline_remy::train::{
    Entry, EvaluatorWork, Folder, Plan, TrainError, Trainer, TrainingEvaluator,
};
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
end. Without --generations, --budget or --cpu-hours training goes on until it is stopped: Ctrl-C
loses nothing.

Examples:
  paceline remy train scenarios/remy/general-delta1.toml -o general --budget 30min
  paceline remy train scenarios/remy/general-delta1.toml -o general --generations 6 --seed 2
  paceline remy eval general/table.toml --link 15Mbps --rtt 150ms --senders 2")]
pub(crate) struct Train {
    /// What the table is to be good at, and how it is trained
    #[arg(value_name = "SPEC.toml")]
    specification: PathBuf,
    /// The folder of the training; one that has begun there goes on
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Stop after so many generations, counted from the first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    generations: Option<u32>,
    /// Stop after so much time on the clock
    #[arg(long, value_name = "TIME", value_parser = args::length)]
    budget: Option<Span>,
    /// Stop once so many hours of processor time are spent, those of earlier runs included
    #[arg(long, value_name = "HOURS", value_parser = hours)]
    cpu_hours: Option<f64>,
    /// Equal specifications and seeds give equal tables
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many threads; 0 takes all cores. The table does not depend on it
    #[arg(long, default_value_t = 0)]
    threads: u16,
    /// Print what has come out as JSON
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// What has come out.
#[derive(Serialize)]
struct Report {
    table: PathBuf,
    rules: usize,
    generations: u32,
    score: f64,
    seed: u64,
    candidates: u64,
    simulated_s: f64,
    cpu_s: f64,
    simulated_s_per_cpu_s: f64,
    /// Why training has ended: `generations`, or `time`.
    end: &'static str,
}

/// The largest specification that is read.
const LARGEST: u64 = 1 << 20;

fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.trim().parse().map_err(|_| "expected a number of hours")?;
    if hours > 0.0 && hours < 1e6 { Ok(hours) } else { Err("expected hours above zero".into()) }
}

impl Train {
    pub(crate) fn run(self) -> Result<(), Error> {
        let text = String::from_utf8(output::read(&self.specification, LARGEST)?)
            .map_err(|_| self.problem("it is not UTF-8"))?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.into())
            .build()
            .map_err(|error| Error::Message(format!("no threads to run on: {error}")))?;
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = || TrainingEvaluator { work: Arc::clone(&work) };
        let plan = Plan { text: &text, folder: self.specification.parent(), seed: self.seed };
        let fail = |error| match error {
            TrainError::Specification(error) => self.problem(error),
            error => message(error),
        };
        // No folder is made for a specification that is wrong.
        Trainer::new(&plan, evaluator(), Arc::clone(&work)).map_err(fail)?;
        let folder = Folder::open(&self.output).map_err(message)?;
        let opened = Trainer::open(&plan, evaluator(), Arc::clone(&work), folder.clone());
        let (mut trainer, mut log) = opened.map_err(fail)?;
        let begun = Instant::now();
        let end = pool.install(|| self.go_on(&mut trainer, &mut log, &work, begun))?;
        let uses = pool.install(|| trainer.uses()).map_err(message)?;
        let page = page::page(&trainer, &uses, &log);
        folder.write("page.html", &page).map_err(message)?;
        let spent = trainer.state().spent;
        let report = Report {
            table: folder.file("table.toml"),
            rules: trainer.table().rules().len(),
            generations: trainer.generations(),
            score: trainer.state().score,
            seed: self.seed,
            candidates: spent.candidates,
            simulated_s: spent.simulated_s,
            cpu_s: spent.cpu_s,
            simulated_s_per_cpu_s: spent.simulated_s / spent.cpu_s.max(1e-9),
            end,
        };
        if self.json {
            return output::print_json(&report);
        }
        output::print(&format!(
            "{}: {} after {}, score {:.3}; {} candidates, {:.0} simulated seconds in {:.0} CPU \
             seconds\n",
            report.table.display(),
            counted(report.rules, "rule"),
            counted(report.generations as usize, "generation"),
            report.score,
            report.candidates,
            report.simulated_s,
            report.cpu_s
        ))
    }

    fn problem(&self, problem: impl std::fmt::Display) -> Error {
        Error::Usage(format!("{}: {problem}", self.specification.display()))
    }

    /// Does steps until there is no more time, or enough generations are over.
    fn go_on(
        &self,
        trainer: &mut Trainer<TrainingEvaluator>,
        log: &mut Vec<Entry>,
        work: &EvaluatorWork,
        begun: Instant,
    ) -> Result<&'static str, Error> {
        let bar = if self.quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(args::wall(0.2));
        // Steps that were stopped count, too.
        let spent_before = trainer.state().spent.cpu_s;
        let cpu_s = || spent_before + work.cpu_s();
        let budget = self.budget.map(|budget| args::wall(budget.as_secs_f64()));
        let no_time = || {
            budget.is_some_and(|budget| begun.elapsed() >= budget)
                || self.cpu_hours.is_some_and(|hours| cpu_s() >= 3600.0 * hours)
        };
        let mut last_check = None;
        loop {
            if self.generations.is_some_and(|generations| trainer.is_done(generations)) {
                bar.finish_and_clear();
                return Ok("generations");
            }
            match trainer.step(&no_time) {
                Ok(entry) => {
                    if entry.what == "check" {
                        last_check = Some(entry.score);
                    }
                    let left = budget.map(|budget| budget.saturating_sub(begun.elapsed()));
                    bar.set_message(line(&entry, last_check, left));
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

/// Where training is, in a line.
fn line(entry: &Entry, last_check: Option<f64>, left: Option<Duration>) -> String {
    let Entry { step, generation, rules, score, spent, .. } = entry;
    let mut text = format!("step {step}, generation {generation}: score {score:.3}");
    if let Some(check) = last_check {
        text += &format!(" (last check {check:.3})");
    }
    let speed = spent.simulated_s / spent.cpu_s.max(1e-9);
    text += &format!(", {rules} rules, {speed:.0} simulated s/CPU s");
    if let Some(left) = left {
        let seconds = left.as_secs();
        text += &format!(", {}:{:02} left", seconds / 60, seconds % 60);
    }
    text
}

fn message(error: impl std::fmt::Display) -> Error {
    Error::Message(error.to_string())
}
