//! Flows, and what they send.

use paceline_cc::{AckPolicy, EcnFeedback, Span};
use paceline_flow::{Amount, LossRecovery, On, RttSamples, Video, Workload};

use super::link::stretch;
use super::nameless;
use super::text::{Table, exact, list, number, preimage, quoted};
use crate::scenario::file::error::ScenarioError;
use crate::scenario::spec::{Arrivals, Direction, FlowSpec, Scenario, SchemeChoice};

/// A flow with its heading.
pub(super) fn flow(spec: &FlowSpec, scenario: &Scenario) -> Result<String, ScenarioError> {
    let mut table = common(spec, scenario)?;
    workload(&mut table, &spec.workload, scenario.mss)?;
    Ok(format!("[[flow]]\n{}", table.lines()))
}

/// Short flows with their heading.
pub(super) fn arrivals(spec: &Arrivals, scenario: &Scenario) -> Result<String, ScenarioError> {
    if spec.flow.workload != Workload::Bulk {
        let message = "flows that arrive at random have a workload, which nothing reads";
        return Err(ScenarioError::new(message).help("let it be bulk; their sizes are `bytes`"));
    }
    let mut table = common(&spec.flow, scenario)?;
    let mut arrivals = Table::default();
    arrivals.set("per_second", number("per_second", spec.per_second)?);
    match spec.bytes {
        Amount::Fixed(bytes) => arrivals.set("bytes", number("bytes", bytes)?),
        Amount::Exponential(mean) => {
            arrivals.set("bytes", number("bytes", mean)?);
            arrivals.set("sizes", quoted("exponential"));
        }
        Amount::Pareto { shape, scale } => {
            let gives = |mean| shape > 1.0 && pareto_scale(shape, mean) == scale;
            let mean = preimage(pareto_mean(shape, scale), gives).ok_or_else(|| {
                ScenarioError::new("no mean size gives this Pareto distribution")
                    .help("files write sizes by their mean, which needs a shape above 1")
            })?;
            arrivals.set("bytes", number("bytes", mean)?);
            arrivals.set("sizes", quoted("pareto"));
            arrivals.set("shape", number("shape", shape)?);
        }
        Amount::Icsi { .. } => {
            let message = "flows that arrive at random have the flow lengths of ICSI";
            return Err(ScenarioError::new(message).help("in files only on-periods have them"));
        }
    }
    table.set("arrivals", arrivals.inline());
    Ok(format!("[[flow]]\n{}", table.lines()))
}

/// What flows of all kinds have.
fn common(spec: &FlowSpec, scenario: &Scenario) -> Result<Table, ScenarioError> {
    let has_name = match &spec.scheme {
        SchemeChoice::Named(_) => true,
        SchemeChoice::Custom(_) => false,
        SchemeChoice::Transport(made) => made.has_name(),
    };
    if !has_name {
        return Err(nameless("scheme", spec.scheme.name()));
    }
    let usual = FlowSpec::bulk(spec.scheme.clone(), &[]);
    let mut table = Table::default();
    if spec.name != usual.name {
        table.set("name", quoted(&spec.name));
    }
    table.set("scheme", quoted(&spec.scheme.to_string()));
    table.plain("count", spec.count, usual.count);
    let route = |names: &[String]| {
        let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
        list(&names)
    };
    let only = matches!(&scenario.links[..], [link] if spec.path == [link.name.as_str()]);
    let none = scenario.links.is_empty() && spec.path.is_empty();
    if !only && !none {
        table.set("path", route(&spec.path));
    }
    if !spec.back.is_empty() {
        table.set("back", route(&spec.back));
    }
    if let Some(hop) = &spec.station {
        table.set("station", quoted(&hop.station));
        if hop.direction == Direction::Up {
            table.set("direction", quoted("up"));
        }
    }
    table.unless("rtt", spec.rtt, usual.rtt)?;
    stretch(&mut table, "data", &spec.data)?;
    stretch(&mut table, "acks", &spec.acks)?;
    table.unless("start", spec.start, usual.start)?;
    if let Some(stop) = &spec.stop {
        table.set("stop", exact("stop", stop)?);
    }
    table.unless("stagger", spec.stagger, usual.stagger)?;
    table.unless("stagger_stop", spec.stagger_stop, usual.stagger_stop)?;
    table.plain("handshake", spec.handshake, usual.handshake);
    if let Some(AckPolicy { every, delay }) = spec.ack {
        if delay != AckPolicy::DELAYED.delay {
            let message = format!("acknowledgements are delayed by {delay} at most");
            let help = format!("in files it is always {}", AckPolicy::DELAYED.delay);
            return Err(ScenarioError::new(message).help(help));
        }
        table.set("ack_every", every.to_string());
    }
    if let Some(bytes) = spec.receive_window {
        table.set("receive_window", bytes.to_string());
    }
    match spec.ecn {
        EcnFeedback::Accurate => {}
        EcnFeedback::Classic => table.set("ecn", quoted("classic")),
        EcnFeedback::Off => table.set("ecn", quoted("off")),
    }
    let (recovery, samples) = match spec.recovery {
        LossRecovery::Sack => return Ok(table),
        LossRecovery::Rfc9002 => ("rfc9002", RttSamples::Each),
        LossRecovery::NewReno(samples) => ("newreno", samples),
        LossRecovery::Reno(samples) => ("reno", samples),
    };
    table.set("recovery", quoted(recovery));
    if samples == RttSamples::One {
        table.set("timestamps", "false".into());
    }
    Ok(table)
}

