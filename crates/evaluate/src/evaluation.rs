//! An evaluation: plans the cases' runs, makes them in parallel, answers the criteria.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_sim::Names;
use paceline_sim::metrics::Distribution;
use paceline_sim::runs::{Run, Runs, Spread};
use paceline_tasks::{Progress, Record, Results, Store, Task, Work};

use crate::answer::{Measurements, answer, judge};
use crate::case::{Case, check, cost};
use crate::criterion::{Criterion, Kind, Measured};
use crate::document::{DOCUMENTS, Document};
use crate::figures::Look;
use crate::row::{Beside, Row, Verdict};

/// The scheme whose figures stand beside those of others.
const BESIDE: &str = "cubic";
/// Runs of each case with `--quick`.
const QUICK_RUNS: u32 = 3;
/// Runs of each case otherwise: as many as percentiles need that are not the extremes.
const RUNS: u32 = 15;
/// Runs of cases that take long.
const LONG_RUNS: u32 = 3;

/// What to evaluate.
#[derive(Clone, Debug)]
pub struct Request {
    /// The schemes, as users write them.
    pub schemes: Vec<String>,
    /// The documents that ask.
    pub documents: Vec<&'static Document>,
    /// Criteria to answer: their names, or the first parts of their names; empty for all.
    pub only: Vec<String>,
    /// Whether to make fewer runs and leave long cases out.
    pub quick: bool,
    /// Number of runs of each case; `None` for 3 with `quick` and 15 otherwise.
    pub runs: Option<u32>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Answers of an evaluation.
#[derive(Debug)]
pub struct Evaluation {
    /// Evaluated schemes, as written.
    pub schemes: Vec<String>,
    /// A row for each criterion and scheme, by criteria.
    pub rows: Vec<Row>,
    /// Runs that failed: name and reason.
    pub failures: Vec<(String, String)>,
    /// Finished runs whose records could not be kept: name and reason.
    pub unkept: Vec<(String, String)>,
    /// Number of simulated runs.
    pub runs: usize,
    /// Whether runs were fewer.
    pub quick: bool,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Why an evaluation was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluateError {
    /// A scheme cannot be read or built.
    Scheme(String),
    /// No criterion has this name.
    Criterion(String),
    /// The progress has stopped the work.
    Stopped(String),
}

impl std::fmt::Display for EvaluateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EvaluateError::Scheme(text)
            | EvaluateError::Criterion(text)
            | EvaluateError::Stopped(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for EvaluateError {}

impl Request {
    /// Returns the asked criteria with their documents.
    ///
    /// # Errors
    /// A name of `only` fits no criterion of the documents.
    pub fn criteria(&self) -> Result<Vec<(&'static Document, &'static Criterion)>, EvaluateError> {
        let of = |document: &&'static Document| {
            let document = *document;
            (document.criteria)().into_iter().map(move |criterion| (document, criterion))
        };
        let all: Vec<_> = self.documents.iter().flat_map(of).collect();
        let fits = |name: &str, id: &str| {
            id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        for name in &self.only {
            if !all.iter().any(|(_, criterion)| fits(name, criterion.id)) {
                let has = |document: &&Document| {
                    (document.criteria)().iter().any(|criterion| fits(name, criterion.id))
                };
                if let Some(Document { id, .. }) = DOCUMENTS.iter().find(has) {
                    return Err(EvaluateError::Criterion(format!(
                        "the criterion `{name}` belongs to {id}, which is not among the asked cases; add {id} to them"
                    )));
                }
                let ids = all.iter().map(|(_, criterion)| criterion.id);
                let near = paceline_cc::spec::nearest(name, ids);
                let hint = near.map(|id| format!("; did you mean {id}?")).unwrap_or_default();
                return Err(EvaluateError::Criterion(format!(
                    "there is no criterion `{name}`{hint}"
                )));
            }
        }
        let is_asked =
            |id: &str| self.only.is_empty() || self.only.iter().any(|name| fits(name, id));
        Ok(all.into_iter().filter(|(_, criterion)| is_asked(criterion.id)).collect())
    }

    /// Returns the number of runs of a case.
    fn runs_of(&self, case: &Case) -> u32 {
        let usual = match (self.quick, case.is_long) {
            (true, _) => QUICK_RUNS,
            (false, true) => LONG_RUNS,
            (false, false) => RUNS,
        };
        self.runs.unwrap_or(usual)
    }
}

/// Runs of cases by case and scheme.
struct Plan {
    names: Arc<Names>,
    tasks: BTreeMap<String, Task>,
    /// Cases that cannot be made for a scheme, with the reason.
    refused: BTreeMap<(&'static str, String), String>,
    /// Length and warm-up of each case in seconds.
    times: BTreeMap<&'static str, (f64, f64)>,
}

impl Plan {
    /// Plans the runs of a case for a scheme.
    fn add(&mut self, request: &Request, case: &'static Case, scheme: &str) {
        let key = (case.id, scheme.to_string());
        let mut scenario = match case.scenario(scheme, &self.names) {
            Ok(scenario) => scenario,
            Err(problem) => {
                self.refused.insert(key, problem);
                return;
            }
        };
        scenario.seed = request.seed;
        scenario.runs = Runs { count: request.runs_of(case), spread: Spread::Trace };
        let times = (scenario.duration.as_secs_f64(), scenario.warmup.as_secs_f64());
        self.times.insert(case.id, times);
        let cost = cost(&scenario);
        for run in Run::all(&scenario) {
            let name = name(case, scheme, run.number);
            if self.tasks.contains_key(&name) {
                continue;
            }
            let task = Task::scenario_with(&*name, run.scenario(&scenario), self.names.clone());
            let mut task = match case.is_fine {
                true => task,
                false => task.keeping_series(|name| !name.contains(".state.")),
            };
            task.cost = cost;
            self.tasks.insert(name, task);
        }
    }
}

/// Returns the name of a run.
fn name(case: &Case, scheme: &str, run: u32) -> String {
    format!("{}: {scheme}, run {run}", case.id)
}

/// Answers the criteria for the schemes, on the threads of rayon's present pool.
///
/// # Errors
/// A scheme or a criterion is unknown, or `progress` has stopped the work.
pub fn evaluate(
    request: &Request,
    names: &Arc<Names>,
    store: &Store,
    progress: &dyn Progress,
) -> Result<Evaluation, EvaluateError> {
    for scheme in &request.schemes {
        check(scheme, names).map_err(EvaluateError::Scheme)?;
    }
    let asked = request.criteria()?;
    let mut plan = Plan {
        names: names.clone(),
        tasks: BTreeMap::new(),
        refused: BTreeMap::new(),
        times: BTreeMap::new(),
    };
    let mut cases: BTreeMap<&str, &'static Case> = BTreeMap::new();
    for (document, criterion) in &asked {
        let Kind::Measured(measured) = &criterion.kind else { continue };
        let all = (document.cases)();
        let Some(case) = all.into_iter().find(|case| case.id == measured.case) else { continue };
        if request.quick && case.is_long {
            continue;
        }
        cases.insert(case.id, case);
        for scheme in &request.schemes {
            plan.add(request, case, scheme);
        }
        if measured.beside {
            plan.add(request, case, BESIDE);
        }
        if let Some(reference) = case.reference {
            plan.add(request, case, reference);
        }
    }
    let Plan { tasks, refused, times, .. } = plan;
    let tasks: Vec<Task> = tasks.into_values().collect();
    let runs = tasks.len();
    let work = Work::new(vec![tasks], store);
    let mut done = work.results(store, progress).map_err(EvaluateError::Stopped)?;
    let results = done.plans.pop().unwrap_or_default();
    let found = Found { request, cases, refused, times, results, failures: &done.failures };
    let row = |(document, criterion): &(&'static Document, &'static Criterion)| {
        let (document, criterion) = (*document, *criterion);
        request
            .schemes
            .iter()
            .map(|scheme| found.row(document, criterion, scheme))
            .collect::<Vec<_>>()
    };
    let rows = asked.iter().flat_map(row).collect();
    Ok(Evaluation {
        schemes: request.schemes.clone(),
        rows,
        failures: done.failures,
        unkept: done.unkept,
        runs,
        quick: request.quick,
        seed: request.seed,
    })
}

/// Records of all runs.
struct Found<'a> {
    request: &'a Request,
    cases: BTreeMap<&'static str, &'static Case>,
    refused: BTreeMap<(&'static str, String), String>,
    times: BTreeMap<&'static str, (f64, f64)>,
    results: Results,
    failures: &'a [(String, String)],
}

impl Found<'_> {
    /// Returns the figures of a scheme's runs, and their distribution if there are any.
    fn figures(
        &self,
        measured: &Measured,
        case: &'static Case,
        scheme: &str,
    ) -> (usize, Option<Distribution>) {
        let Some(&(duration, warmup)) = self.times.get(case.id) else { return (0, None) };
        let nothing = Record::default();
        let value = |run: u32| {
            let own = self.results.get(&name(case, scheme, run));
            let reference = match case.reference {
                Some(reference) => self.results.get(&name(case, reference, run)),
                None => &nothing,
            };
            (measured.value)(&Look { own, reference, duration, warmup })
        };
        let values: Vec<f64> = (1..=self.request.runs_of(case)).map(value).collect();
        let finite = values.iter().filter(|value| value.is_finite()).count();
        (finite, Distribution::of(values))
    }

    /// Returns why the runs of a case have no figure.
    fn reason(&self, case: &'static Case, scheme: &str) -> String {
        let key = (case.id, scheme.to_string());
        if let Some(problem) = self.refused.get(&key) {
            return problem.clone();
        }
        let names: Vec<String> =
            (1..=self.request.runs_of(case)).map(|run| name(case, scheme, run)).collect();
        match self.failures.iter().find(|(name, _)| names.contains(name)) {
            Some((name, problem)) if *name == names[0] => problem.clone(),
            Some((name, problem)) => format!("{name}: {problem}"),
            None => "the runs have no such figure: nothing arrived or completed, or there was no \
                     such event"
                .into(),
        }
    }

    /// Answers a criterion for a scheme.
    fn row(&self, document: &'static Document, criterion: &'static Criterion, scheme: &str) -> Row {
        let mut row = Row {
            id: criterion.id,
            document: document.name,
            section: criterion.section,
            question: criterion.question,
            scheme: scheme.to_string(),
            figure: None,
            unit: "",
            median: None,
            p5: None,
            p95: None,
            runs: 0,
            beside: None,
            verdict: None,
            answer: String::new(),
            rule: criterion.rule(),
            cannot_answer: criterion.cannot,
            case: None,
        };
        let measured = match &criterion.kind {
            Kind::Measured(measured) => measured,
            Kind::NotAnswerable(why) => {
                row.verdict = Some(Verdict::NotAnswerable);
                row.answer = why.to_string();
                return row;
            }
        };
        (row.figure, row.unit, row.case) =
            (Some(measured.figure), measured.unit, Some(measured.case));
        let Some(case) = self.cases.get(measured.case).copied() else {
            row.verdict = Some(Verdict::NotMeasured);
            row.answer = "--quick leaves this case out, since it takes long.".into();
            return row;
        };
        let (measured_in, of) = self.figures(measured, case, scheme);
        let runs = Measurements { measured_in, of: self.request.runs_of(case) as usize };
        row.runs = measured_in;
        let beside = measured.beside.then(|| self.figures(measured, case, BESIDE).1).flatten();
        row.beside =
            beside.map(|of| Beside { scheme: BESIDE, median: of.median, p5: of.p5, p95: of.p95 });
        let Some(of) = of else {
            row.verdict = Some(Verdict::NotAnswerable);
            row.answer = format!("No figure: {}.", self.reason(case, scheme).trim_end_matches('.'));
            return row;
        };
        (row.median, row.p5, row.p95) = (Some(of.median), Some(of.p5), Some(of.p95));
        let cubic = beside.map(|of| of.median);
        row.verdict = measured.bounds.as_ref().and_then(|bounds| judge(bounds, &of, runs, cubic));
        row.answer = answer(measured, &of, runs, cubic, row.verdict);
        if runs.are_incomplete() {
            let why = self.reason(case, scheme);
            row.answer += &format!(" In the other runs: {}.", why.trim_end_matches('.'));
        }
        row
    }
}
