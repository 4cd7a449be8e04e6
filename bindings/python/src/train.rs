//! `paceline.remy.train`: on this machine, or with a function in Python that evaluates tables
//! elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use paceline_remy::evaluate::{Evaluator, EvaluatorError, Trial};
use paceline_remy::remote;
use paceline_remy::spec::Specimen;
use paceline_remy::train::{
    Entry, EvaluatorWork, Folder, Plan, TrainError, Trainer, TrainingEvaluator,
};
use paceline_requests::written;
use paceline_schemes::remy::RuleTable;
use pyo3::prelude::*;

use crate::error::{argument_error, run_error};
use crate::run::{RunControl, run_interruptibly};

/// Most networks in one question to a remote evaluator.
const NETWORKS_PER_QUESTION: usize = 4;

/// Evaluator of candidate tables.
enum TrialEvaluator {
    /// This machine.
    Local(TrainingEvaluator),
    /// A function in Python that takes a list of questions and returns a list of answers.
    Remote { ask: Py<PyAny>, work: Arc<EvaluatorWork>, control: Arc<RunControl> },
}

impl Evaluator for TrialEvaluator {
    fn trials(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        uses: bool,
    ) -> Result<Vec<Trial>, EvaluatorError> {
        let (ask, work, control) = match self {
            TrialEvaluator::Local(local) => return local.trials(table, specimens, uses),
            TrialEvaluator::Remote { ask, work, control } => (ask, work, control),
        };
        let questions = specimens
            .chunks(NETWORKS_PER_QUESTION)
            .map(|some| remote::question(table, some, uses))
            .collect::<Result<Vec<String>, _>>()?;
        let asked =
            control.call_python(|py| ask.call1(py, (questions,))?.extract::<Vec<String>>(py));
        let answers = asked.map_err(|problem| {
            let words = problem.to_string();
            control.fail(problem);
            EvaluatorError::Other(words)
        })?;
        let mut all = Vec::new();
        for answer in answers {
            all.extend(remote::trials(&answer, work)?);
        }
        match all.len() == specimens.len() {
            true => Ok(all),
            false => Err(EvaluatorError::Other("answers to other questions".into())),
        }
    }
}

/// Answers a question of a training that runs elsewhere, on one thread.
#[pyfunction]
#[pyo3(signature = (text, folder, question))]
pub(crate) fn answer(
    py: Python<'_>,
    text: &str,
    folder: Option<PathBuf>,
    question: &str,
) -> PyResult<String> {
    let answered = run_interruptibly(py, 1, &RunControl::default(), || {
        remote::answer(text, folder.as_deref(), question)
    })?;
    answered.map_err(|error| run_error(py, error))
}

/// Trains a table for a specification; `file` is its name in messages. Returns the table, the log
/// as lines of JSON, and a report as JSON.
#[pyfunction]
#[pyo3(signature = (*, text, file, folder, output, generations, budget, cpu_hours, seed, threads, ask,
    report))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn train(
    py: Python<'_>,
    text: &str,
    file: &str,
    folder: Option<PathBuf>,
    output: Option<PathBuf>,
    generations: Option<u32>,
    budget: Option<String>,
    cpu_hours: Option<f64>,
    seed: u64,
    threads: usize,
    ask: Option<Py<PyAny>>,
    report: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<String>, String)> {
    let budget = budget.map(|text| written::length(&text).map_err(|e| argument_error("budget", e)));
    let budget_s = budget.transpose()?.map(|budget| budget.as_secs_f64());
    let work = Arc::new(EvaluatorWork::default());
    let control = Arc::new(RunControl::default());
    let evaluator = match ask {
        None => TrialEvaluator::Local(TrainingEvaluator { work: Arc::clone(&work) }),
        Some(ask) => {
            TrialEvaluator::Remote { ask, work: Arc::clone(&work), control: Arc::clone(&control) }
        }
    };
    let job = TrainingJob {
        text,
        folder: folder.as_deref(),
        output,
        generations,
        budget_s,
        cpu_hours,
        seed,
    };
    let done = run_interruptibly(py, threads, &control, || {
        job.run(evaluator, &work, &control, report.as_ref())
    })?;
    done.map_err(|error| match error {
        TrainError::Specification(error) => argument_error(file, error),
        error => run_error(py, error),
    })
}

/// A training, and its limits.
struct TrainingJob<'a> {
    text: &'a str,
    folder: Option<&'a Path>,
    output: Option<PathBuf>,
    generations: Option<u32>,
    budget_s: Option<f64>,
    cpu_hours: Option<f64>,
    seed: u64,
}

impl TrainingJob<'_> {
    fn run(
        &self,
        evaluator: TrialEvaluator,
        work: &Arc<EvaluatorWork>,
        control: &RunControl,
        report: Option<&Py<PyAny>>,
    ) -> Result<(String, Vec<String>, String), TrainError> {
        let plan = Plan::new(self.text, self.folder, self.seed);
        let (mut trainer, log) = match &self.output {
            Some(output) => {
                Trainer::open(&plan, evaluator, Arc::clone(work), Folder::open(output)?)?
            }
            None => (Trainer::new(&plan, evaluator, Arc::clone(work))?, Vec::new()),
        };
        let line = |entry: &Entry| serde_json::to_string(entry).unwrap_or_default();
        let mut log: Vec<String> = log.iter().map(line).collect();
        let begun = Instant::now();
        let spent_before = trainer.state().spent.cpu_s;
        let no_time = || {
            !control.go_on()
                || self.budget_s.is_some_and(|budget| begun.elapsed().as_secs_f64() >= budget)
                || self.cpu_hours.is_some_and(|hours| spent_before + work.cpu_s() >= 3600.0 * hours)
        };
        let end = loop {
            if self.generations.is_some_and(|generations| trainer.is_done(generations)) {
                break "generations";
            }
            match trainer.step(&no_time) {
                Ok(entry) => {
                    log.push(line(&entry));
                    let call_report = |py: Python<'_>| match report {
                        Some(report) => report.call1(py, (line(&entry),)).map(|_| ()),
                        None => Ok(()),
                    };
                    if let Err(problem) = control.call_python(call_report) {
                        control.fail(problem);
                        break "error";
                    }
                }
                Err(TrainError::Stopped) => break "time",
                Err(error) => return Err(error),
            }
        };
        let spent = trainer.state().spent;
        let report = serde_json::json!({
            "rules": trainer.table().rules().len(),
            "generations": trainer.generations(),
            "score": trainer.state().score,
            "seed": self.seed,
            "candidates": spent.candidates,
            "simulated_s": spent.simulated_s,
            "cpu_s": spent.cpu_s,
            "simulated_s_per_cpu_s": spent.simulated_s / spent.cpu_s.max(1e-9),
            "end": end,
        });
        Ok((trainer.readable().to_toml(), log, report.to_string()))
    }
}
