//! The capacity of stations that are always backlogged.

use paceline_cc::{Rate, Span, Stream, Time};
use paceline_path::{Schedule, ServiceError};

use super::aggregate::{Aggregator, Air, Peer, full, mcs_schedule};
use super::background::BackgroundConfig;
use super::mcs::Mcs;
use super::minstrel::Minstrel;
use super::sequence::Sequence;
use super::{Addresses, Medium, MediumConfig, RateControl, StationConfig};

/// Packet size at which rate control compares rates, in bytes, as in Linux.
const TYPICAL_PACKET: u32 = 1200;
/// Number of simulated transmissions, including those of background stations, from which the mean
/// duration is computed. With a few backlogged background stations its error is then 2 %.
const CAPACITY_TRIALS: u64 = 120_000;

/// Mean bytes that an A-MPDU delivers, and mean time between two of them.
#[derive(Copy, Clone, Debug)]
struct MeanAmpdu {
    bytes: f64,
    seconds: f64,
}

impl MediumConfig {
    /// Returns the throughput of a station without competitors at `rate`, with packets of `packet`
    /// bytes.
    pub fn nominal_rate(&self, rate: Rate, packet: u32) -> Rate {
        Rate::from_bytes_in(u64::from(packet), self.alone(Sequence::of(self, rate, packet)))
    }

    /// Returns the throughput of a station without competitors at its first rate or modulation,
    /// with packets of [`packet`](MediumConfig::packet) bytes.
    pub(super) fn nominal_rate_of(&self, station: &StationConfig) -> Rate {
        let packet = self.packet;
        if self.phy.high_throughput().is_none() {
            let rate = station.rates.first().map_or(Rate::ZERO, |(_, rate)| *rate);
            return self.nominal_rate(rate, packet);
        }
        let mcs = station.mcs.first().map_or(Mcs::LOWEST, |(_, mcs)| *mcs);
        let (frames, air_bytes) = self.full_ampdu(mcs, station.max_mpdus, packet);
        let bytes = u64::from(frames) * u64::from(packet);
        Rate::from_bytes_in(bytes, self.alone(Sequence::of_ampdu(self, mcs, air_bytes)))
    }

    /// Returns the mean time between exchanges of a station without competitors.
    fn alone(&self, times: Sequence) -> Span {
        let backoff = self.phy.slot * u64::from(self.phy.cw_min) / 2;
        self.phy.difs() + backoff + times.head + times.data + times.answer
    }

    fn full_ampdu(&self, mcs: Mcs, max_mpdus: Option<u32>, packet: u32) -> (u32, u32) {
        let addresses = Addresses::Routes(Vec::new());
        let max_mpdus = max_mpdus.unwrap_or(self.aggregation.max_mpdus);
        full(&self.air(&addresses), mcs, max_mpdus, packet)
    }

    /// Returns the properties of the medium that stations need.
    pub(super) fn air<'a>(&'a self, addresses: &'a Addresses) -> Air<'a> {
        Air {
            phy: &self.phy,
            aggregation: &self.aggregation,
            mac_overhead: self.mac_overhead,
            addresses,
        }
    }

