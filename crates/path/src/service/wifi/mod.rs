//! An 802.11n access point's link: one channel that is taken turn by turn, a batch of frames a
//! turn.
//!
//! The access point takes packets from the link's queue and puts a batch of them (an A-MPDU)
//! together for one station: as many as station, standard and a limit on time allow. Then it
//! waits for the channel, transmits, and hears which frames have arrived (the block
//! acknowledgement). Lost frames go again with the next batch of their station, and packets leave
//! in order. Stations take turns.
//!
//! With RTS and CTS a collision costs no more than these; without, it costs the whole batch. A
//! batch is put together before the wait, as access points hand batches to their hardware;
//! what comes meanwhile goes with the next one. All of a batch leaves the link when its block
//! acknowledgement ends.
//!
//! Left out: the channel time of what stations send (transport acknowledgements among it) unless
//! competitors stand for it; capture, hidden stations, the longer pause after a collision (EIFS)
//! and rate control.

mod medium;
mod per_station;
mod phy;
mod station;

pub use per_station::{StationQueues, StationRouters};
pub use phy::Mcs;
pub use station::Frame;

use paceline_cc::{Batch, Capacity, Rate, Span, Stream, Time};

use self::medium::{Medium, Turn};
use self::phy::{BLOCK_ACK, CTS, CW_MAX, CW_MIN, RTS, SIFS};
use self::station::{Aggregate, Station};
use super::{Schedule, ServiceError};

/// A station of its own settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationConfig {
    /// Its modulation and coding; `None` follows the link's.
    pub mcs: Option<Mcs>,
    /// The most frames of a batch, M.
    pub max_frames: u32,
}

/// What an 802.11n link is like.
#[derive(Clone, Debug)]
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
    /// Batches are announced by RTS and CTS.
    pub rts: bool,
    /// The probability that a frame is lost, each for itself.
    pub frame_error: f64,
    /// How often a frame is transmitted again before it is given up.
    pub retries: u32,
    /// Stations of other networks that compete for the channel.
    pub contenders: u32,
    /// The mean time that each transmission of theirs takes, acknowledgement included.
    pub contender_airtime: Span,
    /// The mean pause between transmissions of each; zero if they always have something to send.
    pub contender_gap: Span,
}

/// The size of packets for which the capacity is told.
const FULL_PACKET: u32 = 1500;
/// Turns that are worked out to find the mean time of one, all competitors' included: with a few
/// competitors that always have something to send it is then known to 2 %.
const REHEARSALS: u32 = 120_000;

/// The service of an 802.11n link.
#[derive(Clone, Debug)]
pub struct Wifi {
    stations: Vec<Station>,
    config: WifiConfig,
    /// The modulation and coding over time: its index as a rate, to be looked up.
    mcs: Schedule,
    medium: Medium,
    /// Which frames are lost.
    errors: Stream,
    /// What a station that never runs out of packets would get.
    capacity: Schedule,
    /// The contention window.
    window: u32,
    /// The station that had the last turn.
    last: usize,
    /// The batch on air and its modulation.
    on_air: Aggregate,
    with: Mcs,
    collided: bool,
    given_up: Vec<Frame>,
}

impl Wifi {
    /// A link that nobody has used; `random` is its own.
    ///
    /// # Errors
    /// Steps as no schedule can have them.
    pub fn new(config: WifiConfig, random: &Stream) -> Result<Wifi, ServiceError> {
        let mut random = random.clone();
        let mut split = || random.split("wifi");
        let medium = |random| {
            Medium::new(random, config.contenders, config.contender_airtime, config.contender_gap)
        };
        let rehearsed = rehearse(&config, &mut medium(split()));
        let index = |&(at, mcs): &(Span, Mcs)| (at, Rate::from_bps(u64::from(mcs.index())));
        let indices: Vec<_> = config.steps.iter().map(index).collect();
        Ok(Wifi {
            stations: vec![Station::default(); config.stations.len().max(1)],
            mcs: Schedule::new(&indices, config.period)?,
            capacity: Schedule::new(&rehearsed, config.period)?,
            medium: medium(split()),
            errors: split(),
            window: CW_MIN,
            last: 0,
            on_air: Aggregate::default(),
            with: Mcs::LOWEST,
            collided: false,
            given_up: Vec::new(),
            config,
        })
    }

