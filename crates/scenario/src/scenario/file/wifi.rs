//! 802.11 links, and modulation and coding over time.

use std::collections::BTreeSet;

use paceline_cc::{Rate, Span};
use paceline_wifi::Mcs;
use serde::Deserialize;

use super::channel::{check_contenders, keys_with_channel, write_contenders};
use super::error::ScenarioError;
use super::keys::{Inline, below, keys, within};
use super::limits::{self, Excess};
use super::reader::{At, Reader};
use super::table::Table;
use super::text::list;
use super::value::{FileValue, Period, words};
use crate::scenario::spec::{McsSpec, StationSpec, WifiSpec};

keys_with_channel! {
    {
        /// The link of an 802.11n access point.
        FileWifi: "link.wifi" of WifiSpec = WifiSpec::new(McsSpec::constant(Mcs::LOWEST));
        /// modulation and coding: an index from 0 to 15; steps `[{ at = "0s", mcs = 1 }, ...]` with
        /// a `period` if they repeat; or a random walk `{ min = 3, max = 7, every = "2s" }`, which
        /// at each step goes up by one, down by one, or stays
        [required] mcs: McsSpec;
        /// time after which the steps of `mcs` repeat
        period: Span;
    }
    {
        /// RTS and CTS precede each batch, so that a collision destroys only the RTS
        rts: bool => rts;
        /// probability that a frame is lost, independently for each frame
        frame_error: f64, in below(0.0..1.0, "10 % is written 0.1").or("{key} is a probability below 1")
            => frame_error;
        /// number of retransmissions after which a frame is given up
        retries: u32, in within(0..=255, "write retries = 7").or("more than {most} retries") => retries;
        /// `"shared"`: all stations share one queue and one router; `"per-station"`: each station
        /// has its own
        queues: Queues, default "`\"shared\"`";
        /// each entry is a station, with the flows that it receives, and with its own settings if
        /// they differ: `[{ flows = ["a", "b"], mcs = 3, max_frames = 20 }]`. Each `[[flow]]` that
        /// no entry names is a station by itself, with `arrivals`, too
        stations: Vec<StationSpec> => stations;
    }
}

keys! {
    /// A station with settings of its own.
    FileWifiStation: "link.wifi.stations" of StationSpec = StationSpec::default();
    /// the names of its flows
    [required] flows: Vec<String> => flows;
    /// its modulation and coding, an index
    mcs: Mcs, default "that of the link" => mcs;
    /// maximum number of frames in a batch to it
    max_frames: u32, default "that of the link", in within(1..=64, "write max_frames = 32") => max_frames;
}

impl Inline for StationSpec {
    type File = FileWifiStation;
}

/// Which stations share a queue and a router.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Queues {
    Shared,
    PerStation,
}

words! { Queues { "shared" => Queues::Shared, "per-station" => Queues::PerStation } }

impl Inline for WifiSpec {
    type File = FileWifi;

    /// Does not check the names of flows.
    fn finish(&mut self, reader: &Reader<'_>, written: &At<FileWifi>) -> Result<(), ScenarioError> {
        let file = &written.value;
        if let Some(mcs) = &file.mcs {
            self.mcs = reader.within(mcs, mcs.value.spec(file.period(reader)?))?;
        }
        reader.within(&file.mcs, limits::walk(&self.mcs, reader.duration))?;
        self.queue_per_station = file.queues(reader)? == Some(Queues::PerStation);
        let (airtime, gap) = (&file.contender_airtime, &file.contender_gap);
        check_contenders(reader, &file.contenders, airtime, gap)?;
        let mut named = BTreeSet::new();
        for station in file.stations.iter().flat_map(|stations| &stations.value) {
            let flows = station.value.flows.as_ref().map_or(&[][..], |flows| &flows.value);
            if flows.is_empty() {
                let help = "write stations = [{ flows = [\"laptop\"], mcs = 3 }]";
                return reader.fail(station, "a station without flows", help);
            }
            for flow in flows {
                if !named.insert(&flow.value) {
                    let message = format!("flow `{}` is of two stations", flow.value);
                    return reader.fail(flow, message, "a flow belongs to one station");
                }
            }
        }
        Ok(())
    }

