//! The rates of stations in scenario files, and how much noise they have.

use paceline_cc::{ParamValue, Rate, Span};
use paceline_path::medium::{MAX_SCALE, RateControl};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use toml::Spanned;

use super::error::ScenarioError;
use super::medium::FileStation;
use super::read::Period;
use super::reader::Reader;
use crate::scenario::spec::{Layer, MediumSpec, StationPort};
use crate::scenario::wifi::{self, FileMcs, McsSpec};

/// The fastest data frames: 54 Mbit/s at the largest scale.
const FASTEST: Rate = Rate::from_bps(54_000_000 * MAX_SCALE as u64);

/// `rate`: a rate, or `"minstrel"`.
#[derive(Clone, Copy)]
pub(super) enum FileRate {
    Fixed(Rate),
    Minstrel,
}

impl<'de> Deserialize<'de> for FileRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FileRate, D::Error> {
        let text = String::deserialize(from)?;
        if text.trim() == "minstrel" {
            return Ok(FileRate::Minstrel);
        }
        let rate = Rate::read(text.trim()).map(FileRate::Fixed);
        rate.map_err(|problem| D::Error::custom(format!("`{text}`: {problem}")))
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

/// The rates of stations that have none of their own.
pub(super) struct Usual {
    pub(super) rate: Option<Spanned<FileRate>>,
    pub(super) mcs: Option<Spanned<FileMcs>>,
}

impl Reader<'_> {
    /// Rates, noise and the size of batches of a station.
    pub(super) fn rates(
        &self,
        read: &FileStation,
        medium: &MediumSpec,
        usual: &Usual,
        station: &mut StationPort,
    ) -> Result<(), ScenarioError> {
        self.noise(read, medium, station)?;
        let own = read.rate.is_some() || read.rates.is_some() || read.mcs.is_some();
        let rate = read.rate.as_ref().or(usual.rate.as_ref().filter(|_| !own));
        let mcs = read.mcs.as_ref().or(usual.mcs.as_ref().filter(|_| !own));
        if let (Some(rate), Some(_)) = (rate, mcs) {
            let message = "either rate or mcs, not both";
            return self.fail(rate, message, "write rate = \"minstrel\", or mcs = 7");
        }
        if let Some(FileRate::Minstrel) = rate.map(Spanned::get_ref) {
            if let Some(steps) = &read.rates {
                let help = "write rates, or rate = \"minstrel\"";
                return self.fail(steps, "senders choose their rates themselves", help);
            }
            station.rate_control = RateControl::Minstrel;
            // What routers are told before the first frame.
            let basic = medium.phy().basic_rates.into_iter().max();
            station.rates = vec![(Span::ZERO, basic.unwrap_or_default())];
        } else {
            match medium.layer {
                Layer::N(_) => self.station_mcs(read, rate, mcs, station)?,
                _ => self.station_rates(read, medium, rate, mcs, station)?,
            }
        }
        match &read.period {
            Some(period) if station.mcs.len() < 2 && station.snr.len() < 2 => {
                let help = "write snr or mcs as a list of steps, or leave the period out";
                self.fail(period, "a period without steps", help)
            }
            _ => Ok(()),
        }
    }

    fn noise(
        &self,
        read: &FileStation,
        medium: &MediumSpec,
        station: &mut StationPort,
    ) -> Result<(), ScenarioError> {
        station.period = read.period.as_ref().map(|period| period.get_ref().0);
        if let Some(snr) = &read.snr {
            if let Layer::B(_) = medium.layer {
                let help = "leave snr out, or write frame_error, or another layer";
                return self.fail(snr, "802.11b has no model of noise", help);
            }
            station.snr = match snr.get_ref() {
                FileSnr::Always(decibels) => vec![(Span::ZERO, *decibels)],
                FileSnr::Steps(steps) => steps.iter().map(|step| (step.at.0, step.snr)).collect(),
            };
            let help = "write snr = 25, or snr = [{ at = \"0s\", snr = 25 }, { at = \"5s\", snr = 10 \
                        }], period = \"10s\"";
            if !station.snr.iter().all(|(_, snr)| (-50.0..=100.0).contains(snr)) {
                return self.fail(snr, "snr is outside -50..100", help);
            }
            let flat: Vec<_> = station.snr.iter().map(|(at, _)| (*at, Rate::ZERO)).collect();
            let period = station.period.filter(|_| flat.len() > 1);
            if let Err(error) = paceline_path::Service::schedule(&flat, period) {
                return self.fail(snr, error.to_string(), help);
            }
        }
        if let Some(most) = &read.max_frames {
            let Layer::N(_) = medium.layer else {
                let help = "leave it out, or write layer = \"802.11n\"";
                return self.fail(most, "only 802.11n has A-MPDUs", help);
            };
            station.max_frames = Some(self.checked_at(most, wifi::frames(*most.get_ref()))?);
        }
        Ok(())
    }

    fn station_mcs(
        &self,
        read: &FileStation,
        rate: Option<&Spanned<FileRate>>,
        mcs: Option<&Spanned<FileMcs>>,
        station: &mut StationPort,
    ) -> Result<(), ScenarioError> {
        let help = "write mcs = 7 or rate = \"minstrel\", for the station or for the medium";
        if let Some(rate) = rate {
            return self.fail(rate, "stations of 802.11n have an mcs, not a rate", help);
        }
        if let Some(rates) = &read.rates {
            return self.fail(rates, "stations of 802.11n have an mcs, not rates", help);
        }
        let Some(mcs) = mcs else {
            let message = format!("station `{}` needs an mcs", read.name.get_ref());
            return self.fail(&read.name, message, help);
        };
        let steps = matches!(mcs.get_ref(), FileMcs::Steps(_));
        let period = read.period.as_ref().map(|period| *period.get_ref()).filter(|_| steps);
        match self.checked_at(mcs, mcs.get_ref().spec(period))? {
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
        read: &FileStation,
        medium: &MediumSpec,
        rate: Option<&Spanned<FileRate>>,
        mcs: Option<&Spanned<FileMcs>>,
        station: &mut StationPort,
    ) -> Result<(), ScenarioError> {
        if let Some(mcs) = mcs {
            let help = "write rate = \"54Mbps\", or layer = \"802.11n\"";
            return self.fail(mcs, "only 802.11n has an mcs", help);
        }
        let place = match (rate.map(|rate| (rate, *rate.get_ref())), &read.rates) {
            (Some((place, FileRate::Fixed(rate))), None) => {
                station.rates = vec![(Span::ZERO, rate)];
                let own = read.rate.is_some();
                Spanned::new(if own { place.span() } else { read.name.span() }, ())
            }
            (None, Some(steps)) => {
                let step = |step: &super::medium::FileStep| (step.at.0, step.rate.0);
                station.rates = steps.get_ref().iter().map(step).collect();
                let made = paceline_path::Service::schedule(&station.rates, None);
                if let Err(error) = made {
                    let help = "write rates = [{ at = \"0s\", rate = \"54Mbps\" }, { at = \"20s\", \
                                rate = \"2Mbps\" }]";
                    return self.fail(steps, error.to_string(), help);
                }
                Spanned::new(steps.span(), ())
            }
            _ => {
                let message =
                    format!("station `{}` needs either rate or rates", read.name.get_ref());
                let help = "write rate = \"11Mbps\", for the station or for the medium";
                return self.fail(&read.name, message, help);
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
