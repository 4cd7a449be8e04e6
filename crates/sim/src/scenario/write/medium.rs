//! Shared media.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_path::medium::Preamble;

use super::super::{
    Layer, MediumSpec, PortSpec, QueueChoice, RouterChoice, ScenarioError, StationPort,
};
use super::nameless;
use super::text::{Table, exact, list, quoted};

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
    table.plain("transmissions", spec.transmissions, usual.transmissions);
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
        [(Span::ZERO, rate)] => table.set("rate", exact("rate", rate)?),
        steps => {
            let one = |(at, rate): &(Span, Rate)| {
                let mut step = Table::default();
                step.set("at", exact("at", at)?);
                step.set("rate", exact("rate", rate)?);
                Ok::<_, ScenarioError>(step.inline())
            };
            let steps: Vec<_> = steps.iter().map(one).collect::<Result<_, _>>()?;
            table.set("rates", list(&steps));
        }
    }
    table.fraction("frame_error", spec.frame_error, 0.0)?;
    table.fraction("bit_error", spec.bit_error, 0.0)?;
    port(&mut table, &spec.port)?;
    Ok(table)
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
        QueueChoice::Made(made) => return Err(nameless("queue", made.label())),
    }
    match &spec.router {
        RouterChoice::Auto => {}
        RouterChoice::None => table.set("router", quoted("none")),
        RouterChoice::Scheme(router) => table.set("router", quoted(&router.to_string())),
        RouterChoice::Made(made) => return Err(nameless("router", made.label())),
    }
    Ok(())
}
