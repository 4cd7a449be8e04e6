//! All runs of a comparison, on all cores.

use std::ops::RangeInclusive;

use paceline_requests::compare::{CompareRow, Comparison};
use paceline_requests::summary::summary_row;
use rayon::prelude::*;

use crate::output::{self, Error};

/// Largest number of runs with `--until`.
pub(super) const MOST_RUNS: u32 = 200;
/// Runs that `--until` adds at a time.
const FURTHER_RUNS: u32 = 10;

/// The comparisons, and the rows of the runs that they have made.
pub(super) struct Pool<'a> {
    comparisons: &'a [Comparison],
    /// By comparison, in the order of the runs.
    pub(super) rows: Vec<Vec<CompareRow>>,
    threads: rayon::ThreadPool,
    quiet: bool,
}

impl<'a> Pool<'a> {
    pub(super) fn new(
        comparisons: &'a [Comparison],
        threads: usize,
        quiet: bool,
    ) -> Result<Pool<'a>, Error> {
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Error::Message(format!("no threads to run on: {error}")))?;
        Ok(Pool { comparisons, rows: vec![Vec::new(); comparisons.len()], threads, quiet })
    }

    /// Makes the runs of these numbers of all comparisons.
    pub(super) fn run(&mut self, numbers: RangeInclusive<u32>) -> Result<(), Error> {
        let all: Vec<usize> = (0..self.comparisons.len()).collect();
        self.run_some(&all, numbers)
    }

    fn run_some(&mut self, which: &[usize], numbers: RangeInclusive<u32>) -> Result<(), Error> {
        let jobs: Vec<(usize, u32)> =
            which.iter().flat_map(|at| numbers.clone().map(|number| (*at, number))).collect();
        let bar = output::progress(self.quiet, jobs.len());
        let run = |&(at, number): &(usize, u32)| {
            let comparison = &self.comparisons[at];
            let (run, scenario) = comparison.run_number(number);
            let outcome = paceline_requests::run(&scenario).map_err(|error| {
                let Comparison { scheme, trace, .. } = comparison;
                Error::Message(format!("{scheme} on {trace}: {error}"))
            })?;
            bar.inc(1);
            bar.set_message(format!("{} on {}", comparison.scheme, comparison.trace));
            Ok(comparison.row_of(run, &outcome))
        };
        let rows: Result<Vec<CompareRow>, Error> =
            self.threads.install(|| jobs.par_iter().map(run).collect());
        bar.finish_and_clear();
        for (&(at, _), row) in jobs.iter().zip(rows?) {
            self.rows[at].push(row);
        }
        Ok(())
    }

    /// Makes further runs until half the interval of the median is below `share` of the median in
    /// every row. Schemes of a trace keep having the same runs; comparisons come `schemes` to a trace.
    pub(super) fn run_until(&mut self, schemes: usize, share: f64) -> Result<(), Error> {
        let is_narrow = |rows: &Vec<CompareRow>| {
            let summary = summary_row(&rows.iter().collect::<Vec<_>>());
            let figures = [summary.utilization, summary.queue_delay_ms.p95];
            figures.iter().all(|figure| figure.relative_error() <= share)
        };
        loop {
            let mut open: Vec<usize> = Vec::new();
            for (first, rows) in self.rows.chunks(schemes).enumerate() {
                if !rows.iter().all(is_narrow) {
                    open.extend((first * schemes..).take(rows.len()));
                }
            }
            let made = open.first().map_or(0, |at| self.rows[*at].len() as u32);
            if open.is_empty() {
                return Ok(());
            }
            if made >= MOST_RUNS {
                for rows in open.iter().map(|at| &self.rows[*at]).filter(|rows| !is_narrow(rows)) {
                    let CompareRow { scheme, trace, .. } = &rows[0];
                    output::note(&format!(
                        "{scheme} on {trace}: stopped at {made} runs, and the interval of the median \
                         is still wider than {}%",
                        share * 100.0
                    ));
                }
                return Ok(());
            }
            self.run_some(&open, made + 1..=(made + FURTHER_RUNS).min(MOST_RUNS))?;
        }
    }

    /// The rows of the omniscient protocol by trace, one for each run; comparisons come `schemes` to a
    /// trace.
    pub(super) fn omniscient(&self, schemes: usize) -> Result<Vec<Vec<CompareRow>>, Error> {
        let of_trace = |(rows, comparisons): (&[Vec<CompareRow>], &[Comparison])| {
            let comparison = &comparisons[0];
            let best = |run: &CompareRow| {
                comparison.omniscient(run.run).map_err(|error| {
                    Error::Message(format!("--omniscient on {}: {error}", comparison.trace))
                })
            };
            rows[0].par_iter().map(best).collect()
        };
        let traces = self.rows.chunks(schemes).zip(self.comparisons.chunks(schemes));
        self.threads.install(|| traces.map(of_trace).collect())
    }
}