    fn write_rest(&self, table: &mut Table) -> Result<(), ScenarioError> {
        table.put("mcs", &self.mcs)?;
        if let McsSpec::Steps { period, .. } = self.mcs {
            table.put_field("period", period, None)?;
        }
        write_contenders(&self.channel, table)?;
        let queues = if self.queue_per_station { Queues::PerStation } else { Queues::Shared };
        table.put_field("queues", Some(queues), Some(Queues::Shared))
    }
}

/// `mcs`: an index, steps, or a walk.
#[derive(Deserialize)]
#[serde(untagged, expecting = "mcs is a number from 0 to 15, a list of steps, or a walk")]
pub(super) enum FileMcs {
    Index(u8),
    Steps(Vec<McsStep>),
    Walk(Walk),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McsStep {
    at: Period,
    mcs: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Walk {
    min: u8,
    max: u8,
    every: Period,
}

fn mcs(index: u8) -> Result<Mcs, Excess> {
    let help = "0 to 7 are one stream of 6.5 to 65 Mbit/s, 8 to 15 are two";
    Mcs::new(index).ok_or_else(|| (format!("there is no mcs {index}"), help))
}

impl FileValue for Mcs {
    type Written = u8;
    const KIND: &'static str = "whole number, 0 to 15";

    fn read(reader: &Reader<'_>, written: &At<u8>) -> Result<Mcs, ScenarioError> {
        reader.within(written, mcs(written.value))
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        Ok(self.index().to_string())
    }
}

impl FileMcs {
    /// Returns the modulation and coding; a list of steps may have a period.
    pub(super) fn spec(&self, period: Option<Span>) -> Result<McsSpec, Excess> {
        let help =
            "write mcs = [{ at = \"0s\", mcs = 1 }, { at = \"2s\", mcs = 7 }], period = \"4s\"";
        let steps = match self {
            FileMcs::Steps(steps) => steps,
            _ if period.is_some() => {
                return Err(("a period needs mcs as a list of steps".to_string(), help));
            }
            FileMcs::Index(index) => return Ok(McsSpec::constant(mcs(*index)?)),
            FileMcs::Walk(walk) => {
                let (min, max, every) = (mcs(walk.min)?, mcs(walk.max)?, walk.every.0);
                if min > max || every < Span::from_millis(10) {
                    let message = "a walk goes from min up to max, at most each 10 ms";
                    let help = "write mcs = { min = 3, max = 7, every = \"2s\" }";
                    return Err((message.to_string(), help));
                }
                return Ok(McsSpec::Walk { min, max, every });
            }
        };
        let read = |step: &McsStep| Ok((step.at.0, mcs(step.mcs)?));
        let steps = steps.iter().map(read).collect::<Result<Vec<_>, Excess>>()?;
        let flat: Vec<_> = steps.iter().map(|(at, _)| (*at, Rate::ZERO)).collect();
        match paceline_path::Service::schedule(&flat, period) {
            Ok(_) => Ok(McsSpec::Steps { steps, period }),
            Err(error) => Err((error.to_string(), help)),
        }
    }
}

/// Modulation and coding without its period, which has its own key.
impl FileValue for McsSpec {
    type Written = FileMcs;
    const KIND: &'static str = "whole number, steps, or walk";

    fn read(reader: &Reader<'_>, written: &At<FileMcs>) -> Result<McsSpec, ScenarioError> {
        reader.within(written, written.value.spec(None))
    }

    fn write(&self, _: &str) -> Result<String, ScenarioError> {
        match self {
            McsSpec::Steps { steps, period } => steps_written("mcs", steps, period.is_some()),
            McsSpec::Walk { min, max, every } => {
                let mut walk = Table::default();
                walk.put("min", min)?;
                walk.put("max", max)?;
                walk.put("every", every)?;
                Ok(walk.inline())
            }
        }
    }
}

/// Writes a value over time: the single value if it is constant, otherwise steps.
pub(super) fn steps_written<T: FileValue>(
    key: &'static str,
    steps: &[(Span, T)],
    repeats: bool,
) -> Result<String, ScenarioError> {
    if let ([(Span::ZERO, value)], false) = (steps, repeats) {
        return value.write(key);
    }
    let one = |(at, value): &(Span, T)| {
        let mut table = Table::default();
        table.put("at", at)?;
        table.put(key, value)?;
        Ok(table.inline())
    };
    Ok(list(&steps.iter().map(one).collect::<Result<Vec<_>, ScenarioError>>()?))
}
