//! What Python gets as JSON text: documents of commands, and what there is: schemes, queues, traces, in
//! the fields of `paceline schemes --json` and `paceline trace list --json`.

use paceline_cc::{ParamInfo, SCHEMES, Span};
use paceline_measure::Document;
use paceline_path::queue::Queues;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The JSON document of these fields, as a command prints it.
pub(crate) fn document(fields: impl Serialize) -> PyResult<String> {
    text(&Document::new(fields))
}

fn parameters(infos: Vec<ParamInfo>) -> Vec<Value> {
    let value = |info: ParamInfo| {
        let ParamInfo { name, kind, default, doc } = info;
        json!({ "name": name, "kind": kind, "default": default, "doc": doc })
    };
    infos.into_iter().map(value).collect()
}

/// The built-in schemes as JSON: a list of objects.
#[pyfunction]
pub(crate) fn schemes() -> PyResult<String> {
    let scheme = |scheme: &paceline_cc::Scheme| {
        json!({
            "name": scheme.name,
            "summary": scheme.summary,
            "halves": scheme.halves(),
            "parameters": parameters((scheme.params)()),
            "source": scheme.source,
        })
    };
    text(&SCHEMES.iter().map(scheme).collect::<Value>())
}

/// The built-in queues as JSON: a list of objects.
#[pyfunction]
pub(crate) fn queues() -> PyResult<String> {
    let queues = Queues::builtin();
    let queue = |queue: &paceline_path::queue::QueueInfo| {
        json!({
            "name": queue.name(),
            "summary": queue.summary(),
            "parameters": parameters(queue.params()),
            "source": queue.source(),
        })
    };
    text(&queues.iter().map(queue).collect::<Value>())
}

/// The built-in traces as JSON: a list of objects.
#[pyfunction]
pub(crate) fn traces() -> PyResult<String> {
    let trace = |name: &str| {
        let target = paceline_trace::target(name)?;
        let length = paceline_trace::default_length(name).unwrap_or(Span::ZERO);
        Some(json!({
            "trace": name, "length_s": length.as_secs_f64(), "mean_mbps": target.stats.mean_mbps,
            "target_source": target.source, "target_recorded": target.recorded,
        }))
    };
    text(&paceline_trace::names().filter_map(trace).collect::<Value>())
}
