//! The link of an 802.11n access point: it contends for a shared channel and transmits one batch
//! of packets (an A-MPDU) at a time.
//!
//! The access point takes packets from the link's queue and puts an A-MPDU together for one
//! station, with as many packets (MPDUs) as the station's settings, the standard and a limit on
//! airtime allow. Then it contends for the channel, transmits, and learns from the block
//! acknowledgement which MPDUs have arrived. It transmits lost ones again in the next A-MPDU for
//! the same station, and packets leave the link in order. Stations are served round robin.
//!
//! With RTS and CTS a collision costs no more airtime than these; without, it costs that of the
//! whole A-MPDU. An A-MPDU is put together before the access point contends, as drivers hand them
//! to their hardware; packets that arrive meanwhile go with a later one. All packets of an A-MPDU
//! leave the link when its block acknowledgement ends.
//!
//! Not modelled: the airtime of what stations send (transport acknowledgements among it) unless
//! contenders stand for it; capture, hidden stations, the longer wait after a collision (EIFS),
//! and rate control.

mod channel;
mod per_station;
mod phy;
mod transmit_queue;

pub use per_station::{StationQueues, StationRouters};
pub use phy::Mcs;
pub(crate) use transmit_queue::Mpdu;

use paceline_cc::{Batch, Capacity, Rate, Span, Stream, Time};

use self::channel::{Access, Channel};
use self::phy::{BLOCK_ACK, CTS, CW_MAX, CW_MIN, RTS, SIFS};
use self::transmit_queue::{Ampdu, TransmitQueue};
use super::{Schedule, ServiceError};

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
}

/// The size of the packets that the capacity is stated for.
const FULL_PACKET: u32 = 1500;
/// Transmissions that are simulated to find the mean time of one, those of contenders included.
/// With a few contenders that always have something to send it is then known to 2 %.
const CAPACITY_TRIALS: u32 = 120_000;

/// The service of an 802.11n link.
#[derive(Clone, Debug)]
pub struct Wifi {
    stations: Vec<TransmitQueue>,
    config: WifiConfig,
    /// The modulation and coding over time; the "rate" of a step is the index of the scheme.
    mcs: Schedule,
    channel: Channel,
    /// Decides which MPDUs are lost.
    errors: Stream,
    /// What a station that never runs out of packets would get.
    capacity: Schedule,
    /// The contention window.
    window: u32,
    /// The station that was served last.
    last: usize,
    /// The A-MPDU on air and its modulation.
    on_air: Ampdu,
    on_air_mcs: Mcs,
    /// It collided with a transmission of a contender.
    collided: bool,
    given_up: Vec<Mpdu>,
}

impl Wifi {
    /// A link that has transmitted nothing yet; `random` is its own random stream.
    ///
    /// # Errors
    /// Steps that make no legal schedule.
    pub fn new(config: WifiConfig, random: &Stream) -> Result<Wifi, ServiceError> {
        let mut random = random.clone();
        let mut split = || random.split("wifi");
        let channel = |random| {
            Channel::new(random, config.contenders, config.contender_airtime, config.contender_gap)
        };
        let mean_rates = mean_capacity(&config, &mut channel(split()));
        let index = |&(at, mcs): &(Span, Mcs)| (at, Rate::from_bps(u64::from(mcs.index())));
        let indices: Vec<_> = config.steps.iter().map(index).collect();
        Ok(Wifi {
            stations: vec![TransmitQueue::default(); config.stations.len().max(1)],
            mcs: Schedule::new(&indices, config.period)?,
            capacity: Schedule::new(&mean_rates, config.period)?,
            channel: channel(split()),
            errors: split(),
            window: CW_MIN,
            last: 0,
            on_air: Ampdu::default(),
            on_air_mcs: Mcs::LOWEST,
            collided: false,
            given_up: Vec::new(),
            config,
        })
    }

    /// The number of the station of a flow.
    pub fn station_of(&self, flow: u32) -> u32 {
        station_of(&self.config.station_of, self.config.stations.len(), flow)
    }

    /// Packets that have left the queue but not the link.
    pub(crate) fn held(&self) -> usize {
        self.stations.iter().map(TransmitQueue::held).sum()
    }

