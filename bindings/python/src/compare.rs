//! `paceline.compare`: schemes side by side over one or more links, as the command of that name.

use std::sync::{Arc, Mutex};

use paceline_cc::Span;
use paceline_report::{PageInfo, RunView};
use paceline_requests::compare::{self as lab, CompareRow};
use paceline_requests::summary::{ratios, summary};
use paceline_requests::{CompareFields, run_while, written};
use paceline_sim::Names;
use paceline_sim::runs::{MAX_RUNS, Runs};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::controller::names_with_controllers;
use crate::error::{argument_error, run_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;
use paceline_requests::view::compare_views;

/// The results of a comparison: a row for each run of each scheme on each trace.
#[pyclass(frozen, name = "Comparison", module = "paceline._native")]
pub(crate) struct PyComparison {
    rows: Vec<CompareRow>,
    views: Vec<RunView>,
    seed: u64,
}

#[pymethods]
impl PyComparison {
    /// The runs as a table.
    fn table(&self) -> PyResult<PyTable> {
        PyTable::of(&self.rows)
    }

    /// A row for each scheme on each trace: medians and ranges over its runs.
    fn summary(&self) -> PyResult<PyTable> {
        PyTable::of(&summary(&self.rows))
    }

    /// A row for each pair of schemes on each trace, compared run by run.
    fn ratios(&self) -> PyResult<PyTable> {
        PyTable::of(&ratios(&self.rows))
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

/// The most bins in all runs of a scheme or a scenario together; the same as of the command.
const MOST_BINS: u64 = 1_000_000;

/// Refuses bins that would fill memory.
///
/// # Errors
/// If `runs` runs of `duration` have too many of them.
pub(crate) fn check_bin_count(bin: Span, duration: Span, runs: u32) -> PyResult<()> {
    let bins = duration.as_nanos().div_ceil(bin.as_nanos().max(1));
    if bins.saturating_mul(runs.into()) <= MOST_BINS {
        return Ok(());
    }
    let each = if runs > 1 { format!(" in each of {runs} runs") } else { String::new() };
    let problem = format!("{bin} makes more than {MOST_BINS} bins of {duration}{each}");
    Err(argument_error("bin", problem))
}

/// Returns a number of runs and how far apart they start.
///
/// # Errors
/// If the number is not 1 to [`MAX_RUNS`], or `spread` is neither a time nor `trace`.
pub(crate) fn read_runs(count: u32, spread: &str) -> PyResult<Runs> {
    if !(1..=MAX_RUNS).contains(&count) {
        return Err(argument_error("runs", format!("expected 1 to {MAX_RUNS}, not {count}")));
    }
    let spread = written::spread(spread).map_err(|e| argument_error("spread", e))?;
    Ok(Runs { count, spread })
}

/// Runs schemes over links. Arguments are text as on the command line: see `paceline.compare`.
#[pyfunction]
#[pyo3(signature = (*, traces, schemes, reverse_trace, delay_trace, duration, warmup, rtt, jitter,
    buffer, flows, seed, runs, spread, bin, omniscient, threads, controllers))]
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
    runs: u32,
    spread: &str,
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
    let runs = read_runs(runs, spread)?;
    let bin =
        bin.map(|bin| written::bin(&bin).map_err(|e| argument_error("bin", e))).transpose()?;
    if let Some(bin) = bin {
        check_bin_count(bin, duration, runs.count)?;
    }
    if !(1..=10_000).contains(&flows) {
        return Err(argument_error("flows", "expected 1 to 10000"));
    }
    let capacity = |text: &String| written::capacity(text).map_err(|e| argument_error("traces", e));
    let links = traces.iter().map(capacity).collect::<PyResult<Vec<_>>>()?;
    let mut chosen = Vec::new();
    for text in &schemes {
        chosen.extend(written::compared(text, &names).map_err(|e| argument_error("schemes", e))?.0);
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
        runs,
        bin,
        ..lab::Comparison::new("", links[0].1.clone(), chosen[0].0.clone())
    };
    let mut comparisons = Vec::new();
    for (trace, capacity) in links {
        for (scheme, note) in &chosen {
            let comparison = lab::Comparison {
                trace: trace.clone(),
                capacity: capacity.clone(),
                scheme: scheme.clone(),
                ..plain.clone()
            };
            comparisons.push((comparison, note.clone()));
        }
    }
    let jobs = jobs(&comparisons, chosen.len(), omniscient);
    let rows = run_all(py, &jobs, threads, (&names, &control))?;
    let views = compare_views(&rows, &names);
    Ok(PyComparison { rows, views, seed })
}

/// One run of a comparison, or the omniscient protocol on its link.
struct Job<'a> {
    comparison: &'a lab::Comparison,
    note: Option<&'a String>,
    run: u32,
    is_omniscient: bool,
}

/// Returns the runs of comparisons in the order of their rows; behind each `group` of comparisons come
/// those of the omniscient protocol.
fn jobs(
    comparisons: &[(lab::Comparison, Option<String>)],
    group: usize,
    omniscient: bool,
) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for group in comparisons.chunks(group.max(1)) {
        for (comparison, note) in group {
            let runs = 1..=comparison.runs.count;
            let note = note.as_ref();
            jobs.extend(runs.map(|run| Job { comparison, note, run, is_omniscient: false }));
        }
        let comparison = &group[0].0;
        let runs = (1..=comparison.runs.count).filter(|_| omniscient);
        jobs.extend(runs.map(|run| Job { comparison, note: None, run, is_omniscient: true }));
    }
    jobs
}

impl Job<'_> {
    /// Returns the row of this run; `None` if `control` has stopped it.
    fn row(&self, names: &Names, control: &RunControl) -> Result<Option<CompareRow>, String> {
        if !control.go_on() {
            return Ok(None);
        }
        if self.is_omniscient {
            return self.comparison.omniscient(self.run).map(Some).map_err(|e| e.to_string());
        }
        let (run, scenario) = self.comparison.run_number(self.run);
        let outcome = run_while(&scenario, names, &|| control.go_on());
        let row = |outcome| {
            let row = self.comparison.row_of(run, &outcome);
            CompareRow { note: self.note.cloned().or(row.note), ..row }
        };
        Ok(outcome.map_err(|e| e.to_string())?.map(row))
    }
}

/// Makes runs side by side. The first that fails ends the others.
fn run_all(
    py: Python<'_>,
    jobs: &[Job<'_>],
    threads: usize,
    (names, control): (&Names, &RunControl),
) -> PyResult<Vec<CompareRow>> {
    let first: Mutex<Option<String>> = Mutex::default();
    let row = |job: &Job<'_>| {
        let fail = |error: String| {
            let problem = format!("{} on {}: {error}", job.comparison.scheme, job.comparison.trace);
            if let Ok(mut first) = first.lock() {
                first.get_or_insert(problem);
            }
            control.stop();
        };
        job.row(names, control).map_err(fail).ok().flatten()
    };
    let rows = run_interruptibly(py, threads, control, || {
        jobs.par_iter().map(row).collect::<Vec<Option<CompareRow>>>()
    })?;
    if let Some(problem) = first.into_inner().ok().flatten() {
        return Err(run_error(py, problem));
    }
    Ok(rows.into_iter().flatten().collect())
}
