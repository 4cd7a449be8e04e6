//! `paceline.Scenario` and `paceline.run`: scenario files and their outcomes.

use std::path::PathBuf;
use std::sync::Arc;

use paceline_cc::{ParamValue as _, Span};
use paceline_report::{FlowView, RunView};
use paceline_requests::view::{views, views_of_runs};
use paceline_requests::{RunFields, ScenarioChanges, ScenarioRuns, run_while, written};
use paceline_sim::runs::Run;
use paceline_sim::scenario;
use paceline_sim::{Names, Outcome};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use serde::Serialize;

use crate::compare::series_table;
use crate::controller::names_with_controllers;
use crate::error::{argument, argument_error, request_error, run_error, scenario_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;

/// A scenario that was parsed and checked.
#[pyclass(frozen, name = "Scenario", module = "paceline._native")]
pub(crate) struct PyScenario {
    pub(crate) scenario: Arc<scenario::Scenario>,
    /// The controllers in Python to which it refers.
    controllers: Option<Py<PyDict>>,
}

impl PyScenario {
    fn names(&self, py: Python<'_>, control: &Arc<RunControl>) -> PyResult<Names> {
        names_with_controllers(self.controllers.as_ref().map(|all| all.bind(py)), control)
    }

    /// Returns the names with its controllers in Python; `None` if it has none.
    pub(crate) fn own_names(
        &self,
        py: Python<'_>,
        control: &Arc<RunControl>,
    ) -> PyResult<Option<Names>> {
        self.controllers.as_ref().map(|_| self.names(py, control)).transpose()
    }
}

#[pymethods]
impl PyScenario {
    /// Parses the text of a scenario file. `file` is its name in messages, `folder` the folder of
    /// the files that it names, and `controllers` has schemes in Python by name.
    #[staticmethod]
    #[pyo3(signature = (text, file, folder, controllers))]
    fn parse(
        py: Python<'_>,
        text: &str,
        file: &str,
        folder: Option<PathBuf>,
        controllers: Option<Bound<'_, PyDict>>,
    ) -> PyResult<PyScenario> {
        let names = names_with_controllers(controllers.as_ref(), &Arc::default())?;
        let scenario = scenario::parse_with(file, text, folder.as_deref(), &names)
            .map_err(|error| scenario_error(py, error))?;
        let controllers = controllers.map(Bound::unbind);
        Ok(PyScenario { scenario: Arc::new(scenario), controllers })
    }

    /// Returns a copy with another seed, duration, warm-up, bin or other runs; `None` keeps a
    /// value.
    #[pyo3(signature = (*, seed, duration, warmup, bin, runs, spread))]
    #[allow(clippy::too_many_arguments)]
    fn replace(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        duration: Option<String>,
        warmup: Option<String>,
        bin: Option<String>,
        runs: Option<u32>,
        spread: Option<String>,
    ) -> PyResult<PyScenario> {
        let changes = ScenarioChanges {
            duration: duration
                .map(|text| argument("duration", written::length(&text)))
                .transpose()?,
            warmup: warmup.map(|text| argument("warmup", Span::read(text.trim()))).transpose()?,
            seed,
            runs,
            spread: spread.map(|text| argument("spread", written::spread(&text))).transpose()?,
            bin: bin.map(|text| argument("bin", written::bin(&text))).transpose()?,
        };
        let mut scenario = scenario::Scenario::clone(&self.scenario);
        changes.make(&mut scenario).map_err(request_error)?;
        let controllers = self.controllers.as_ref().map(|all| all.clone_ref(py));
        Ok(PyScenario { scenario: Arc::new(scenario), controllers })
    }

    /// Returns the scenario as a file's text.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        let names = self.names(py, &Arc::default())?;
        // A trace keeps the name under which it was loaded.
        let mut name = |trace: &paceline_trace::Trace| trace.name().to_string();
        scenario::to_toml_with(&self.scenario, "", &mut name, &names)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    #[getter]
    fn runs(&self) -> u32 {
        self.scenario.runs.count
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.scenario.duration.as_secs_f64()
    }

    #[getter]
    fn warmup_s(&self) -> f64 {
        self.scenario.warmup.as_secs_f64()
    }

    #[getter]
    fn links(&self) -> Vec<String> {
        self.scenario.links.iter().map(|link| link.name.clone()).collect()
    }

    #[getter]
    fn flows(&self) -> Vec<String> {
        self.scenario.flows.iter().map(|flow| flow.name.clone()).collect()
    }

    /// Makes all its runs.
    #[pyo3(signature = (*, threads))]
    fn run(&self, py: Python<'_>, threads: usize) -> PyResult<PyOutcome> {
        let control = Arc::new(RunControl::default());
        let names = self.names(py, &control)?;
        let runs: Vec<Run> = Run::all(&self.scenario).collect();
        let outcomes = run_interruptibly(py, threads, &control, || {
            let run = |run: &Run| {
                let scenario = run.scenario(&self.scenario);
                run_while(&scenario, &names, &|| control.go_on())
            };
            runs.par_iter().with_max_len(1).map(run).collect::<Result<Option<Vec<Outcome>>, _>>()
        })?;
        match outcomes {
            Ok(Some(outcomes)) => {
                let runs = runs.into_iter().zip(outcomes).collect();
                Ok(PyOutcome { scenario: Arc::clone(&self.scenario), runs })
            }
            Ok(None) => Err(run_error(py, "the run was stopped")),
            Err(error) => Err(run_error(py, error)),
        }
    }
}

/// Outcomes of a scenario's runs.
#[pyclass(frozen, name = "Outcome", module = "paceline._native")]
pub(crate) struct PyOutcome {
    scenario: Arc<scenario::Scenario>,
    /// The runs, at least one.
    runs: Vec<(Run, Outcome)>,
}

/// A row of the table of runs.
#[derive(Serialize)]
struct RunRow {
    run: u32,
    start_ms: f64,
    seed: u64,
    goodput_mbps: f64,
    jain: f64,
    digest: String,
}

impl PyOutcome {
    /// `runs` has at least one run.
    pub(crate) fn new(scenario: Arc<scenario::Scenario>, runs: Vec<(Run, Outcome)>) -> PyOutcome {
        PyOutcome { scenario, runs }
    }

    /// Returns all runs.
    pub(crate) fn all_runs(&self) -> &[(Run, Outcome)] {
        &self.runs
    }

    /// Returns the first run, whose links and flows are shown over time.
    fn first(&self) -> &Outcome {
        &self.runs[0].1
    }

    /// Returns the runs together; `None` if there is only one.
    fn several(&self) -> Option<ScenarioRuns<'_>> {
        ScenarioRuns::of(&self.runs).filter(|all| all.runs.len() > 1)
    }

    fn views(&self) -> (Vec<RunView>, Vec<FlowView>) {
        match self.runs.len() {
            1 => views(&self.scenario, self.first()),
            _ => views_of_runs(&self.scenario, &self.runs),
        }
    }
}

