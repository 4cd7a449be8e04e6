//! `python -m paceline`: the commands of `paceline` with classes as schemes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use paceline_cli::{Host, ThreadWork};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::controller::add_controllers;
use crate::run::{RunControl, keeping_thread_state, run_interruptibly};

/// Returns the Python files and classes that a command line names as schemes: the text, and the file or class relative
/// to the working directory. `arguments` begin with the program's name.
#[pyfunction]
pub(crate) fn python_schemes(arguments: Vec<OsString>) -> Vec<(String, String)> {
    let found = paceline_cli::python_schemes(&arguments);
    found.into_iter().map(|scheme| (scheme.text, scheme.place)).collect()
}

/// Runs a command, and returns its exit status. `controllers` are classes by their names, `aliases` the texts of the
/// command line with the names of their classes; kept results depend on `salt`. `program` is a file that runs commands as
/// processes of their own.
///
/// An exception in a controller ends the runs, and is raised here.
#[pyfunction]
#[pyo3(signature = (*, arguments, controllers, aliases, salt, program))]
pub(crate) fn command(
    py: Python<'_>,
    arguments: Vec<OsString>,
    controllers: Bound<'_, PyDict>,
    aliases: Vec<(String, Vec<String>)>,
    salt: String,
    program: Option<PathBuf>,
) -> PyResult<u8> {
    let control = Arc::new(RunControl::default());
    let mut names = paceline_cli::names();
    add_controllers(&mut names, &controllers, &control)?;
    for (text, schemes) in aliases {
        names.aliases.set(&text, schemes);
    }
    let go_on = {
        let control = Arc::clone(&control);
        Arc::new(move || control.go_on())
    };
    let run_thread = Arc::new(|work: ThreadWork| keeping_thread_state(work));
    let host = Host { names, arguments, program, go_on, run_thread, salt };
    if controllers.is_empty() {
        // On this thread: a process with several threads may not enter a user namespace, which emulators do.
        return Ok(py.detach(|| paceline_cli::run_in(host)));
    }
    run_interruptibly(py, 0, &control, || paceline_cli::run_in(host))
}
