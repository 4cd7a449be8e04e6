//! Judges the tables of studies on their test networks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use paceline_schemes::remy::RuleTable;
use paceline_sim::metrics::median;
use paceline_sim::scenario::SchemeChoice;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::trained::{Begun, begun};
use super::{OTHERS, Study, StudyCheck, StudyTest};
use crate::PACKET;
use crate::evaluate::{Contender, Evaluator, EvaluatorError, Trial};
use crate::spec::Specimen;
use crate::train::TrainingEvaluator;
use crate::train::sets::{Set, networks_of};

/// Why studies cannot be judged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// A table or scheme cannot be run.
    #[error("{0}")]
    Evaluator(#[from] EvaluatorError),
    /// A file cannot be read: its name and the error.
    #[error("{0}")]
    File(String),
}

/// A figure of a row on a test.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Figure {
    /// Score per network.
    #[default]
    Score,
    /// Throughput by equal shares of the time, in Mbit/s.
    ThroughputMbps,
    /// Mean one-way delay, in ms.
    DelayMs,
    /// Wasted packets per packet that arrived; 0 unless the objective counts them.
    Wasted,
}

/// Median, minimum and maximum over seeds of training.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct FigureRange {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub lowest: f64,
    /// The maximum.
    pub highest: f64,
}

impl FigureRange {
    /// Returns the range of values; `None` if there are none.
    fn of(values: impl Iterator<Item = f64>) -> Option<FigureRange> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (&lowest, &highest) = (values.first()?, values.last()?);
        Some(FigureRange { median: median(values)?, lowest, highest })
    }
}

/// A table, a pair or a scheme on a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StudyRow {
    /// The test.
    pub judged_on: String,
    /// The table, pair or scheme.
    pub table: String,
    /// Number of seeds of training; 0 for what was not trained here.
    pub seeds: usize,
    /// Fewest generations of the trainings; 0 for what was not trained here.
    pub generations: u32,
    /// Score per network.
    pub score: FigureRange,
    /// Throughput by equal shares of the time, in Mbit/s.
    pub throughput_mbps: FigureRange,
    /// Mean one-way delay, in ms.
    pub delay_ms: FigureRange,
    /// Wasted packets per packet that arrived.
    pub wasted: FigureRange,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CheckVerdict {
    /// What it says.
    pub what: String,
    /// Lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The figure, or the difference, over the seeds that both rows have; `None` without trained tables.
    pub value: Option<FigureRange>,
    /// Number of these seeds.
    pub seeds: usize,
    /// Number of these seeds within the bounds.
    pub seeds_within: usize,
    /// True if the median is within the bounds; `None` if nothing was measured.
    pub holds: Option<bool>,
}

/// The result of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StudyVerdict {
    /// The study.
    pub study: String,
    /// Its question.
    pub question: String,
    /// Claims about the same question.
    pub claims: Vec<String>,
    /// Which figure the bound limits, as a phrase for readers.
    pub judged: String,
    /// Number of generations for which the study trains each table.
    pub generations: u32,
    /// Processor time of all trainings so far, in s.
    pub cpu_s: f64,
    /// Tables of which no training has begun.
    pub untrained: Vec<String>,
    /// Tests, row by row.
    pub rows: Vec<StudyRow>,
    /// Checks.
    pub checks: Vec<CheckVerdict>,
}

/// Figures of a row on a test with one seed, by [`Figure`].
type Figures = BTreeMap<Figure, f64>;

/// A row of a study, by the seeds of training. What was not trained here has one entry without a seed.
struct Measured {
    test: String,
    row: String,
    generations: u32,
    by_seed: BTreeMap<Option<u64>, Figures>,
}

/// Judges a study by the trainings below `base`. With a folder of published tables, these are judged, too: `published` finds a
/// file of it.
///
/// # Errors
/// A file cannot be read, or a table or scheme cannot be run.
pub fn judge(
    study: &Study,
    base: &Path,
    published: &dyn Fn(&str) -> Option<std::path::PathBuf>,
) -> Result<StudyVerdict, JudgeError> {
    let tables = Trained::of(study, base)?;
    let mut measured: Vec<Measured> = Vec::new();
    for test in &study.tests {
        for row in study.rows_of(test) {
            let (first, second) = parts(study, test, &row);
            let mut by_seed = BTreeMap::new();
            for seed in tables.seeds(&first, second.as_deref()) {
                let one = tables.table(&first, seed)?;
                let other = second.as_ref().map(|name| tables.table(name, seed)).transpose()?;
                by_seed.insert(Some(seed), of_table(test, &one, other.as_ref())?);
            }
            let generations = tables.generations(&first, second.as_deref());
            measured.push(Measured {
                test: test.name.clone(),
                row: row.clone(),
                generations,
                by_seed,
            });
            let file = |name: &str| published_name(study, name).and_then(|name| published(&name));
            let found = (file(&first), second.as_deref().map(file));
            if let (Some(one), None | Some(Some(_))) = &found {
                let one = load(one)?;
                let other = found.1.flatten().map(|path| load(&path)).transpose()?;
                let by_seed = BTreeMap::from([(None, of_table(test, &one, other.as_ref())?)]);
                let row = format!("{row}, published");
                measured.push(Measured { test: test.name.clone(), row, generations: 0, by_seed });
            }
        }
        for scheme in study.schemes_of(test) {
            let by_seed = BTreeMap::from([(None, of_scheme(test, &scheme)?)]);
            measured.push(Measured {
                test: test.name.clone(),
                row: scheme,
                generations: 0,
                by_seed,
            });
        }
    }
    Ok(StudyVerdict {
        study: study.name.clone(),
        question: study.question.clone(),
        claims: study.claims.clone(),
        judged: study.judged.clone(),
        generations: study.generations,
        // The sum of no numbers is -0.0.
        cpu_s: tables.0.values().flatten().map(|one| one.state.spent.cpu_s).sum::<f64>() + 0.0,
        untrained: study
            .tables
            .iter()
            .map(|table| table.name.clone())
            .filter(|name| tables.of_name(name).is_empty())
            .collect(),
        rows: measured.iter().filter_map(Measured::row).collect(),
        checks: study.checks.iter().map(|check| verdict(check, &measured)).collect(),
    })
}

