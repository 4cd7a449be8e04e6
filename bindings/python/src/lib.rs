//! Paceline for Python: the extension module `paceline._native`. Users import the package in
//! `python/paceline`, which adds conversions and documentation; this crate has the parts that must
//! be fast or need the crates. All times, rates and sizes between the two are text or have their
//! unit in their name.

mod command;
mod compare;
mod controller;
mod error;
mod evaluate;
mod gym;
mod listing;
mod many;
mod remy;
mod reproduce;
mod run;
mod scenario;
mod table;
mod train;
mod value;

use pyo3::prelude::*;

/// The module that Python imports.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::command::{command, python_schemes};
    #[pymodule_export]
    use super::compare::{PyComparison, compare};
    #[pymodule_export]
    use super::controller::{PyFeedback, PyPlan, PySetup};
    #[pymodule_export]
    use super::evaluate::{PyEvaluation, evaluate_schemes};
    #[pymodule_export]
    use super::gym::PyEnvironments;
    #[pymodule_export]
    use super::listing::{queues, scenario_keys, schemes, traces};
    #[pymodule_export]
    use super::many::{run_many, scenario_with_values, table_of_outcomes};
    #[pymodule_export]
    use super::remy::{PyRuleTable, evaluate_network, evaluate_on, rule_tables};
    #[pymodule_export]
    use super::reproduce::{PyReproduction, list_claims, measure_claims};
    #[pymodule_export]
    use super::scenario::{PyOutcome, PyScenario};
    #[pymodule_export]
    use super::table::PyTable;
    #[pymodule_export]
    use super::train::{answer, train};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
