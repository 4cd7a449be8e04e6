//! Requests for comparisons: arguments, their defaults and limits, and the page's text about them.

use paceline_cc::{ArgumentError, Span};
use paceline_path::BufferSize;
use paceline_report::PageInfo;
use paceline_sim::runs::{MAX_RUNS, Runs};
use paceline_sim::scenario::{Capacity, SchemeChoice, Workload};
use paceline_trace::Delays;

use super::{CompareRuns, Comparison};
use crate::bins::check_bins;

/// A comparison of every scheme over every link, all under equal conditions.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// The links with their names, at least one.
    pub links: Vec<(String, Capacity)>,
    /// The schemes, at least one, each with the note for its rows.
    pub schemes: Vec<(SchemeChoice, Option<String>)>,
    /// Whether to add a row for each run on each link: of a sender that knows the future of the
    /// link.
    pub omniscient: bool,
    /// Capacity of the link that acknowledgements take; `None` for an unlimited one.
    pub reverse_trace: Option<Capacity>,
    /// Recorded one-way delay, which both directions follow, with the name of the recording.
    pub delay_trace: Option<(String, Delays)>,
    /// Round-trip propagation delay; `None` for [`Comparison::RTT`], or 0 with a recorded delay.
    pub rtt: Option<Span>,
    /// Mean of an additional random delay of acknowledgements (exponential).
    pub jitter: Span,
    /// Limit of the link's queue.
    pub buffer: BufferSize,
    /// Length of each run.
    pub duration: Span,
    /// Time at the beginning of each run that is not measured; shorter than the duration.
    pub warmup: Span,
    /// Number of flows of each scheme.
    pub flows: u32,
    /// Data that each flow sends.
    pub workload: Workload,
    /// Seed of the first run, from which the seeds and starts of the others are drawn.
    pub seed: u64,
    /// Number of runs of each scheme, and spread of their starts.
    pub runs: Runs,
    /// Most runs of a scheme, if runs are added until figures are precise enough; `None` if none
    /// are added.
    pub most_runs: Option<u32>,
    /// Length of the time series' bins; `None` records no time series.
    pub bin: Option<Span>,
}

/// Limits of a comparison.
#[derive(Copy, Clone, Debug)]
pub struct CompareLimits {
    /// Most flows of a scheme.
    pub flows: u32,
    /// Longest run.
    pub duration: Span,
    /// Most runs of all schemes on all links together.
    pub all_runs: u64,
    /// Longest simulated time of all runs together.
    pub all_time: Span,
}

impl Default for CompareLimits {
    /// Returns limits of 10,000 flows, runs of a week, and any number of runs.
    fn default() -> CompareLimits {
        CompareLimits {
            flows: 10_000,
            duration: crate::written::LONGEST,
            all_runs: u64::MAX,
            all_time: Span::MAX,
        }
    }
}

impl CompareRequest {
    /// Default number of runs of each scheme.
    pub const RUNS: u32 = 10;

    /// Returns a request for these schemes over these links with all defaults: one flow, RTT 100
    /// ms, 250 packets of buffer, 60 s, ten runs.
    pub fn new(
        links: Vec<(String, Capacity)>,
        schemes: Vec<(SchemeChoice, Option<String>)>,
    ) -> CompareRequest {
        CompareRequest {
            links,
            schemes,
            omniscient: false,
            reverse_trace: None,
            delay_trace: None,
            rtt: None,
            jitter: Span::ZERO,
            buffer: Comparison::BUFFER,
            duration: Comparison::DURATION,
            warmup: Span::ZERO,
            flows: 1,
            workload: Workload::Bulk,
            seed: 1,
            runs: Runs::new(CompareRequest::RUNS),
            most_runs: None,
            bin: None,
        }
    }

    /// Returns the runs that answer the request.
    ///
    /// # Errors
    /// The first argument that exceeds `limits`, or does not go with the others.
    pub fn plan(&self, limits: &CompareLimits) -> Result<CompareRuns, ArgumentError> {
        self.check(limits)?;
        Ok(CompareRuns::new(self.comparisons(), self))
    }

