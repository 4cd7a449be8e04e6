//! 802.11 links in scenarios.

use paceline_cc::{Span, Stream};
use paceline_wifi::Mcs;

use super::ChannelSpec;

/// An 802.11n link. [`AccessPoint`](paceline_wifi::AccessPoint) describes the model.
#[derive(Clone, Debug)]
pub struct WifiSpec {
    /// Modulation and coding over time.
    pub mcs: McsSpec,
    /// Limits of a batch, and stations of other networks.
    pub channel: ChannelSpec,
    /// True if RTS and CTS precede batches, so that a collision does not destroy a batch.
    pub rts: bool,
    /// Probability that a frame is lost.
    pub frame_error: f64,
    /// Number of retransmissions after which a frame is given up.
    pub retries: u32,
    /// True if each station has its own queue and router.
    pub queue_per_station: bool,
    /// Stations with their own settings, or with several flows. Each flow that none of them names
    /// is a station, together with the flows of the same specification; all short flows that arrive
    /// at random are one station.
    pub stations: Vec<StationSpec>,
}

/// A station with its own settings.
#[derive(Clone, Debug, Default)]
pub struct StationSpec {
    /// Names of its flows.
    pub flows: Vec<String>,
    /// Its modulation and coding; `None` for the link's.
    pub mcs: Option<Mcs>,
    /// Maximum number of frames in a batch to it; `None` for the link's.
    pub max_frames: Option<u32>,
}

/// Modulation and coding over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McsSpec {
    /// Steps: a value from each offset on, repeated after `period`.
    Steps {
        /// Offsets and values, in order, the first at zero.
        steps: Vec<(Span, Mcs)>,
        /// Time after which the steps repeat.
        period: Option<Span>,
    },
    /// A random walk within bounds: up by one, down by one, or unchanged at each step.
    Walk {
        /// Minimum.
        min: Mcs,
        /// Maximum.
        max: Mcs,
        /// Time between changes, at least a millisecond.
        every: Span,
    },
}

impl McsSpec {
    /// Creates a constant value.
    pub fn constant(mcs: Mcs) -> McsSpec {
        McsSpec::Steps { steps: vec![(Span::ZERO, mcs)], period: None }
    }

    /// Returns the steps of a run; for a walk, those within `duration`.
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
    /// Creates a link with one modulation, batches of up to 32 frames, and a channel without losses
    /// and contenders.
    pub fn new(mcs: McsSpec) -> WifiSpec {
        WifiSpec {
            mcs,
            channel: ChannelSpec::new(32),
            rts: true,
            frame_error: 0.0,
            retries: 7,
            queue_per_station: false,
            stations: Vec::new(),
        }
    }
}

/// Minimum time between the steps of a walk.
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
