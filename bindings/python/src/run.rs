//! Long work without Python's lock, which Ctrl-C ends.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often Python's signals are looked at.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Whether work is to go on.
#[derive(Debug, Default)]
pub(crate) struct StopFlag(AtomicBool);

impl StopFlag {
    /// Asks the work to end.
    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True until somebody asks for the end.
    pub(crate) fn go_on(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Does `work` on `threads` threads (0 for one on each core) while Python's other threads run, and
/// ends it when Python gets a signal whose handler raises, as Ctrl-C does.
///
/// # Errors
/// What the handler raised, or that there are no threads.
pub(crate) fn run_interruptibly<T: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &StopFlag,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("no threads to run on: {error}")))?;
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let worker = scope.spawn(move || {
                let done = pool.install(work);
                // Nobody waits for it after a signal.
                let _ = sender.send(done);
            });
            loop {
                match receiver.recv_timeout(SIGNAL_CHECK_INTERVAL) {
                    Ok(done) => return Ok(done),
                    Err(RecvTimeoutError::Disconnected) => match worker.join() {
                        Err(panic) => resume_unwind(panic),
                        Ok(()) => return Err(PyRuntimeError::new_err("the work has no result")),
                    },
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.stop();
                            return Err(error);
                        }
                    }
                }
            }
        })
    })
}
