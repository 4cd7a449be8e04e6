//! JSON of evaluations and of lists of criteria.

use serde::Serialize;

use crate::criterion::{Criterion, Kind};
use crate::document::Document;
use crate::evaluation::Evaluation;
use crate::row::Row;

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
