//! The settings of a station.

use paceline_cc::{Rate, Span};

use super::mcs::Mcs;

/// Settings of a station.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StationConfig {
    /// Rate of data frames to and from the station, from each offset on; the first offset is zero.
    /// The access point's rate is only passed to its router. Not for layers with A-MPDUs.
    pub rates: Vec<(Span, Rate)>,
    /// Modulation and coding of A-MPDUs to and from the station, from each offset on; the first
    /// offset is zero. The slowest scheme if it is empty.
    pub mcs: Vec<(Span, Mcs)>,
    /// Time after which the steps of `mcs` repeat.
    pub mcs_period: Option<Span>,
    /// Maximum number of MPDUs in an A-MPDU to or from the station, M of the ABC paper; `None` for
    /// the medium's.
    pub max_mpdus: Option<u32>,
    /// Probability that a data frame, or an MPDU of an A-MPDU, to or from the station is damaged on
    /// air.
    pub frame_error: f64,
    /// Probability that a bit of such a frame is damaged, independently of others: longer frames
    /// are lost more often.
    pub bit_error: f64,
    /// Signal-to-noise ratio of such frames in decibels, from each offset on; the first offset is
    /// zero. It determines how often OFDM frames are damaged: fast and long ones most often. Empty
    /// for a channel without noise.
    pub snr: Vec<(Span, f64)>,
    /// Time after which the steps of `snr` repeat.
    pub snr_period: Option<Span>,
    /// How the rate, or the modulation and coding, is chosen.
    pub rate_control: RateControl,
}

/// How the rates of data frames to and from a station are chosen.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum RateControl {
    /// By the settings.
    #[default]
    Fixed,
    /// By the senders at both ends, with Minstrel, the rate control of Linux. The rates of the
    /// settings are ignored.
    Minstrel,
}

impl StationConfig {
    /// Creates a station whose frames are never damaged.
    pub fn new(rate: Rate) -> StationConfig {
        StationConfig {
            rates: vec![(Span::ZERO, rate)],
            mcs: Vec::new(),
            mcs_period: None,
            max_mpdus: None,
            frame_error: 0.0,
            bit_error: 0.0,
            snr: Vec::new(),
            snr_period: None,
            rate_control: RateControl::Fixed,
        }
    }
}