/// Returns the names of the tables of a row: of the senders, and of the others.
fn parts(study: &Study, test: &StudyTest, row: &str) -> (String, Option<String>) {
    match study.pairs.iter().find(|pair| pair.name == row) {
        Some(pair) => (pair.first.clone(), Some(pair.second.clone())),
        None if test.specification.trains_two() => {
            (row.to_string(), Some(format!("{row}/{OTHERS}")))
        }
        None => (row.to_string(), None),
    }
}

/// Returns the name of a table without [`OTHERS`], and true if it had that.
fn split(name: &str) -> (&str, bool) {
    match name.split_once('/') {
        Some((table, _)) => (table, true),
        None => (name, false),
    }
}

fn published_name(study: &Study, name: &str) -> Option<String> {
    let (name, of_others) = split(name);
    let table = study.tables.iter().find(|table| table.name == name)?;
    if of_others { table.published_others.clone() } else { table.published.clone() }
}

fn load(path: &Path) -> Result<Arc<RuleTable>, JudgeError> {
    let loaded = crate::file::load(path).map_err(|error| JudgeError::File(error.to_string()))?;
    Ok(Arc::new(loaded.table))
}

/// Trainings that have begun, by table.
struct Trained(BTreeMap<String, Vec<Begun>>);

impl Trained {
    fn of(study: &Study, base: &Path) -> Result<Trained, JudgeError> {
        let read = |table: &super::StudyTable| {
            let begun = begun(base, study, table).map_err(JudgeError::File)?;
            Ok((table.name.clone(), begun))
        };
        Ok(Trained(study.tables.iter().map(read).collect::<Result<_, JudgeError>>()?))
    }

    fn of_name(&self, name: &str) -> &[Begun] {
        self.0.get(split(name).0).map_or(&[], |all| all)
    }

    /// Returns the seeds with which both tables were trained.
    fn seeds(&self, first: &str, second: Option<&str>) -> Vec<u64> {
        let of = |name: &str| -> BTreeSet<u64> {
            self.of_name(name).iter().map(|one| one.seed).collect()
        };
        let first = of(first);
        match second {
            Some(second) => first.intersection(&of(second)).copied().collect(),
            None => first.into_iter().collect(),
        }
    }

    fn generations(&self, first: &str, second: Option<&str>) -> u32 {
        let all = [Some(first), second].into_iter().flatten().flat_map(|name| self.of_name(name));
        all.map(|one| one.state.generations_done()).min().unwrap_or(0)
    }

    fn table(&self, name: &str, seed: u64) -> Result<Arc<RuleTable>, JudgeError> {
        let file = if split(name).1 { "others.toml" } else { "table.toml" };
        match self.of_name(name).iter().find(|one| one.seed == seed) {
            Some(one) => load(&one.folder.join(file)),
            None => Err(JudgeError::File(format!("{name}: no training with seed {seed}"))),
        }
    }
}

/// Returns the networks of a test. They depend on the test's specification alone.
fn networks(test: &StudyTest) -> Vec<Specimen> {
    let mut specimens = networks_of(&test.specification, Set::Test);
    specimens.iter_mut().for_each(|specimen| specimen.repairs = test.repairs);
    specimens
}

fn of_table(
    test: &StudyTest,
    table: &Arc<RuleTable>,
    others: Option<&Arc<RuleTable>>,
) -> Result<Figures, JudgeError> {
    let mut specimens = networks(test);
    if let Some(others) = others {
        specimens = specimens.into_iter().map(|one| one.beside(others, false)).collect();
    }
    let trials = TrainingEvaluator::default().trials(table, &specimens, false)?;
    Ok(figures(test, &trials))
}

