//! `[[medium]]` in scenario files.

use paceline_cc::{Rate, Span};
use paceline_path::medium::{ChannelWidth, GuardInterval, Ht, MAX_SCALE, Preamble};
use serde::Deserialize;
use toml::Spanned;

use super::error::ScenarioError;
use super::medium_rates::{FileRate, FileSnr, Usual};
use super::read::{self, Buffer, Period, Speed};
use super::reader::Reader;
use crate::scenario::spec::{
    Direction, Layer, MediumSpec, PortSpec, Scenario, StationPort, StationUse,
};
use crate::scenario::wifi::{self, FileContenders, FileMcs, Mistake};

/// The most stations of a medium.
const STATIONS: usize = 500;

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
    after_own_collision: Option<FileWait>,
    transmissions: Option<Spanned<u32>>,
    width: Option<Spanned<FileWidth>>,
    guard: Option<Spanned<FileGuard>>,
    band: Option<Spanned<FileBand>>,
    max_frames: Option<Spanned<u32>>,
    max_airtime: Option<Spanned<Period>>,
    contenders: Option<u32>,
    contender_airtime: Option<Period>,
    contender_gap: Option<Period>,
    rate: Option<Spanned<FileRate>>,
    mcs: Option<Spanned<FileMcs>>,
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
    #[serde(rename = "802.11n")]
    N,
}

#[derive(Deserialize, Clone, Copy)]
enum FileWidth {
    #[serde(rename = "20MHz")]
    Mhz20,
    #[serde(rename = "40MHz")]
    Mhz40,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum FileGuard {
    Long,
    Short,
}

#[derive(Deserialize, Clone, Copy)]
enum FileBand {
    #[serde(rename = "5GHz")]
    Ghz5,
    #[serde(rename = "2.4GHz")]
    Ghz2,
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
pub(super) struct FileStation {
    pub(super) name: Spanned<String>,
    pub(super) rate: Option<Spanned<FileRate>>,
    pub(super) rates: Option<Spanned<Vec<FileStep>>>,
    pub(super) mcs: Option<Spanned<FileMcs>>,
    pub(super) max_frames: Option<Spanned<u32>>,
    pub(super) snr: Option<Spanned<FileSnr>>,
    pub(super) period: Option<Spanned<Period>>,
    frame_error: Option<Spanned<f64>>,
    bit_error: Option<Spanned<f64>>,
    queue: Option<Spanned<String>>,
    buffer: Option<Spanned<Buffer>>,
    router: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileStep {
    pub(super) at: Period,
    pub(super) rate: Speed,
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
            (FileLayer::N, None) => Layer::N(Ht::default()),
        };
        let layer = self.high_throughput(layer, &read)?;
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
        medium.eifs_after_own_collision = matches!(read.after_own_collision, Some(FileWait::Eifs));
        if let Some(times) = &read.transmissions {
            medium.transmissions = *times.get_ref();
            if !(1..=255).contains(&medium.transmissions) {
                let message = "transmissions is outside 1..255";
                return self.fail(times, message, "write transmissions = 7");
            }
        }
        if let Some(most) = &read.max_frames {
            medium.max_frames = self.checked_at(most, wifi::frames(*most.get_ref()))?;
        }
        if let Some(longest) = &read.max_airtime {
            medium.max_airtime = self.checked_at(longest, wifi::airtime(*longest.get_ref()))?;
        }
        let others = FileContenders {
            contenders: read.contenders,
            contender_airtime: read.contender_airtime,
            contender_gap: read.contender_gap,
        };
        (medium.contenders, medium.contender_airtime, medium.contender_gap) =
            self.checked_at(&read.name, others.read())?;
        let rates = Usual { rate: read.rate, mcs: read.mcs };
        let usual = FilePort { queue: read.queue, buffer: read.buffer, router: read.router };
        let usual = self.port(usual, &PortSpec::packets(50))?;
        medium.access_point = self.port(read.access_point.unwrap_or_default(), &usual)?;
        if read.stations.is_empty() || read.stations.len() > STATIONS {
            let message = format!("a medium has 1 to {STATIONS} stations");
            let help = "add [[medium.station]] with name and rate";
            return self.fail(&read.name, message, help);
        }
        for station in read.stations {
            let station = self.station(station.into_inner(), &medium, &rates, &usual, sofar)?;
            medium.stations.push(station);
        }
        Ok(medium)
    }

    /// The layer with the settings of 802.11n, which others do not have.
    fn high_throughput(&self, layer: Layer, read: &FileMedium) -> Result<Layer, ScenarioError> {
        let Layer::N(mut ht) = layer else {
            let help = "leave it out, or write layer = \"802.11n\"";
            if let Some(width) = &read.width {
                return self.fail(width, "only 802.11n has channels of a width", help);
            }
            if let Some(guard) = &read.guard {
                return self.fail(guard, "only 802.11n has guard intervals", help);
            }
            if let Some(band) = &read.band {
                let help = "802.11a is at 5 GHz, 802.11b and g are at 2.4 GHz; leave it out";
                return self.fail(band, "only 802.11n is in both bands", help);
            }
            if let Some(most) = &read.max_frames {
                return self.fail(most, "only 802.11n has A-MPDUs", help);
            }
            if let Some(longest) = &read.max_airtime {
                return self.fail(longest, "only 802.11n has A-MPDUs", help);
            }
            return Ok(layer);
        };
        if let Some(FileWidth::Mhz40) = read.width.as_ref().map(Spanned::get_ref) {
            ht.width = ChannelWidth::Mhz40;
        }
        if let Some(FileGuard::Short) = read.guard.as_ref().map(Spanned::get_ref) {
            ht.guard = GuardInterval::Short;
        }
        if let Some(FileBand::Ghz2) = read.band.as_ref().map(Spanned::get_ref) {
            ht.extension = Span::from_micros(6);
        }
        Ok(Layer::N(ht))
    }

    /// A value that was checked, or the mistake at its place.
    pub(super) fn checked_at<T, P>(
        &self,
        place: &Spanned<P>,
        value: Result<T, Mistake>,
    ) -> Result<T, ScenarioError> {
        match value {
            Ok(value) => Ok(value),
            Err((message, help)) => self.fail(place, message, help),
        }
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
            if port.buffer.needs_rate() {
                let message = "the rate of a station at a medium depends on the others, so that \
                               a time or a bandwidth-delay product is no number of bytes";
                let help = "write buffer = 50 (packets), or buffer = \"sojourn=50ms\", which \
                            drops packets that have waited for longer";
                return self.fail(buffer, message, help);
            }
        }
        Ok(port)
    }

    fn station(
        &self,
        read: FileStation,
        medium: &MediumSpec,
        usual_rates: &Usual,
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
        self.rates(&read, medium, usual_rates, &mut station)?;
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
