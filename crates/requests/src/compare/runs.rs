//! The runs of a comparison: which are to be made, and their rows.

use std::ops::RangeInclusive;

use paceline_sim::metrics::Distribution;
use paceline_sim::{BuildError, Names};
use thiserror::Error;

use super::{CompareRequest, CompareRow, Comparison, OMNISCIENT, OmniscientError};
use crate::summary::summary_row;

/// The most runs of a scheme where runs are added until figures are certain enough.
pub const MOST_RUNS: u32 = 200;
/// How many runs are added at a time.
const FURTHER_RUNS: u32 = 10;

/// Why a run of a comparison failed.
#[derive(Debug, Error)]
pub enum CompareError {
    /// The scenario cannot be built.
    #[error("{scheme} on {trace}: {error}")]
    Build {
        /// The scheme.
        scheme: String,
        /// The link.
        trace: String,
        /// Why.
        error: BuildError,
    },
    /// The omniscient protocol has no row.
    #[error("{OMNISCIENT} on {trace}: {error}")]
    Omniscient {
        /// The link.
        trace: String,
        /// Why.
        error: OmniscientError,
    },
}

/// One run of one scheme on one link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CompareJob {
    /// Place of the comparison.
    at: usize,
    /// Number of the run, from 1 on.
    number: u32,
    /// True for the omniscient protocol on the link of that comparison.
    omniscient: bool,
}

/// A row whose figures are still less certain than asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StillWide {
    /// The scheme.
    pub scheme: String,
    /// The link.
    pub trace: String,
    /// How many runs it has had.
    pub runs: u32,
}

/// The runs of a comparison, and the rows of those that are made.
#[derive(Clone, Debug)]
pub struct CompareRuns {
    /// Link by link, every scheme.
    comparisons: Vec<Comparison>,
    /// What the rows of each scheme note.
    notes: Vec<Option<String>>,
    /// Number of runs of each comparison.
    count: u32,
    /// Whether each link has the omniscient protocol, too.
    omniscient: bool,
    /// Rows by comparison, in the order of the runs.
    rows: Vec<Vec<CompareRow>>,
    /// Rows of the omniscient protocol by link.
    best: Vec<Vec<CompareRow>>,
}

impl CompareRuns {
    pub(super) fn new(comparisons: Vec<Comparison>, request: &CompareRequest) -> CompareRuns {
        CompareRuns {
            rows: vec![Vec::new(); comparisons.len()],
            best: vec![Vec::new(); request.links.len()],
            comparisons,
            notes: request.schemes.iter().map(|(_, note)| note.clone()).collect(),
            count: request.runs.count,
            omniscient: request.omniscient,
        }
    }

    /// Number of schemes times links.
    pub fn pairs(&self) -> usize {
        self.comparisons.len()
    }

    /// Returns all runs that were asked for: run 1 of every scheme on every link, then run 2 of each, so that
    /// whoever shows rows early can compare all schemes.
    pub fn jobs(&self) -> Vec<CompareJob> {
        let all: Vec<usize> = (0..self.comparisons.len()).collect();
        self.jobs_of(&all, 1..=self.count)
    }

    fn jobs_of(&self, which: &[usize], numbers: RangeInclusive<u32>) -> Vec<CompareJob> {
        let mut jobs = Vec::new();
        for number in numbers {
            for &at in which {
                jobs.push(CompareJob { at, number, omniscient: false });
                // Once for a link, behind its last scheme.
                if self.omniscient && (at + 1).is_multiple_of(self.notes.len()) {
                    jobs.push(CompareJob { at, number, omniscient: true });
                }
            }
        }
        jobs
    }