fn workload(into: &mut Table, workload: &Workload, mss: u32) -> Result<(), ScenarioError> {
    let mut table = Table::default();
    let key = match workload {
        Workload::Bulk => return Ok(()),
        Workload::Bytes(bytes) => {
            into.set("bytes", bytes.to_string());
            return Ok(());
        }
        Workload::Limited { rate, message } => {
            table.set("rate", exact("rate", rate)?);
            table.plain("message", *message, mss);
            "limited"
        }
        Workload::OnOff { on, off, starts_off, fresh } => {
            let shape = self::on(&mut table, on)?;
            let Amount::Exponential(mean) = *off else {
                let message = "off-periods are not exponential";
                return Err(ScenarioError::new(message).help("in files they always are"));
            };
            table.set("off", period("off", mean, |period| period == mean)?);
            if let Some(shape) = shape {
                table.set("pareto", number("pareto", shape)?);
            }
            table.plain("starts_off", *starts_off, true);
            table.plain("fresh", *fresh, true);
            "on_off"
        }
        Workload::Video(video) => {
            self::video(&mut table, video)?;
            "video"
        }
        Workload::Supplied => {
            return Err(ScenarioError::new("the flow's data is supplied by a driver").help(
                "in files flows make their data themselves: bulk, bytes, rate, on_off, video",
            ));
        }
    };
    into.set(key, table.inline());
    Ok(())
}

/// On-periods; the shape of their distribution if it is Pareto's.
fn on(table: &mut Table, on: &On) -> Result<Option<f64>, ScenarioError> {
    let (On::Time(amount) | On::Bytes(amount)) = *on;
    if let (On::Bytes(_), Amount::Icsi { plus }) = (on, amount) {
        table.set("on_icsi", number("on_icsi", plus)?);
        return Ok(None);
    }
    // What the parser makes of a mean; see there.
    let (guess, shape) = match amount {
        Amount::Fixed(_) => {
            return Err(ScenarioError::new("on-periods are all of one length")
                .help("in files they are exponential or Pareto"));
        }
        Amount::Icsi { .. } => {
            return Err(ScenarioError::new("on-periods have the flow lengths of ICSI as times")
                .help("these are bytes: On::Bytes"));
        }
        Amount::Exponential(mean) => (mean, None),
        Amount::Pareto { shape, scale } => (pareto_mean(shape, scale), Some(shape)),
    };
    let gives = |mean: f64| match amount {
        Amount::Pareto { shape, scale } => pareto_scale(shape, mean) == scale,
        _ => mean == guess,
    };
    match on {
        On::Time(_) => table.set("on", period("on", guess, gives)?),
        On::Bytes(_) => {
            let mean = preimage(guess, gives).ok_or_else(|| {
                ScenarioError::new(format!("no mean of {guess} bytes gives these on-periods"))
                    .help("files write on-periods by their mean")
            })?;
            table.set("on_bytes", number("on_bytes", mean)?);
        }
    }
    Ok(shape)
}

/// The least value of a Pareto distribution with this mean, as the parser computes it.
fn pareto_scale(shape: f64, mean: f64) -> f64 {
    if shape > 1.0 { mean * (shape - 1.0) / shape } else { mean }
}

/// The mean of a Pareto distribution with this least value, but for rounding.
fn pareto_mean(shape: f64, scale: f64) -> f64 {
    if shape > 1.0 { scale * shape / (shape - 1.0) } else { scale }
}

/// The time next to `seconds` that `gives` what is wanted: files write whole nanoseconds.
fn period(key: &str, seconds: f64, gives: impl Fn(f64) -> bool) -> Result<String, ScenarioError> {
    let nanos = Span::from_secs_f64(seconds).as_nanos();
    let near = (nanos.saturating_sub(1)..=nanos.saturating_add(1)).map(Span::from_nanos);
    match near.into_iter().find(|span| gives(span.as_secs_f64())) {
        Some(span) => exact(key, &span),
        None => {
            let message = format!("{key} is {seconds} s in the mean");
            Err(ScenarioError::new(message).help("files write whole nanoseconds"))
        }
    }
}

fn video(table: &mut Table, video: &Video) -> Result<(), ScenarioError> {
    let usual = Video::default();
    table.fraction("fps", video.fps, usual.fps)?;
    table.unless("min", video.min, usual.min)?;
    table.unless("max", video.max, usual.max)?;
    table.unless("lag", video.lag, usual.lag)?;
    table.fraction("noise", video.noise, usual.noise)?;
    table.plain("key_every", video.key_every, usual.key_every);
    table.fraction("key_size", video.key_size, usual.key_size)?;
    table.unless("queue", video.queue, usual.queue)
}
