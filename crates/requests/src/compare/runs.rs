//! The runs of a comparison, and their rows.

use std::ops::RangeInclusive;

use paceline_sim::metrics::Distribution;
use paceline_sim::{BuildError, Names};
use thiserror::Error;

use super::setting::link_name;
use super::{CompareRequest, CompareRow, Comparison, OMNISCIENT, OmniscientError};
use crate::summary::summary_row;

/// Most runs of a scheme, if runs are added until figures are precise enough.
pub const MOST_RUNS: u32 = 200;
/// Number of runs added at a time.
const FURTHER_RUNS: u32 = 10;

/// Reason why a run of a comparison failed.
#[derive(Debug, Error)]
pub enum CompareError {
    /// The scenario cannot be built.
    #[error("{scheme} on {trace}: {error}")]
    Build {
        /// Name of the scheme.
        scheme: String,
        /// Name of the link, in a sweep with its RTT and buffer.
        trace: String,
        /// Error of building the scenario.
        error: BuildError,
    },
    /// The omniscient protocol has no row.
    #[error("{OMNISCIENT} on {trace}: {error}")]
    Omniscient {
        /// Name of the link.
        trace: String,
        /// Reason.
        error: OmniscientError,
    },
}

/// One run of one scheme on one link, in a sweep with one RTT and buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CompareJob {
    /// Index of the comparison.
    at: usize,
    /// Number of the run, from 1 on.
    number: u32,
    /// Whether it is the omniscient protocol on the link of that comparison.
    omniscient: bool,
}

/// A row whose figures are still less precise than requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StillWide {
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the link, in a sweep with its RTT and buffer.
    pub trace: String,
    /// Number of its runs.
    pub runs: u32,
}

/// The runs of a comparison, and the rows of the finished ones.
#[derive(Clone, Debug)]
pub struct CompareRuns {
    /// The comparisons, link by link (in a sweep with each RTT and buffer), with every scheme.
    comparisons: Vec<Comparison>,
    /// Note for the rows of each scheme.
    notes: Vec<Option<String>>,
    /// Number of runs of each comparison.
    count: u32,
    /// Whether to add the omniscient protocol on each link.
    omniscient: bool,
    /// True if rows name their RTT and buffer.
    is_sweep: bool,
    /// Rows by comparison, in the order of the runs.
    rows: Vec<Vec<CompareRow>>,
    /// Rows of the omniscient protocol, by link.
    best: Vec<Vec<CompareRow>>,
}

impl CompareRuns {
    pub(super) fn new(comparisons: Vec<Comparison>, request: &CompareRequest) -> CompareRuns {
        CompareRuns {
            rows: vec![Vec::new(); comparisons.len()],
            best: vec![Vec::new(); comparisons.len() / request.schemes.len().max(1)],
            comparisons,
            notes: request.schemes.iter().map(|(_, note)| note.clone()).collect(),
            count: request.runs.count,
            omniscient: request.omniscient,
            is_sweep: request.is_sweep(),
        }
    }

    /// Returns the number of schemes times links.
    pub fn pairs(&self) -> usize {
        self.comparisons.len()
    }

    /// Returns all requested runs: run 1 of every scheme on every link, then run 2 of each, so that
    /// a caller that shows rows early can compare all schemes.
    pub fn jobs(&self) -> Vec<CompareJob> {
        let all: Vec<usize> = (0..self.comparisons.len()).collect();
        self.jobs_of(&all, 1..=self.count)
    }

    fn jobs_of(&self, which: &[usize], numbers: RangeInclusive<u32>) -> Vec<CompareJob> {
        let mut jobs = Vec::new();
        for number in numbers {
            for &at in which {
                jobs.push(CompareJob { at, number, omniscient: false });
                // Once per link, after its last scheme.
                if self.omniscient && (at + 1).is_multiple_of(self.notes.len()) {
                    jobs.push(CompareJob { at, number, omniscient: true });
                }
            }
        }
        jobs
    }

