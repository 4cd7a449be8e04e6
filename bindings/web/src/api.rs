//! Requests of the page, and their dispatch.

use paceline_cc::ParamInfo;
use paceline_cc::params::VARIANT;
use paceline_report::Paint;
use paceline_schemes::SCHEMES;
use paceline_sim::Names;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::claims::{ClaimTrial, DroppedFile, DroppedTraces};
use crate::compare::{ComparisonJob, WrittenRequest};
use crate::contest::{ContestJob, ContestRequest};
use crate::play::{FlowChange, LinkChange, LiveRun, PlayRequest};
use crate::script::{Script, Scripts};

/// A request, selected by its `method`.
#[derive(Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
enum Request {
    /// Lists schemes, queues and traces.
    Catalog,
    /// Sets the names of the page's controllers, for the requests that follow.
    Scripts { names: Vec<String> },
    /// Begins a live run.
    Play(PlayRequest),
    /// Changes the link of the live run.
    Change(LinkChange),
    /// Switches one of its flows on or off, or gives it another scheme.
    Flow(FlowChange),
    /// Returns its counters.
    Status,
    /// Advances it to exactly this time, for the changes of a recorded session.
    Advance { time_ns: u64 },
    /// Returns what happened to packets since the last such request, and watches on if `on`.
    Packets { on: bool },
    /// Returns the table of rules of one of its flows.
    Rules { flow: usize },
    /// Runs the text of a scenario file to its end.
    Run {
        file: String,
        text: String,
        /// Whether the answer has the page of `paceline run`, for a run that a reader waits for.
        #[serde(default)]
        page: bool,
    },
    /// Plans a comparison.
    Compare(WrittenRequest),
    /// Makes the next of its runs.
    CompareNext,
    /// Returns the plots and the JSON of the finished runs.
    CompareResult,
    /// Plans a contest.
    Contest(ContestRequest),
    /// Makes the next of its runs.
    ContestNext,
    /// Returns the leaderboards of the finished runs.
    ContestResult,
    /// Lists the claims.
    Claims,
    /// Takes recorded traces for the claims that follow; an empty list removes them, unless `keep`.
    Recordings {
        files: Vec<DroppedFile>,
        #[serde(default)]
        keep: bool,
    },
    /// Plans the tasks of a claim.
    Claim {
        id: String,
        /// Whether to make runs of the papers' length and number.
        #[serde(default)]
        full: bool,
    },
    /// Runs the next of its tasks.
    ClaimNext,
    /// Returns the claim's verdict.
    ClaimEnd,
}

/// Longest recorded session in nanoseconds of simulated time.
const MOST_TIME_NS: u64 = 86_400_000_000_000;

/// The open work of a page: at most one live run, one comparison and one claim.
pub struct Api {
    scripts: Scripts,
    /// The built-in names, and those of the page's controllers.
    names: Names,
    play: Option<LiveRun>,
    comparing: Option<ComparisonJob>,
    contest: Option<ContestJob>,
    dropped: DroppedTraces,
    claim: Option<ClaimTrial>,
}

/// A page without controllers of its own.
impl Default for Api {
    fn default() -> Api {
        Api::of(Scripts::default())
    }
}

impl Api {
    /// Returns a page whose controllers are called by `script`.
    pub fn with_script(script: Script) -> Api {
        Api::of(Scripts::new(script))
    }

    fn of(scripts: Scripts) -> Api {
        Api {
            scripts,
            names: paceline_remy::names(),
            play: None,
            comparing: None,
            contest: None,
            dropped: DroppedTraces::default(),
            claim: None,
        }
    }

    /// Answers a request in JSON: with an object that has the result, or with an `error` in words.
    /// A controller that has failed since the last request is an error. Never panics, whatever the
    /// request.
    pub fn call(&mut self, request: &[u8]) -> String {
        let answer = match serde_json::from_slice(request) {
            Ok(request) => self.answer(request),
            Err(error) => Err(format!("this is no request: {error}")),
        };
        let answer = match self.scripts.take_failure() {
            Some(failure) => Err(failure),
            None => answer,
        };
        answer.unwrap_or_else(|error| json!({ "error": error })).to_string()
    }

