//! Stations of shared media: their rates and their noise.

use paceline_cc::{ParamValue, Rate, Span};
use paceline_path::BufferSize;
use paceline_wifi::{MAX_SCALE, RateControl};
use serde::Deserialize;

use super::document::{FormError, FromNode, Node};
use super::error::ScenarioError;
use super::keys::{Section as _, below, keys, within};
use super::reader::{At, Place as _, Reader};
use super::table::Table;
use super::text::quoted;
use super::value::{FileValue, Period};
use super::wifi::{FileMcs, steps_written};
use crate::scenario::spec::{
    Layer, McsSpec, MediumSpec, PortSpec, QueueChoice, RouterChoice, Scenario, StationPort,
};

/// Maximum rate of data frames: 54 Mbit/s at the largest scale.
const FASTEST: Rate = Rate::from_bps(54_000_000 * MAX_SCALE as u64);

keys! {
    /// A station of a medium.
    FileStation: "medium.station" of StationPort = StationPort::new("", Rate::ZERO);
    /// different from the names of all other stations
    [required] name: String => name;
    /// rate of data frames to and from the station; `"minstrel"` if the senders at both ends choose
    /// it by which frames arrive
    rate: FileRate, default "that of the medium";
    /// instead of `rate`: `[{ at = "0s", rate = "54Mbps" }, { at = "20s", rate = "2Mbps" }]`
    rates: Vec<(Span, Rate)>;
    /// 802.11n, in place of the rate: an index from 0 to 15, or steps `[{ at = "0s", mcs = 1 }, ...]`
    mcs: McsSpec, default "that of the medium";
    /// 802.11n: maximum number of frames in an A-MPDU to or from the station
    max_frames: u32, default "that of the medium", in within(1..=64, "write max_frames = 32")
        => max_frames;
    /// signal-to-noise ratio in decibels, or steps `[{ at = "0s", snr = 28 }, ...]`, which
    /// determines how often frames are damaged: fast and long frames most often. Not for 802.11b
    snr: Vec<(Span, f64)>, default "no noise" => snr;
    /// time after which the steps of `mcs` and `snr` repeat
    period: Span => period;
    /// probability that a data frame to or from the station is damaged
    frame_error: f64, in below(0.0..1.0, "10 % is written 0.1").or("{key} is a probability below 1")
        => frame_error;
    /// probability that a bit of such a frame is damaged: long frames are damaged more often
    bit_error: f64, in below(0.0..1.0, "10 % is written 0.1").or("{key} is a probability below 1")
        => bit_error;
    /// limit of the station's queue
    buffer: BufferSize, default "that of the medium" => port.buffer;
    /// its queue
    queue: QueueChoice, default "that of the medium" => port.queue;
    /// its router
    router: RouterChoice, default "that of the medium" => port.router;
}

/// `rate`: a rate, or `"minstrel"`.
#[derive(Clone, Copy)]
pub(super) enum FileRate {
    Fixed(Rate),
    Minstrel,
}

impl FromNode for FileRate {
    fn from_node(node: Node<'_>) -> Result<FileRate, FormError> {
        let span = node.span();
        let text = String::from_node(node)?;
        if text.trim() == "minstrel" {
            return Ok(FileRate::Minstrel);
        }
        let rate = <Rate as ParamValue>::read(text.trim()).map(FileRate::Fixed);
        rate.map_err(|problem| FormError {
            message: format!("`{text}`: {problem}"),
            span: Some(span),
        })
    }
}

impl FileValue for FileRate {
    type Written = FileRate;
    const KIND: &'static str = "rate or `\"minstrel\"`";

    fn read(_: &Reader<'_>, written: &At<FileRate>) -> Result<FileRate, ScenarioError> {
        Ok(written.value)
    }

    fn write(&self, key: &str) -> Result<String, ScenarioError> {
        match self {
            FileRate::Fixed(rate) => rate.write(key),
            FileRate::Minstrel => Ok(quoted("minstrel")),
        }
    }
}

