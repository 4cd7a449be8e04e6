//! `paceline.remy`: tables of rules in files, and what they reach.

use std::path::PathBuf;
use std::sync::Arc;

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_remy::evaluate::Contender;
use paceline_remy::spec::Specification;
use paceline_remy::usage::Usage;
use paceline_remy::{Assessment, Network, Readable, score, words};
use paceline_requests::written;
use paceline_schemes::remy::{RemyParams, RuleTable, halves};
use paceline_sim::flow::{Amount, On};
use paceline_sim::runs::Spread;
use paceline_sim::scenario::{CustomScheme, SchemeChoice};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{argument_error, run_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;

/// A table of rules.
#[pyclass(frozen, name = "RuleTable", module = "paceline._native")]
pub(crate) struct PyRuleTable {
    table: Arc<RuleTable>,
    about: String,
}

/// A rule with its use in a trial run.
#[derive(Serialize)]
struct RuleRow {
    rule: usize,
    uses: u64,
    uses_share: f64,
    memory: String,
    action: String,
}

/// A built-in table by its name, or else one from a file.
fn find_table(name: &str) -> PyResult<(Arc<RuleTable>, String)> {
    let tables = paceline_remy::tables();
    if let Some(named) = tables.find(name) {
        let table = named.table().map_err(|error| argument_error("table", error))?;
        return Ok((table, format!("The built-in table {name}")));
    }
    match paceline_remy::load(name) {
        Ok(loaded) => Ok((Arc::new(loaded.table), loaded.about)),
        Err(error) => {
            let known: Vec<&str> = tables.iter().map(|table| &*table.name).collect();
            let known = known.join(", ");
            Err(argument_error(
                "table",
                format!("{error}; a built-in table would be one of {known}"),
            ))
        }
    }
}

#[pymethods]
impl PyRuleTable {
    /// A built-in table by its name, or else one from a file.
    #[staticmethod]
    fn load(name: &str) -> PyResult<PyRuleTable> {
        let (table, about) = find_table(name)?;
        Ok(PyRuleTable { table, about })
    }

    #[getter]
    fn about(&self) -> &str {
        &self.about
    }

    fn __len__(&self) -> usize {
        self.table.rules().len()
    }

    /// The table in its readable form.
    fn to_toml(&self) -> String {
        Readable::of(&self.table.tree(), self.about.clone()).to_toml()
    }

    /// What the table does at the beginning of a connection, in words.
    fn beginning(&self) -> String {
        words::beginning(&self.table)
    }

    /// A row for each rule: its number, how often it is used in a trial run, for which memories it is,
    /// and what it does.
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

/// The names of the built-in tables.
#[pyfunction]
pub(crate) fn rule_tables() -> Vec<String> {
    paceline_remy::tables().iter().map(|table| table.name.to_string()).collect()
}

/// Tables and schemes with their names; senders of tables have these parameters.
fn candidates(
    tables: &[String],
    schemes: &[String],
    params: &RemyParams,
) -> PyResult<Vec<(String, Contender)>> {
    let mut all = Vec::new();
    for name in tables {
        let (table, params) = (Arc::clone(&find_table(name)?.0), params.clone());
        all.push((name.clone(), Contender::Table { table, params }));
    }
    let names = paceline_remy::names();
    for text in schemes {
        let spec = names.check_scheme(text).map_err(|error| argument_error("schemes", error))?;
        let choice: SchemeChoice = match spec.sender.name.as_str() {
            "remy" => {
                let halves = names.schemes.build(&spec.sender);
                CustomScheme::new(text, halves.map_err(|error| argument_error("schemes", error))?)
                    .into()
            }
            _ => SchemeChoice::Named(spec),
        };
        all.push((text.clone(), choice.into()));
    }
    match all.is_empty() {
        true => Err(argument_error("tables, schemes", "expected at least one of them")),
        false => Ok(all),
    }
}

fn seeds(first: u64, count: u32) -> PyResult<Vec<u64>> {
    if !(1..=100_000).contains(&count) {
        return Err(argument_error("seeds", "expected 1 to 100000"));
    }
    Ok((0..count).map(|number| first.wrapping_add(number.into())).collect())
}

/// What tables and schemes reach on the networks of a specification; messages call it `file`.
#[pyfunction]
#[pyo3(signature = (*, text, file, folder, tables, schemes, duration, first_seed, count, threads))]
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
    threads: usize,
) -> PyResult<PyTable> {
    let mut specification = Specification::parse_in(text, folder.as_deref())
        .map_err(|error| argument_error(file, error))?;
    if let Some(text) = duration {
        specification.duration =
            written::length(&text).map_err(|e| argument_error("duration", e))?.into();
    }
    let all = candidates(&tables, &schemes, &specification.params())?;
    let seeds = seeds(first_seed, count)?;
    let control = RunControl::default();
    let rows = run_interruptibly(py, threads, &control, || {
        let mut rows: Vec<Assessment> = Vec::new();
        // After an interrupt nobody sees the rows.
        for (name, scheme) in all.iter().take_while(|_| control.go_on()) {
            let row = paceline_remy::assess(name, scheme, &specification, &seeds, rows.first());
            rows.push(row.map_err(|error| format!("{name}: {error}"))?);
        }
        Ok(rows)
    })?;
    PyTable::of(&rows.map_err(|error: String| run_error(py, error))?)
}

/// What tables and schemes reach on one network.
#[pyfunction]
#[pyo3(signature = (*, link, rtt, senders, on, off, buffer, loss, tables, schemes, duration,
    first_seed, count, threads))]
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
    tables: Vec<String>,
    schemes: Vec<String>,
    duration: &str,
    first_seed: u64,
    count: u32,
    threads: usize,
) -> PyResult<PyTable> {
    let (_, capacity) = written::capacity(link).map_err(|e| argument_error("link", e))?;
    let length =
        |name: &str, text: &str| written::length(text).map_err(|e| argument_error(name, e));
    let (rtt, on, duration) =
        (length("rtt", rtt)?, length("on", on)?, length("duration", duration)?);
    let off = <Span as paceline_cc::ParamValue>::read(off).map_err(|e| argument_error("off", e))?;
    let buffer: BufferSize = written::buffer(buffer).map_err(|e| argument_error("buffer", e))?;
    if !(0.0..1.0).contains(&loss) {
        return Err(argument_error("loss", "expected a share from 0 to below 1"));
    }
    if !(1..=10_000).contains(&senders) {
        return Err(argument_error("senders", "expected 1 to 10000"));
    }
    let mean = |span: Span| Amount::Exponential(span.as_secs_f64());
    let network = Network::new(Rate::ZERO, rtt).with(|network| {
        network.link = capacity;
        network.on = On::Time(mean(on));
        network.off = mean(off);
        network.senders = senders;
        network.buffer = buffer;
        network.loss = loss;
    });
    let rate = network.packets_per_ms(duration).map_err(|error| run_error(py, error))?;
    let params = RemyParams { as_published: true, ..RemyParams::default() };
    let all = candidates(&tables, &schemes, &params)?;
    let seeds = seeds(first_seed, count)?;
    let control = RunControl::default();
    let rows = run_interruptibly(py, threads, &control, || {
        let row = |(name, contender): &(String, Contender)| {
            let spread = Spread::default();
            paceline_remy::eval(name, &network, rate, contender, duration, &seeds, spread)
                .map_err(|error| format!("{name}: {error}"))
        };
        // After an interrupt nobody sees the rows.
        all.iter().take_while(|_| control.go_on()).map(row).collect::<Result<Vec<_>, String>>()
    })?;
    PyTable::of(&rows.map_err(|error| run_error(py, error))?)
}
