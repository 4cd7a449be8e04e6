//! Paceline for Python: the extension module `paceline._native`. What users see is the package in
//! `python/paceline`, which adds conversions and documentation; here is what has to be quick, or
//! needs the crates. All times, rates and sizes that cross this border are text or have their unit
//! in their name.

mod compare;
mod controller;
mod error;
mod gym;
mod listing;
mod remy;
mod reproduce;
mod run;
mod scenario;
mod table;
mod train;
mod value;

use pyo3::prelude::*;

/// What Python imports.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::compare::{Comparison, compare};
    #[pymodule_export]
    use super::controller::{Beginning, Told, Wanted};
    #[pymodule_export]
    use super::gym::Environments;
    #[pymodule_export]
    use super::listing::{queues, schemes, traces};
    #[pymodule_export]
    use super::remy::{RuleTableFile, evaluate_network, evaluate_on, rule_tables};
    #[pymodule_export]
    use super::reproduce::{Reproduced, list_claims, measure_claims};
    #[pymodule_export]
    use super::scenario::{Ran, Scenario};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::train::{answer, train};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
