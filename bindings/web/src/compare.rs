//! Comparisons: the runs of `paceline compare`, one after the other.
//!
//! Run 1 of every scheme on every trace comes first, then run 2 of each. So a comparison of all
//! schemes can be shown when each has run once, and its ranges become accurate with further runs.

use paceline_cc::{ParamValue as _, Span};
use paceline_path::BufferSize;
use paceline_report::{
    Document, Palette, RunView, compare_page, scatter_svg, summary_table, time_series_svg,
};
use paceline_requests::compare::{
    CompareJob, CompareLimits, CompareRequest, CompareRow, CompareRuns,
};
use paceline_requests::view::compare_views;
use paceline_requests::{CompareFields, written};
use paceline_sim::Names;
use paceline_sim::runs::Runs;
use paceline_sim::scenario::Record;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::traces::NamedTrace;

/// Largest comparison in a page; the bins of all its runs take about 25 MB.
const LIMITS: CompareLimits = CompareLimits {
    flows: 64,
    duration: Span::from_secs(600),
    all_runs: 1000,
    all_time: Span::from_secs(100_000),
};

/// A comparison, in the words of `paceline compare`.
#[derive(Deserialize)]
pub(crate) struct WrittenRequest {
    traces: Vec<NamedTrace>,
    /// Schemes, separated by commas.
    schemes: String,
    duration: String,
    warmup: String,
    rtt: String,
    buffer: String,
    flows: u32,
    seed: u64,
    runs: u32,
    /// A time, or `trace`.
    spread: String,
}

/// A comparison in progress.
pub(crate) struct ComparisonJob {
    request: CompareRequest,
    names: Names,
    runs: CompareRuns,
    jobs: Vec<CompareJob>,
    /// Number of finished jobs.
    done: usize,
}

fn read<T>(what: &str, text: &str, value: Result<T, String>) -> Result<T, String> {
    value.map_err(|problem| format!("{what} `{text}`: {problem}"))
}

impl WrittenRequest {
    fn read(&self, names: &Names) -> Result<CompareRequest, String> {
        let WrittenRequest { duration, warmup, rtt, buffer, spread, .. } = self;
        let links = self.traces.iter().map(|trace| Ok((trace.name.clone(), trace.capacity()?)));
        let schemes = match self.schemes.trim() {
            "" => Vec::new(),
            text => written::compared(text, names)?.0,
        };
        let spread = read("spread", spread, written::spread(spread))?;
        Ok(CompareRequest {
            duration: read("duration", duration, Span::read(duration.trim()))?,
            warmup: read("warm-up", warmup, Span::read(warmup.trim()))?,
            rtts: vec![read("RTT", rtt, written::rtt(rtt))?],
            buffers: vec![read("buffer", buffer, BufferSize::parse(buffer))?],
            flows: self.flows,
            seed: self.seed,
            runs: Runs { count: self.runs, spread },
            bin: Some(Record::BIN),
            ..CompareRequest::new(links.collect::<Result<_, String>>()?, schemes)
        })
    }
}

impl ComparisonJob {
    pub(crate) fn new(written: &WrittenRequest, names: Names) -> Result<ComparisonJob, String> {
        let request = written.read(&names)?;
        let runs = request.plan(&LIMITS).map_err(|error| error.to_string())?;
        Ok(ComparisonJob { request, names, jobs: runs.jobs(), runs, done: 0 })
    }

    /// Returns the number of runs, of finished runs, and of schemes times traces, and the name of
    /// the next run.
    pub(crate) fn progress(&self) -> Value {
        let next = self.jobs.get(self.done).map(|job| self.runs.numbered_name(*job));
        json!({
            "runs": self.jobs.len(),
            "done": self.done,
            "pairs": self.runs.pairs(),
            "next": next,
        })
    }

    /// Makes the next run, while `go_on` returns true.
    pub(crate) fn step(&mut self, go_on: &dyn Fn() -> bool) -> Result<Value, String> {
        if let Some(&job) = self.jobs.get(self.done) {
            let row = self.runs.make(job, &self.names, go_on);
            if let Some(row) = row.map_err(|error| error.to_string())? {
                self.runs.record(job, row);
            }
            self.done += 1;
        }
        Ok(self.progress())
    }

    /// Returns the results of the finished runs: the JSON of `paceline compare`, the plots of its
    /// page, its table, and the page itself.
    pub(crate) fn result(&self) -> Value {
        let rows: Vec<CompareRow> = self.runs.rows();
        let views = compare_views(&rows, &self.names);
        let palette = Palette::new(views.iter().map(|view| view.scheme.as_str()));
        let mut figures =
            vec![json!({ "title": "Throughput over delay", "svg": scatter_svg(&views) })];
        let mut traces: Vec<&str> = rows.iter().map(|row| row.trace.as_str()).collect();
        traces.dedup();
        for trace in traces {
            let own: Vec<RunView> =
                views.iter().filter(|view| view.trace == trace).cloned().collect();
            figures.push(json!({ "title": trace, "svg": time_series_svg(&own) }));
        }
        let info = self.request.page_info(self.runs.runs_made());
        json!({
            "json": Document::new(CompareFields::of(&rows)),
            "figures": figures,
            "table": summary_table(&views, &palette).to_html(),
            "page": compare_page(&info, &views),
        })
    }
}
