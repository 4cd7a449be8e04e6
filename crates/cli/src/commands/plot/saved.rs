//! Reads saved results: the JSON of `compare` and `run`.

use std::path::Path;

use paceline_report::{FlowView, InnerValues, RunView};
use paceline_requests::compare::CompareRow;
use paceline_requests::view::compare_views;
use paceline_sim::LinkSeries;
use paceline_sim::metrics::{self, Quantiles};
use paceline_trace::FileKind;
use serde_json::Value;

use super::series_file;
use crate::made::Made;
use crate::registries;

/// A saved result, as the charts take it.
pub(super) enum Saved {
    /// Of `compare`.
    Compare { views: Vec<RunView> },
    /// Of `run`.
    Run { links: Vec<RunView>, flows: Vec<FlowView> },
}

impl Saved {
    /// Returns true if the result has values over time.
    pub(super) fn has_series(&self) -> bool {
        let (Saved::Compare { views } | Saved::Run { links: views, .. }) = self;
        views.iter().any(|view| !view.series.throughput_mbps.is_empty())
    }

    /// Returns how a result with values over time is made.
    pub(super) fn how_to_get_series(&self) -> &'static str {
        match self {
            Saved::Compare { .. } => {
                "this result has no values over time: `paceline compare -o DIR` writes them into DIR/series.csv, beside \
                 compare.json"
            }
            Saved::Run { .. } => {
                "this result has no values over time: `paceline run FILE --json` and -o DIR write them"
            }
        }
    }
}

/// Reads a result from the bytes of the file `path`, and the series of `compare` from the file
/// beside it.
///
/// # Errors
/// It is no result of `compare` or `run`; the text says what it is instead, or which part is wrong.
pub(super) fn read(bytes: &[u8], path: &Path) -> Result<Saved, String> {
    let document: Value = serde_json::from_slice(bytes).map_err(|error| {
        // A JSON document with a mistake keeps its line.
        let kind = FileKind::of(bytes).filter(|_| !bytes.starts_with(b"{"));
        let is =
            kind.map_or(format!("no JSON: {error}"), |kind| format!("this is {}", kind.words()));
        format!("{is}; plot reads the compare.json or run.json of -o DIR")
    })?;
    if document.get("schema_version").is_none() {
        return Err("no result of Paceline: it has no field schema_version".into());
    }
    let runs = document.get("runs").and_then(Value::as_array);
    match runs {
        Some(runs) if document.get("summary").is_some() => compare(runs, path),
        Some(runs) => {
            let of = |run: &Value| (run["run"].as_u64().unwrap_or(1) as u32, run["outcome"].clone());
            scenario(&runs.iter().map(of).collect::<Vec<_>>())
        }
        None if document.get("links").is_some() => scenario(&[(1, document)]),
        None => Err("no result of `paceline compare` or `paceline run`: other results have pages with their own plots".into()),
    }
}

/// Returns how a figure of the result is made: by the command that saved the result, if it says so, and by this one.
pub(super) fn made(bytes: &[u8]) -> String {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    match Made::of_document(&document) {
        Some(made) => made.drawn_now(),
        // The printed JSON of `--json` says only the seeds of its runs.
        None => Made::now(document["runs"][0]["seed"].as_u64()).sentence(),
    }
}

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or(f64::NAN)
}

fn text(of: &Value, name: &str) -> Result<String, String> {
    of[name].as_str().map(str::to_string).ok_or_else(|| format!("a row has no field `{name}`"))
}

fn delay(of: &Value) -> Quantiles {
    let part = |name| number(of, name);
    Quantiles {
        mean: part("mean"),
        p50: part("p50"),
        p95: part("p95"),
        p99: part("p99"),
        max: part("max"),
    }
}

