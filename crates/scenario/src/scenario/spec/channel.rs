//! What `[link.wifi]` and `[[medium]]` have alike: limits of a transmission, and stations of other
//! networks.

use paceline_cc::Span;
use paceline_wifi::{BackgroundConfig, MediumConfig};

/// An 802.11 channel: limits of a transmission, and stations of other networks that compete for it.
/// Times are those at scale 1 ([`MediumSpec::scale`](super::MediumSpec::scale)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSpec {
    /// 802.11n: maximum number of frames (MPDUs) in an A-MPDU.
    pub max_frames: u32,
    /// 802.11n: maximum duration of an A-MPDU, including its preamble.
    pub max_airtime: Span,
    /// Number of stations of other networks that compete for the channel.
    pub contenders: u32,
    /// Mean duration of each of their transmissions.
    pub contender_airtime: Span,
    /// Mean pause between transmissions of each; zero if they always have a frame to send.
    pub contender_gap: Span,
}

impl ChannelSpec {
    /// Creates a channel without contenders. Transmissions have up to `max_frames` frames and 5.484
    /// ms, the longest that the preamble of mixed networks can announce.
    pub fn new(max_frames: u32) -> ChannelSpec {
        ChannelSpec {
            max_frames,
            max_airtime: Span::from_micros(5484),
            contenders: 0,
            contender_airtime: Span::from_millis(1),
            contender_gap: Span::ZERO,
        }
    }

    /// Sets the limits and the contenders in the settings of a medium whose times are divided by
    /// `scale`.
    pub fn apply(&self, config: &mut MediumConfig, scale: u32) {
        let scaled = |time: Span| time / u64::from(scale);
        config.aggregation.max_mpdus = self.max_frames;
        config.aggregation.max_duration = scaled(self.max_airtime);
        let (airtime, gap) = (scaled(self.contender_airtime), scaled(self.contender_gap));
        let contender = BackgroundConfig::new(airtime, gap);
        config.background = vec![contender; self.contenders as usize];
    }
}
