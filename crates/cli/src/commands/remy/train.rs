//! `paceline remy train`: searches for a table that suits a specification.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use paceline_remy::train::{EvaluatorWork, Folder, Plan, TrainError, Trainer, TrainingEvaluator};
use paceline_schemes::remy::RuleTable;
use serde::Serialize;

use super::page;
use super::search::{LARGEST, Limits, SearchArgs, message, note_starved};
use crate::output::{self, Error};
use crate::table::counted;

#[derive(Args)]
#[command(after_help = "\
The specification says what networks the table is for, what counts there, and how it is trained:
see docs/remy.md. DIR gets table.toml and state.json, at most once a second and at the end of each
generation; from state.json the same command goes on after a stop or a kill. DIR also gets
log.jsonl with a line for each step, and page.html in the end. Without --generations, --duration
or --cpu-hours training goes on until it is stopped: Ctrl-C loses nothing. Progress is the score on
a validation set, which training does not see: one line for each step, on standard error, or as
JSON on standard output with --json.

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
    /// Begin with this table, a file or a built-in one, instead of with a single rule
    #[arg(long, value_name = "TABLE", help_heading = "Search")]
    from: Option<String>,
    #[command(flatten)]
    search: SearchArgs,
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

/// A training that has ended, and its result.
struct Done {
    trainer: Trainer<TrainingEvaluator>,
    trained: Trained,
}

impl Train {
    pub(crate) fn run(self) -> Result<(), Error> {
        let text = String::from_utf8(output::read(&self.specification, LARGEST)?)
            .map_err(|_| self.problem("it is not UTF-8"))?;
        let start = match &self.from {
            None => None,
            Some(name) => Some(super::table(name)?),
        };
        // Creates no folder if the specification is wrong.
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        Trainer::new(&self.plan(&text, start.as_deref(), self.search.seed()), evaluator, work)
            .map_err(|error| self.fail(error))?;
        let report = self.search.install(|| self.train_all(&text, start.as_deref()))?;
        if self.search.json {
            return output::print_line(&report);
        }
        output::print(&report.words())
    }

    fn plan<'a>(&'a self, text: &'a str, start: Option<&'a RuleTable>, seed: u64) -> Plan<'a> {
        Plan { start, ..Plan::new(text, self.specification.parent(), seed) }
    }

    /// Trains with each of the seeds. If there are several, scores the table with the best validation
    /// score on the test set.
    fn train_all(&self, text: &str, start: Option<&RuleTable>) -> Result<TrainDocument, Error> {
        let all = self.search.each_seed(|seed, folder, limits| {
            self.train(&self.plan(text, start, seed), folder, limits)
        })?;
        let trainings: Vec<Trained> = all.iter().map(|done| done.trained.clone()).collect();
        let best = all.into_iter().reduce(|best, done| {
            if done.trained.validation > best.trained.validation { done } else { best }
        });
        let Some(Done { trainer, trained }) = best else {
            return Err(Error::Message("there was no training".into()));
        };
        if trainings.len() == 1 {
            return Ok(TrainDocument { best: trained, test: None, trainings: Vec::new() });
        }
        let test = trainer.judge().map_err(message)?;
        note_starved(&trained.table.display().to_string(), "test", test);
        let output = &self.search.output;
        let table = output::write(output, "table.toml", &trainer.readable().to_toml())?;
        if let Some(others) = trainer.others_readable() {
            output::write(output, "others.toml", &others.to_toml())?;
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
        let end = self.search.shown(plan.seed).go_on(
            &mut trainer,
            &work,
            limits,
            self.search.generations,
            |entry| log.push(entry),
        )?;
        let validation = trainer.validate().map_err(message)?;
        note_starved(&folder.file("table.toml").display().to_string(), "validation", validation);
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