fn numbers(of: &Value) -> Vec<f64> {
    let list = of.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Returns the part of a row that rows of `compare` and links of `run` have in common.
fn row_of(of: &Value) -> CompareRow {
    CompareRow {
        capacity_mbps: number(of, "capacity_mbps"),
        throughput_mbps: number(of, "throughput_mbps"),
        utilization: number(of, "utilization"),
        queue_delay_ms: delay(&of["queue_delay_ms"]),
        series: series(&of["series"]),
        ..CompareRow::default()
    }
}

fn series(of: &Value) -> Option<LinkSeries> {
    let mut series = LinkSeries::default();
    series.bin_s = of["bin_s"].as_f64()?;
    series.capacity_mbps = numbers(&of["capacity_mbps"]);
    series.throughput_mbps = numbers(&of["throughput_mbps"]);
    series.queue_delay_ms = numbers(&of["queue_delay_ms"]);
    Some(series)
}

fn compare(runs: &[Value], path: &Path) -> Result<Saved, String> {
    let row = |run: &Value| {
        Ok(CompareRow {
            trace: text(run, "trace")?,
            rtt: text(run, "rtt").ok(),
            buffer: text(run, "buffer").ok(),
            scheme: text(run, "scheme")?,
            run: run["run"].as_u64().and_then(|run| run.try_into().ok()).unwrap_or(1),
            start_ms: number(run, "start_ms"),
            seed: run["seed"].as_u64().unwrap_or(0),
            flows: 1,
            digest: text(run, "digest")?,
            ..row_of(run)
        })
    };
    let mut rows = runs.iter().map(row).collect::<Result<Vec<_>, String>>()?;
    let file = path.with_file_name(series_file::FILE);
    if let Ok(text) = std::fs::read_to_string(&file) {
        series_file::add(&text, &mut rows).map_err(|problem| {
            format!("{}: {problem}; it has to be of the same run of `compare`", file.display())
        })?;
    }
    Ok(Saved::Compare { views: compare_views(&rows, registries::names()) })
}

/// Converts the outcomes of a scenario's runs, each with its number.
fn scenario(runs: &[(u32, Value)]) -> Result<Saved, String> {
    let first = &runs.first().ok_or("it has no runs")?.1;
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let schemes: Vec<String> = {
        let mut schemes = Vec::new();
        for flow in list(first, "flows") {
            let scheme = text(&flow, "scheme")?;
            if !schemes.contains(&scheme) {
                schemes.push(scheme);
            }
        }
        schemes
    };
    let links = list(first, "links");
    let mut rows = Vec::new();
    for (at, link) in links.iter().enumerate() {
        let name = text(link, "name")?;
        // The result does not say which flows pass which link.
        let scheme = if links.len() == 1 { schemes.join(", ") } else { name.clone() };
        for (run, outcome) in runs {
            let (trace, scheme, run) = (name.clone(), scheme.clone(), *run);
            let link = row_of(&outcome["links"][at]);
            rows.push(CompareRow { trace, scheme, run, flows: 1, ..link });
        }
    }
    let flow = |(at, flow): (usize, &Value)| {
        let all: Vec<&Value> = runs.iter().map(|(_, outcome)| &outcome["flows"][at]).collect();
        let series = numbers(&flow["series"]["goodput_mbps"]);
        let over_time = |bin| median(all.iter().map(|flow| &flow["series"]["goodput_mbps"][bin]));
        Ok(FlowView {
            name: text(flow, "name")?,
            scheme: text(flow, "scheme")?,
            goodput_mbps: median(all.iter().map(|flow| &flow["goodput_mbps"])),
            one_way_delay_ms: Quantiles {
                p95: median(all.iter().map(|flow| &flow["one_way_delay_ms"]["p95"])),
                ..delay(&flow["one_way_delay_ms"])
            },
            rtt_ms: delay(&flow["rtt_ms"]),
            retransmits: flow["retransmits"].as_u64(),
            // Only the tables of pages have them.
            ranges: None,
            figures: Vec::new(),
            bin_s: flow["series"]["bin_s"].as_f64().unwrap_or(0.0),
            goodput_series_mbps: (0..series.len()).map(over_time).collect(),
            state: inner_values(&flow["series"]["state"]),
        })
    };
    let flows = list(first, "flows");
    let flows = flows.iter().enumerate().map(flow).collect::<Result<Vec<_>, String>>()?;
    Ok(Saved::Run { links: compare_views(&rows, registries::names()), flows })
}

/// Reads inner values of a controller: pairs of a name and the list of its values.
fn inner_values(of: &Value) -> InnerValues {
    let pairs = of.as_array().map(Vec::as_slice).unwrap_or_default();
    let pair = |pair: &Value| Some((pair[0].as_str()?.to_string(), numbers(&pair[1])));
    pairs.iter().filter_map(pair).collect()
}

/// Returns the median of the runs' values; NaN without any.
fn median<'a>(values: impl Iterator<Item = &'a Value>) -> f64 {
    metrics::median(values.filter_map(Value::as_f64)).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_result_is_refused_with_words() {
        let error =
            |text: &str| read(text.as_bytes(), Path::new("x.json")).err().unwrap_or_default();
        assert!(error("{").starts_with("no JSON"));
        assert!(error("{}").contains("schema_version"));
        assert!(error("{\"schema_version\": 2}").contains("`paceline compare`"));
        let row = "{\"schema_version\": 2, \"summary\": [], \"runs\": [{}]}";
        assert_eq!(error(row), "a row has no field `trace`");
        assert_eq!(error("{\"schema_version\": 2, \"runs\": []}"), "it has no runs");
    }
}
