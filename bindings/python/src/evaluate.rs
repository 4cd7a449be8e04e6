//! `paceline.evaluate`: the IETF's criteria and test cases, answered for schemes and classes.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use paceline_evaluate::{
    EvaluateError, EvaluateFields, Evaluation, Request, documents, evaluate, markdown, page, paper,
};
use paceline_export::{Fonts, to_pdf_pages};
use paceline_tasks::{Progress, Store};
use pyo3::exceptions::{PyOSError, PyRuntimeWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::controller::names_with_controllers;
use crate::error::{argument, argument_error, run_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;

/// Answers of an evaluation.
#[pyclass(frozen, name = "Evaluation", module = "paceline._native")]
pub(crate) struct PyEvaluation {
    evaluation: Evaluation,
}

#[pymethods]
impl PyEvaluation {
    /// Returns a row for each criterion and scheme.
    fn table(&self) -> PyResult<PyTable> {
        PyTable::of(&self.evaluation.rows)
    }

    /// Returns the runs that failed: name and reason.
    fn failures(&self) -> Vec<(String, String)> {
        self.evaluation.failures.clone()
    }

    /// Returns the JSON that `paceline evaluate --json` prints.
    fn json(&self) -> PyResult<String> {
        crate::listing::document(EvaluateFields::of(&self.evaluation))
    }

    /// Returns the page of `paceline evaluate -o`, as HTML.
    fn page(&self, command: &str) -> String {
        page(&self.evaluation, &self.facts(command))
    }

    /// Returns the report on A4 paper, as a PDF file.
    fn pdf<'py>(&self, py: Python<'py>, command: &str) -> PyResult<Bound<'py, PyBytes>> {
        let facts = self.facts(command);
        let pdf = py.detach(|| {
            Fonts::built_in().convert(|fonts| {
                let (title, sheets) = paper(&self.evaluation, &facts, fonts.family());
                to_pdf_pages(&sheets, &title, fonts)
            })
        });
        let pdf = pdf.map_err(|error| run_error(py, format!("report.pdf: {error}")))?;
        Ok(PyBytes::new(py, &pdf))
    }

    /// Returns the report as Markdown.
    fn markdown(&self, command: &str) -> String {
        markdown(&self.evaluation, command)
    }
}

impl PyEvaluation {
    /// Returns names and values that stand at the end of the page. `command` is left out if it is empty.
    fn facts(&self, command: &str) -> Vec<(&'static str, String)> {
        let command = (!command.is_empty()).then(|| ("command", command.to_string()));
        let others = [
            ("version", env!("CARGO_PKG_VERSION").to_string()),
            ("seed", self.evaluation.seed.to_string()),
            ("runs", self.evaluation.runs.to_string()),
        ];
        command.into_iter().chain(others).collect()
    }
}

/// Calls a Python function with the share of the work that is done and the name of the last run.
struct Reports<'a> {
    control: &'a RunControl,
    call: Option<Py<PyAny>>,
    /// All work, and finished work.
    work: Mutex<(f64, f64)>,
}

impl Reports<'_> {
    fn report(&self, last: &str, add: impl FnOnce(&mut (f64, f64))) {
        let Some(call) = &self.call else { return };
        let share = {
            let Ok(mut work) = self.work.lock() else { return };
            add(&mut work);
            if work.0 > 0.0 { (work.1 / work.0).min(1.0) } else { 1.0 }
        };
        Python::attach(|py| {
            // An error of a progress display must not end the runs; it is shown.
            if let Err(error) = call.call1(py, (share, last)) {
                error.write_unraisable(py, None);
            }
        });
    }
}

impl Progress for Reports<'_> {
    fn begin(&self, total: f64, done: f64) {
        self.report("", |work| *work = (total, done));
    }

    fn done(&self, task: &str, cost: f64) {
        self.report(task, |work| work.1 += cost);
    }

    fn go_on(&self) -> bool {
        self.control.go_on()
    }
}

/// Answers the criteria of documents for schemes. `salt` says what else, beside the program, the results
/// depend on: the classes.
#[pyfunction]
#[pyo3(signature = (*, schemes, cases, only, quick, runs, seed, output, salt, threads, controllers,
    progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate_schemes(
    py: Python<'_>,
    schemes: Vec<String>,
    cases: &str,
    only: Vec<String>,
    quick: bool,
    runs: Option<u32>,
    seed: u64,
    output: Option<PathBuf>,
    salt: &str,
    threads: usize,
    controllers: Option<Bound<'_, PyDict>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyEvaluation> {
    let control = Arc::new(RunControl::default());
    let names = Arc::new(names_with_controllers(controllers.as_ref(), &control)?);
    let documents = argument("cases", documents(cases))?;
    let request = Request { schemes, documents, only, quick, runs, seed };
    let store = match &output {
        Some(folder) => {
            let runs = folder.join("runs");
            let fail = |error| PyOSError::new_err(format!("{}: {error}", runs.display()));
            Store::open_with(&runs, salt).map_err(fail)?
        }
        None => Store::disabled(),
    };
    let reports = Reports { control: &control, call: progress, work: Mutex::default() };
    let result =
        run_interruptibly(py, threads, &control, || evaluate(&request, &names, &store, &reports))?;
    let evaluation = result.map_err(|error| match error {
        EvaluateError::Scheme(text) => argument_error("schemes", text),
        EvaluateError::Criterion(text) => argument_error("only", text),
        EvaluateError::Stopped(text) => run_error(py, text),
    })?;
    if let Some((_, problem)) = evaluation.unkept.first() {
        let count = evaluation.unkept.len();
        let text = CString::new(format!("results of {count} runs cannot be kept: {problem}"))?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    Ok(PyEvaluation { evaluation })
}
