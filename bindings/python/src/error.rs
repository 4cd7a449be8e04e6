//! Conversion of Rust's errors to Python's exceptions.

use std::fmt::Display;

use paceline_cc::ArgumentError;
use paceline_sim::scenario::ScenarioError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Returns a `ValueError` about an argument.
pub(crate) fn argument_error(argument: &str, problem: impl Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: {problem}"))
}

/// Returns the value of an argument, or a `ValueError` about it.
pub(crate) fn argument<T>(name: &str, value: Result<T, impl Display>) -> PyResult<T> {
    value.map_err(|problem| argument_error(name, problem))
}

/// Returns a `ValueError` about an argument of a request.
pub(crate) fn request_error(error: ArgumentError) -> PyErr {
    argument_error(error.argument, error.problem)
}

/// Returns a `paceline.RunError`: a valid request that cannot be run.
pub(crate) fn run_error(py: Python<'_>, problem: impl Display) -> PyErr {
    let class = py.import("paceline.errors").and_then(|module| module.getattr("RunError"));
    match class.and_then(|class| class.call1((problem.to_string(),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Returns a `paceline.ScenarioError` with its place.
pub(crate) fn scenario_error(py: Python<'_>, error: ScenarioError) -> PyErr {
    let ScenarioError { file, line, column, message, help, .. } = error;
    let class = py.import("paceline.errors").and_then(|module| module.getattr("ScenarioError"));
    match class.and_then(|class| class.call1((message, help, file, line, column))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