fn of_scheme(test: &StudyTest, name: &str) -> Result<Figures, JudgeError> {
    let scheme: SchemeChoice = paceline_sim::scenario::check_scheme(name)
        .map_err(|error| JudgeError::File(error.to_string()))?
        .into();
    let contender = Contender::from(scheme);
    let run = |specimen: &Specimen| {
        let senders = contender.run(&specimen.network, specimen.duration, specimen.seed)?;
        Ok(Trial { senders, uses: Vec::new() })
    };
    let trials: Result<Vec<Trial>, EvaluatorError> = networks(test).par_iter().map(run).collect();
    Ok(figures(test, &trials?))
}

fn figures(test: &StudyTest, trials: &[Trial]) -> Figures {
    let objective = &test.specification.objective;
    let scores: Vec<f64> = trials.iter().map(|trial| trial.score(objective)).collect();
    let count = trials.len().max(1) as f64;
    let mean = |figure: fn(&crate::score::SenderFigures) -> f64| {
        trials.iter().map(|trial| trial.mean(figure)).sum::<f64>() / count
    };
    let mbps = f64::from(PACKET) * 8.0 / 1e3;
    BTreeMap::from([
        (Figure::Score, objective.total(&scores) / count),
        (Figure::ThroughputMbps, mbps * mean(crate::score::SenderFigures::throughput)),
        (Figure::DelayMs, mean(|sender| sender.delay_ms)),
        (Figure::Wasted, mean(|sender| sender.repeats)),
    ])
}

impl Measured {
    fn row(&self) -> Option<StudyRow> {
        let range = |figure: Figure| {
            FigureRange::of(
                self.by_seed.values().filter_map(|figures| figures.get(&figure).copied()),
            )
        };
        Some(StudyRow {
            judged_on: self.test.clone(),
            table: self.row.clone(),
            seeds: self.by_seed.keys().flatten().count(),
            generations: self.generations,
            score: range(Figure::Score)?,
            throughput_mbps: range(Figure::ThroughputMbps)?,
            delay_ms: range(Figure::DelayMs)?,
            wasted: range(Figure::Wasted)?,
        })
    }

    /// Returns the figures with a seed, or those that have none.
    fn with(&self, seed: u64) -> Option<&Figures> {
        self.by_seed.get(&Some(seed)).or_else(|| self.by_seed.get(&None))
    }
}

fn verdict(check: &StudyCheck, measured: &[Measured]) -> CheckVerdict {
    let find =
        |row: &str, test: &str| measured.iter().find(|one| one.row == row && one.test == test);
    let value = |row: &str, seed: u64| -> Option<f64> {
        let of = |test: &String| find(row, test)?.with(seed)?.get(&check.figure).copied();
        let all: Vec<f64> = check.tests.iter().map(of).collect::<Option<_>>()?;
        Some(all.iter().sum::<f64>() / all.len() as f64)
    };
    let seeds: BTreeSet<u64> =
        measured.iter().flat_map(|one| one.by_seed.keys().flatten().copied()).collect();
    let values: Vec<f64> = seeds
        .into_iter()
        .filter_map(|seed| match &check.over {
            Some(over) => Some(value(&check.of, seed)? - value(over, seed)?),
            None => value(&check.of, seed),
        })
        .collect();
    let is_within = |value: f64| {
        check.least.is_none_or(|least| value >= least)
            && check.most.is_none_or(|most| value <= most)
    };
    let range = FigureRange::of(values.iter().copied());
    CheckVerdict {
        what: check.what.clone(),
        at_least: check.least,
        at_most: check.most,
        value: range,
        seeds: values.len(),
        seeds_within: values.iter().filter(|&&value| is_within(value)).count(),
        holds: range.map(|range| is_within(range.median)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(row: &str, values: &[(Option<u64>, f64)]) -> Measured {
        let by_seed =
            values.iter().map(|&(seed, value)| (seed, BTreeMap::from([(Figure::Score, value)])));
        Measured { test: "t".into(), row: row.into(), generations: 1, by_seed: by_seed.collect() }
    }

    #[test]
    fn checks_compare_equal_seeds_and_judge_the_median() {
        let check = StudyCheck {
            what: "a above b".into(),
            figure: Figure::Score,
            of: "a".into(),
            over: Some("b".into()),
            tests: vec!["t".into()],
            least: Some(0.5),
            most: None,
        };
        let a = measured("a", &[(Some(1), 1.0), (Some(2), 2.0), (Some(3), 3.0), (Some(4), 9.0)]);
        let b = measured("b", &[(Some(1), 1.0), (Some(2), 1.4), (Some(3), 0.0)]);
        let found = verdict(&check, &[a, b]);
        assert_eq!((found.seeds, found.seeds_within, found.holds), (3, 2, Some(true)));
        let range = found.value.expect("measured");
        assert_eq!((range.lowest, range.highest), (0.0, 3.0));
        // A scheme is the same for all seeds.
        let a = measured("a", &[(Some(1), 1.0), (Some(2), 1.3)]);
        let found = verdict(&check, &[a, measured("b", &[(None, 1.0)])]);
        assert_eq!((found.seeds, found.seeds_within, found.holds), (2, 0, Some(false)));
        let none = verdict(&check, &[measured("a", &[]), measured("b", &[(None, 1.0)])]);
        assert_eq!((none.value, none.holds), (None, None));
    }
}
