//! `paceline.Scenario` and `paceline.run`: scenario files and what comes out of them.

use std::path::PathBuf;
use std::sync::Arc;

use paceline_cc::Span;
use paceline_lab::{RunFields, run_while, written};
use paceline_report::{PageInfo, RunView};
use paceline_sim::scenario::{self, Record};
use paceline_sim::{Names, Outcome};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::compare::{check_bin_count, series_table};
use crate::controller::names_with_controllers;
use crate::error::{argument_error, run_error, scenario_error};
use crate::run::{RunControl, run_interruptibly};
use crate::table::PyTable;
use paceline_lab::view::views;

/// A scenario that has been read and checked.
#[pyclass(frozen, name = "Scenario", module = "paceline._native")]
pub(crate) struct PyScenario {
    scenario: Arc<scenario::Scenario>,
    /// The controllers in Python that it names.
    controllers: Option<Py<PyDict>>,
}

impl PyScenario {
    fn names(&self, py: Python<'_>, control: &Arc<RunControl>) -> PyResult<Names> {
        names_with_controllers(self.controllers.as_ref().map(|all| all.bind(py)), control)
    }
}

#[pymethods]
impl PyScenario {
    /// Reads the text of a scenario file. `file` is for messages, `folder` is where files are looked
    /// for that it names, `controllers` has schemes in Python by name.
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

    /// The same with another seed, duration, warm-up or bin; `None` leaves it as it is.
    #[pyo3(signature = (*, seed, duration, warmup, bin))]
    fn replace(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        duration: Option<String>,
        warmup: Option<String>,
        bin: Option<String>,
    ) -> PyResult<PyScenario> {
        let mut scenario = scenario::Scenario::clone(&self.scenario);
        scenario.seed = seed.unwrap_or(scenario.seed);
        if let Some(text) = duration {
            scenario.duration =
                written::length(&text).map_err(|e| argument_error("duration", e))?;
        }
        if let Some(text) = warmup {
            let read = <Span as paceline_cc::ParamValue>::read(&text);
            scenario.warmup = read.map_err(|e| argument_error("warmup", e))?;
        }
        if let Some(text) = bin {
            let bin = written::bin(&text).map_err(|e| argument_error("bin", e))?;
            scenario.record = Record::Series(bin);
        }
        if let Record::Series(bin) = scenario.record
            && (scenario.record, scenario.duration)
                != (self.scenario.record, self.scenario.duration)
        {
            check_bin_count(bin, scenario.duration, scenario.runs.count)?;
        }
        if scenario.warmup >= scenario.duration {
            let (warmup, duration) = (scenario.warmup, scenario.duration);
            let problem = format!("{warmup} leaves nothing of duration {duration} to measure");
            return Err(argument_error("warmup", problem));
        }
        let controllers = self.controllers.as_ref().map(|all| all.clone_ref(py));
        Ok(PyScenario { scenario: Arc::new(scenario), controllers })
    }

    /// The scenario as a file.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        let names = self.names(py, &Arc::default())?;
        // A trace is named as it was loaded.
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

    /// Runs it to its end.
    fn run(&self, py: Python<'_>) -> PyResult<PyOutcome> {
        let control = Arc::new(RunControl::default());
        let names = self.names(py, &control)?;
        let scenario = &self.scenario;
        let outcome = run_interruptibly(py, 1, &control, || {
            run_while(scenario, &names, &|| control.go_on())
        })?;
        match outcome {
            Ok(Some(outcome)) => Ok(PyOutcome { scenario: Arc::clone(scenario), outcome }),
            Ok(None) => Err(run_error(py, "the run was stopped")),
            Err(error) => Err(run_error(py, error)),
        }
    }
}

/// What a run has shown.
#[pyclass(frozen, name = "Outcome", module = "paceline._native")]
pub(crate) struct PyOutcome {
    scenario: Arc<scenario::Scenario>,
    outcome: Outcome,
}

#[pymethods]
impl PyOutcome {
    #[getter]
    fn name(&self) -> &str {
        &self.outcome.name
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.outcome.digest
    }

    /// The JSON that `paceline run --json` prints.
    fn json(&self) -> PyResult<String> {
        crate::listing::document(RunFields::of(&self.outcome))
    }

    /// A row for each flow, without what was recorded over time.
    fn flows(&self) -> PyResult<PyTable> {
        let mut flows = self.outcome.flows.clone();
        flows.iter_mut().for_each(|flow| flow.series = None);
        PyTable::of(&flows)
    }

    /// A row for each link, without what was recorded over time.
    fn links(&self) -> PyResult<PyTable> {
        let mut links = self.outcome.links.clone();
        links.iter_mut().for_each(|link| link.series = None);
        PyTable::of(&links)
    }

    /// A link over time; `None` if it was not recorded.
    fn link_series(&self, link: &str) -> PyResult<Option<PyTable>> {
        let Some(link) = self.outcome.links.iter().find(|known| known.name == link) else {
            let known: Vec<&str> = self.outcome.links.iter().map(|l| l.name.as_str()).collect();
            let problem = format!("there is none of this name; the links are {}", known.join(", "));
            return Err(argument_error("link", problem));
        };
        link.series.as_ref().map(series_table).transpose()
    }

    /// A flow over time: its goodput and its controller's inner values; `None` if not recorded.
    fn flow_series(&self, flow: &str) -> PyResult<Option<PyTable>> {
        let Some(flow) = self.outcome.flows.iter().find(|known| known.name == flow) else {
            let known: Vec<&str> = self.outcome.flows.iter().map(|f| f.name.as_str()).collect();
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

    /// A link over time, as SVG.
    fn time_series_svg(&self, link: &str) -> String {
        let (links, _) = views(&self.scenario, &self.outcome);
        let one: Vec<RunView> = links.into_iter().filter(|view| view.trace == link).collect();
        paceline_report::time_series_svg(&one)
    }

    /// The page of `paceline run -o`, as HTML.
    fn page(&self) -> String {
        let (links, flows) = views(&self.scenario, &self.outcome);
        let info = PageInfo {
            title: self.outcome.name.clone(),
            explanation: format!("Measured for {:.6} s.", self.outcome.duration_s),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: Some(self.scenario.seed),
            facts: vec![("digest".into(), self.outcome.digest.clone())],
            ..PageInfo::default()
        };
        paceline_report::scenario_page(&info, &links, &flows)
    }
}
