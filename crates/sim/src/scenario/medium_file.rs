//! `[[medium]]` in scenario files.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_path::medium::{MAX_SCALE, Preamble};
use serde::Deserialize;
use toml::Spanned;

use super::medium::{Direction, Layer, MediumSpec, PortSpec, StationPort, StationUse};
use super::read::{self, Buffer, Period, Speed};
use super::reader::Reader;
use super::{Scenario, ScenarioError};

/// The most stations of a medium.
const STATIONS: usize = 500;
/// The fastest data frames: 54 Mbit/s at the largest scale.
const FASTEST: Rate = Rate::from_bps(54_000_000 * MAX_SCALE as u64);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileMedium {
    name: Spanned<String>,
    layer: Option<FileLayer>,
    preamble: Option<Spanned<FilePreamble>>,
    scale: Option<Spanned<u32>>,
    basic_rates: Option<Spanned<Vec<Speed>>>,
    rts_above: Option<u32>,
    protection: Option<bool>,
    immediate_access: Option<bool>,
    after_collision: Option<FileWait>,
    transmissions: Option<Spanned<u32>>,
    rate: Option<Spanned<Speed>>,
    queue: Option<Spanned<String>>,
    buffer: Option<Spanned<Buffer>>,
    router: Option<Spanned<String>>,
    access_point: Option<FilePort>,
    #[serde(rename = "station", default)]
    stations: Vec<Spanned<FileStation>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
enum FileLayer {
    #[serde(rename = "802.11b")]
    B,
    #[serde(rename = "802.11g")]
    G,
    #[serde(rename = "802.11a")]
    A,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum FilePreamble {
    Long,
    Short,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum FileWait {
    Eifs,
    Difs,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FilePort {
    queue: Option<Spanned<String>>,
    buffer: Option<Spanned<Buffer>>,
    router: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStation {
    name: Spanned<String>,
    rate: Option<Spanned<Speed>>,
    rates: Option<Spanned<Vec<FileStep>>>,
    frame_error: Option<Spanned<f64>>,
    bit_error: Option<Spanned<f64>>,
    queue: Option<Spanned<String>>,
    buffer: Option<Spanned<Buffer>>,
    router: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    at: Period,
    rate: Speed,
}

/// The direction of a flow in a file.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileDirection {
    Down,
    Up,
}

impl Reader<'_> {
    /// A medium with its stations.
    pub(super) fn medium(
        &self,
        read: FileMedium,
        sofar: &Scenario,
    ) -> Result<MediumSpec, ScenarioError> {
        let taken = sofar.media.iter().any(|medium| medium.name == *read.name.get_ref());
        if taken || sofar.links.iter().any(|link| link.name == *read.name.get_ref()) {
            let message = "another medium or link has this name";
            return self.fail(&read.name, message, "give each medium its own name");
        }
        let layer = match (read.layer.unwrap_or(FileLayer::B), &read.preamble) {
            (FileLayer::B, None) => Layer::B(Preamble::Long),
            (FileLayer::B, Some(preamble)) => Layer::B(match preamble.get_ref() {
                FilePreamble::Long => Preamble::Long,
                FilePreamble::Short => Preamble::Short,
            }),
            (_, Some(preamble)) => {
                let help = "leave preamble out, or write layer = \"802.11b\"";
                return self.fail(preamble, "only 802.11b has long and short preambles", help);
            }
            (FileLayer::G, None) => Layer::G,
            (FileLayer::A, None) => Layer::A,
        };
        let mut medium = MediumSpec::new(read.name.get_ref(), layer);
        if let Some(scale) = &read.scale {
            medium.scale = *scale.get_ref();
            if !(1..=MAX_SCALE).contains(&medium.scale) {
                let message = format!("scale is outside 1..{MAX_SCALE}");
                return self.fail(scale, message, "write scale = 2, with twice the rates");
            }
        }
        if let Some(rates) = &read.basic_rates {
            medium.basic_rates = rates.get_ref().iter().map(|rate| rate.0).collect();
            let sane = |rate: &Rate| rate.as_bps() > 0 && medium.phy().has_rate(*rate);
            if medium.basic_rates.is_empty() || !medium.basic_rates.iter().all(sane) {
                let message = "basic_rates are rates of the layer, at least one";
                return self.fail(rates, message, "write basic_rates = [\"1Mbps\", \"2Mbps\"]");
            }
        }
        (medium.rts, medium.protection) = (read.rts_above, read.protection.unwrap_or(false));
        medium.immediate_access = read.immediate_access.unwrap_or(true);
        medium.eifs_after_collision =
            read.after_collision.map(|wait| matches!(wait, FileWait::Eifs));
        if let Some(times) = &read.transmissions {
            medium.transmissions = *times.get_ref();
            if !(1..=255).contains(&medium.transmissions) {
                let message = "transmissions is outside 1..255";
                return self.fail(times, message, "write transmissions = 7");
            }
        }
        let usual = FilePort { queue: read.queue, buffer: read.buffer, router: read.router };
        let usual = self.port(usual, &PortSpec::packets(50))?;
        medium.access_point = self.port(read.access_point.unwrap_or_default(), &usual)?;
        if read.stations.is_empty() || read.stations.len() > STATIONS {
            let message = format!("a medium has 1 to {STATIONS} stations");
            let help = "add [[medium.station]] with name and rate";
            return self.fail(&read.name, message, help);
        }
        for station in read.stations {
            let station = self.station(station.into_inner(), &medium, &read.rate, &usual, sofar)?;
            medium.stations.push(station);
        }
        Ok(medium)
    }

    /// What a port says, or else what `usual` has.
    fn port(&self, read: FilePort, usual: &PortSpec) -> Result<PortSpec, ScenarioError> {
        let mut port = usual.clone();
        if let Some(queue) = &read.queue {
            port.queue = read::queue(queue.get_ref(), self.names)
                .map_err(|error| self.wrong(queue, error))?;
        }
        if let Some(router) = &read.router {
            port.router = read::router(router.get_ref(), self.names)
                .map_err(|message| self.wrong(router, message))?;
        }
        if let Some(buffer) = &read.buffer {
            port.buffer = buffer.get_ref().0;
            if let BufferSize::Bdp(_) = port.buffer {
                let message = "the rate of a station at a medium depends on the others, so that \
                               there is no bandwidth-delay product";
                return self.fail(buffer, message, "write buffer = 50 (packets)");
            }
        }
        Ok(port)
    }

    fn station(
        &self,
        read: FileStation,
        medium: &MediumSpec,
        rate: &Option<Spanned<Speed>>,
        usual: &PortSpec,
        sofar: &Scenario,
    ) -> Result<StationPort, ScenarioError> {
        let name = read.name.get_ref();
        let taken = medium.stations.iter().any(|station| station.name == *name);
        if taken || sofar.station(name).is_some() {
            let message = format!("two stations are called `{name}`");
            return self.fail(&read.name, message, "give each station its own name");
        }
        let mut station = StationPort::new(name, Rate::ZERO);
        let place = match (&read.rate, &read.rates) {
            (Some(rate), None) => {
                station.rates = vec![(Span::ZERO, rate.get_ref().0)];
                Spanned::new(rate.span(), ())
            }
            (None, Some(steps)) => {
                let step = |step: &FileStep| (step.at.0, step.rate.0);
                station.rates = steps.get_ref().iter().map(step).collect();
                let made = paceline_path::Service::schedule(&station.rates, None);
                if let Err(error) = made {
                    let help = "write rates = [{ at = \"0s\", rate = \"54Mbps\" }, { at = \"20s\", \
                                rate = \"2Mbps\" }]";
                    return self.fail(steps, error.to_string(), help);
                }
                Spanned::new(steps.span(), ())
            }
            (None, None) if rate.is_some() => {
                let rate = rate.as_ref().map_or(Rate::ZERO, |rate| rate.get_ref().0);
                station.rates = vec![(Span::ZERO, rate)];
                Spanned::new(read.name.span(), ())
            }
            _ => {
                let message = format!("station `{name}` needs either rate or rates");
                let help = "write rate = \"11Mbps\", for the station or for the medium";
                return self.fail(&read.name, message, help);
            }
        };
        let phy = medium.phy();
        if let Some((_, rate)) =
            station.rates.iter().find(|(_, rate)| !phy.has_rate(*rate) || *rate > FASTEST)
        {
            let message = format!("the layer has no rate of {rate}");
            let help = "802.11b takes any rate; 802.11a and g have 6, 9, 12, 18, 24, 36, 48 and \
                        54 Mbit/s, times the scale";
            return self.fail(&place, message, help);
        }
        for (value, into) in [
            (&read.frame_error, &mut station.frame_error),
            (&read.bit_error, &mut station.bit_error),
        ] {
            let Some(value) = value else { continue };
            *into = *value.get_ref();
            if !(0.0..1.0).contains(into) {
                return self.fail(value, "a probability below 1", "10 % is written 0.1");
            }
        }
        let own = FilePort { queue: read.queue, buffer: read.buffer, router: read.router };
        station.port = self.port(own, usual)?;
        Ok(station)
    }

    /// The station that a flow names.
    pub(super) fn station_use(
        &self,
        station: &Option<Spanned<String>>,
        direction: &Option<Spanned<FileDirection>>,
        scenario: &Scenario,
    ) -> Result<Option<StationUse>, ScenarioError> {
        let Some(station) = station else {
            let Some(direction) = direction else { return Ok(None) };
            let help = "write station = \"laptop\", or leave direction out";
            return self.fail(direction, "a direction without a station", help);
        };
        let name = station.get_ref();
        if scenario.station(name).is_none() {
            let stations = scenario.media.iter().flat_map(|medium| &medium.stations);
            let known: Vec<_> = stations.map(|station| station.name.as_str()).collect();
            let help = match known.is_empty() {
                true => "add [[medium]] with [[medium.station]]".to_string(),
                false => format!("the stations are {}", known.join(", ")),
            };
            return self.fail(station, format!("there is no station `{name}`"), &help);
        }
        let direction = match direction.as_ref().map(|direction| direction.get_ref()) {
            Some(FileDirection::Up) => Direction::Up,
            Some(FileDirection::Down) | None => Direction::Down,
        };
        Ok(Some(StationUse { station: name.clone(), direction }))
    }
}
