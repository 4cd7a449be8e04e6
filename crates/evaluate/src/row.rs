//! Rows of an evaluation: an answer to each criterion for each scheme.

use serde::Serialize;

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
    /// This figure of Cubic, for rows that compare with it.
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
