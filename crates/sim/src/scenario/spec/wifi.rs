//! 802.11 links in scenarios.

use paceline_cc::{Span, Stream};
use paceline_wifi::Mcs;

/// An 802.11n link. See [`AccessPoint`](paceline_wifi::AccessPoint) for what it models.
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

/// The least time between the steps of a walk.
const SHORTEST: Span = Span::from_millis(1);

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