/// `snr`: decibels, or steps.
#[derive(Deserialize)]
#[serde(untagged, expecting = "snr is a number of decibels, or a list of steps")]
pub(super) enum FileSnr {
    Always(f64),
    Steps(Vec<SnrStep>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SnrStep {
    at: Period,
    snr: f64,
}

impl FileValue for Vec<(Span, f64)> {
    type Written = FileSnr;
    const KIND: &'static str = "number or steps";

    fn read(reader: &Reader<'_>, written: &At<FileSnr>) -> Result<Self, ScenarioError> {
        let steps: Vec<_> = match &written.value {
            FileSnr::Always(decibels) => vec![(Span::ZERO, *decibels)],
            FileSnr::Steps(steps) => steps.iter().map(|step| (step.at.0, step.snr)).collect(),
        };
        if !steps.iter().all(|(_, snr)| (-50.0..=100.0).contains(snr)) {
            return reader.fail(written, "snr is outside -50..100", SNR_HELP);
        }
        Ok(steps)
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        steps_written("snr", self, false)
    }
}

const SNR_HELP: &str = "write snr = 25, or snr = [{ at = \"0s\", snr = 25 }, { at = \"5s\", snr = 10 }], \
                        period = \"10s\"";

/// The rates of stations that have no rate of their own.
pub(super) struct UsualRates<'a> {
    pub(super) rate: Option<&'a At<FileRate>>,
    pub(super) mcs: Option<&'a At<FileMcs>>,
}

impl Reader<'_> {
    pub(super) fn station(
        &self,
        file: &FileStation,
        medium: &MediumSpec,
        usual_rates: &UsualRates<'_>,
        usual: &PortSpec,
        sofar: &Scenario,
    ) -> Result<StationPort, ScenarioError> {
        let mut station = FileStation::usual();
        station.port = usual.clone();
        file.apply(self, &mut station)?;
        let name = &station.name;
        let taken = medium.stations.iter().any(|other| other.name == *name);
        if taken || sofar.station(name).is_some() {
            let message = format!("two stations are called `{name}`");
            return self.fail(&file.name, message, "give each station its own name");
        }
        self.needs_no_rate(&file.buffer, station.port.buffer)?;
        self.noise(file, medium, &station)?;
        self.rates(file, medium, usual_rates, &mut station)?;
        Ok(station)
    }

    /// Returns an error for noise and A-MPDUs that the layer does not have, and for steps that are
    /// not a schedule.
    fn noise(
        &self,
        file: &FileStation,
        medium: &MediumSpec,
        station: &StationPort,
    ) -> Result<(), ScenarioError> {
        if file.snr.is_some() {
            if let Layer::B(_) = medium.layer {
                let help = "leave snr out, or write frame_error, or another layer";
                return self.fail(&file.snr, "802.11b has no model of noise", help);
            }
            let flat: Vec<_> = station.snr.iter().map(|(at, _)| (*at, Rate::ZERO)).collect();
            let period = station.period.filter(|_| flat.len() > 1);
            if let Err(error) = paceline_path::Service::schedule(&flat, period) {
                return self.fail(&file.snr, error.to_string(), SNR_HELP);
            }
        }
        if file.max_frames.is_some() && !matches!(medium.layer, Layer::N(_)) {
            let help = "leave it out, or write layer = \"802.11n\"";
            return self.fail(&file.max_frames, "only 802.11n has A-MPDUs", help);
        }
        Ok(())
    }

    fn rates(
        &self,
        file: &FileStation,
        medium: &MediumSpec,
        usual: &UsualRates<'_>,
        station: &mut StationPort,
    ) -> Result<(), ScenarioError> {
        let own = file.rate.is_some() || file.rates.is_some() || file.mcs.is_some();
        let rate = file.rate.as_ref().or(usual.rate.filter(|_| !own));
        let mcs = file.mcs.as_ref().or(usual.mcs.filter(|_| !own));
        if let (Some(rate), Some(_)) = (rate, mcs) {
            let help = "write rate = \"minstrel\", or mcs = 7";
            return self.fail(rate, "either rate or mcs, not both", help);
        }
        if let Some(FileRate::Minstrel) = rate.map(|rate| rate.value) {
            if file.rates.is_some() {
                let help = "write rates, or rate = \"minstrel\"";
                return self.fail(&file.rates, "senders choose their rates themselves", help);
            }
            station.rate_control = RateControl::Minstrel;
            // The rate that routers assume before the first frame.
            let basic = medium.phy().basic_rates.into_iter().max();
            station.rates = vec![(Span::ZERO, basic.unwrap_or_default())];
        } else {
            match medium.layer {
                Layer::N(_) => self.station_mcs(file, rate, mcs, station)?,
                _ => self.station_rates(file, medium, rate, mcs, station)?,
            }
        }
        if file.period.is_some() && station.mcs.len() < 2 && station.snr.len() < 2 {
            let help = "write snr or mcs as a list of steps, or leave the period out";
            return self.fail(&file.period, "a period without steps", help);
        }
        Ok(())
    }

