//! `paceline.run_many`: runs of many scenarios, and their table for `paceline.cluster`.

use std::sync::Arc;

use paceline_requests::run_while;
use paceline_sim::runs::Run;
use paceline_sim::{BuildError, Names, Outcome};
use paceline_sweep::{table_of_runs, with_values};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::run_error;
use crate::run::{RunControl, run_interruptibly};
use crate::scenario::{PyOutcome, PyScenario};
use crate::table::PyTable;

/// Result of one run: `None` if it was stopped.
type Made = Result<Option<Outcome>, BuildError>;

/// Makes the runs of scenarios on `threads` threads, 0 for one on each core: all runs of each, or the one with the
/// number in `numbers`. Returns for each scenario its outcome or its exception.
#[pyfunction]
#[pyo3(signature = (scenarios, *, numbers, threads))]
pub(crate) fn run_many(
    py: Python<'_>,
    scenarios: Vec<Py<PyScenario>>,
    numbers: Option<Vec<u32>>,
    threads: usize,
) -> PyResult<Vec<Py<PyAny>>> {
    let whole = Arc::new(RunControl::default());
    let common = paceline_remy::names();
    let mut jobs: Vec<(usize, Run)> = Vec::new();
    let mut controls: Vec<Arc<RunControl>> = Vec::new();
    let mut names: Vec<Option<Names>> = Vec::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        let scenario = scenario.get();
        let control = Arc::new(RunControl::within(&whole));
        names.push(scenario.own_names(py, &control)?);
        controls.push(control);
        match numbers.as_ref().and_then(|numbers| numbers.get(at)) {
            Some(number) => jobs.push((at, Run::of(&scenario.scenario, *number))),
            None => jobs.extend(Run::all(&scenario.scenario).map(|run| (at, run))),
        }
    }
    let parsed: Vec<_> =
        scenarios.iter().map(|scenario| Arc::clone(&scenario.get().scenario)).collect();
    let made: Vec<Made> = run_interruptibly(py, threads, &whole, || {
        // One run at a time: the runs of one scenario may take a thousand times as long as those of another.
        let jobs = jobs.par_iter().with_max_len(1);
        jobs.map(|(at, run)| {
            let names = names[*at].as_ref().unwrap_or(&common);
            run_while(&run.scenario(&parsed[*at]), names, &|| controls[*at].go_on())
        })
        .collect()
    })?;
    let mut results: Vec<Result<Vec<(Run, Outcome)>, PyErr>> =
        parsed.iter().map(|_| Ok(Vec::new())).collect();
    for ((at, run), made) in jobs.into_iter().zip(made) {
        let Ok(outcomes) = &mut results[at] else { continue };
        match made {
            Ok(Some(outcome)) => outcomes.push((run, outcome)),
            Ok(None) => {
                let error = controls[at].take_exception();
                results[at] = Err(error.unwrap_or_else(|| run_error(py, "the run was stopped")));
            }
            Err(error) => results[at] = Err(run_error(py, error)),
        }
    }
    let object = |(scenario, result)| match result {
        Ok(runs) => PyOutcome::new(scenario, runs).into_py_any(py),
        Err(error) => PyErr::into_value(error, py).into_py_any(py),
    };
    parsed.into_iter().zip(results).map(object).collect()
}

/// Returns the table of runs, with a row for each link and flow: `jobs` has the place of each outcome in the sweep.
#[pyfunction]
pub(crate) fn table_of_outcomes(outcomes: Vec<Py<PyOutcome>>, jobs: Vec<u64>) -> PyResult<PyTable> {
    if outcomes.len() != jobs.len() {
        let (outcomes, jobs) = (outcomes.len(), jobs.len());
        return Err(PyValueError::new_err(format!("jobs: {jobs} for {outcomes} outcomes")));
    }
    let outcomes = jobs.iter().zip(&outcomes);
    let runs = outcomes.flat_map(|(job, outcome)| {
        outcome.get().all_runs().iter().map(move |(run, outcome)| (*job, *run, outcome))
    });
    PyTable::of_sweep(table_of_runs(runs))
}

/// Returns the text of a scenario with other values of its keys: `values` has paths of keys, in TOML.
#[pyfunction]
pub(crate) fn scenario_with_values(scenario: &str, values: &str) -> PyResult<String> {
    with_values(scenario, values).map_err(|error| PyValueError::new_err(format!("values: {error}")))
}