    /// The number of the station of a flow.
    pub fn station_of(&self, flow: u32) -> u32 {
        station_of(&self.config.station_of, self.config.stations.len(), flow)
    }

    /// Frames that have left the queue and not the link.
    pub fn held(&self) -> usize {
        self.stations.iter().map(Station::held).sum()
    }

    /// Their bytes.
    pub fn held_bytes(&self) -> u64 {
        self.stations.iter().map(Station::bytes).sum()
    }

    /// Stations in the order of their turns, as from the one after the last.
    pub fn turns(&self) -> impl Iterator<Item = u32> + use<> {
        let (count, last) = (self.stations.len(), self.last);
        (1..=count).map(move |i| ((last + i) % count) as u32)
    }

    /// True if it pays to take another packet from the queue for a batch to this station: it has
    /// no full one yet, and where stations share the queue, not more than two full ones are held
    /// for others.
    pub fn wants(&self, station: u32, now: Time, shared: bool) -> bool {
        let at = station as usize;
        let (Some(held), Some(config)) = (self.stations.get(at), self.config.stations.get(at))
        else {
            return false;
        };
        let full = held.is_full(self.mcs_of(at, now), config.max_frames, self.config.max_airtime);
        let all = || self.stations.iter().map(Station::waiting).sum::<usize>();
        !full && (!shared || all() < 2 * config.max_frames.max(1) as usize)
    }

    /// Takes a packet that has left the queue.
    pub fn stage(&mut self, frame: Frame) {
        let station = self.station_of(frame.packet.flow) as usize;
        if let Some(station) = self.stations.get_mut(station) {
            station.push(frame);
        }
    }

    /// Puts a batch for a station together and sends it; when its block acknowledgement ends.
    /// `None` if there is nothing to send.
    pub fn begin(&mut self, station: u32, now: Time) -> Option<Time> {
        let at = station as usize;
        let with = self.mcs_of(at, now);
        let config = self.config.stations.get(at)?;
        let held = self.stations.get_mut(at).filter(|held| held.waiting() > 0)?;
        (self.last, self.with) = (at, with);
        self.on_air = held.aggregate(with, config.max_frames, self.config.max_airtime);
        let airtime = with.airtime(self.on_air.air_bytes) + SIFS + BLOCK_ACK;
        let sent = transmit(&mut self.medium, now, &mut self.window, airtime, self.config.rts);
        self.collided = sent.collided;
        Some(sent.end)
    }

    /// The batch on air has ended. What the access point learns from the block acknowledgement;
    /// `None` if there was none.
    pub fn end(&mut self) -> Option<Batch> {
        let Wifi { config, errors, collided, .. } = self;
        let arrives = || !*collided && !errors.chance(config.frame_error);
        let station = self.stations.get_mut(self.last)?;
        let (acked, acked_bytes) = station.settle(config.retries, arrives, &mut self.given_up);
        // Taken from the back, they come in order.
        self.given_up.reverse();
        self.window = if acked == 0 { doubled(self.window) } else { CW_MIN };
        let Aggregate { frames, bytes, air_bytes } = self.on_air;
        let most = self.config.stations.get(self.last).map_or(1, |config| config.max_frames);
        (acked > 0).then(|| Batch {
            station: self.last as u32,
            frames,
            max_frames: largest(self.with, most, self.config.max_airtime, air_bytes / frames),
            bytes,
            acked_bytes,
            air_bytes,
            rate: self.with.rate(),
        })
    }

    /// The next packet that the last batch has brought through.
    pub fn deliver(&mut self) -> Option<Frame> {
        self.stations.get_mut(self.last)?.deliver()
    }

    /// The next packet that was given up with the last batch.
    pub fn give_up(&mut self) -> Option<Frame> {
        self.given_up.pop()
    }

