//! Makes the runs of a comparison on all cores.

use paceline_requests::compare::{CompareJob, CompareRow, CompareRuns};
use rayon::prelude::*;

use crate::output::{self, Error};
use crate::threads::Threads;
use crate::{host, registries};

/// Threads that make the runs of a comparison.
pub(super) struct Pool {
    pub(super) runs: CompareRuns,
    threads: Threads,
    quiet: bool,
}

impl Pool {
    pub(super) fn new(runs: CompareRuns, threads: Threads, quiet: bool) -> Pool {
        Pool { runs, threads, quiet }
    }

    /// Makes the runs of the request.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        self.make(&self.runs.jobs())
    }

    /// Makes further runs until in every row half the 95 % interval of the median is below `share`
    /// of the median.
    pub(super) fn run_until(&mut self, share: f64) -> Result<(), Error> {
        loop {
            let (jobs, still_wide) = self.runs.further_jobs(share);
            if jobs.is_empty() {
                for wide in still_wide {
                    output::note(&format!(
                        "{} on {}: stopped at {} runs; half the 95 % interval of used % or of delay p95 is still more than {}% of the median",
                        wide.scheme,
                        wide.trace,
                        wide.runs,
                        share * 100.0
                    ));
                }
                return Ok(());
            }
            self.make(&jobs)?;
        }
    }

    fn make(&mut self, jobs: &[CompareJob]) -> Result<(), Error> {
        let bar = output::progress(self.quiet, jobs.len());
        let (runs, names) = (&self.runs, registries::names());
        let row = |job: &CompareJob| {
            let row = runs.make(*job, names, &host::go_on);
            let row = row.map_err(|error| Error::Message(error.to_string()))?;
            bar.inc(1);
            bar.set_message(runs.name(*job));
            Ok(row)
        };
        let rows: Result<Vec<Option<CompareRow>>, Error> =
            // Rayon else gives a quarter of the jobs to one of two threads as a whole.
            self.threads.install(|| jobs.par_iter().with_max_len(1).map(row).collect());
        bar.finish_and_clear();
        let rows = rows?;
        if !host::go_on() {
            return Err(Error::Message("the runs were ended".into()));
        }
        for (job, row) in jobs.iter().zip(rows) {
            if let Some(row) = row {
                self.runs.record(*job, row);
            }
        }
        Ok(())
    }
}
