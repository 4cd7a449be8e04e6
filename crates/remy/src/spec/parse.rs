//! Reads specifications.

use std::path::Path;

use paceline_cc::{ParamValue, Span, Spec};
use paceline_path::BufferSize;
use paceline_sim::Names;
use paceline_sim::scenario::{RouterChoice, check_router};
use serde::Deserialize;
use toml::Value;

use super::length::RunLength;
use super::quantity::{BYTES, Kind, MBPS, MILLIS, NUMBER, SECONDS, Unit, names};
use super::{
    Buffers, DelayMeasure, Metric, Objective, OnUnit, Range, Specification, SpecificationError,
    Traces, others,
};

/// Maximum number of networks of a specification.
const MAX_NETWORKS: usize = 100_000;
/// Maximum number of senders of a network.
pub(super) const MAX_SENDERS: f64 = 10_000.0;

/// Reads a specification. Trace files are relative to `folder`.
pub(super) fn read(text: &str, folder: Option<&Path>) -> Result<Specification, SpecificationError> {
    let written: FileSpecification =
        toml::from_str(text).map_err(|error| SpecificationError::Syntax(error.to_string()))?;
    written.read(folder).map_err(|error| error.in_text(text))
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSpecification {
    duration: Option<Value>,
    networks: Networks,
    #[serde(default)]
    objective: FileObjective,
    /// Settings of training, which [`crate::train::Settings`] reads.
    #[serde(default, rename = "training")]
    _training: serde::de::IgnoredAny,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Networks {
    link: Option<Value>,
    traces: Option<Value>,
    trace_start: Option<TraceStart>,
    second_link: Option<Value>,
    rtt: Value,
    jitter: Option<Value>,
    delayed_acks: Option<Value>,
    ack_aggregation: Option<Value>,
    resolution: Option<String>,
    senders: Value,
    others: Option<Value>,
    starts: Option<Value>,
    on: Option<Value>,
    on_bytes: Option<Value>,
    on_icsi: Option<Value>,
    off: Value,
    queue: Option<Value>,
    buffer: Option<Value>,
    loss: Option<Value>,
    router: Option<String>,
    draws: Option<u32>,
}

/// Where recordings start.
#[derive(Copy, Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TraceStart {
    Beginning,
    Random,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileObjective {
    metric: Option<Metric>,
    alpha: Option<f64>,
    beta: Option<f64>,
    delta: Option<f64>,
    others_delta: Option<f64>,
    delay: Option<DelayMeasure>,
    repeats: Option<f64>,
    worst: Option<f64>,
}

impl FileObjective {
    fn read(&self, networks: &Networks) -> Result<Objective, SpecificationError> {
        let fail = |key, problem: &str| Err(SpecificationError::value(key, problem));
        let default = Objective::default();
        let metric = self.metric.unwrap_or_default();
        for (key, number) in [
            ("objective.alpha", self.alpha),
            ("objective.beta", self.beta),
            ("objective.delta", self.delta),
            ("objective.others_delta", self.others_delta),
            ("objective.repeats", self.repeats),
        ] {
            match number {
                Some(number) if !(number.is_finite() && number >= 0.0) => {
                    return fail(key, "it has to be finite and not below 0");
                }
                Some(_) if metric == Metric::CompletionTime => {
                    return fail(key, "it has no part in completion times: remove it");
                }
                _ => {}
            }
        }
        if metric == Metric::CompletionTime && self.delay.is_some() {
            return fail("objective.delay", "it has no part in completion times: remove it");
        }
        if self.worst.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            let problem = "it is a share of the networks above 0 and up to 1: write worst = 0.25";
            return fail("objective.worst", problem);
        }
        if metric == Metric::CompletionTime && networks.on.is_some() {
            let problem = "completion times need flows of a given size: write networks.on_bytes or \
                           networks.on_icsi instead of networks.on";
            return fail("objective.metric", problem);
        }
        let trained = networks.others.as_ref().and_then(|others| others.get("trained"));
        let trained = trained.and_then(Value::as_bool).unwrap_or(false);
        match self.others_delta {
            Some(_) if networks.others.is_none() => {
                let problem = "there are no others: write networks.others, or remove it";
                return fail("objective.others_delta", problem);
            }
            None if trained => {
                let problem = "a second table that is trained needs objective.others_delta";
                return fail("networks.others.trained", problem);
            }
            _ => {}
        }
        Ok(Objective {
            metric,
            alpha: self.alpha.unwrap_or(default.alpha),
            beta: self.beta.unwrap_or(default.beta),
            delta: self.delta.unwrap_or(default.delta),
            others_delta: self.others_delta,
            delay: self.delay.unwrap_or_default(),
            repeats: self.repeats.unwrap_or(0.0),
            worst: self.worst,
        })
    }
}

impl FileSpecification {
    fn read(&self, folder: Option<&Path>) -> Result<Specification, SpecificationError> {
        let networks = &self.networks;
        let objective = self.objective.read(networks)?;
        let duration = RunLength::read(self.duration.as_ref())?;
        if matches!(duration, RunLength::Packets { .. }) && networks.link.is_none() {
            let problem = "a number of packets needs rates: write networks.link, or a time";
            return Err(SpecificationError::value("duration", problem));
        }
        let mut specification = networks.read(folder, duration, objective)?;
        if let Some(written) = &networks.others {
            if specification.second_mbps.is_some() {
                let problem = "with a second link all senders have the same scheme";
                return Err(SpecificationError::value("networks.others", problem));
            }
            let others = others::read(written, folder, specification.params())?;
            specification.others = Some(others);
        }
        let counts = specification.ranges().map(|range| range.count());
        let draws = specification.draws as usize;
        let all = counts.iter().try_fold(draws, |all, &count| all.checked_mul(count));
        if !all.is_some_and(|all| (1..=MAX_NETWORKS).contains(&all)) {
            let problem = format!("there are no networks, or more than {MAX_NETWORKS}");
            return Err(SpecificationError::value("networks", problem));
        }
        specification.traces.check(specification.networks(), specification.duration)?;
        Ok(specification)
    }
}

/// Returns the numbers from `least` to `most` that `read` understands.
fn kind(key: &'static str, least: f64, most: f64, unit: Unit) -> Kind {
    Kind { key, least, most, unit }
}

/// Reads the times in milliseconds of an optional key; zero without it.
fn time(
    key: &'static str,
    written: Option<&Value>,
    most: f64,
) -> Result<Range, SpecificationError> {
    written.map_or(Ok(Range::one(0.0)), |written| kind(key, 0.0, most, MILLIS).range(written))
}

impl Networks {
    /// Reads the table, and returns the specification but for its `others`.
    fn read(
        &self,
        folder: Option<&Path>,
        duration: RunLength,
        objective: Objective,
    ) -> Result<Specification, SpecificationError> {
        let loss = match &self.loss {
            None => Range::one(0.0),
            Some(written) => kind("networks.loss", 0.0, 0.999, NUMBER).range(written)?,
        };
        let buffer = match &self.buffer {
            None => BufferSize::Unlimited.into(),
            Some(written) => Buffers::read(written)?,
        };
        let (queues, queue) = match &self.queue {
            None => (Vec::new(), Range::one(0.0)),
            Some(written) => queues(written)?,
        };
        let router = match &self.router {
            None => RouterChoice::Auto,
            Some(text) => check_router(text)
                .map_err(|problem| SpecificationError::value("networks.router", problem))?,
        };
        let (link_mbps, traces) = self.capacity(folder)?;
        let (on_s, on_unit) = self.on_periods()?;
        Ok(Specification {
            link_mbps,
            random_trace_start: self.has_random_trace_start(&traces)?,
            traces,
            jitter_ms: time("networks.jitter", self.jitter.as_ref(), 1e4)?,
            ack_slot_ms: time("networks.ack_aggregation", self.ack_aggregation.as_ref(), 1e4)?,
            starts_ms: time("networks.starts", self.starts.as_ref(), 1e9)?,
            acked_packets: match &self.delayed_acks {
                None | Some(Value::Boolean(false)) => Range::one(1.0),
                Some(Value::Boolean(true)) => Range::one(2.0),
                Some(written) => {
                    kind("networks.delayed_acks", 1.0, 1000.0, NUMBER).range(written)?
                }
            },
            resolution: self.resolution.as_deref().map(resolution).transpose()?,
            second_mbps: match &self.second_link {
                None => None,
                Some(second) => Some(kind("networks.second_link", 1e-3, 1e6, MBPS).range(second)?),
            },
            queues,
            queue,
            others: None,
            on_unit,
            on_s,
            rtt_ms: kind("networks.rtt", 1e-3, 3.6e6, MILLIS).range(&self.rtt)?,
            senders: kind("networks.senders", 1.0, MAX_SENDERS, NUMBER).range(&self.senders)?,
            off_s: kind("networks.off", 0.0, 1e6, SECONDS).range(&self.off)?,
            buffer,
            loss,
            router,
            draws: self.draws.unwrap_or(1),
            duration,
            objective,
        })
    }

    /// Reads the capacity: the rates of links, or the recordings and the range of their indices.
    fn capacity(&self, folder: Option<&Path>) -> Result<(Range, Traces), SpecificationError> {
        match (&self.link, &self.traces) {
            (Some(link), None) => {
                Ok((kind("networks.link", 1e-3, 1e6, MBPS).range(link)?, Traces::default()))
            }
            (None, Some(written)) => {
                let (traces, places) = Traces::read(written, folder)?;
                Ok((places, traces))
            }
            _ => Err(SpecificationError::value("networks", "write one of link and traces")),
        }
    }

    /// Reads the mean length of on-periods, and its unit.
    fn on_periods(&self) -> Result<(Range, OnUnit), SpecificationError> {
        let (kind, written, unit) = match (&self.on, &self.on_bytes, &self.on_icsi) {
            (Some(on), None, None) => {
                (kind("networks.on", 1e-6, 1e6, SECONDS), on, OnUnit::Seconds)
            }
            (None, Some(on), None) => {
                (kind("networks.on_bytes", 1.0, 1e12, BYTES), on, OnUnit::Bytes)
            }
            (None, None, Some(on)) => {
                (kind("networks.on_icsi", 0.0, 1e12, BYTES), on, OnUnit::Icsi)
            }
            _ => {
                let problem = "write one of on, on_bytes and on_icsi";
                return Err(SpecificationError::value("networks", problem));
            }
        };
        Ok((kind.range(written)?, unit))
    }

    /// Returns true if each run starts at a random place of its recording.
    fn has_random_trace_start(&self, traces: &Traces) -> Result<bool, SpecificationError> {
        match self.trace_start {
            None | Some(TraceStart::Beginning) => Ok(false),
            Some(TraceStart::Random) if !traces.is_empty() => Ok(true),
            Some(TraceStart::Random) => {
                let problem = "there are no traces: write networks.traces, or remove it";
                Err(SpecificationError::value("networks.trace_start", problem))
            }
        }
    }
}

/// Reads the resolution of senders' clocks: up to a second.
fn resolution(text: &str) -> Result<Span, SpecificationError> {
    let read = Span::read(text).and_then(|time| match time <= Span::from_secs(1) {
        true => Ok(time),
        false => Err(format!("{time} is too much: write \"1s\" or less")),
    });
    read.map_err(|problem| SpecificationError::value("networks.resolution", problem))
}

/// Reads queue names. Returns the queues and the range of their indices.
fn queues(written: &Value) -> Result<(Vec<Spec>, Range), SpecificationError> {
    let fail = |problem: String| SpecificationError::value("networks.queue", problem);
    let (names, places) = names("networks.queue", written)?;
    let known = Names::default();
    let queue = |name: &String| {
        let spec = Spec::parse(name).map_err(|error| fail(error.to_string()))?;
        known.check_queue(&spec).map_err(|error| fail(error.to_string()))?;
        Ok(spec)
    };
    Ok((names.iter().map(queue).collect::<Result<_, _>>()?, places))
}
