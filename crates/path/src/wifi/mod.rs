//! The link of an 802.11n access point that only sends: downloads for several stations, beside
//! stations of other networks.
//!
//! It is an access point at a [`crate::medium`] of its own, which carries its A-MPDUs and has
//! the competitors as background stations. What comes up from the stations does not pass this medium;
//! where that matters, put the flows over a shared medium instead.
//!
//! A [`Link`](crate::Link) with this service has one queue for all stations, or one for each
//! ([`StationQueues`]).

mod per_station;

pub use self::per_station::{StationQueues, StationRouters};
pub use crate::medium::Mcs;

use paceline_cc::{Capacity, Rate, Span, Stream, Time};

use crate::medium::{self, BackgroundConfig, Ht, Medium, MediumConfig, Phy, StationParts};
use crate::queue::{Fifo, Limit, Queue};
use crate::service::{Schedule, Service, ServiceError};

/// The settings of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StationConfig {
    /// Its modulation and coding; `None` follows the link's.
    pub mcs: Option<Mcs>,
    /// The most MPDUs in an A-MPDU, M of the ABC paper.
    pub max_frames: u32,
}

impl StationConfig {
    /// A station that takes up to so many MPDUs in an A-MPDU, at the link's modulation and coding.
    pub fn new(max_frames: u32) -> StationConfig {
        StationConfig { mcs: None, max_frames }
    }
}

/// The settings of an 802.11n link.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WifiConfig {
    /// The modulation and coding from each offset on, in order, the first at zero.
    pub steps: Vec<(Span, Mcs)>,
    /// When the steps repeat.
    pub period: Option<Span>,
    /// The stations, at least one.
    pub stations: Vec<StationConfig>,
    /// The station of each flow by the flow's number; flows beyond belong to the last one.
    pub station_of: Vec<u32>,
    /// The longest transmission, preamble included.
    pub max_airtime: Span,
    /// RTS and CTS go before each A-MPDU.
    pub rts: bool,
    /// The probability that an MPDU is lost, independently of others.
    pub frame_error: f64,
    /// How often an MPDU is transmitted again before it is given up.
    pub retries: u32,
    /// Stations of other networks that contend for the channel.
    pub contenders: u32,
    /// The mean time that each transmission of theirs takes, acknowledgement included.
    pub contender_airtime: Span,
    /// The mean pause between transmissions of each; zero if they always have something to send.
    pub contender_gap: Span,
}

impl WifiConfig {
    /// One station with A-MPDUs of up to 32 MPDUs and 5.484 ms, the longest that the preamble of
    /// mixed networks can announce; RTS and CTS, seven retransmissions, no losses, no contenders.
    pub fn new(mcs: Mcs) -> WifiConfig {
        WifiConfig {
            steps: vec![(Span::ZERO, mcs)],
            period: None,
            stations: vec![StationConfig::new(32)],
            station_of: Vec::new(),
            max_airtime: Span::from_micros(5484),
            rts: true,
            frame_error: 0.0,
            retries: 7,
            contenders: 0,
            contender_airtime: Span::from_millis(1),
            contender_gap: Span::ZERO,
        }
    }

    /// The medium that carries the link: 20 MHz at 5 GHz, with the long guard interval.
    fn medium(&self) -> MediumConfig {
        let mut config = MediumConfig::new(Phy::ht(Ht::default()), 0, Rate::ZERO);
        let alike = [StationConfig::new(32)];
        let stations = if self.stations.is_empty() { &alike[..] } else { &self.stations };
        for station in stations {
            let mut settings = medium::StationConfig::new(Rate::ZERO);
            (settings.mcs, settings.mcs_period) = match station.mcs {
                Some(mcs) => (vec![(Span::ZERO, mcs)], None),
                None => (self.steps.clone(), self.period),
            };
            settings.max_mpdus = Some(station.max_frames);
            settings.frame_error = self.frame_error;
            config.stations.push(settings);
        }
        config.rts_threshold = self.rts.then_some(0);
        config.aggregation.max_duration = self.max_airtime;
        config.aggregation.transmissions = self.retries.saturating_add(1);
        let contender = BackgroundConfig::new(self.contender_airtime, self.contender_gap);
        config.background = vec![contender; self.contenders as usize];
        config
    }
}

/// The service of an 802.11n link.
#[derive(Clone, Debug)]
pub struct Wifi {
    config: WifiConfig,
    random: Stream,
    /// What stations that never run out of packets would get.
    capacity: Schedule,
}

impl Wifi {
    /// A link that has transmitted nothing yet; `random` is its own random stream.
    ///
    /// # Errors
    /// Steps that make no legal schedule.
    pub fn new(config: WifiConfig, random: &Stream) -> Result<Wifi, ServiceError> {
        let index = |&(at, mcs): &(Span, Mcs)| (at, Rate::from_bps(u64::from(mcs.index())));
        let steps: Vec<_> = config.steps.iter().map(index).collect();
        Schedule::new(&steps, config.period)?;
        let mut random = random.clone();
        let capacity = config.medium().downlink_capacity(&random.split("capacity"))?;
        Ok(Wifi { config, random, capacity })
    }

    /// The number of the station of a flow.
    pub fn station_of(&self, flow: u32) -> u32 {
        station_of(&self.config.station_of, self.config.stations.len(), flow)
    }

    /// The medium of the link, whose access point has this queue.
    pub(crate) fn medium(&self, queue: Box<dyn Queue>) -> Result<Medium, ServiceError> {
        let config = self.config.medium();
        let mut parts = vec![StationParts { queue, router: None }];
        parts.resize_with(config.stations.len(), || StationParts {
            queue: Box::new(Fifo::new(Limit::NONE)),
            router: None,
        });
        let mut medium = Medium::new(config, parts, &self.random)?;
        medium.set_station_of(self.config.station_of.clone());
        medium.set_capacity(0, Service::Schedule(self.capacity.clone()));
        Ok(medium)
    }
}

impl Capacity for Wifi {
    /// The mean capacity for stations that always have packets of 1500 bytes waiting.
    fn offered(&self, from: Time, to: Time) -> u64 {
        self.capacity.offered(from, to)
    }
}

fn station_of(map: &[u32], stations: usize, flow: u32) -> u32 {
    let last = stations.saturating_sub(1) as u32;
    map.get(flow as usize).map_or(last, |&station| station.min(last))
}

#[cfg(test)]
mod tests;
