//! Requests for comparisons: arguments, their defaults and limits, and the page's text about them.

use std::fmt::Display;

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
    /// Round-trip propagation delays, each of which every link has in turn; empty for
    /// [`Comparison::RTT`], or 0 with a recorded delay.
    pub rtts: Vec<Span>,
    /// Mean of an additional random delay of acknowledgements (exponential).
    pub jitter: Span,
    /// Limits of the link's queue, at least one, each of which every link has in turn.
    pub buffers: Vec<BufferSize>,
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
            rtts: Vec::new(),
            jitter: Span::ZERO,
            buffers: vec![Comparison::BUFFER],
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
        if self.buffers.is_empty() {
            return wrong("buffer", "expected at least one".into());
        }
        // Schemes of a caller may differ and have one name.
        let is_named = |scheme: &&SchemeChoice| !matches!(scheme, SchemeChoice::Custom(_));
        let schemes = self.schemes.iter().map(|(scheme, _)| scheme).filter(is_named);
        let named: Vec<String> = schemes.map(ToString::to_string).collect();
        if let Some(scheme) = twice(&named) {
            return wrong("schemes", format!("{scheme} stands in the list twice"));
        }
        if let Some(rtt) = twice(&self.rtts) {
            return wrong("rtt", format!("{rtt} stands in the list twice"));
        }
        if let Some(buffer) = twice(&self.buffers) {
            return wrong("buffer", format!("{buffer} stands in the list twice"));
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
        let settings = self.links.len() * self.rtts().len() * self.buffers.len();
        let all = (settings * self.schemes.len()) as u64 * u64::from(runs);
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

    /// Returns the round-trip propagation delays, given or by default.
    fn rtts(&self) -> Vec<Span> {
        match self.rtts.is_empty() {
            false => self.rtts.clone(),
            true if self.delay_trace.is_some() => vec![Span::ZERO],
            true => vec![Comparison::RTT],
        }
    }

    /// Returns true if there are several RTTs or buffers, so that rows name theirs.
    pub(super) fn is_sweep(&self) -> bool {
        self.rtts.len() > 1 || self.buffers.len() > 1
    }

    /// Returns the comparisons: link by link, RTT by RTT, buffer by buffer, with every scheme.
    fn comparisons(&self) -> Vec<Comparison> {
        type Link = (String, Capacity);
        let one = |(link, capacity): &Link, rtt, buffer, scheme: &SchemeChoice| Comparison {
            trace: link.clone(),
            capacity: capacity.clone(),
            reverse: self.reverse_trace.clone(),
            scheme: scheme.clone(),
            flows: self.flows,
            workload: self.workload.clone(),
            rtt,
            delays: self.delay_trace.as_ref().map(|(_, delays)| delays.clone()),
            jitter: self.jitter,
            buffer,
            duration: self.duration,
            warmup: self.warmup,
            seed: self.seed,
            runs: self.runs,
            bin: self.bin,
        };
        let mut all = Vec::new();
        for link in &self.links {
            for rtt in self.rtts() {
                for &buffer in &self.buffers {
                    all.extend(
                        self.schemes.iter().map(|(scheme, _)| one(link, rtt, buffer, scheme)),
                    );
                }
            }
        }
        all
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
        let each = match self.is_sweep() {
            true => " Each of these settings is compared on its own.",
            false => "",
        };
        let is_recorded = self.delay_trace.is_some()
            || self.links.iter().any(|(_, capacity)| !matches!(capacity, Capacity::Constant(_)));
        let several = match (runs, is_recorded) {
            (0 | 1, _) => String::new(),
            (runs, false) => format!(" It ran {runs} times, with other seeds."),
            (runs, true) => format!(
                " It ran {runs} times, with other seeds and other places of the recording at which the flows \
                 began."
            ),
        };
        PageInfo {
            title: "Schemes compared".into(),
            explanation: format!(
                "Each scheme ran with {flows}{data} for {} over a link whose buffer holds {}. The round-trip \
                 propagation delay was {}{recorded}.{each}{several} Queueing delay is the time from a packet's \
                 arrival at the queue until it has left the link.",
                self.duration,
                any_of(self.buffers.iter().copied().map(buffer_in_words)),
                any_of(self.rtts()),
            ),
            version: env!("CARGO_PKG_VERSION").into(),
            seed: Some(self.seed),
            ..PageInfo::default()
        }
    }
}

/// Returns the first value that stands in a list a second time.
pub(crate) fn twice<T: PartialEq>(values: &[T]) -> Option<&T> {
    let again = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value));
    again.map(|(_, value)| value)
}

/// Joins alternatives: `20ms, 50ms or 100ms`.
fn any_of(values: impl IntoIterator<Item: Display>) -> String {
    let mut texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    match (texts.pop(), texts.is_empty()) {
        (Some(last), false) => format!("{} or {last}", texts.join(", ")),
        (last, _) => last.unwrap_or_default(),
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