    /// Returns further runs if in some row half the interval of the median exceeds `share` of the
    /// median, in utilization or p95 delay; a scheme from which nothing arrives has no delay. All schemes of a link get equal numbers of runs. A row
    /// with [`MOST_RUNS`] runs gets no more, and is returned if its interval is still that wide.
    pub fn further_jobs(&self, share: f64) -> (Vec<CompareJob>, Vec<StillWide>) {
        // More runs do not measure a figure that no run has.
        let is_narrow =
            |figure: &Distribution| figure.median.is_nan() || figure.relative_error() <= share;
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
                let (scheme, trace) = (row.scheme.clone(), row.link());
                still_wide.push(StillWide { scheme, trace, runs: made });
            }
        }
        (jobs, still_wide)
    }

    /// Returns the RTT and the buffer of a comparison as text; `None` without a sweep.
    fn setting(&self, at: usize) -> (Option<String>, Option<String>) {
        let Comparison { rtt, buffer, .. } = &self.comparisons[at];
        match self.is_sweep {
            true => (Some(rtt.to_string()), Some(buffer.to_string())),
            false => (None, None),
        }
    }

    /// Returns the name of a comparison's link.
    fn link(&self, at: usize) -> String {
        let (rtt, buffer) = self.setting(at);
        link_name(&self.comparisons[at].trace, rtt.as_deref(), buffer.as_deref())
    }

    /// Returns the name of a job: `cubic on lte-driving`.
    pub fn name(&self, job: CompareJob) -> String {
        let (scheme, trace) = (&self.comparisons[job.at].scheme, self.link(job.at));
        if job.omniscient {
            format!("{OMNISCIENT} on {trace}")
        } else {
            format!("{scheme} on {trace}")
        }
    }

    /// Returns the name of a job with the number of its run: `cubic on lte-driving, run 2`.
    pub fn numbered_name(&self, job: CompareJob) -> String {
        format!("{}, run {}", self.name(job), job.number)
    }

    /// Makes one run, with the schemes and queues of `names`. Calls `go_on` before anything is
    /// built and during the run; returns `None` if it has returned false.
    ///
    /// # Errors
    /// The scenario cannot be built, or the omniscient protocol has no row.
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
        let trace = || self.link(job.at);
        let (rtt, buffer) = self.setting(job.at);
        if job.omniscient {
            let row = comparison.omniscient(job.number);
            return row
                .map(|row| Some(CompareRow { rtt, buffer, ..row }))
                .map_err(|error| CompareError::Omniscient { trace: trace(), error });
        }
        let (run, scenario) = comparison.run_number(job.number);
        let outcome = crate::run_while(&scenario, names, go_on).map_err(|error| {
            CompareError::Build { scheme: comparison.scheme.to_string(), trace: trace(), error }
        })?;
        Ok(outcome.map(|outcome| {
            let row = comparison.row_of(run, &outcome);
            let note = self.notes[job.at % self.notes.len()].clone();
            CompareRow { note: note.or(row.note), rtt, buffer, ..row }
        }))
    }

    /// Stores the row of a job. The runs of a scheme must come in the order of their numbers.
    pub fn record(&mut self, job: CompareJob, row: CompareRow) {
        if job.omniscient {
            self.best[job.at / self.notes.len()].push(row);
        } else {
            self.rows[job.at].push(row);
        }
    }

    /// Returns the rows of the finished runs: by link, scheme, and run. The omniscient protocol
    /// comes after the schemes of a link.
    pub fn rows(&self) -> Vec<CompareRow> {
        let links = self.rows.chunks(self.notes.len().max(1)).zip(&self.best);
        let rows = links.flat_map(|(rows, best)| rows.iter().chain([best]).flatten());
        rows.cloned().collect()
    }

    /// Returns the largest number of runs that a scheme has made.
    pub fn runs_made(&self) -> u32 {
        self.rows.iter().map(|rows| rows.len() as u32).max().unwrap_or(0)
    }
}