#[pymethods]
impl PyOutcome {
    #[getter]
    fn name(&self) -> &str {
        &self.first().name
    }

    /// Returns a row for each run.
    fn runs(&self) -> PyResult<PyTable> {
        let row = |(run, outcome): &(Run, Outcome)| RunRow {
            run: run.number,
            start_ms: run.start.as_millis_f64(),
            seed: run.seed,
            goodput_mbps: outcome.goodput_mbps(),
            jain: outcome.jain(),
            digest: outcome.digest.clone(),
        };
        PyTable::of(&self.runs.iter().map(row).collect::<Vec<RunRow>>())
    }

    /// Returns one of the runs by its number.
    fn single(&self, number: u32) -> PyResult<PyOutcome> {
        let Some(run) = self.runs.iter().find(|(run, _)| run.number == number) else {
            let problem = format!("there are {} runs, and no run {number}", self.runs.len());
            return Err(argument_error("run", problem));
        };
        Ok(PyOutcome { scenario: Arc::clone(&self.scenario), runs: vec![run.clone()] })
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.first().digest
    }

    /// Returns the JSON that `paceline run --json` prints.
    fn json(&self) -> PyResult<String> {
        match self.several() {
            Some(all) => crate::listing::document(all),
            None => crate::listing::document(RunFields::of(self.first())),
        }
    }

    /// Returns a row for each flow, without time series. With several runs, figures are
    /// distributions over the runs.
    fn flows(&self) -> PyResult<PyTable> {
        if let Some(all) = self.several() {
            return PyTable::of(&all.flows);
        }
        let mut flows = self.first().flows.clone();
        flows.iter_mut().for_each(|flow| flow.series = None);
        PyTable::of(&flows)
    }

    /// Returns a row for each link, as `flows` does for flows.
    fn links(&self) -> PyResult<PyTable> {
        if let Some(all) = self.several() {
            return PyTable::of(&all.links);
        }
        let mut links = self.first().links.clone();
        links.iter_mut().for_each(|link| link.series = None);
        PyTable::of(&links)
    }

    /// Returns a link of the first run over time; `None` if it was not recorded.
    fn link_series(&self, link: &str) -> PyResult<Option<PyTable>> {
        let Some(link) = self.first().links.iter().find(|known| known.name == link) else {
            let known: Vec<&str> = self.first().links.iter().map(|l| l.name.as_str()).collect();
            let problem = format!("there is none of this name; the links are {}", known.join(", "));
            return Err(argument_error("link", problem));
        };
        link.series.as_ref().map(series_table).transpose()
    }

    /// Returns a flow of the first run over time: its goodput and its controller's inner state;
    /// `None` if it was not recorded.
    fn flow_series(&self, flow: &str) -> PyResult<Option<PyTable>> {
        let Some(flow) = self.first().flows.iter().find(|known| known.name == flow) else {
            let known: Vec<&str> = self.first().flows.iter().map(|f| f.name.as_str()).collect();
            let problem = format!("there is none of this name; the flows are {}", known.join(", "));
            return Err(argument_error("flow", problem));
        };
        let Some(series) = &flow.series else { return Ok(None) };
        let bins = series.goodput_mbps.len();
        let times = (0..bins).map(|bin| bin as f64 * series.bin_s).collect();
        let mut columns = vec![("time_s".to_string(), times)];
        columns.push(("goodput_mbps".into(), series.goodput_mbps.clone()));
        let state = series.state.iter();
        columns.extend(state.map(|(name, values)| (name.to_string(), values.clone())));
        PyTable::of_numbers(columns).map(Some)
    }

    /// Draws a link over time, as SVG.
    fn time_series_svg(&self, link: &str) -> String {
        let (links, _) = self.views();
        let one: Vec<RunView> = links.into_iter().filter(|view| view.trace == link).collect();
        paceline_report::time_series_svg(&one)
    }

    /// Returns the page of `paceline run -o`, as HTML.
    fn page(&self) -> String {
        let (links, flows) = self.views();
        let info = paceline_requests::run_page_info(&self.scenario, &self.runs);
        paceline_report::scenario_page(&info, &links, &flows)
    }
}
