//! The threads that step environments side by side, also after a fork.

use std::{mem, process};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads that step environments. A forked process (`multiprocessing` with `fork`) has a copy of the
/// pool, but none of its threads, for which the pool would wait without end: such a process makes a
/// pool of its own when it first needs one.
pub(super) struct StepPool {
    threads: usize,
    /// The process that has the pool's threads.
    process: u32,
    /// None if the caller's thread does the steps.
    pool: Option<ThreadPool>,
}

impl StepPool {
    /// A pool of `threads` threads: 1 for the caller's own, 0 for one on each core.
    ///
    /// # Errors
    /// If threads cannot be made.
    pub(super) fn new(threads: usize) -> PyResult<StepPool> {
        let pool = if threads == 1 { None } else { Some(build(threads)?) };
        Ok(StepPool { threads, process: process::id(), pool })
    }

    /// The pool; none if the caller's thread does the steps.
    ///
    /// # Errors
    /// If this process was forked, and threads cannot be made.
    pub(super) fn get(&mut self) -> PyResult<Option<&ThreadPool>> {
        if self.pool.is_some() && self.process != process::id() {
            // Without its threads the old pool cannot be ended in order.
            mem::forget(self.pool.replace(build(self.threads)?));
            self.process = process::id();
        }
        Ok(self.pool.as_ref())
    }
}

impl Drop for StepPool {
    fn drop(&mut self) {
        if self.process != process::id() {
            mem::forget(self.pool.take());
        }
    }
}

fn build(threads: usize) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| PyRuntimeError::new_err(format!("no threads to run on: {error}")))
}
