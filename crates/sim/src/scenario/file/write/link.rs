//! Links, and what happens to packets behind them.

use paceline_cc::{Rate, Span};
use paceline_path::wifi::Mcs;
use paceline_path::{BufferSize, GilbertElliott, JitterShape, Loss};
use paceline_trace::Trace;

use super::nameless;
use super::text::{Table, exact, list, number, preimage, quoted};
use crate::scenario::file::error::ScenarioError;
use crate::scenario::file::limits::OPPORTUNITY;
use crate::scenario::spec::{Capacity, LinkSpec, QueueChoice, RouterChoice, Stretch};
use crate::scenario::wifi::{McsSpec, WifiSpec};

/// A link with its heading.
pub(super) fn link(
    spec: &LinkSpec,
    trace_file: &mut dyn FnMut(&Trace) -> String,
) -> Result<String, ScenarioError> {
    let mut table = Table::default();
    let mut wifi = None;
    table.set("name", quoted(&spec.name));
    match &spec.capacity {
        Capacity::Constant(rate) => table.set("rate", exact("rate", rate)?),
        Capacity::Schedule { steps, period } => {
            let one = |(at, rate): &(Span, Rate)| step(*at, "rate", exact("rate", rate)?);
            let steps: Vec<_> = steps.iter().map(one).collect::<Result<_, _>>()?;
            table.set("schedule", list(&steps));
            if let Some(period) = period {
                table.set("period", exact("period", period)?);
            }
        }
        Capacity::Trace { trace, opportunity, overhead, repeat } => {
            table.set("trace", quoted(&trace_file(trace)));
            if !(1..=OPPORTUNITY).contains(opportunity) {
                let message = format!("opportunity is {opportunity} bytes");
                let help = format!("an opportunity offers 1 to {OPPORTUNITY} bytes");
                return Err(ScenarioError::new(message).help(help));
            }
            table.plain("opportunity", *opportunity, 1504);
            table.plain("overhead", *overhead, 4);
            table.plain("once", !repeat, false);
        }
        Capacity::Wifi(spec) => wifi = Some(self::wifi(spec)?.lines()),
    }
    match spec.buffer {
        BufferSize::Packets(packets) => table.plain("buffer", packets, 250),
        size => table.set("buffer", exact("buffer", &size)?),
    }
    if let Some(rtt) = &spec.rtt {
        table.set("rtt", exact("rtt", rtt)?);
    }
    match &spec.queue {
        QueueChoice::Auto => {}
        QueueChoice::Named(queue) => table.set("queue", quoted(&queue.to_string())),
        QueueChoice::Custom(made) => return Err(nameless("queue", made.label())),
    }
    match &spec.router {
        RouterChoice::Auto => {}
        RouterChoice::None => table.set("router", quoted("none")),
        RouterChoice::Scheme(router) => table.set("router", quoted(&router.to_string())),
        RouterChoice::Custom(made) => return Err(nameless("router", made.label())),
    }
    stretch(&mut table, "after", &spec.after)?;
    let wifi = wifi.map(|wifi| format!("\n[link.wifi]\n{wifi}"));
    Ok(format!("[[link]]\n{}{}", table.lines(), wifi.unwrap_or_default()))
}

fn step(at: Span, key: &'static str, value: String) -> Result<String, ScenarioError> {
    let mut table = Table::default();
    table.set("at", exact("at", &at)?);
    table.set(key, value);
    Ok(table.inline())
}

