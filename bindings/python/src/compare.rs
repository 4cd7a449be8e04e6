//! `paceline.compare`: schemes side by side over one or more links, as the command of that name.

use std::sync::{Arc, Mutex};

use paceline_cc::Span;
use paceline_lab::compare::{self as lab, CompareRow};
use paceline_lab::{CompareFields, run_while, written};
use paceline_report::{PageInfo, RunView};
use paceline_sim::Names;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::controller::names_with_controllers;
use crate::error::{argument_error, run_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;
use paceline_lab::view::compare_views;

/// The results of a comparison: a row for each scheme on each trace.
#[pyclass(frozen, name = "Comparison", module = "paceline._native")]
pub(crate) struct PyComparison {
    rows: Vec<CompareRow>,
    views: Vec<RunView>,
    seed: u64,
}

#[pymethods]
impl PyComparison {
    /// The rows as a table.
    fn table(&self) -> PyResult<PyTable> {
        PyTable::of(&self.rows)
    }

    /// The JSON that `paceline compare --json` prints.
    fn json(&self) -> PyResult<String> {
        crate::listing::document(CompareFields::of(&self.rows))
    }

    /// The link of row `index` over time: columns `time_s`, `capacity_mbps`, `throughput_mbps` and
    /// `queue_delay_ms`; `None` if it was not recorded.
    fn series(&self, index: usize) -> PyResult<Option<PyTable>> {
        let series = self.rows.get(index).and_then(|row| row.series.as_ref());
        series.map(series_table).transpose()
    }

    /// Throughput over delay, as SVG.
    fn scatter_svg(&self) -> String {
        paceline_report::scatter_svg(&self.views)
    }

    /// Utilisation and delay of each scheme on each trace, as SVG.
    fn bars_svg(&self) -> String {
        paceline_report::bars_svg(&self.views)
    }

    /// The schemes on one trace over time, as SVG.
    fn time_series_svg(&self, trace: &str) -> String {
        let here = self.views.iter().filter(|view| view.trace == trace);
        paceline_report::time_series_svg(&here.cloned().collect::<Vec<RunView>>())
    }

    /// The page of `paceline compare -o`, as HTML.
    fn page(&self, title: &str, explanation: &str, command: &str) -> String {
        let info = PageInfo {
            title: title.into(),
            explanation: explanation.into(),
            command: command.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: Some(self.seed),
            ..PageInfo::default()
        };
        paceline_report::compare_page(&info, &self.views)
    }
}

/// A link over time as a table.
pub(crate) fn series_table(series: &paceline_sim::LinkSeries) -> PyResult<PyTable> {
    let times = (0..series.capacity_mbps.len()).map(|bin| bin as f64 * series.bin_s).collect();
    PyTable::of_numbers(vec![
        ("time_s".into(), times),
        ("capacity_mbps".into(), series.capacity_mbps.clone()),
        ("throughput_mbps".into(), series.throughput_mbps.clone()),
        ("queue_delay_ms".into(), series.queue_delay_ms.clone()),
    ])
}

/// The most bins that a run over time is made of; the same as of the command.
const MOST_BINS: u64 = 1_000_000;

/// Refuses bins that would fill memory.
///
/// # Errors
/// If `duration` has too many of them.
pub(crate) fn check_bin_count(bin: Span, duration: Span) -> PyResult<()> {
    match duration.as_nanos().div_ceil(bin.as_nanos().max(1)) > MOST_BINS {
        true => Err(argument_error(
            "bin",
            format!("{bin} makes more than {MOST_BINS} bins of {duration}"),
        )),
        false => Ok(()),
    }
}

/// Runs schemes over links. Arguments are text as on the command line: see `paceline.compare`.
#[pyfunction]
#[pyo3(signature = (*, traces, schemes, reverse_trace, delay_trace, duration, warmup, rtt, jitter,
    buffer, flows, seed, bin, omniscient, threads, controllers))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn compare(
    py: Python<'_>,
    traces: Vec<String>,
    schemes: Vec<String>,
    reverse_trace: Option<String>,
    delay_trace: Option<String>,
    duration: &str,
    warmup: &str,
    rtt: Option<String>,
    jitter: &str,
    buffer: &str,
    flows: u32,
    seed: u64,
    bin: Option<String>,
    omniscient: bool,
    threads: usize,
    controllers: Option<Bound<'_, PyDict>>,
) -> PyResult<PyComparison> {
    let control = Arc::new(RunControl::default());
    let names = names_with_controllers(controllers.as_ref(), &control)?;
    let span = |argument: &str, text: &str| {
        <Span as paceline_cc::ParamValue>::read(text.trim())
            .map_err(|e| argument_error(argument, e))
    };
    let duration = written::length(duration).map_err(|e| argument_error("duration", e))?;
    let warmup = span("warmup", warmup)?;
    if warmup >= duration {
        let problem = format!("{warmup} leaves nothing of duration {duration} to measure");
        return Err(argument_error("warmup", problem));
    }
    let bin =
        bin.map(|bin| written::bin(&bin).map_err(|e| argument_error("bin", e))).transpose()?;
    if let Some(bin) = bin {
        check_bin_count(bin, duration)?;
    }
    if !(1..=10_000).contains(&flows) {
        return Err(argument_error("flows", "expected 1 to 10000"));
    }
    let capacity = |text: &String| written::capacity(text).map_err(|e| argument_error("traces", e));
    let links = traces.iter().map(capacity).collect::<PyResult<Vec<_>>>()?;
    let mut chosen = Vec::new();
    for text in &schemes {
        chosen.extend(
            written::compared_of(text, &names).map_err(|e| argument_error("schemes", e))?.0,
        );
    }
    if links.is_empty() || chosen.is_empty() {
        return Err(argument_error("traces, schemes", "expected at least one of each"));
    }
    let reverse = reverse_trace.as_ref().map(|text| written::capacity(text)).transpose();
    let reverse =
        reverse.map_err(|e| argument_error("reverse_trace", e))?.map(|(_, capacity)| capacity);
    let delays = delay_trace.as_ref().map(|text| paceline_trace::load_delays(text)).transpose();
    let delays = delays.map_err(|e| argument_error("delay_trace", e))?;
    if omniscient && delays.is_some() {
        return Err(argument_error("omniscient", "cannot be had together with delay_trace"));
    }
    let rtt = rtt.unwrap_or(if delays.is_some() { "0ms" } else { "100ms" }.into());
    let plain = lab::Comparison {
        reverse,
        flows,
        rtt: written::rtt(&rtt).map_err(|e| argument_error("rtt", e))?,
        delays,
        jitter: span("jitter", jitter)?,
        buffer: written::buffer(buffer).map_err(|e| argument_error("buffer", e))?,
        duration,
        warmup,
        seed,
        bin,
        ..lab::Comparison::new("", links[0].1.clone(), chosen[0].0.clone())
    };
    let mut comparisons = Vec::new();
    for (trace, capacity) in links {
        for (scheme, note) in &chosen {
            let comparison = lab::Comparison {
                trace: trace.clone(),
                capacity: capacity.clone(),
                scheme: scheme.clone().into(),
                ..plain.clone()
            };
            comparisons.push((comparison, note.clone()));
        }
    }
    let rows = run_all(py, &comparisons, chosen.len(), omniscient, threads, (&names, &control))?;
    let views = compare_views(&rows, &names);
    Ok(PyComparison { rows, views, seed })
}