    /// Returns further runs if in some row half the interval of the median is above `share` of the median, in
    /// utilization or p95 delay; all schemes of a link keep having the same runs. Rows that have [`MOST_RUNS`]
    /// runs get no more of them, and are returned if they are wide.
    pub fn further_jobs(&self, share: f64) -> (Vec<CompareJob>, Vec<StillWide>) {
        let is_narrow = |figure: &Distribution| figure.relative_error() <= share;
        let is_wide = |rows: &Vec<CompareRow>| {
            let summary = summary_row(&rows.iter().collect::<Vec<_>>());
            ![summary.utilization, summary.queue_delay_ms.p95].iter().all(is_narrow)
        };
        let schemes = self.notes.len();
        let (mut jobs, mut still_wide) = (Vec::new(), Vec::new());
        for (link, rows) in self.rows.chunks(schemes).enumerate() {
            if !rows.iter().any(is_wide) {
                continue;
            }
            let made = rows[0].len() as u32;
            if made < MOST_RUNS {
                let of_link: Vec<usize> = (link * schemes..).take(schemes).collect();
                jobs.extend(
                    self.jobs_of(&of_link, made + 1..=(made + FURTHER_RUNS).min(MOST_RUNS)),
                );
                continue;
            }
            for row in rows.iter().filter(|rows| is_wide(rows)).map(|rows| &rows[0]) {
                let (scheme, trace) = (row.scheme.clone(), row.trace.clone());
                still_wide.push(StillWide { scheme, trace, runs: made });
            }
        }
        (jobs, still_wide)
    }

    /// What a job is, in words: `cubic on lte-driving`.
    pub fn name(&self, job: CompareJob) -> String {
        let Comparison { scheme, trace, .. } = &self.comparisons[job.at];
        if job.omniscient {
            format!("{OMNISCIENT} on {trace}")
        } else {
            format!("{scheme} on {trace}")
        }
    }

    /// What a job is, with the number of its run: `cubic on lte-driving, run 2`.
    pub fn numbered_name(&self, job: CompareJob) -> String {
        format!("{}, run {}", self.name(job), job.number)
    }

    /// Makes one run, with the schemes and queues of `names`. `go_on` is asked before anything is built, and on
    /// the way, whether to go on; `None` if it has said no.
    ///
    /// # Errors
    /// What cannot be built, or has no omniscient protocol.
    pub fn make(
        &self,
        job: CompareJob,
        names: &Names,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<CompareRow>, CompareError> {
        if !go_on() {
            return Ok(None);
        }
        let comparison = &self.comparisons[job.at];
        let trace = || comparison.trace.clone();
        if job.omniscient {
            let row = comparison.omniscient(job.number);
            return row
                .map(Some)
                .map_err(|error| CompareError::Omniscient { trace: trace(), error });
        }
        let (run, scenario) = comparison.run_number(job.number);
        let outcome = crate::run_while(&scenario, names, go_on).map_err(|error| {
            CompareError::Build { scheme: comparison.scheme.to_string(), trace: trace(), error }
        })?;
        Ok(outcome.map(|outcome| {
            let row = comparison.row_of(run, &outcome);
            let note = self.notes[job.at % self.notes.len()].clone();
            CompareRow { note: note.or(row.note), ..row }
        }))
    }

    /// Takes the row of a job over. The runs of a scheme come in the order of their numbers.
    pub fn record(&mut self, job: CompareJob, row: CompareRow) {
        if job.omniscient {
            self.best[job.at / self.notes.len()].push(row);
        } else {
            self.rows[job.at].push(row);
        }
    }

    /// Returns the rows of the runs that are made: by link, scheme, and run; behind the schemes of a link the
    /// omniscient protocol.
    pub fn rows(&self) -> Vec<CompareRow> {
        let links = self.rows.chunks(self.notes.len().max(1)).zip(&self.best);
        let rows = links.flat_map(|(rows, best)| rows.iter().chain([best]).flatten());
        rows.cloned().collect()
    }

    /// The most runs that a scheme has made.
    pub fn runs_made(&self) -> u32 {
        self.rows.iter().map(|rows| rows.len() as u32).max().unwrap_or(0)
    }
}
