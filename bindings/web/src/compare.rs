//! Comparisons: the runs of `paceline compare`, one after the other.

use paceline_cc::{ParamValue as _, SchemeSpec, Span};
use paceline_lab::CompareFields;
use paceline_lab::compare::{CompareRow, Comparison};
use paceline_lab::view::compare_views;
use paceline_measure::Document;
use paceline_path::BufferSize;
use paceline_report::time_series_svg;
use paceline_report::{PageInfo, Palette, RunView, compare_page, scatter_svg, summary_table};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::traces::NamedTrace;

/// The longest run, and the most of them.
const LONGEST: Span = Span::from_secs(600);
const MOST_RUNS: usize = 200;
/// The bins of plots over time.
const BIN: Span = Span::from_millis(100);

/// What is compared, in the words of `paceline compare`.
#[derive(Deserialize)]
pub(crate) struct CompareRequest {
    traces: Vec<NamedTrace>,
    /// Separated by commas.
    schemes: String,
    duration: String,
    warmup: String,
    rtt: String,
    buffer: String,
    flows: u32,
    seed: u64,
}

/// A comparison, as far as it has come.
pub(crate) struct ComparisonJob {
    runs: Vec<Comparison>,
    rows: Vec<CompareRow>,
    about: String,
}

fn read<T>(what: &str, text: &str, value: Result<T, String>) -> Result<T, String> {
    value.map_err(|problem| format!("{what} `{text}`: {problem}"))
}

impl ComparisonJob {
    pub(crate) fn new(request: &CompareRequest) -> Result<ComparisonJob, String> {
        let CompareRequest { duration, warmup, rtt, buffer, flows, seed, .. } = request;
        let length = read("duration", duration, Span::read(duration.trim()))?;
        let warm = read("warm-up", warmup, Span::read(warmup.trim()))?;
        if length.is_zero() || length > LONGEST {
            return Err(format!("the duration must be above zero and up to {LONGEST} here"));
        }
        if warm >= length {
            return Err("the warm-up leaves nothing to measure; make it shorter".into());
        }
        if !(1..=64).contains(flows) {
            return Err("a comparison has 1 to 64 flows here".into());
        }
        let delay = read("RTT", rtt, Span::read(rtt.trim()))?;
        let size = read("buffer", buffer, BufferSize::parse(buffer))?;
        let names = paceline_remy::names();
        let mut schemes: Vec<SchemeSpec> = Vec::new();
        for text in paceline_cc::spec::split_list(&request.schemes) {
            schemes.push(names.check_scheme(text).map_err(|error| error.to_string())?);
        }
        if schemes.is_empty() || request.traces.is_empty() {
            return Err("choose at least one scheme and one trace".into());
        }
        let mut runs = Vec::new();
        for trace in &request.traces {
            let capacity = trace.capacity()?;
            for scheme in &schemes {
                runs.push(Comparison {
                    flows: *flows,
                    rtt: delay,
                    buffer: size,
                    duration: length,
                    warmup: warm,
                    seed: *seed,
                    bin: Some(BIN),
                    ..Comparison::new(&trace.name, capacity.clone(), scheme.clone())
                });
            }
        }
        if runs.len() > MOST_RUNS {
            return Err(format!(
                "these are {} runs; at most {MOST_RUNS} are made here",
                runs.len()
            ));
        }
        let about = format!(
            "Each scheme ran with {flows} flow(s) for {length} over a link with a buffer of {size} \
             and a round-trip propagation delay of {delay}."
        );
        Ok(ComparisonJob { runs, rows: Vec::new(), about })
    }

    /// Runs in all, those done, and what the next is.
    pub(crate) fn progress(&self) -> Value {
        let next = self.runs.get(self.rows.len());
        let next = next.map(|run| format!("{} on {}", run.scheme, run.trace));
        json!({ "runs": self.runs.len(), "done": self.rows.len(), "next": next })
    }

    /// Does the next run.
    pub(crate) fn step(&mut self) -> Result<Value, String> {
        if let Some(run) = self.runs.get(self.rows.len()) {
            let outcome = run.run().map_err(|error| error.to_string())?;
            self.rows.push(run.row(&outcome));
        }
        Ok(self.progress())
    }

    /// The JSON of `paceline compare`, the plots of its page, its table, and the page itself.
    pub(crate) fn end(&self) -> Result<Value, String> {
        let names = paceline_remy::names();
        let views = compare_views(&self.rows, &names);
        let palette = Palette::new(views.iter().map(|view| view.scheme.as_str()));
        let mut figures =
            vec![json!({ "title": "Throughput over delay", "svg": scatter_svg(&views) })];
        let mut traces: Vec<&str> = self.rows.iter().map(|row| row.trace.as_str()).collect();
        traces.dedup();
        for trace in traces {
            let own: Vec<RunView> =
                views.iter().filter(|view| view.trace == trace).cloned().collect();
            figures.push(json!({ "title": trace, "svg": time_series_svg(&own) }));
        }
        let info = PageInfo {
            title: "Schemes compared".into(),
            explanation: self.about.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.runs.first().map(|run| run.seed),
            ..PageInfo::default()
        };
        Ok(json!({
            "json": Document::new(CompareFields::of(&self.rows)),
            "figures": figures,
            "table": summary_table(&views, &palette).to_html(),
            "page": compare_page(&info, &views),
        }))
    }
}
