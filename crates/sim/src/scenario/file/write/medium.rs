//! Shared media.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_path::medium::{ChannelWidth, GuardInterval, Mcs, Preamble, RateControl};

use super::nameless;
use super::text::{Table, exact, list, number, quoted};
use crate::scenario::file::error::ScenarioError;
use crate::scenario::spec::{Layer, MediumSpec, PortSpec, QueueChoice, RouterChoice, StationPort};

/// A medium with its heading, and its stations.
pub(super) fn medium(spec: &MediumSpec) -> Result<String, ScenarioError> {
    let usual = MediumSpec::new("", spec.layer);
    let mut table = Table::default();
    table.set("name", quoted(&spec.name));
    match spec.layer {
        Layer::B(Preamble::Long) => {}
        Layer::B(Preamble::Short) => table.set("preamble", quoted("short")),
        Layer::G => table.set("layer", quoted("802.11g")),
        Layer::A => table.set("layer", quoted("802.11a")),
        Layer::N(ht) => {
            table.set("layer", quoted("802.11n"));
            if ht.width == ChannelWidth::Mhz40 {
                table.set("width", quoted("40MHz"));
            }
            if ht.guard == GuardInterval::Short {
                table.set("guard", quoted("short"));
            }
            if !ht.extension.is_zero() {
                table.set("band", quoted("2.4GHz"));
            }
        }
    }
    table.plain("scale", spec.scale, usual.scale);
    if !spec.basic_rates.is_empty() {
        let one = |rate: &Rate| exact("basic_rates", rate);
        let rates: Vec<_> = spec.basic_rates.iter().map(one).collect::<Result<_, _>>()?;
        table.set("basic_rates", list(&rates));
    }
    if let Some(bytes) = spec.rts {
        table.set("rts_above", bytes.to_string());
    }
    table.plain("protection", spec.protection, usual.protection);
    table.plain("immediate_access", spec.immediate_access, usual.immediate_access);
    match spec.eifs_after_collision {
        None => {}
        Some(true) => table.set("after_collision", quoted("eifs")),
        Some(false) => table.set("after_collision", quoted("difs")),
    }
    if spec.eifs_after_own_collision {
        table.set("after_own_collision", quoted("eifs"));
    }
    table.plain("transmissions", spec.transmissions, usual.transmissions);
    table.plain("max_frames", spec.max_frames, usual.max_frames);
    table.unless("max_airtime", spec.max_airtime, usual.max_airtime)?;
    table.plain("contenders", spec.contenders, usual.contenders);
    table.unless("contender_airtime", spec.contender_airtime, usual.contender_airtime)?;
    table.unless("contender_gap", spec.contender_gap, usual.contender_gap)?;
    let mut port = Table::default();
    self::port(&mut port, &spec.access_point)?;
    if port.inline() != "{}" {
        table.set("access_point", port.inline());
    }
    let mut text = format!("[[medium]]\n{}", table.lines());
    for spec in &spec.stations {
        text += &format!("\n[[medium.station]]\n{}", station(spec)?.lines());
    }
    Ok(text)
}

fn station(spec: &StationPort) -> Result<Table, ScenarioError> {
    let mut table = Table::default();
    table.set("name", quoted(&spec.name));
    match &spec.rates[..] {
        _ if spec.rate_control == RateControl::Minstrel => table.set("rate", quoted("minstrel")),
        _ if !spec.mcs.is_empty() => table.set("mcs", mcs(&spec.mcs)?),
        [(Span::ZERO, rate)] => table.set("rate", exact("rate", rate)?),
        steps => {
            let one = |(at, rate): &(Span, Rate)| step(*at, "rate", exact("rate", rate)?);
            let steps: Vec<_> = steps.iter().map(one).collect::<Result<_, _>>()?;
            table.set("rates", list(&steps));
        }
    }
    if let Some(most) = spec.max_frames {
        table.set("max_frames", most.to_string());
    }
    match &spec.snr[..] {
        [] => {}
        [(Span::ZERO, snr)] => table.set("snr", number("snr", *snr)?),
        steps => {
            let one = |(at, snr): &(Span, f64)| step(*at, "snr", number("snr", *snr)?);
            let steps: Vec<_> = steps.iter().map(one).collect::<Result<_, _>>()?;
            table.set("snr", list(&steps));
        }
    }
    if let Some(period) = &spec.period {
        table.set("period", exact("period", period)?);
    }
    table.fraction("frame_error", spec.frame_error, 0.0)?;
    table.fraction("bit_error", spec.bit_error, 0.0)?;
    port(&mut table, &spec.port)?;
    Ok(table)
}

fn step(at: Span, key: &'static str, value: String) -> Result<String, ScenarioError> {
    let mut table = Table::default();
    table.set("at", exact("at", &at)?);
    table.set(key, value);
    Ok(table.inline())
}

fn mcs(steps: &[(Span, Mcs)]) -> Result<String, ScenarioError> {
    if let [(Span::ZERO, mcs)] = steps {
        return Ok(mcs.index().to_string());
    }
    let one = |(at, mcs): &(Span, Mcs)| step(*at, "mcs", mcs.index().to_string());
    Ok(list(&steps.iter().map(one).collect::<Result<Vec<_>, _>>()?))
}

/// The queue, buffer and router of a station.
fn port(table: &mut Table, spec: &PortSpec) -> Result<(), ScenarioError> {
    match spec.buffer {
        BufferSize::Packets(packets) => table.plain("buffer", packets, 50),
        size => table.set("buffer", exact("buffer", &size)?),
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
    Ok(())
}
