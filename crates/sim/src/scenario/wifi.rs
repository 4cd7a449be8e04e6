//! 802.11 links in scenarios and their files.

use std::collections::BTreeSet;

use paceline_cc::{Span, Stream};
use paceline_path::wifi::Mcs;
use serde::Deserialize;
use toml::Spanned;

use super::file::read::Period;

/// An 802.11n link. See [`paceline_path::wifi`] for what it models.
#[derive(Clone, Debug)]
pub struct WifiSpec {
    /// Modulation and coding over time.
    pub mcs: McsSpec,
    /// The most frames of a batch, M.
    pub max_frames: u32,
    /// The longest transmission, preamble included.
    pub max_airtime: Span,
    /// Batches are announced by RTS and CTS, so that a collision costs no batch.
    pub rts: bool,
    /// The probability that a frame is lost.
    pub frame_error: f64,
    /// How often a frame is transmitted again before it is given up.
    pub retries: u32,
    /// Stations of other networks that compete for the channel.
    pub contenders: u32,
    /// The mean time that each of their transmissions takes.
    pub contender_airtime: Span,
    /// The mean pause between transmissions of each.
    pub contender_gap: Span,
    /// True if each station has a queue and a router of its own.
    pub queue_per_station: bool,
    /// Stations with settings of their own, or with several flows. Each flow that none of them
    /// names is a station, with all that are alike; short flows that arrive at random are one
    /// together.
    pub stations: Vec<StationSpec>,
}

/// A station with settings of its own.
#[derive(Clone, Debug, Default)]
pub struct StationSpec {
    /// The names of its flows.
    pub flows: Vec<String>,
    /// Its modulation and coding; `None` follows the link's.
    pub mcs: Option<Mcs>,
    /// The most frames of a batch to it; `None` takes the link's.
    pub max_frames: Option<u32>,
}

/// Modulation and coding over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McsSpec {
    /// From each offset on, that one; begins anew after `period`.
    Steps {
        /// Offsets and values, in order, the first at zero.
        steps: Vec<(Span, Mcs)>,
        /// When the steps repeat.
        period: Option<Span>,
    },
    /// A random walk: up, down or neither by one at a time, within bounds.
    Walk {
        /// The lowest.
        min: Mcs,
        /// The highest.
        max: Mcs,
        /// The time between changes, at least a millisecond.
        every: Span,
    },
}

impl McsSpec {
    /// Always the same.
    pub fn constant(mcs: Mcs) -> McsSpec {
        McsSpec::Steps { steps: vec![(Span::ZERO, mcs)], period: None }
    }

    /// The steps of a run: of a walk, those that it takes within `duration`.
    pub fn steps(&self, duration: Span, random: &mut Stream) -> (Vec<(Span, Mcs)>, Option<Span>) {
        let (min, max, every) = match self {
            McsSpec::Steps { steps, period } => return (steps.clone(), *period),
            McsSpec::Walk { min, max, every } => (*min, *max, *every),
        };
        let mut at = Span::ZERO;
        let mut index = min.index() + max.index().saturating_sub(min.index()) / 2;
        let mut steps = Vec::new();
        while at < duration {
            steps.extend(Mcs::new(index).map(|mcs| (at, mcs)));
            at += every.max(SHORTEST);
            index = match random.below(3) {
                0 => index.saturating_sub(1).max(min.index()),
                1 => (index + 1).min(max.index()),
                _ => index,
            };
        }
        (steps, None)
    }
}

impl WifiSpec {
    /// One modulation; batches of up to 32 frames and 5.484 ms, the longest that the preamble of
    /// mixed networks can announce; a channel without losses and competitors.
    pub fn new(mcs: McsSpec) -> WifiSpec {
        WifiSpec {
            mcs,
            max_frames: 32,
            max_airtime: Span::from_micros(5484),
            rts: true,
            frame_error: 0.0,
            retries: 7,
            contenders: 0,
            contender_airtime: Span::from_millis(1),
            contender_gap: Span::ZERO,
            queue_per_station: false,
            stations: Vec::new(),
        }
    }
}

/// What is left out is as in [`WifiSpec::new`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileWifi {
    mcs: FileMcs,
    period: Option<Period>,
    max_frames: Option<u32>,
    max_airtime: Option<Period>,
    rts: Option<bool>,
    frame_error: Option<f64>,
    retries: Option<u32>,
    contenders: Option<u32>,
    contender_airtime: Option<Period>,
    contender_gap: Option<Period>,
    queues: Option<FileQueues>,
    #[serde(default)]
    pub(super) stations: Vec<FileStation>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "mcs is a number from 0 to 15, a list of steps, or a walk")]