    fn answer(&mut self, request: Request) -> Result<Value, String> {
        match request {
            Request::Catalog => Ok(catalog()),
            Request::Scripts { names } => {
                self.names = self.scripts.names(&names)?;
                Ok(json!({}))
            }
            Request::Play(request) => {
                self.play = None;
                let play = self.play.insert(LiveRun::new(request, self.names.clone())?);
                Ok(play.layout())
            }
            Request::Change(change) => self.playing()?.change(&change),
            Request::Flow(change) => self.playing()?.flow(&change),
            Request::Status => self.playing().map(|play| play.status()),
            Request::Advance { time_ns } => self.advance_to(time_ns),
            Request::Packets { on } => self.playing().map(|play| play.packets(on)),
            Request::Rules { flow } => self.playing()?.rules(flow),
            Request::Run { file, text, page } => {
                crate::scenario::run(&file, &text, page, &self.names)
            }
            Request::Compare(request) => {
                let comparing =
                    self.comparing.insert(ComparisonJob::new(&request, self.names.clone())?);
                Ok(comparing.progress())
            }
            Request::CompareNext => {
                let Api { scripts, comparing, .. } = self;
                let comparing = comparing.as_mut().ok_or(NO_COMPARISON)?;
                comparing.step(&|| !scripts.has_failed())
            }
            Request::CompareResult => Ok(self.compared()?.result()),
            Request::Contest(request) => {
                let contest = self.contest.insert(ContestJob::new(request, self.names.clone())?);
                Ok(contest.progress())
            }
            Request::ContestNext => {
                let Api { scripts, contest, .. } = self;
                contest.as_mut().ok_or(NO_CONTEST)?.step(&|| !scripts.has_failed())
            }
            Request::ContestResult => self.contest.as_ref().ok_or(NO_CONTEST)?.result(),
            Request::Claims => crate::claims::list(),
            Request::Recordings { files, keep } => self.dropped.add(&files, keep),
            Request::Claim { id, full } => {
                let claim = self.claim.insert(ClaimTrial::new(&id, full, &self.dropped)?);
                Ok(claim.progress())
            }
            Request::ClaimNext => self.claimed()?.step(),
            Request::ClaimEnd => self.claimed()?.end(),
        }
    }

    fn playing(&mut self) -> Result<&mut LiveRun, String> {
        self.play.as_mut().ok_or_else(|| "no live run has begun".to_string())
    }

    fn advance_to(&mut self, time_ns: u64) -> Result<Value, String> {
        let play = self.playing()?;
        match time_ns {
            0..=MOST_TIME_NS => Ok(play.advance_to(time_ns)),
            _ => Err(format!("a session lasts at most {} s", MOST_TIME_NS / 1_000_000_000)),
        }
    }

    fn compared(&mut self) -> Result<&mut ComparisonJob, String> {
        self.comparing.as_mut().ok_or_else(|| NO_COMPARISON.to_string())
    }

    fn claimed(&mut self) -> Result<&mut ClaimTrial, String> {
        self.claim.as_mut().ok_or_else(|| "no claim was chosen".to_string())
    }

    /// Advances the live run to `seconds` of simulated time, with a row of numbers every `every`
    /// seconds. Returns the new rows; the answer to `play` describes their columns.
    pub fn advance(&mut self, seconds: f64, every: f64) -> &[f64] {
        match &mut self.play {
            Some(play) => play.advance(seconds, every),
            None => &[],
        }
    }

    /// Returns the rows of the last call of [`Api::advance`].
    pub fn rows(&self) -> &[f64] {
        self.play.as_ref().map_or(&[], LiveRun::rows)
    }
}

const NO_CONTEST: &str = "no contest has begun";
const NO_COMPARISON: &str = "no comparison has begun";

/// Returns schemes with their plot styles, queues, built-in traces and tables of rules.
fn catalog() -> Value {
    let schemes = SCHEMES.iter().map(|scheme| {
        let Paint { light, dark, dash, .. } = Paint::of(scheme.plot_style);
        let dash = format!("{dash:?}").to_lowercase();
        json!({
            "name": scheme.name,
            "summary": scheme.summary,
            "light": light,
            "dark": dark,
            "dash": dash,
            "bulk": scheme.bulk.map(|setting| setting.spec),
            "router": scheme.halves().contains(&"router"),
            "variants": variants(&(scheme.params)()),
        })
    });
    let queues = paceline_path::queue::builtin();
    let queues = queues.iter().map(|queue| json!({ "name": queue.name, "summary": queue.summary }));
    let tables = paceline_remy::tables();
    let tables = tables.iter().map(|table| json!({ "name": table.name, "summary": table.summary }));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "schemes": schemes.collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
        "traces": paceline_trace::names().collect::<Vec<_>>(),
        "tables": tables.collect::<Vec<_>>(),
    })
}

/// Returns the variants of a scheme with these parameters, without the default one.
fn variants(params: &[ParamInfo]) -> Vec<&'static str> {
    let variant = params.iter().find(|info| info.name == VARIANT);
    variant.map_or(Vec::new(), |info| {
        info.kind.split('|').filter(|name| *name != info.default).collect()
    })
}