    /// Their bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.stations.iter().map(TransmitQueue::bytes).sum()
    }

    /// Stations round robin, beginning after the one that was served last.
    pub(crate) fn stations_in_turn(&self) -> impl Iterator<Item = u32> + use<> {
        let (count, last) = (self.stations.len(), self.last);
        (1..=count).map(move |i| ((last + i) % count) as u32)
    }

    /// True if the access point should take another packet from the queue to put an A-MPDU for this
    /// station together: the station has not got a full one yet, and where stations share the
    /// queue, less than two full ones are held for all stations together.
    pub(crate) fn can_take(&self, station: u32, now: Time, shared: bool) -> bool {
        let at = station as usize;
        let (Some(held), Some(config)) = (self.stations.get(at), self.config.stations.get(at))
        else {
            return false;
        };
        let full = held.is_full(self.mcs_of(at, now), config.max_frames, self.config.max_airtime);
        let all = || self.stations.iter().map(TransmitQueue::waiting).sum::<usize>();
        !full && (!shared || all() < 2 * config.max_frames.max(1) as usize)
    }

    /// Takes a packet that has left the queue, for the station of its flow.
    pub(crate) fn enqueue(&mut self, frame: Mpdu) {
        let station = self.station_of(frame.packet.flow) as usize;
        if let Some(station) = self.stations.get_mut(station) {
            station.push(frame);
        }
    }

    /// Puts an A-MPDU for a station together and transmits it. Returns when its block
    /// acknowledgement ends, or `None` if there is nothing to send.
    pub(crate) fn start_transmission(&mut self, station: u32, now: Time) -> Option<Time> {
        let at = station as usize;
        let mcs = self.mcs_of(at, now);
        let config = self.config.stations.get(at)?;
        let held = self.stations.get_mut(at).filter(|held| held.waiting() > 0)?;
        (self.last, self.on_air_mcs) = (at, mcs);
        self.on_air = held.next_ampdu(mcs, config.max_frames, self.config.max_airtime);
        let airtime = mcs.airtime(self.on_air.air_bytes) + SIFS + BLOCK_ACK;
        let sent = transmit(&mut self.channel, now, &mut self.window, airtime, self.config.rts);
        self.collided = sent.collided;
        Some(sent.end)
    }

    /// Ends the transmission of the A-MPDU on air. Returns what the access point learns from the
    /// block acknowledgement, or `None` if there was none.
    pub(crate) fn finish_transmission(&mut self) -> Option<Batch> {
        let Wifi { config, errors, collided, .. } = self;
        let arrives = || !*collided && !errors.chance(config.frame_error);
        let station = self.stations.get_mut(self.last)?;
        let (acked, acked_bytes) =
            station.on_block_ack(config.retries, arrives, &mut self.given_up);
        // Taken from the back, they come in order.
        self.given_up.reverse();
        self.window = if acked == 0 { doubled(self.window) } else { CW_MIN };
        let Ampdu { frames, bytes, air_bytes } = self.on_air;
        let most = self.config.stations.get(self.last).map_or(1, |config| config.max_frames);
        (acked > 0).then(|| Batch {
            station: self.last as u32,
            frames,
            max_frames: largest(self.on_air_mcs, most, self.config.max_airtime, air_bytes / frames),
            bytes,
            acked_bytes,
            air_bytes,
            rate: self.on_air_mcs.rate(),
        })
    }

    /// The next packet that the last A-MPDU has delivered.
    pub(crate) fn pop_delivered(&mut self) -> Option<Mpdu> {
        self.stations.get_mut(self.last)?.deliver()
    }

    /// The next packet that was given up after the last A-MPDU.
    pub(crate) fn pop_given_up(&mut self) -> Option<Mpdu> {
        self.given_up.pop()
    }

    fn mcs_of(&self, station: usize, now: Time) -> Mcs {
        let own = self.config.stations.get(station).and_then(|config| config.mcs);
        let index = || self.mcs.rate_at(now).as_bps().min(u64::from(Mcs::MAX));
        own.or_else(|| Mcs::new(index() as u8)).unwrap_or(Mcs::LOWEST)
    }
}