    fn station_mcs(
        &self,
        file: &FileStation,
        rate: Option<&At<FileRate>>,
        mcs: Option<&At<FileMcs>>,
        station: &mut StationPort,
    ) -> Result<(), ScenarioError> {
        let help = "write mcs = 7 or rate = \"minstrel\", for the station or for the medium";
        if let Some(rate) = rate {
            return self.fail(rate, "stations of 802.11n have an mcs, not a rate", help);
        }
        if file.rates.is_some() {
            return self.fail(&file.rates, "stations of 802.11n have an mcs, not rates", help);
        }
        let Some(mcs) = mcs else {
            let message = format!("station `{}` needs an mcs", station.name);
            return self.fail(&file.name, message, help);
        };
        let period = station.period.filter(|_| matches!(mcs.value, FileMcs::Steps(_)));
        match self.within(mcs, mcs.value.spec(period))? {
            McsSpec::Steps { steps, .. } => station.mcs = steps,
            McsSpec::Walk { .. } => {
                let help = "write steps, or an snr that changes and rate = \"minstrel\"";
                return self.fail(mcs, "stations of a medium have no random walks", help);
            }
        }
        Ok(())
    }

    fn station_rates(
        &self,
        file: &FileStation,
        medium: &MediumSpec,
        rate: Option<&At<FileRate>>,
        mcs: Option<&At<FileMcs>>,
        station: &mut StationPort,
    ) -> Result<(), ScenarioError> {
        if let Some(mcs) = mcs {
            let help = "write rate = \"54Mbps\", or layer = \"802.11n\"";
            return self.fail(mcs, "only 802.11n has an mcs", help);
        }
        let place = match (rate.map(|rate| rate.value), file.rates(self)?) {
            (Some(FileRate::Fixed(rate)), None) => {
                station.rates = vec![(Span::ZERO, rate)];
                file.rate.place().or(file.name.place())
            }
            (None, Some(steps)) => {
                if let Err(error) = paceline_path::Service::schedule(&steps, None) {
                    let help = "write rates = [{ at = \"0s\", rate = \"54Mbps\" }, { at = \"20s\", \
                                rate = \"2Mbps\" }]";
                    return self.fail(&file.rates, error.to_string(), help);
                }
                station.rates = steps;
                file.rates.place()
            }
            _ => {
                let message = format!("station `{}` needs either rate or rates", station.name);
                let help = "write rate = \"11Mbps\", for the station or for the medium";
                return self.fail(&file.name, message, help);
            }
        };
        let phy = medium.phy();
        let odd = |rate: &Rate| !phy.has_rate(*rate) || *rate > FASTEST;
        if let Some((_, rate)) = station.rates.iter().find(|(_, rate)| odd(rate)) {
            let message = format!("the layer has no rate of {rate}");
            let help = "802.11b takes any rate; 802.11a and g have 6, 9, 12, 18, 24, 36, 48 and \
                        54 Mbit/s, times the scale";
            return self.fail(&place, message, help);
        }
        Ok(())
    }
}

/// Writes the keys of a station.
pub(super) fn written(spec: &StationPort) -> Result<Table, ScenarioError> {
    let mut table = FileStation::written(spec, &FileStation::usual())?;
    match &spec.rates[..] {
        _ if spec.rate_control == RateControl::Minstrel => {
            table.put("rate", &FileRate::Minstrel)?;
        }
        _ if !spec.mcs.is_empty() => table.set("mcs", steps_written("mcs", &spec.mcs, false)?),
        [(Span::ZERO, rate)] => table.put("rate", rate)?,
        _ => table.put("rates", &spec.rates)?,
    }
    Ok(table)
}