    fn mcs_of(&self, station: usize, now: Time) -> Mcs {
        let own = self.config.stations.get(station).and_then(|config| config.mcs);
        let index = || self.mcs.rate_at(now).as_bps().min(u64::from(Mcs::MAX));
        own.or_else(|| Mcs::new(index() as u8)).unwrap_or(Mcs::LOWEST)
    }
}

impl Capacity for Wifi {
    /// What stations that never run out of packets of 1500 bytes get together, in the mean.
    fn offered(&self, from: Time, to: Time) -> u64 {
        self.capacity.offered(from, to)
    }
}

fn doubled(window: u32) -> u32 {
    (2 * window + 1).min(CW_MAX)
}

/// Waits for the channel from `now` on and transmits for `airtime`. With RTS this is repeated
/// until there is an answer.
fn transmit(medium: &mut Medium, now: Time, window: &mut u32, airtime: Span, rts: bool) -> Turn {
    if !rts {
        return medium.turn(now, *window, airtime, airtime);
    }
    let announced = RTS + SIFS + CTS;
    let mut now = now;
    loop {
        let turn = medium.turn(now, *window, announced + SIFS + airtime, announced);
        if !turn.collided || now == Time::NEVER {
            return turn;
        }
        *window = doubled(*window);
        now = turn.end;
    }
}

fn station_of(map: &[u32], stations: usize, flow: u32) -> u32 {
    let last = stations.saturating_sub(1) as u32;
    map.get(flow as usize).map_or(last, |&station| station.min(last))
}

/// The frames of a full batch of subframes of so many bytes.
fn largest(mcs: Mcs, most: u32, longest: Span, subframe: u32) -> u32 {
    let subframe = subframe.max(1);
    let symbols = (longest - mcs.preamble()).as_nanos() / 4000;
    let bits = (symbols * (mcs.rate().as_bps() / 250_000)).saturating_sub(22);
    let by_time = (bits / 8 / u64::from(subframe)).min(u64::from(u32::MAX)) as u32;
    most.min(by_time).min(phy::MAX_BYTES / subframe).min(phy::BLOCK_ACK_WINDOW as u32).max(1)
}

/// The capacity for each step: by trying out what stations that never run out of packets get.
fn rehearse(config: &WifiConfig, medium: &mut Medium) -> Vec<(Span, Rate)> {
    let mut known: Vec<((Mcs, u32), (f64, f64))> = Vec::new();
    let mut rate = |mcs: Mcs| {
        let (mut bytes, mut time) = (0.0, 0.0);
        for station in &config.stations {
            let key = (station.mcs.unwrap_or(mcs), station.max_frames);
            let found = known.iter().find(|(other, _)| *other == key).map(|&(_, each)| each);
            let each = found.unwrap_or_else(|| {
                let each = saturated(config, medium, key.0, key.1);
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

/// The mean bytes that full batches bring through, and the mean time that each takes in seconds.
fn saturated(config: &WifiConfig, medium: &mut Medium, mcs: Mcs, most: u32) -> (f64, f64) {
    let subframe = phy::subframe(FULL_PACKET);
    let frames = largest(mcs, most, config.max_airtime, subframe);
    let airtime = mcs.airtime(frames * subframe) + SIFS + BLOCK_ACK;
    let rehearsals = (REHEARSALS / (config.contenders + 1)).min(20_000);
    let (begin, mut window) = (Time::ZERO, CW_MIN);
    let (mut now, mut through) = (begin, 0_u32);
    for _ in 0..rehearsals {
        let sent = transmit(medium, now, &mut window, airtime, config.rts);
        now = sent.end;
        window = if sent.collided { doubled(window) } else { CW_MIN };
        through += u32::from(!sent.collided);
    }
    medium.restart();
    let bytes = f64::from(frames * FULL_PACKET) * (1.0 - config.frame_error) * f64::from(through);
    let turns = f64::from(rehearsals);
    (bytes / turns, now.since(begin).as_secs_f64() / turns)
}

#[cfg(test)]
mod tests;