    fn check(&self, limits: &CompareLimits) -> Result<(), ArgumentError> {
        let wrong = |argument, problem: String| Err(ArgumentError::new(argument, problem));
        if self.links.is_empty() {
            return wrong("traces", "expected at least one".into());
        }
        if self.schemes.is_empty() {
            return wrong("schemes", "expected at least one".into());
        }
        if self.duration.is_zero() || self.duration > limits.duration {
            return wrong(
                "duration",
                format!("expected a time above zero and up to {}", limits.duration),
            );
        }
        check_warmup(self.warmup, self.duration)?;
        if !(1..=limits.flows).contains(&self.flows) {
            return wrong("flows", format!("expected 1 to {}, not {}", limits.flows, self.flows));
        }
        let runs = self.runs.count;
        if !(1..=MAX_RUNS).contains(&runs) {
            return wrong("runs", format!("expected 1 to {MAX_RUNS}, not {runs}"));
        }
        if self.omniscient && self.delay_trace.is_some() {
            return wrong("omniscient", "cannot be had together with a delay_trace".into());
        }
        let all = (self.links.len() * self.schemes.len()) as u64 * u64::from(runs);
        if all > limits.all_runs {
            return wrong(
                "runs",
                format!("these are {all} runs; {} are the most here", limits.all_runs),
            );
        }
        if self.duration.as_secs_f64() * all as f64 > limits.all_time.as_secs_f64() {
            return wrong(
                "duration",
                format!(
                    "{all} runs of {} are longer than {} together, the most here",
                    self.duration, limits.all_time
                ),
            );
        }
        if let Some(bin) = self.bin {
            check_bins(bin, self.duration, self.most_runs.map_or(runs, |most| most.max(runs)))?;
        }
        Ok(())
    }

    /// Returns the round-trip propagation delay, given or by default.
    fn rtt(&self) -> Span {
        let default = if self.delay_trace.is_some() { Span::ZERO } else { Comparison::RTT };
        self.rtt.unwrap_or(default)
    }

    /// Returns the comparisons, link by link.
    fn comparisons(&self) -> Vec<Comparison> {
        let one = |(link, capacity): &(String, Capacity), scheme: &SchemeChoice| Comparison {
            trace: link.clone(),
            capacity: capacity.clone(),
            reverse: self.reverse_trace.clone(),
            scheme: scheme.clone(),
            flows: self.flows,
            workload: self.workload.clone(),
            rtt: self.rtt(),
            delays: self.delay_trace.as_ref().map(|(_, delays)| delays.clone()),
            jitter: self.jitter,
            buffer: self.buffer,
            duration: self.duration,
            warmup: self.warmup,
            seed: self.seed,
            runs: self.runs,
            bin: self.bin,
        };
        let of_link = |link| self.schemes.iter().map(move |(scheme, _)| one(link, scheme));
        self.links.iter().flat_map(of_link).collect()
    }

    /// Returns the page's text about a comparison of which every scheme has made `runs` runs.
    pub fn page_info(&self, runs: u32) -> PageInfo {
        let flows =
            if self.flows == 1 { "one flow".into() } else { format!("{} flows", self.flows) };
        let data = match self.workload {
            Workload::Video(_) => " of video",
            _ => "",
        };
        let recorded = match &self.delay_trace {
            Some((name, _)) => format!(" and twice that of {name}"),
            None => String::new(),
        };
        let several = match runs {
            0 | 1 => String::new(),
            runs => format!(
                " It ran {runs} times, with other seeds and other places of the recording at which the flows \
                 began."
            ),
        };
        PageInfo {
            title: "Schemes compared".into(),
            explanation: format!(
                "Each scheme ran with {flows}{data} for {} over a link whose buffer holds {}. The round-trip \
                 propagation delay was {}{recorded}.{several} Queueing delay is the time from a packet's \
                 arrival at the queue until it has left the link.",
                self.duration,
                buffer_in_words(self.buffer),
                self.rtt(),
            ),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: Some(self.seed),
            ..PageInfo::default()
        }
    }
}

/// Checks that a warm-up leaves a part of the run to measure.
///
/// # Errors
/// It does not.
pub(crate) fn check_warmup(warmup: Span, duration: Span) -> Result<(), ArgumentError> {
    if warmup < duration {
        return Ok(());
    }
    let problem = format!(
        "{warmup} leaves nothing of the duration of {duration} to measure; make it shorter"
    );
    Err(ArgumentError::new("warmup", problem))
}

/// Describes a buffer size in words.
fn buffer_in_words(buffer: BufferSize) -> String {
    match buffer {
        BufferSize::Packets(packets) => format!("{packets} packets"),
        BufferSize::Bdp(products) => format!("{products} bandwidth-delay products"),
        BufferSize::Unlimited => "any number of packets".into(),
        BufferSize::Bytes(_) => buffer.to_string(),
        BufferSize::Time(time) => format!("{time} at the link's mean rate"),
        BufferSize::Sojourn(longest) => format!("packets for at most {longest}"),
    }
}
