//! `paceline.reproduce`: the papers' claims, measured with Paceline.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use paceline_reproduce::{
    BUILT_IN, Claim, FindClaimError, ListedClaim, Progress, RUNS, Recordings, ReproduceFields,
    Reproduction, Setting, Store, Tables, markdown, page, reproduce,
};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyRuntimeWarning};
use pyo3::prelude::*;

use crate::error::{argument_error, run_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;

/// Results of a reproduction.
#[pyclass(frozen, name = "Reproduction", module = "paceline._native")]
pub(crate) struct PyReproduction {
    reproduction: Reproduction,
    chosen: Vec<Claim>,
}

#[pymethods]
impl PyReproduction {
    fn summary(&self) -> String {
        self.reproduction.summary()
    }

    /// Returns a row for each claim.
    fn table(&self) -> PyResult<PyTable> {
        PyTable::of(&self.reproduction.claims)
    }

    /// Returns the tasks that failed: name and reason.
    fn failures(&self) -> Vec<(String, String)> {
        self.reproduction.failures.clone()
    }

    fn json(&self) -> PyResult<String> {
        crate::listing::document(ReproduceFields::of(&self.reproduction))
    }

    fn page(&self) -> String {
        page(
            &self.reproduction,
            &self.chosen,
            &[("version", env!("CARGO_PKG_VERSION").to_string())],
        )
    }

    fn markdown(&self) -> String {
        markdown(&self.reproduction, &self.chosen, "paceline.reproduce")
    }
}

/// Reports no progress; Python's signals end the run.
struct SilentProgress<'a>(&'a RunControl);

impl Progress for SilentProgress<'_> {
    fn begin(&self, _: f64, _: f64) {}
    fn done(&self, _: &str, _: f64) {}
    fn go_on(&self) -> bool {
        self.0.go_on()
    }
}

fn find_claims(ids: &[String]) -> PyResult<Vec<Claim>> {
    paceline_reproduce::find_claims(ids).map_err(|error| match error {
        FindClaimError::Invalid(_) => PyRuntimeError::new_err(error.to_string()),
        FindClaimError::Unknown(_) => {
            argument_error("claims", format!("{error}; paceline.claims() has all"))
        }
    })
}

/// Returns the claims: a row for each.
#[pyfunction]
pub(crate) fn list_claims() -> PyResult<PyTable> {
    PyTable::of(&find_claims(&[])?.iter().map(ListedClaim::of).collect::<Vec<_>>())
}

/// Measures claims.
#[pyfunction]
#[pyo3(signature = (*, ids, quick, traces, tables, trained, runs, causes, seed, output, threads))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn measure_claims(
    py: Python<'_>,
    ids: Vec<String>,
    quick: bool,
    traces: Option<PathBuf>,
    tables: Option<PathBuf>,
    trained: Option<PathBuf>,
    runs: Option<u32>,
    causes: bool,
    seed: u64,
    output: Option<PathBuf>,
    threads: usize,
) -> PyResult<PyReproduction> {
    let chosen = find_claims(&ids)?;
    for (name, folder) in [("traces", &traces), ("tables", &tables), ("trained", &trained)] {
        let is_built_in = |folder: &Path| name == "trained" && folder == Path::new(BUILT_IN);
        let named = folder.as_deref().filter(|folder| !is_built_in(folder));
        if let Some(folder) = named.filter(|folder| !folder.is_dir()) {
            return Err(argument_error(name, format!("{}: not a folder", folder.display())));
        }
    }
    let traces = traces.map(Recordings::Folder);
    let causes = causes || !ids.is_empty();
    let tables = Tables::new(tables, trained);
    let setting = Setting { quick, traces, tables, seed, live: None, causes };
    let store = match &output {
        Some(folder) => {
            let runs = Setting::runs(folder);
            let fail = |error| PyOSError::new_err(format!("{}: {error}", runs.display()));
            Store::open(&runs).map_err(fail)?
        }
        None => Store::disabled(),
    };
    let runs = runs.unwrap_or(if quick { 1 } else { RUNS });
    let control = RunControl::default();
    let progress = SilentProgress(&control);
    let result = run_interruptibly(py, threads, &control, || {
        reproduce(&chosen, &setting, runs, &store, &progress)
    })?;
    let reproduction = result.map_err(|error| run_error(py, error))?;
    if let Some((_, problem)) = reproduction.unkept.first() {
        let count = reproduction.unkept.len();
        let text = CString::new(format!("results of {count} runs cannot be kept: {problem}"))?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    Ok(PyReproduction { reproduction, chosen })
}