fn wifi(spec: &WifiSpec) -> Result<Table, ScenarioError> {
    let usual = WifiSpec::new(spec.mcs.clone());
    let mut table = Table::default();
    match &spec.mcs {
        McsSpec::Steps { steps, period: None } if matches!(steps[..], [(Span::ZERO, _)]) => {
            table.set("mcs", steps.iter().map(|(_, mcs)| mcs.index().to_string()).collect());
        }
        McsSpec::Steps { steps, period } => {
            let one = |(at, mcs): &(Span, Mcs)| step(*at, "mcs", mcs.index().to_string());
            let steps: Vec<_> = steps.iter().map(one).collect::<Result<_, _>>()?;
            table.set("mcs", list(&steps));
            if let Some(period) = period {
                table.set("period", exact("period", period)?);
            }
        }
        McsSpec::Walk { min, max, every } => {
            let mut walk = Table::default();
            walk.set("min", min.index().to_string());
            walk.set("max", max.index().to_string());
            walk.set("every", exact("every", every)?);
            table.set("mcs", walk.inline());
        }
    }
    table.plain("max_frames", spec.max_frames, usual.max_frames);
    table.unless("max_airtime", spec.max_airtime, usual.max_airtime)?;
    table.plain("rts", spec.rts, usual.rts);
    table.fraction("frame_error", spec.frame_error, usual.frame_error)?;
    table.plain("retries", spec.retries, usual.retries);
    table.plain("contenders", spec.contenders, usual.contenders);
    table.unless("contender_airtime", spec.contender_airtime, usual.contender_airtime)?;
    table.unless("contender_gap", spec.contender_gap, usual.contender_gap)?;
    if spec.queue_per_station {
        table.set("queues", quoted("per-station"));
    }
    let mut stations = Vec::new();
    for spec in &spec.stations {
        let mut station = Table::default();
        let flows: Vec<_> = spec.flows.iter().map(|name| quoted(name)).collect();
        station.set("flows", format!("[{}]", flows.join(", ")));
        if let Some(mcs) = spec.mcs {
            station.set("mcs", mcs.index().to_string());
        }
        if let Some(frames) = spec.max_frames {
            station.set("max_frames", frames.to_string());
        }
        stations.push(station.inline());
    }
    if !stations.is_empty() {
        table.set("stations", list(&stations));
    }
    Ok(table)
}

/// Delay and damage, unless there is none.
pub(super) fn stretch(
    into: &mut Table,
    key: &'static str,
    stretch: &Stretch,
) -> Result<(), ScenarioError> {
    if *stretch == Stretch::default() {
        return Ok(());
    }
    let mut table = Table::default();
    let impairments = &stretch.impairments;
    table.unless("delay", stretch.delay, Span::ZERO)?;
    if let Some(delays) = &impairments.delays {
        table.set("delay_trace", quoted(delays.name()));
    }
    if let Some(jitter) = &impairments.jitter {
        table.set("jitter", exact("jitter", &jitter.mean)?);
        table.unless("jitter_sd", jitter.sd, jitter.mean)?;
        match jitter.shape {
            JitterShape::Exponential => {}
            JitterShape::Uniform => table.set("jitter_shape", quoted("uniform")),
            JitterShape::Normal => table.set("jitter_shape", quoted("normal")),
        }
    }
    table.plain("overtake", impairments.reorder_jitter, false);
    match &impairments.loss {
        Loss::None => {}
        Loss::Bernoulli(rate) => table.set("loss", number("loss", *rate)?),
        Loss::GilbertElliott(model) => {
            let (rate, burst) = bursts(model).ok_or_else(|| {
                ScenarioError::new("this Gilbert-Elliott model of loss cannot be written").help(
                    "files have those in which all is lost in the bad state and nothing in the \
                     good one, by mean loss and mean length of bursts",
                )
            })?;
            table.set("loss", number("loss", rate)?);
            table.set("burst", number("burst", burst)?);
        }
    }
    if let Some(reorder) = &impairments.reorder {
        table.set("reorder", number("reorder", reorder.probability)?);
        if let Some(extra) = &reorder.extra {
            table.set("reorder_by", exact("reorder_by", extra)?);
        }
    }
    table.fraction("duplicate", impairments.duplicate, 0.0)?;
    if let Some(slot) = &impairments.slot {
        table.set("slot", exact("slot", slot)?);
    }
    into.set(key, table.inline());
    Ok(())
}

/// The mean loss and the mean length of bursts that give this model, if any do.
fn bursts(model: &GilbertElliott) -> Option<(f64, f64)> {
    let (p, r) = model.transitions();
    let burst = preimage(1.0 / r, |burst| 1.0 / burst == r)?;
    let gives = |rate| GilbertElliott::with_bursts(rate, burst).is_ok_and(|made| made == *model);
    Some((preimage(p / (p + r), gives)?, burst))
}