impl Capacity for Wifi {
    /// The mean capacity for stations that always have packets of 1500 bytes waiting.
    fn offered(&self, from: Time, to: Time) -> u64 {
        self.capacity.offered(from, to)
    }
}

/// The contention window after a failed transmission.
fn doubled(window: u32) -> u32 {
    (2 * window + 1).min(CW_MAX)
}

/// Contends for the channel from `now` on and transmits for `airtime`. With RTS this is repeated
/// until a CTS answers.
fn transmit(
    channel: &mut Channel,
    now: Time,
    window: &mut u32,
    airtime: Span,
    rts: bool,
) -> Access {
    if !rts {
        return channel.access(now, *window, airtime, airtime);
    }
    let announced = RTS + SIFS + CTS;
    let mut now = now;
    loop {
        let access = channel.access(now, *window, announced + SIFS + airtime, announced);
        if !access.collided || now == Time::NEVER {
            return access;
        }
        *window = doubled(*window);
        now = access.end;
    }
}

fn station_of(map: &[u32], stations: usize, flow: u32) -> u32 {
    let last = stations.saturating_sub(1) as u32;
    map.get(flow as usize).map_or(last, |&station| station.min(last))
}

/// How many subframes of so many bytes a full A-MPDU has.
fn largest(mcs: Mcs, most: u32, longest: Span, subframe: u32) -> u32 {
    let subframe = subframe.max(1);
    let symbols = (longest - mcs.preamble()).as_nanos() / 4000;
    let bits = (symbols * (mcs.rate().as_bps() / 250_000)).saturating_sub(22);
    let by_time = (bits / 8 / u64::from(subframe)).min(u64::from(u32::MAX)) as u32;
    most.min(by_time).min(phy::MAX_BYTES / subframe).min(phy::BLOCK_ACK_WINDOW as u32).max(1)
}

/// The mean capacity at each step. With contenders it has no closed form, so that it is found by
/// simulating stations that always have packets waiting.
fn mean_capacity(config: &WifiConfig, channel: &mut Channel) -> Vec<(Span, Rate)> {
    let mut known: Vec<((Mcs, u32), (f64, f64))> = Vec::new();
    let mut rate = |mcs: Mcs| {
        let (mut bytes, mut time) = (0.0, 0.0);
        for station in &config.stations {
            let key = (station.mcs.unwrap_or(mcs), station.max_frames);
            let found = known.iter().find(|(other, _)| *other == key).map(|&(_, each)| each);
            let each = found.unwrap_or_else(|| {
                let each = saturated(config, channel, key.0, key.1);
                known.push((key, each));
                each
            });
            bytes += each.0;
            time += each.1;
        }
        Rate::from_bytes_per_sec(if time > 0.0 { bytes / time } else { 0.0 })
    };
    config.steps.iter().map(|&(at, mcs)| (at, rate(mcs))).collect()
}

/// The mean bytes that a full A-MPDU delivers, and the mean seconds from one to the next.
fn saturated(config: &WifiConfig, channel: &mut Channel, mcs: Mcs, most: u32) -> (f64, f64) {
    let subframe = phy::subframe(FULL_PACKET);
    let frames = largest(mcs, most, config.max_airtime, subframe);
    let airtime = mcs.airtime(frames * subframe) + SIFS + BLOCK_ACK;
    let trials = (CAPACITY_TRIALS / (config.contenders + 1)).min(20_000);
    let (begin, mut window) = (Time::ZERO, CW_MIN);
    let (mut now, mut through) = (begin, 0_u32);
    for _ in 0..trials {
        let sent = transmit(channel, now, &mut window, airtime, config.rts);
        now = sent.end;
        window = if sent.collided { doubled(window) } else { CW_MIN };
        through += u32::from(!sent.collided);
    }
    channel.restart();
    let bytes = f64::from(frames * FULL_PACKET) * (1.0 - config.frame_error) * f64::from(through);
    let turns = f64::from(trials);
    (bytes / turns, now.since(begin).as_secs_f64() / turns)
}

#[cfg(test)]
mod tests;
