//! Comparisons: the runs of `paceline compare`, one after the other.
//!
//! Run 1 of every scheme on every trace comes first, then run 2 of each, so that a comparison of all
//! schemes can be shown as soon as each has run once, and its ranges settle as further runs are made.

use paceline_cc::{ParamValue as _, SchemeSpec, Span};
use paceline_measure::Document;
use paceline_path::BufferSize;
use paceline_report::time_series_svg;
use paceline_report::{PageInfo, Palette, RunView, compare_page, scatter_svg, summary_table};
use paceline_requests::compare::{CompareRow, Comparison};
use paceline_requests::view::compare_views;
use paceline_requests::{CompareFields, written};
use paceline_sim::runs::{MAX_RUNS, Runs};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::traces::NamedTrace;

/// Longest duration of a run.
const MAX_DURATION: Span = Span::from_secs(600);
/// Largest number of runs of a comparison.
const MAX_ALL_RUNS: u64 = 1000;
/// Longest duration of all runs together, whose bins take about 25 MB.
const MAX_ALL_DURATION: Span = Span::from_secs(100_000);
/// Length of the bins of plots over time.
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
    runs: u32,
    /// A time, or `trace`.
    spread: String,
}

/// A comparison, as far as it has come.
pub(crate) struct ComparisonJob {
    /// Every scheme on every trace.
    comparisons: Vec<Comparison>,
    /// Rows of the runs that are made, by comparison.
    rows: Vec<Vec<CompareRow>>,
    /// Number of runs that are made.
    done: usize,
    about: String,
}

fn read<T>(what: &str, text: &str, value: Result<T, String>) -> Result<T, String> {
    value.map_err(|problem| format!("{what} `{text}`: {problem}"))
}

impl ComparisonJob {
    pub(crate) fn new(request: &CompareRequest) -> Result<ComparisonJob, String> {
        let CompareRequest { duration, warmup, rtt, buffer, flows, seed, spread, .. } = request;
        let length = read("duration", duration, Span::read(duration.trim()))?;
        let warm = read("warm-up", warmup, Span::read(warmup.trim()))?;
        if length.is_zero() || length > MAX_DURATION {
            return Err(format!("the duration must be above zero and up to {MAX_DURATION} here"));
        }
        if warm >= length {
            return Err("the warm-up leaves nothing to measure; make it shorter".into());
        }
        if !(1..=64).contains(flows) {
            return Err("a comparison has 1 to 64 flows here".into());
        }
        if !(1..=MAX_RUNS).contains(&request.runs) {
            return Err(format!("a scheme has 1 to {MAX_RUNS} runs"));
        }
        let runs =
            Runs { count: request.runs, spread: read("spread", spread, written::spread(spread))? };
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
        let mut comparisons = Vec::new();
        for trace in &request.traces {
            let capacity = trace.capacity()?;
            for scheme in &schemes {
                comparisons.push(Comparison {
                    flows: *flows,
                    rtt: delay,
                    buffer: size,
                    duration: length,
                    warmup: warm,
                    seed: *seed,
                    runs,
                    bin: Some(BIN),
                    ..Comparison::new(&trace.name, capacity.clone(), scheme.clone())
                });
            }
        }
        let all = comparisons.len() as u64 * u64::from(runs.count);
        if all > MAX_ALL_RUNS {
            return Err(format!("these are {all} runs; at most {MAX_ALL_RUNS} are made here"));
        }
        if length.as_secs_f64() * all as f64 > MAX_ALL_DURATION.as_secs_f64() {
            return Err(format!(
                "{all} runs of {length} are longer than {MAX_ALL_DURATION} together, the most here"
            ));
        }
        let several = match runs.count {
            1 => String::new(),
            count => format!(
                " It ran {count} times, with other seeds and other places of the recording at which \
                 the flows began."
            ),
        };
        let about = format!(
            "Each scheme ran with {flows} flow(s) for {length} over a link with a buffer of {size} \
             and a round-trip propagation delay of {delay}.{several}"
        );
        let rows = vec![Vec::new(); comparisons.len()];
        Ok(ComparisonJob { comparisons, rows, done: 0, about })
    }

    /// The next run: the place of its comparison, and its number.
    fn next(&self) -> Option<(usize, u32)> {
        let number = self.done / self.comparisons.len() + 1;
        let number = u32::try_from(number).ok()?;
        let at = self.done % self.comparisons.len();
        (number <= self.comparisons[at].runs.count).then_some((at, number))
    }

    /// Runs in all, those done, schemes times traces, and what the next run is.
    pub(crate) fn progress(&self) -> Value {
        let runs: u32 = self.comparisons.iter().map(|comparison| comparison.runs.count).sum();
        let next = self.next().map(|(at, number)| {
            let Comparison { scheme, trace, .. } = &self.comparisons[at];
            format!("{scheme} on {trace}, run {number}")
        });
        json!({ "runs": runs, "done": self.done, "pairs": self.comparisons.len(), "next": next })
    }

    /// Does the next run.
    pub(crate) fn step(&mut self) -> Result<Value, String> {
        if let Some((at, number)) = self.next() {
            let comparison = &self.comparisons[at];
            let (run, scenario) = comparison.run_number(number);
            let outcome = paceline_requests::run(&scenario).map_err(|error| error.to_string())?;
            self.rows[at].push(comparison.row_of(run, &outcome));
            self.done += 1;
        }
        Ok(self.progress())
    }

    /// What the runs so far have shown: the JSON of `paceline compare`, the plots of its page, its
    /// table, and the page itself.
    pub(crate) fn result(&self) -> Value {
        let names = paceline_remy::names();
        let rows: Vec<CompareRow> = self.rows.iter().flatten().cloned().collect();
        let views = compare_views(&rows, &names);
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
        let info = PageInfo {
            title: "Schemes compared".into(),
            explanation: self.about.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.comparisons.first().map(|comparison| comparison.seed),
            ..PageInfo::default()
        };
        json!({
            "json": Document::new(CompareFields::of(&rows)),
            "figures": figures,
            "table": summary_table(&views, &palette).to_html(),
            "page": compare_page(&info, &views),
        })
    }
}