/// Runs comparisons side by side; behind each `group` of them comes the omniscient protocol.
fn run_all(
    py: Python<'_>,
    comparisons: &[(lab::Comparison, Option<String>)],
    group: usize,
    omniscient: bool,
    threads: usize,
    (names, control): (&Names, &RunControl),
) -> PyResult<Vec<CompareRow>> {
    let first: Mutex<Option<String>> = Mutex::default();
    let fail = |comparison: &lab::Comparison, error: String| {
        let problem = format!("{} on {}: {error}", comparison.scheme, comparison.trace);
        if let Ok(mut first) = first.lock() {
            first.get_or_insert(problem);
        }
        control.stop();
    };
    let row = |(comparison, note): &(lab::Comparison, Option<String>)| {
        let outcome = run_while(&comparison.scenario(), names, &|| control.go_on());
        match outcome {
            Ok(Some(outcome)) => {
                let row = comparison.row(&outcome);
                Some(CompareRow { note: note.clone().or(row.note), ..row })
            }
            Ok(None) => None,
            Err(error) => {
                fail(comparison, error.to_string());
                None
            }
        }
    };
    let best = |comparison: &lab::Comparison| {
        comparison.omniscient(1).map_err(|error| fail(comparison, error.to_string())).ok()
    };
    let rows = run_interruptibly(py, threads, control, || {
        comparisons
            .par_chunks(group.max(1))
            .flat_map(|group| {
                let mut rows: Vec<Option<CompareRow>> = group.par_iter().map(row).collect();
                if omniscient {
                    rows.push(best(&group[0].0));
                }
                rows
            })
            .collect::<Vec<Option<CompareRow>>>()
    })?;
    if let Some(problem) = first.into_inner().ok().flatten() {
        return Err(run_error(py, problem));
    }
    Ok(rows.into_iter().flatten().collect())
}
