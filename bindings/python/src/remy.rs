//! `paceline.remy`: tables of rules in files, and their evaluation.

use std::path::PathBuf;
use std::sync::Arc;

use paceline_cc::{ParamValue, Span};
use paceline_remy::spec::Specification;
use paceline_remy::usage::Usage;
use paceline_remy::{Network, Readable, score, words};
use paceline_requests::evaluation::{
    EvaluationError, EvaluationNetwork, EvaluationRequest, find_table,
};
use paceline_requests::written;
use paceline_schemes::remy::{RemyParams, RuleTable, halves};
use paceline_sim::scenario::CustomScheme;
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{argument, argument_error, request_error, run_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;

/// A table of rules.
#[pyclass(frozen, name = "RuleTable", module = "paceline._native")]
pub(crate) struct PyRuleTable {
    table: Arc<RuleTable>,
    about: String,
}

/// A rule with its use in a test run.
#[derive(Serialize)]
struct RuleRow {
    rule: usize,
    uses: u64,
    uses_share: f64,
    memory: String,
    action: String,
}

#[pymethods]
impl PyRuleTable {
    /// Loads a built-in table by its name, or a table from a file.
    #[staticmethod]
    fn load(name: &str) -> PyResult<PyRuleTable> {
        let (table, about) = find_table(name).map_err(request_error)?;
        Ok(PyRuleTable { table, about })
    }

    #[getter]
    fn about(&self) -> &str {
        &self.about
    }

    fn __len__(&self) -> usize {
        self.table.rules().len()
    }

    /// Returns the table in its readable form.
    fn to_toml(&self) -> String {
        Readable::of_table(&self.table, self.about.clone()).to_toml()
    }

    /// Describes the begin of a connection with this table, in words.
    fn beginning(&self) -> String {
        words::beginning(&self.table)
    }

    /// Returns a row for each rule: its number, the frequency of its use in a test run, the
    /// memories to which it applies, and its action.
    #[pyo3(signature = (*, link, rtt, senders, duration))]
    fn rules(
        &self,
        py: Python<'_>,
        link: &str,
        rtt: &str,
        senders: u32,
        duration: &str,
    ) -> PyResult<PyTable> {
        let rate = written::rate(link).map_err(|e| argument_error("link", e))?;
        let rtt = written::length(rtt).map_err(|e| argument_error("rtt", e))?;
        let duration = written::length(duration).map_err(|e| argument_error("duration", e))?;
        if !(1..=1000).contains(&senders) {
            return Err(argument_error("senders", "expected 1 to 1000"));
        }
        let network = Network::new(rate, rtt).with(|network| network.senders = senders);
        let usage = Arc::new(Usage::new(self.table.rules().len()));
        let params = RemyParams { as_published: true, ..RemyParams::default() };
        let halves = halves(params, Arc::clone(&self.table), Some(usage.clone()));
        let scheme = CustomScheme::new("remy", halves).into();
        py.detach(|| score::run(&network, &scheme, duration, 1)).map_err(|e| run_error(py, e))?;
        let uses = usage.rules();
        let total: u64 = uses.iter().map(|one| one.count).sum();
        let row = |(number, rule): (usize, &paceline_schemes::remy::Rule)| {
            let count = uses.get(number).map_or(0, |one| one.count);
            RuleRow {
                rule: number,
                uses: count,
                uses_share: count as f64 / total.max(1) as f64,
                memory: words::domain(&rule.domain),
                action: words::action(&rule.action),
            }
        };
        PyTable::of(&self.table.rules().iter().enumerate().map(row).collect::<Vec<_>>())
    }
}

/// Returns the names of the built-in tables.
#[pyfunction]
pub(crate) fn rule_tables() -> Vec<String> {
    paceline_remy::tables().iter().map(|table| table.name.to_string()).collect()
}

/// Evaluates tables and schemes on the networks of a specification; `file` is its name in messages.
#[pyfunction]
#[pyo3(signature = (*, text, file, folder, tables, schemes, duration, first_seed, count, repairs, threads))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate_on(
    py: Python<'_>,
    text: &str,
    file: &str,
    folder: Option<PathBuf>,
    tables: Vec<String>,
    schemes: Vec<String>,
    duration: Option<String>,
    first_seed: u64,
    count: u32,
    repairs: bool,
    threads: usize,
) -> PyResult<PyTable> {
    let mut specification = argument(file, Specification::parse_in(text, folder.as_deref()))?;
    let duration = duration.map(|text| argument("duration", written::length(&text)));
    let duration = duration.transpose()?;
    let request =
        EvaluationRequest { tables, schemes, duration, first_seed, seeds: count, repairs };
    let control = RunControl::default();
    let rows = run_interruptibly(py, threads, &control, || {
        request.on_specification(&mut specification, &paceline_remy::names(), &|| control.go_on())
    })?;
    PyTable::of(&rows.map_err(|error| evaluation_error(py, error))?)
}

/// Evaluates tables and schemes on one network.
#[pyfunction]
#[pyo3(signature = (*, link, rtt, senders, on, off, buffer, loss, jitter, resolution, spread, tables,
    schemes, duration, first_seed, count, repairs, threads))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate_network(
    py: Python<'_>,
    link: &str,
    rtt: &str,
    senders: u32,
    on: &str,
    off: &str,
    buffer: &str,
    loss: f64,
    jitter: &str,
    resolution: Option<String>,
    spread: &str,
    tables: Vec<String>,
    schemes: Vec<String>,
    duration: Option<String>,
    first_seed: u64,
    count: u32,
    repairs: bool,
    threads: usize,
) -> PyResult<PyTable> {
    let network = EvaluationNetwork {
        link: argument("link", written::capacity(link))?.1,
        rtt: argument("rtt", written::length(rtt))?,
        senders,
        on: argument("on", written::length(on))?,
        off: argument("off", Span::read(off.trim()))?,
        buffer: argument("buffer", written::buffer(buffer))?,
        loss,
        jitter: argument("jitter", Span::read(jitter.trim()))?,
        resolution: resolution
            .map(|text| argument("resolution", Span::read(text.trim())))
            .transpose()?,
        spread: argument("spread", written::spread(spread))?,
    };
    let duration = duration.map(|text| argument("duration", written::length(&text)));
    let duration = duration.transpose()?;
    let request =
        EvaluationRequest { tables, schemes, duration, first_seed, seeds: count, repairs };
    let control = RunControl::default();
    let rows = run_interruptibly(py, threads, &control, || {
        request.on_network(&network, &paceline_remy::names(), &|| control.go_on())
    })?;
    PyTable::of(&rows.map_err(|error| evaluation_error(py, error))?)
}

fn evaluation_error(py: Python<'_>, error: EvaluationError) -> PyErr {
    match error {
        EvaluationError::Argument(error) => request_error(error),
        error @ EvaluationError::Build { .. } => run_error(py, error),
    }
}
