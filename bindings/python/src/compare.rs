//! `paceline.compare`: schemes side by side over one or more links, as the command of that name.

use std::sync::{Arc, Mutex};

use paceline_cc::{ParamValue, Span};
use paceline_report::{PageInfo, RunView};
use paceline_requests::columns::{Format, ShownCell, TextTable, cells, headings};
use paceline_requests::compare::{
    CompareError, CompareJob, CompareLimits, CompareRequest, CompareRow, CompareRuns,
};
use paceline_requests::summary::{ratios, summary};
use paceline_requests::view::compare_views;
use paceline_requests::{CompareFields, written};
use paceline_sim::Names;
use paceline_sim::runs::Runs;
use paceline_sim::scenario::Workload;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::controller::names_with_controllers;
use crate::error::{argument, request_error, run_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;

/// Results of a comparison: a row for each run of each scheme on each trace.
#[pyclass(frozen, name = "Comparison", module = "paceline._native")]
pub(crate) struct PyComparison {
    rows: Vec<CompareRow>,
    views: Vec<RunView>,
    info: PageInfo,
}

#[pymethods]
impl PyComparison {
    /// Returns the runs as a table.
    fn table(&self) -> PyResult<PyTable> {
        PyTable::of(&self.rows)
    }

    /// Returns a row for each scheme on each trace: medians and ranges over its runs.
    fn summary(&self) -> PyResult<PyTable> {
        PyTable::of(&summary(&self.rows))
    }

    /// Returns a row for each pair of schemes on each trace, compared run by run.
    fn ratios(&self) -> PyResult<PyTable> {
        PyTable::of(&ratios(&self.rows))
    }

    /// The columns of the table in a notebook: heading, field of the summary, part of the field (empty for a field
    /// without parts), and whether it is a share.
    fn notebook_columns(&self) -> Vec<(String, &'static str, &'static str, bool)> {
        let cells = cells(TextTable::Notebook, &self.rows);
        let column = |(heading, cell): (String, &ShownCell)| {
            (heading, cell.field(), cell.part().name(), cell.format() == Format::Percent)
        };
        headings(&cells).into_iter().zip(&cells).map(column).collect()
    }

    /// Returns the JSON that `paceline compare --json` prints.
    fn json(&self) -> PyResult<String> {
        crate::listing::document(CompareFields::of(&self.rows))
    }

    /// Returns the link of row `index` over time: columns `time_s`, `capacity_mbps`,
    /// `throughput_mbps` and `queue_delay_ms`; `None` if it was not recorded.
    fn series(&self, index: usize) -> PyResult<Option<PyTable>> {
        let series = self.rows.get(index).and_then(|row| row.series.as_ref());
        series.map(series_table).transpose()
    }

    /// Draws throughput over delay, as SVG.
    fn scatter_svg(&self) -> String {
        paceline_report::scatter_svg(&self.views)
    }

    /// Draws utilisation and delay of each scheme on each trace, as SVG.
    fn bars_svg(&self) -> String {
        paceline_report::bars_svg(&self.views)
    }

    /// Draws the schemes on one trace over time, as SVG.
    fn time_series_svg(&self, trace: &str) -> String {
        let here = self.views.iter().filter(|view| view.trace == trace);
        paceline_report::time_series_svg(&here.cloned().collect::<Vec<RunView>>())
    }

    /// Returns the names of the links, each once: traces, in a sweep with their RTTs and buffers.
    fn links(&self) -> Vec<String> {
        let mut links: Vec<String> = Vec::new();
        for view in &self.views {
            if !links.contains(&view.trace) {
                links.push(view.trace.clone());
            }
        }
        links
    }

    /// Returns the page of `paceline compare -o`, as HTML.
    fn page(&self, title: &str) -> String {
        let info = PageInfo { title: title.into(), ..self.info.clone() };
        paceline_report::compare_page(&info, &self.views)
    }
}

/// Returns a link over time as a table.
pub(crate) fn series_table(series: &paceline_sim::LinkSeries) -> PyResult<PyTable> {
    let times = (0..series.capacity_mbps.len()).map(|bin| bin as f64 * series.bin_s).collect();
    PyTable::of_numbers(vec![
        ("time_s".into(), times),
        ("capacity_mbps".into(), series.capacity_mbps.clone()),
        ("throughput_mbps".into(), series.throughput_mbps.clone()),
        ("queue_delay_ms".into(), series.queue_delay_ms.clone()),
    ])
}

/// Runs schemes over links. Arguments are text as on the command line: see `paceline.compare`.
#[pyfunction]
#[pyo3(signature = (*, traces, schemes, reverse_trace, delay_trace, duration, warmup, rtts, jitter,
    buffers, flows, workload, seed, runs, spread, bin, omniscient, threads, controllers))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn compare(
    py: Python<'_>,
    traces: Vec<String>,
    schemes: Vec<String>,
    reverse_trace: Option<String>,
    delay_trace: Option<String>,
    duration: &str,
    warmup: &str,
    rtts: Vec<String>,
    jitter: &str,
    buffers: Vec<String>,
    flows: u32,
    workload: Option<String>,
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
    let capacity = |text: &String| argument("traces", written::capacity(text));
    let links = traces.iter().map(capacity).collect::<PyResult<Vec<_>>>()?;
    let mut chosen = Vec::new();
    for text in &schemes {
        for (scheme, note) in argument("schemes", written::compared(text, &names))?.0 {
            // `all` includes the controllers, which the list may name once more.
            let is_own = |name| {
                controllers.as_ref().is_some_and(|all| all.contains(name).is_ok_and(|is| is))
            };
            if !chosen.iter().any(|(old, _)| *old == scheme && is_own(scheme.name())) {
                chosen.push((scheme, note));
            }
        }
    }
    let reverse = reverse_trace.map(|text| argument("reverse_trace", written::capacity(&text)));
    let recorded = |name: String| {
        let delays = argument("delay_trace", paceline_trace::load_delays(&name))?;
        PyResult::Ok((name, delays))
    };
    let application =
        workload.map(|text| argument("workload", written::workload(&text))).transpose()?;
    fn list<T>(
        name: &'static str,
        texts: &[String],
        read: fn(&str) -> Result<T, String>,
    ) -> PyResult<Vec<T>> {
        texts.iter().map(|text| argument(name, read(text))).collect()
    }
    let request = CompareRequest {
        omniscient,
        reverse_trace: reverse.transpose()?.map(|(_, capacity)| capacity),
        delay_trace: delay_trace.map(recorded).transpose()?,
        rtts: list("rtt", &rtts, written::rtt)?,
        jitter: argument("jitter", Span::read(jitter.trim()))?,
        buffers: list("buffer", &buffers, written::buffer)?,
        duration: argument("duration", written::length(duration))?,
        warmup: argument("warmup", Span::read(warmup.trim()))?,
        flows,
        workload: application.unwrap_or(Workload::Bulk),
        seed,
        runs: Runs { count: runs, spread: argument("spread", written::spread(spread))? },
        bin: bin.map(|bin| argument("bin", written::bin(&bin))).transpose()?,
        ..CompareRequest::new(links, chosen)
    };
    let mut runs = request.plan(&CompareLimits::default()).map_err(request_error)?;
    make_all(py, &mut runs, threads, (&names, &control))?;
    let rows = runs.rows();
    let views = compare_views(&rows, &names);
    let info = request.page_info(runs.runs_made());
    Ok(PyComparison { rows, views, info })
}

/// Makes all runs in parallel. The first one that fails ends the others.
fn make_all(
    py: Python<'_>,
    runs: &mut CompareRuns,
    threads: usize,
    (names, control): (&Names, &RunControl),
) -> PyResult<()> {
    let jobs = runs.jobs();
    let first: Mutex<Option<CompareError>> = Mutex::default();
    let row = |job: &CompareJob| {
        let fail = |error: CompareError| {
            if let Ok(mut first) = first.lock() {
                first.get_or_insert(error);
            }
            control.stop();
        };
        runs.make(*job, names, &|| control.go_on()).map_err(fail).ok().flatten()
    };
    let rows = run_interruptibly(py, threads, control, || {
        jobs.par_iter().with_max_len(1).map(row).collect::<Vec<Option<CompareRow>>>()
    })?;
    if let Some(problem) = first.into_inner().ok().flatten() {
        return Err(run_error(py, problem));
    }
    for (job, row) in jobs.into_iter().zip(rows) {
        if let Some(row) = row {
            runs.record(job, row);
        }
    }
    Ok(())
}
