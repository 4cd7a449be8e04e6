//! Rows of an evaluation: an answer to each criterion for each scheme.

use serde::Serialize;

use crate::criterion::{Criterion, Kind};
use crate::document::Document;
use crate::evaluation::Evaluation;

/// What a figure means by the rule of its criterion.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The median is good, and 90 % of the runs are not poor.
    Good,
    /// Neither good nor poor.
    Mixed,
    /// The median is poor.
    Poor,
    /// Simulation does not answer the question, or the runs have no figure.
    #[serde(rename = "not answerable")]
    NotAnswerable,
    /// `--quick` leaves the case out.
    #[serde(rename = "not measured")]
    NotMeasured,
}

impl Verdict {
    /// Returns the word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Mixed => "mixed",
            Verdict::Poor => "poor",
            Verdict::NotAnswerable => "not answerable",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// A figure of Cubic in the same case.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// The scheme.
    pub scheme: &'static str,
    /// Median over the runs.
    pub median: f64,
    /// 5th percentile over the runs.
    pub p5: f64,
    /// 95th percentile over the runs.
    pub p95: f64,
}

/// The answer to a criterion for a scheme.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The criterion.
    pub id: &'static str,
    /// The document that asks.
    pub document: &'static str,
    /// Section of the document with its subject.
    pub section: &'static str,
    /// The question in plain words.
    pub question: &'static str,
    /// The evaluated scheme, as written.
    pub scheme: String,
    /// Name of the figure; `None` if the question is not answerable by a figure.
    pub figure: Option<&'static str>,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// Median over the runs; `None` if there is no figure.
    pub median: Option<f64>,
    /// 5th percentile over the runs; with fewer than 14 runs the smallest figure.
    pub p5: Option<f64>,
    /// 95th percentile over the runs; with fewer than 14 runs the largest figure.
    pub p95: Option<f64>,
    /// Number of runs with a figure.
    pub runs: usize,
    /// The same figure of Cubic, where it tells something.
    pub beside: Option<Beside>,
    /// Verdict by the rule; `None` where the document has no criterion.
    pub verdict: Option<Verdict>,
    /// The answer in a sentence.
    pub answer: String,
    /// The rule of the verdict and its reason, as stated before the run; empty without one.
    pub rule: String,
    /// What the answer does not cover; may be empty.
    pub cannot_answer: &'static str,
    /// Name of the case; `None` if none is run.
    pub case: Option<&'static str>,
}

/// JSON of an evaluation.
#[derive(Debug, Serialize)]
pub struct EvaluateFields<'a> {
    /// Evaluated schemes, as written.
    pub schemes: &'a [String],
    /// Whether runs were fewer.
    pub quick: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// A row for each criterion and scheme.
    pub criteria: &'a [Row],
}

impl<'a> EvaluateFields<'a> {
    /// Returns the fields of an evaluation.
    pub fn of(done: &'a Evaluation) -> EvaluateFields<'a> {
        EvaluateFields {
            schemes: &done.schemes,
            quick: done.quick,
            seed: done.seed,
            criteria: &done.rows,
        }
    }
}

/// A criterion as `paceline evaluate --list` shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ListedCriterion {
    /// Its name.
    pub id: &'static str,
    /// The document that asks.
    pub document: &'static str,
    /// Section of the document with its subject.
    pub section: &'static str,
    /// The question in plain words.
    pub question: &'static str,
    /// Name of the figure; `None` if the question is not answerable by a figure.
    pub figure: Option<&'static str>,
    /// Its unit.
    pub unit: &'static str,
    /// The rule of the verdict and its reason; empty without one.
    pub rule: String,
    /// What the answer does not cover; may be empty.
    pub cannot_answer: &'static str,
}

impl ListedCriterion {
    /// Returns a criterion of a document.
    pub fn of(document: &'static Document, criterion: &'static Criterion) -> ListedCriterion {
        let (figure, unit) = match &criterion.kind {
            Kind::Measured(measured) => (Some(measured.figure), measured.unit),
            Kind::NotAnswerable(_) => (None, ""),
        };
        ListedCriterion {
            id: criterion.id,
            document: document.name,
            section: criterion.section,
            question: criterion.question,
            figure,
            unit,
            rule: criterion.rule(),
            cannot_answer: criterion.cannot,
        }
    }
}
