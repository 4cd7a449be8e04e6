//! The threads that step environments in parallel, also after a fork.

use std::{mem, process};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads that step environments. A forked process (`multiprocessing` with `fork`) has a copy of
/// the pool but none of its threads, so using the copy would block for ever. Such a process builds
/// a pool of its own at its first use.
pub(super) struct StepPool {
    threads: usize,
    /// Process that has the pool's threads.
    process: u32,
    /// The pool; `None` if the caller's thread does the steps.
    pool: Option<ThreadPool>,
}

impl StepPool {
    /// Returns a pool of `threads` threads: 1 for the caller's own, 0 for one per core.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub(super) fn new(threads: usize) -> PyResult<StepPool> {
        let pool = if threads == 1 { None } else { Some(build(threads)?) };
        Ok(StepPool { threads, process: process::id(), pool })
    }

    /// Returns the pool; `None` if the caller's thread does the steps.
    ///
    /// # Errors
    /// This process was forked, and threads cannot be started.
    pub(super) fn get(&mut self) -> PyResult<Option<&ThreadPool>> {
        if self.pool.is_some() && self.process != process::id() {
            // Dropping the old pool would wait for its threads, which do not exist here.
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
