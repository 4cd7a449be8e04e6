//! Long work without Python's lock. Ctrl-C ends it, even while it calls Python code.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Interval at which Python's signals are checked.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Reasons to end work early: a signal, or an exception in Python code that the work calls.
#[derive(Debug, Default)]
pub(crate) struct RunControl {
    /// Work of which this is a part: it ends this part, too, and interrupts the Python code of all parts.
    whole: Option<Arc<RunControl>>,
    stopped: AtomicBool,
    /// Python's numbers of the threads that run Python code called by the work.
    calling_threads: Mutex<Vec<u64>>,
    /// First exception in such code.
    exception: Mutex<Option<PyErr>>,
}

impl RunControl {
    /// Returns the control of a part of the work. An exception in the Python code of a part ends only this part.
    pub(crate) fn within(whole: &Arc<RunControl>) -> RunControl {
        RunControl { whole: Some(Arc::clone(whole)), ..RunControl::default() }
    }

    /// Returns the first exception in Python code, once.
    pub(crate) fn take_exception(&self) -> Option<PyErr> {
        lock(&self.exception).take()
    }

    /// Requests the end of the work.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// True until the end is requested.
    pub(crate) fn go_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
            && self.whole.as_ref().is_none_or(|whole| whole.go_on())
    }

    /// Requests the end of the work because Python code has raised an exception. Keeps the first
    /// exception.
    pub(crate) fn fail(&self, error: PyErr) {
        lock(&self.exception).get_or_insert(error);
        self.stop();
    }

    /// Calls Python code from the work, so that a signal can interrupt it.
    pub(crate) fn call_python<T>(&self, call: impl FnOnce(Python<'_>) -> T) -> T {
        Python::attach(|py| {
            let threads = &self.whole.as_deref().unwrap_or(self).calling_threads;
            let _registered = RegisteredCall::new(py, threads);
            call(py)
        })
    }

    /// Raises `KeyboardInterrupt` in all Python code that the work is calling.
    fn interrupt_calls(&self, py: Python<'_>) -> PyResult<()> {
        let threads = lock(&self.calling_threads).clone();
        if threads.is_empty() {
            return Ok(());
        }
        py.import("paceline._interrupt")?.call_method1("interrupt_threads", (threads,))?;
        Ok(())
    }
}

/// A call of Python code, registered while it lasts.
struct RegisteredCall<'a> {
    threads: &'a Mutex<Vec<u64>>,
    thread: u64,
}

impl RegisteredCall<'_> {
    fn new<'a>(py: Python<'_>, threads: &'a Mutex<Vec<u64>>) -> RegisteredCall<'a> {
        let thread = thread_number(py);
        lock(threads).push(thread);
        RegisteredCall { threads, thread }
    }
}

impl Drop for RegisteredCall<'_> {
    fn drop(&mut self) {
        let mut threads = lock(self.threads);
        if let Some(place) = threads.iter().position(|thread| *thread == self.thread) {
            threads.swap_remove(place);
        }
    }
}

thread_local! {
    /// Python's number of this thread; 0 before it is known.
    static THREAD_NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// Returns Python's number of this thread: `threading.get_ident()`.
fn thread_number(py: Python<'_>) -> u64 {
    THREAD_NUMBER.with(|number| {
        if number.get() == 0 {
            let found = py.import("threading").and_then(|module| module.call_method0("get_ident"));
            // If the number is unknown, signals cannot interrupt the call.
            number.set(found.and_then(|found| found.extract()).unwrap_or(0));
        }
        number.get()
    })
}

/// Does `work` on this thread without Python's lock, and keeps Python's state of the thread from its beginning to its end. Without
/// it, each call of Python code creates a state, maps memory for its stack, and removes both.
pub(crate) fn keeping_thread_state(work: impl FnOnce() + Send) {
    Python::attach(|py| py.detach(work));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work` on `threads` threads (0 for one per core) while Python's other threads run. Ends it
/// when Python gets a signal whose handler raises, as Ctrl-C does: stops `control`, and if the work
/// is still in Python code at the next check, raises `KeyboardInterrupt` there.
///
/// # Errors
/// The exception that the handler raised, with the exception in the Python code as its cause;
/// without a signal, the exception that ended the work; or an error because no threads could be
/// started.
pub(crate) fn run_interruptibly<T: Send>(
    py: Python<'_>,
    threads: usize,
    control: &RunControl,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (result, interrupt) = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let worker = scope.spawn(move || {
                // `build_scoped` returns when its threads have ended: none outlives the interpreter.
                let in_thread = |thread: ThreadBuilder| keeping_thread_state(|| thread.run());
                let pool = ThreadPoolBuilder::new().num_threads(threads);
                let done = pool.build_scoped(in_thread, |pool| pool.install(work));
                let _ = sender.send(done);
            });
            let mut interrupt = None;
            loop {
                match receiver.recv_timeout(SIGNAL_CHECK_INTERVAL) {
                    Ok(done) => return (Ok(done), interrupt),
                    Err(RecvTimeoutError::Disconnected) => match worker.join() {
                        Err(panic) => resume_unwind(panic),
                        Ok(()) => {
                            let error = PyRuntimeError::new_err("the work has no result");
                            return (Err(error), interrupt);
                        }
                    },
                    Err(RecvTimeoutError::Timeout) => {
                        Python::attach(|py| check_signals(py, control, &mut interrupt));
                    }
                }
            }
        })
    });
    let result = result.and_then(|done| {
        done.map_err(|error| PyRuntimeError::new_err(format!("no threads to run on: {error}")))
    });
    let exception = control.take_exception();
    match (interrupt, exception) {
        (Some(interrupt), Some(exception)) => {
            if exception.is_instance_of::<PyKeyboardInterrupt>(py) {
                interrupt.set_cause(py, Some(exception));
            }
            Err(interrupt)
        }
        (Some(error), None) | (None, Some(error)) => Err(error),
        (None, None) => result,
    }
}

/// Runs the handlers of Python's signals. The first handler that raises stops the work; from the
/// next check on, Python code that still runs in the work is interrupted.
fn check_signals(py: Python<'_>, control: &RunControl, interrupt: &mut Option<PyErr>) {
    let signals = py.check_signals();
    match interrupt {
        Some(_) => {
            if let Err(error) = control.interrupt_calls(py) {
                error.write_unraisable(py, None);
            }
        }
        None => {
            if let Err(error) = signals {
                control.stop();
                *interrupt = Some(error);
            }
        }
    }
}