pub(super) enum FileMcs {
    Index(u8),
    Steps(Vec<FileStep>),
    Walk(FileWalk),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileStep {
    at: Period,
    mcs: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileWalk {
    min: u8,
    max: u8,
    every: Period,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum FileQueues {
    Shared,
    PerStation,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileStation {
    pub(super) flows: Vec<Spanned<String>>,
    mcs: Option<u8>,
    max_frames: Option<u32>,
}

/// The least time between the steps of a walk.
const SHORTEST: Span = Span::from_millis(1);
/// The most steps of a walk.
const STEPS: u64 = 1_000_000;

/// What is wrong, and what to do about it.
pub(super) type Mistake = (String, &'static str);

fn require(sane: bool, message: &str, help: &'static str) -> Result<(), Mistake> {
    if sane { Ok(()) } else { Err((message.to_string(), help)) }
}

fn mcs(index: u8) -> Result<Mcs, Mistake> {
    let help = "0 to 7 are one stream of 6.5 to 65 Mbit/s, 8 to 15 are two";
    Mcs::new(index).ok_or_else(|| (format!("there is no mcs {index}"), help))
}

/// The longest transmission of an A-MPDU.
pub(super) fn airtime(longest: Period) -> Result<Span, Mistake> {
    let sane = Span::from_micros(100) <= longest.0 && longest.0 <= Span::from_millis(10);
    let help = "the standard allows 10 ms; write max_airtime = \"5484us\"";
    require(sane, "max_airtime is outside 100us..10ms", help)?;
    Ok(longest.0)
}

/// Stations of other networks, as files have them.
#[derive(Clone, Copy)]
pub(super) struct FileContenders {
    pub(super) contenders: Option<u32>,
    pub(super) contender_airtime: Option<Period>,
    pub(super) contender_gap: Option<Period>,
}

impl FileContenders {
    /// Their number, the mean time of their transmissions, and their mean pause.
    pub(super) fn read(self) -> Result<(u32, Span, Span), Mistake> {
        let count = self.contenders.unwrap_or(0);
        require(count <= 100, "more than 100 contenders", "write contenders = 3")?;
        let airtime = self.contender_airtime.map_or(Span::from_millis(1), |time| time.0);
        let sane = Span::from_micros(50) <= airtime && airtime <= Span::from_millis(10);
        let help = "write contender_airtime = \"1ms\"";
        require(sane, "contender_airtime is outside 50us..10ms", help)?;
        Ok((count, airtime, self.contender_gap.map_or(Span::ZERO, |time| time.0)))
    }
}

/// The most frames of an A-MPDU.
pub(super) fn frames(max_frames: u32) -> Result<u32, Mistake> {
    let sane = (1..=64).contains(&max_frames);
    require(sane, "max_frames is outside 1..64", "write max_frames = 32")?;
    Ok(max_frames)
}

impl FileWifi {
    /// The link in a run of so long; names of flows are not checked.
    pub(super) fn spec(&self, duration: Span) -> Result<WifiSpec, Mistake> {
        let mut spec = WifiSpec::new(self.mcs.spec(self.period)?);
        if let McsSpec::Walk { every, .. } = &spec.mcs {
            let steps = duration.as_nanos() / every.as_nanos().max(1);
            let help = "write a longer `every`, for example \"2s\", or a shorter duration";
            require(steps <= STEPS, "the walk has more than a million steps", help)?;
        }
        spec.max_frames = self.max_frames.map_or(Ok(spec.max_frames), frames)?;
        spec.max_airtime = self.max_airtime.map_or(Ok(spec.max_airtime), airtime)?;
        spec.rts = self.rts.unwrap_or(true);
        spec.frame_error = self.frame_error.unwrap_or(0.0);
        let sane = (0.0..1.0).contains(&spec.frame_error);
        require(sane, "frame_error is a probability below 1", "10 % is written 0.1")?;
        spec.retries = self.retries.unwrap_or(spec.retries);
        require(spec.retries <= 255, "more than 255 retries", "write retries = 7")?;
        let others = FileContenders {
            contenders: self.contenders,
            contender_airtime: self.contender_airtime,
            contender_gap: self.contender_gap,
        };
        (spec.contenders, spec.contender_airtime, spec.contender_gap) = others.read()?;
        spec.queue_per_station = self.queues == Some(FileQueues::PerStation);
        let mut named = BTreeSet::new();
        for station in &self.stations {
            let help = "write stations = [{ flows = [\"laptop\"], mcs = 3 }]";
            require(!station.flows.is_empty(), "a station without flows", help)?;
            for flow in &station.flows {
                let (name, help) = (flow.get_ref().as_str(), "a flow belongs to one station");
                let message = format!("flow `{name}` is of two stations");
                require(named.insert(name), &message, help)?;
            }
            spec.stations.push(StationSpec {
                flows: station.flows.iter().map(|name| name.get_ref().clone()).collect(),
                mcs: station.mcs.map(mcs).transpose()?,
                max_frames: station.max_frames.map(frames).transpose()?,
            });
        }
        Ok(spec)
    }
}

impl FileMcs {
    /// What the key says; a list of steps may have a period.
    pub(super) fn spec(&self, period: Option<Period>) -> Result<McsSpec, Mistake> {
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
                let sane = min <= max && every >= Span::from_millis(10);
                let help = "write mcs = { min = 3, max = 7, every = \"2s\" }";
                let message = "a walk goes from min up to max, at most each 10 ms";
                require(sane, message, help)?;
                return Ok(McsSpec::Walk { min, max, every });
            }
        };
        let read = |step: &FileStep| Ok((step.at.0, mcs(step.mcs)?));
        let steps = steps.iter().map(read).collect::<Result<Vec<_>, Mistake>>()?;
        let period = period.map(|period| period.0);
        let flat: Vec<_> = steps.iter().map(|(at, _)| (*at, paceline_cc::Rate::ZERO)).collect();
        match paceline_path::Service::schedule(&flat, period) {
            Ok(_) => Ok(McsSpec::Steps { steps, period }),
            Err(error) => Err((error.to_string(), help)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_walks_end() {
        let mcs = |index| Mcs::new(index).expect("an index");
        let mut random = Stream::new(1, "walk");
        let mut steps = |min, max, every| {
            let walk = McsSpec::Walk { min: mcs(min), max: mcs(max), every };
            walk.steps(Span::from_secs(1), &mut random).0
        };
        assert_eq!(steps(3, 7, Span::ZERO).len(), 1000);
        assert_eq!(steps(3, 7, Span::from_secs(2)), [(Span::ZERO, mcs(5))]);
        assert_eq!(steps(7, 3, Span::from_secs(2)), [(Span::ZERO, mcs(7))]);
    }
}