    /// Creates the aggregator of a station: the access point sends to all others, and they send to
    /// it. `None` for layers without A-MPDUs.
    pub(super) fn aggregator(
        &self,
        number: usize,
        random: &mut Stream,
    ) -> Result<Option<Aggregator>, ServiceError> {
        if self.phy.high_throughput().is_none() {
            return Ok(None);
        }
        let (first, ends) = match number {
            0 if self.stations.len() > 1 => (1, self.stations.get(1..)),
            _ => (0, self.stations.get(number..number + 1)),
        };
        let peer = |config: &StationConfig| {
            Peer::new(config, &self.aggregation, &self.phy, self.minstrel(config, random))
        };
        let peers = ends.unwrap_or_default().iter().map(peer).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Aggregator::new(peers, first)))
    }

    /// Creates the rate control of frames to or from a station, if senders choose rates. Otherwise
    /// draws nothing from `random`.
    pub(super) fn minstrel(
        &self,
        station: &StationConfig,
        random: &mut Stream,
    ) -> Option<Minstrel> {
        if station.rate_control == RateControl::Fixed {
            return None;
        }
        let packet = TYPICAL_PACKET;
        let ht = self.phy.high_throughput().is_some();
        let single = |rate| Some((1, Sequence::of(self, self.phy.rate(rate)?, packet)));
        let ampdu = |index: usize| {
            let mcs = Mcs::new(u8::try_from(index).ok()?)?;
            let (frames, air_bytes) = self.full_ampdu(mcs, station.max_mpdus, packet);
            Some((frames, Sequence::of_ampdu(self, mcs, air_bytes)))
        };
        let rates = (0..).map_while(|rate| if ht { ampdu(rate) } else { single(rate) });
        let seconds = |(frames, times): (u32, Sequence)| {
            self.alone(times).as_secs_f64() / f64::from(frames * packet)
        };
        let bytes: Vec<f64> = rates.map(seconds).collect();
        let interval = Span::from_millis(if ht { 50 } else { 100 });
        Some(Minstrel::new(&bytes, interval, random.split("minstrel")))
    }

    /// Returns the mean throughput of all stations together over time, if the access point were
    /// always backlogged with packets of [`packet`](MediumConfig::packet) bytes for each of them, next to the background
    /// stations; for layers with A-MPDUs. Stations whose modulation repeats must have equal
    /// periods.
    ///
    /// With background stations there is no closed form, so the contention is simulated with random
    /// numbers from `random`.
    ///
    /// # Errors
    /// The steps are not a valid schedule.
    pub(crate) fn downlink_capacity(&self, random: &Stream) -> Result<Schedule, ServiceError> {
        let stations = self.stations.get(1..).unwrap_or_default();
        let schedules = stations.iter().map(mcs_schedule).collect::<Result<Vec<_>, _>>()?;
        let mut times: Vec<Span> =
            stations.iter().flat_map(|station| &station.mcs).map(|(at, _)| *at).collect();
        times.push(Span::ZERO);
        times.sort_unstable();
        times.dedup();
        let mut random = random.clone();
        // Means for each modulation and number of MPDUs.
        let mut known: Vec<(Mcs, Option<u32>, MeanAmpdu)> = Vec::new();
        let mut steps = Vec::with_capacity(times.len());
        for at in times {
            let (mut bytes, mut seconds) = (0.0, 0.0);
            for (station, schedule) in stations.iter().zip(&schedules) {
                let index = schedule.rate_at(Time::ZERO + at).as_bps().min(u64::from(Mcs::MAX));
                let mcs = Mcs::new(index as u8).unwrap_or(Mcs::LOWEST);
                let most = station.max_mpdus;
                let found = known.iter().find(|one| (one.0, one.1) == (mcs, most));
                let turn = match found.map(|one| one.2) {
                    Some(turn) => turn,
                    None => {
                        let turn = self.saturated(mcs, station, &random.split("capacity"))?;
                        known.push((mcs, most, turn));
                        turn
                    }
                };
                bytes += turn.bytes;
                seconds += turn.seconds;
            }
            let rate = if seconds > 0.0 { bytes / seconds } else { 0.0 };
            steps.push((at, Rate::from_bytes_per_sec(rate)));
        }
        Schedule::new(&steps, stations.iter().find_map(|station| station.mcs_period))
    }

    /// Returns the means of a turn with a full A-MPDU.
    fn saturated(
        &self,
        mcs: Mcs,
        station: &StationConfig,
        random: &Stream,
    ) -> Result<MeanAmpdu, ServiceError> {
        let (frames, air_bytes) = self.full_ampdu(mcs, station.max_mpdus, self.packet);
        let times = Sequence::of_ampdu(self, mcs, air_bytes);
        let bytes = f64::from(frames) * f64::from(self.packet) * (1.0 - station.frame_error);
        if self.background.is_empty() {
            return Ok(MeanAmpdu { bytes, seconds: self.alone(times).as_secs_f64() });
        }
        // For the others only its time on air matters: model it as one of them.
        let exchange = times.head + times.data + times.answer;
        let mut settings = BackgroundConfig::new(exchange, Span::ZERO);
        settings.airtime = (exchange, exchange);
        let mut config = self.clone();
        config.stations.clear();
        config.background.insert(0, settings);
        let turns = (CAPACITY_TRIALS / config.background.len() as u64).min(20_000);
        let mut medium = Medium::new(config, Vec::new(), random)?;
        if let Some(first) = medium.background.first_mut() {
            first.collision = Some(times.collision);
        }
        let (through, end) = medium.run_background(turns);
        // With RTS, a turn ends with an A-MPDU, however many RTS it needed.
        let turns = if times.rts { through } else { turns }.max(1) as f64;
        let seconds = end.since(Time::ZERO).as_secs_f64() / turns;
        Ok(MeanAmpdu { bytes: bytes * through as f64 / turns, seconds })
    }
}
