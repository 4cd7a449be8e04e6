//! Lists of schemes, queues and traces, in the fields of `paceline schemes --json` and
//! `paceline trace list --json`; and the JSON documents of commands.

use paceline_cc::{ParamInfo, Span};
use paceline_path::queue;
use paceline_report::Document;
use paceline_requests::ParameterFields;
use paceline_schemes::SCHEMES;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

use crate::table::PyTable;

#[derive(Serialize)]
struct SchemeRow {
    name: &'static str,
    summary: &'static str,
    halves: Vec<&'static str>,
    parameters: Vec<ParameterFields>,
    source: &'static str,
}

#[derive(Serialize)]
struct QueueRow<'a> {
    name: &'a str,
    summary: &'a str,
    parameters: Vec<ParameterFields>,
    source: &'a str,
}

#[derive(Serialize)]
struct KeyRow<'a> {
    section: &'static str,
    key: &'static str,
    kind: &'a str,
    default: &'a str,
    meaning: &'a str,
}

#[derive(Serialize)]
struct TraceRow<'a> {
    trace: &'a str,
    length_s: f64,
    mean_mbps: f64,
    target_source: &'static str,
    target_recorded: bool,
}

/// Returns the JSON document with these fields, as a command prints it.
pub(crate) fn document(fields: impl Serialize) -> PyResult<String> {
    serde_json::to_string(&Document::new(fields))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn parameters(infos: Vec<ParamInfo>) -> Vec<ParameterFields> {
    infos.into_iter().map(ParameterFields::from).collect()
}

/// Returns the built-in schemes: a row for each.
#[pyfunction]
pub(crate) fn schemes() -> PyResult<PyTable> {
    let row = |scheme: &paceline_schemes::Scheme| SchemeRow {
        name: scheme.name,
        summary: scheme.summary,
        halves: scheme.halves(),
        parameters: parameters((scheme.params)()),
        source: scheme.source,
    };
    PyTable::of(&SCHEMES.iter().map(row).collect::<Vec<_>>())
}

/// Returns the built-in queues: a row for each.
#[pyfunction]
pub(crate) fn queues() -> PyResult<PyTable> {
    let queues = queue::builtin();
    let row = |queue| {
        let queue: &queue::QueueEntry = queue;
        QueueRow {
            name: &queue.name,
            summary: &queue.summary,
            parameters: parameters(queue.params()),
            source: &queue.source,
        }
    };
    PyTable::of(&queues.iter().map(row).collect::<Vec<_>>())
}

/// Returns the built-in traces: a row for each.
#[pyfunction]
pub(crate) fn traces() -> PyResult<PyTable> {
    let row = |trace| {
        let target = paceline_trace::target(trace)?;
        let length = paceline_trace::default_length(trace).unwrap_or(Span::ZERO);
        Some(TraceRow {
            trace,
            length_s: length.as_secs_f64(),
            mean_mbps: target.stats.mean_mbps,
            target_source: target.source,
            target_recorded: target.recorded,
        })
    };
    PyTable::of(&paceline_trace::names().filter_map(row).collect::<Vec<_>>())
}

/// Returns the keys of scenario files: a row for each.
#[pyfunction]
pub(crate) fn scenario_keys() -> PyResult<PyTable> {
    let tables = paceline_sim::scenario::keys();
    let rows = tables.iter().flat_map(|table| {
        table.keys.iter().map(|key| KeyRow {
            section: table.section,
            key: key.name,
            kind: &key.kind,
            default: &key.default,
            meaning: &key.doc,
        })
    });
    PyTable::of(&rows.collect::<Vec<_>>())
}
