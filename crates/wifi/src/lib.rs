//! A shared medium: stations and an access point that contend for one channel by the distributed
//! coordination function (DCF) of IEEE 802.11-2020, 10.3.
//!
//! Every station has a port with a queue and a router, a rate and retry counters of its own; the access
//! point, station 0, has one port or one for each receiver. A station that has a frame waits until the
//! medium has been idle for a DIFS, or for an EIFS after a frame that it received with errors, and for
//! its backoff, a random number of slots that counts down while the medium is idle and stands still
//! while it is busy. Stations whose backoffs end together collide: all of their frames are lost. The
//! receiver acknowledges a frame after a SIFS. A sender without an acknowledgement doubles its contention window and transmits
//! again, until it gives the packet up. After each packet a station draws a backoff anew; one that
//! has nothing to send while the medium is idle transmits its next frame at once.
//!
//! That every station gets the same number of packets through, whatever its rate (the performance
//! anomaly), and that an access point with downloads for many gets no more than one station with an
//! upload, comes from this alone.
//!
//! Stations of 802.11n transmit A-MPDUs: as many packets (MPDUs) for one receiver as the limits of
//! the standard, the receiver and a limit on time allow. The block acknowledgement tells which of
//! them have arrived; the others go again with the next A-MPDU for the same receiver, which hands
//! packets on in order. A router at the station hears of each block acknowledgement
//! ([`Router::on_batch`](paceline_cc::Router::on_batch)). What is given up is announced to the receiver at no cost.
//!
//! Background stations are stations of other networks, of whose frames only the times are known.
//! While no station has a frame they are not simulated; when one gets a frame, what they have done
//! in the last half second is made up for.
//!
//! Not modelled: stations that do not hear each other, capture (the stronger of two frames that
//! collide is received all the same), propagation delay, beacons and associations, fragments, and
//! power saving. A station transmits to the access point, and the access point to stations.
//!
//! Nothing happens per slot: when a transmission begins, each station works out how many slots have
//! passed.

mod access_point;
mod aggregate;
mod background;
mod backoff;
mod capacity;
mod coding;
mod errors;
mod events;
mod mcs;
mod minstrel;
mod phy;
mod ports;
mod saturation;
mod sequence;
mod station;
mod transmit_queue;

#[cfg(test)]
mod access_point_tests;
#[cfg(test)]
mod ampdu_tests;
#[cfg(test)]
mod rate_tests;
#[cfg(test)]
mod tests;

pub use access_point::AccessPoint;
pub use aggregate::Aggregation;
pub use background::BackgroundConfig;
pub use mcs::{ChannelWidth, GuardInterval, Ht, Mcs};
pub use phy::{MAX_SCALE, Modulation, Phy, Preamble};
pub use ports::StationPorts;
pub use saturation::{Load, Saturation, saturate};
pub use station::{RateControl, StationConfig, StationStats};

use std::collections::VecDeque;

use paceline_cc::{Packet, Rate, Stage, Stream, Time};
use paceline_path::{Counters, Port, PortLog, Service, ServiceError};

use self::background::Background;
use self::station::Station;

/// What comes on top of an IP packet in a frame: MAC header 24, LLC and SNAP 8, FCS 4.
pub const MAC_OVERHEAD: u32 = 24 + 8 + 4;

/// The same of a frame of 802.11n, whose header has 26 bytes.
pub const QOS_OVERHEAD: u32 = 26 + 8 + 4;

/// How 802.11g reserves the medium against stations of 802.11b, which cannot receive its frames.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not at all.
    None,
    /// A CTS of 802.11b to the station itself before each frame, at this rate and with this
    /// preamble.
    CtsToSelf(Rate, Preamble),
}

/// The stations that send and receive the packets of a route; 0 is the access point.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
}

/// The place of a station among those that a station sends to: the access point sends to all others,
/// of which the first is 0; a station sends to the access point alone.
fn receiver(station: u32) -> usize {
    station.saturating_sub(1) as usize
}

/// How a medium knows which stations send and receive a packet.
#[derive(Clone, Debug)]
pub(crate) enum Addresses {
    /// By the number of its route.
    Routes(Vec<Hop>),
    /// The access point sends it to the station of its flow: station 1 is 0 here. Flows beyond belong
    /// to the last station, of which there are so many.
    Flows(Vec<u32>, u32),
}

impl Addresses {
    /// The stations of a packet.
    #[inline]
    fn hop(&self, packet: &Packet) -> Hop {
        match self {
            Addresses::Routes(hops) => hops.get(packet.route as usize).copied().unwrap_or_default(),
            Addresses::Flows(stations, count) => {
                let last = count.saturating_sub(1);
                let station = stations.get(packet.flow as usize).map_or(last, |to| (*to).min(last));
                Hop { from: 0, to: station + 1 }
            }
        }
    }
}

/// The settings of a medium.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MediumConfig {
    /// The times of the physical layer.
    pub phy: Phy,
    /// The stations, of which the first is the access point.
    pub stations: Vec<StationConfig>,
    /// `dot11ShortRetryLimit`: how often a frame without RTS, or an RTS, is transmitted before the
    /// packet is given up.
    pub short_retry_limit: u32,
    /// `dot11LongRetryLimit`: how often a frame behind an RTS is transmitted.
    pub long_retry_limit: u32,
    /// `dot11RTSThreshold`: frames of more bytes, MAC header and FCS included, have an RTS before
    /// them; `None` for no RTS.
    pub rts_threshold: Option<u32>,
    /// How the medium is reserved against stations of 802.11b.
    pub protection: Protection,
    /// True if a frame that comes to a station without any while the medium is idle is transmitted
    /// after a DIFS without a backoff, as the standard has it; false if it always waits for a
    /// backoff, too, as in ns-2.
    pub immediate_access: bool,
    /// True if a frame that comes to a station without any at the instant at which another frame has
    /// arrived, as an answer to it does, is transmitted without a backoff after the acknowledgement
    /// and a DIFS, as in ns-3, for which the medium is idle at that instant; false if it waits for a
    /// backoff, as the medium has not been idle for a DIFS (IEEE 802.11-2020, 10.3.4.3).
    pub access_at_arrival: bool,
    /// Bytes that a frame has beyond its packet.
    pub mac_overhead: u32,
    /// The limits of A-MPDUs, for layers that have them.
    pub aggregation: Aggregation,
    /// Stations of other networks.
    pub background: Vec<BackgroundConfig>,
}

impl MediumConfig {
    /// An access point and so many stations, all at one rate. Seven transmissions of a frame, no
    /// RTS, no protection.
    pub fn new(phy: Phy, stations: u32, rate: Rate) -> MediumConfig {
        let ht = phy.high_throughput().is_some();
        MediumConfig {
            phy,
            stations: (0..=stations).map(|_| StationConfig::new(rate)).collect(),
            short_retry_limit: 7,
            long_retry_limit: 4,
            rts_threshold: None,
            protection: Protection::None,
            immediate_access: true,
            access_at_arrival: false,
            mac_overhead: if ht { QOS_OVERHEAD } else { MAC_OVERHEAD },
            aggregation: Aggregation::default(),
            background: Vec::new(),
        }
    }
}

/// What a medium does until its next event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// It is idle; the next event is the start of a transmission.
    Contention,
    /// A frame is on air that will arrive; the next event is its end.
    Frame,
    /// The next event is the end of the exchange, with or without an acknowledgement.
    Answer,
}

/// An access point and stations at one channel.
///
/// As a [`Stage`] it takes packets in by their routes, once [`Medium::set_hops`] has told which
/// stations send and receive those of each route.
pub struct Medium {
    config: MediumConfig,
    stations: Vec<Station>,
    background: Vec<Background>,
    addresses: Addresses,
    phase: Phase,
    /// When the next event is due; [`Time::NEVER`] if nobody has a frame.
    due: Time,
    /// The end of the exchange on air.
    end: Time,
    /// When a frame last arrived.
    arrived: Time,
    /// The sender of the frame that will arrive.
    sender: usize,
    /// Several stations transmit.
    collided: bool,
    /// Senders of single frames choose rates.
    controlled: bool,
    /// Background stations are simulated among themselves.
    simulating_background: bool,
    /// Frames that have arrived and that the driver has not asked for.
    ready: VecDeque<(Time, Packet)>,
}

impl Medium {
    /// A medium whose stations have these ports, as many as the configuration has stations; `random` is
    /// its own random stream.
    ///
    /// # Errors
    /// Rates over time that make no legal schedule.
    pub fn new(
        config: MediumConfig,
        ports: Vec<StationPorts>,
        random: &Stream,
    ) -> Result<Medium, ServiceError> {
        let mut random = random.clone();
        let mut stations = Vec::with_capacity(ports.len());
        let cw_min = config.phy.cw_min;
        for (number, ports) in ports.into_iter().enumerate() {
            let Some(settings) = config.stations.get(number) else { break };
            // What routers are told until frames have shown how long they take.
            let capacity = Service::constant(config.nominal_rate_of(settings, 1500));
            let aggregator = config.aggregator(number, &mut random)?;
            let own = random.split("station");
            let parts = (ports, capacity);
            let mut station = Station::new(settings, parts, own, &config.phy, aggregator)?;
            if config.phy.high_throughput().is_none() {
                let mut control = || config.minstrel(settings, &mut random);
                station.controls = control().zip(control()).map(|both| Box::new(both.into()));
            }
            stations.push(station);
        }
        let background = |settings: &BackgroundConfig| {
            Background::new(settings.clone(), random.split("background"), cw_min)
        };
        let controlled = stations.iter().any(|station| station.controls.is_some());
        Ok(Medium {
            background: config.background.iter().map(background).collect(),
            config,
            stations,
            addresses: Addresses::Routes(Vec::new()),
            phase: Phase::Contention,
            due: Time::NEVER,
            end: Time::ZERO,
            arrived: Time::NEVER,
            sender: 0,
            collided: false,
            controlled,
            simulating_background: false,
            ready: VecDeque::new(),
        })
    }

    /// Starts or stops to record the events of all stations.
    pub fn record(&mut self, on: bool) {
        for station in &mut self.stations {
            station.ports.all_mut().iter_mut().for_each(|port| port.record(on));
        }
    }

    /// Tells which stations send and receive the packets of each route, by its number.
    pub fn set_hops(&mut self, hops: Vec<Hop>) {
        self.addresses = Addresses::Routes(hops);
    }

    /// How many stations there are, the access point included.
    pub fn len(&self) -> usize {
        self.stations.len()
    }

    /// True without stations.
    pub fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// The logs of a station, one for each of its ports.
    pub fn logs_mut(&mut self, number: usize) -> impl Iterator<Item = &mut PortLog> {
        let ports = self.stations.get_mut(number).map(|station| station.ports.all_mut());
        ports.unwrap_or_default().iter_mut().map(|port| port.log_mut())
    }

    /// Counts of all ports of a station since the start.
    pub fn counters(&self, number: usize) -> Counters {
        self.stations.get(number).map_or_else(Counters::default, |one| one.ports.counters())
    }

    /// Packets that wait at a station or are in transmission.
    pub fn backlog_packets(&self, number: usize) -> usize {
        self.ports(number).iter().map(Port::backlog_packets).sum()
    }

    /// Bytes that wait at a station or are in transmission.
    pub fn backlog_bytes(&self, number: usize) -> u64 {
        self.ports(number).iter().map(Port::backlog_bytes).sum()
    }

    /// True if a port of the station has a router.
    pub fn has_router(&self, number: usize) -> bool {
        self.ports(number).iter().any(|port| port.router().is_some())
    }

    fn ports(&self, number: usize) -> &[Port] {
        self.stations.get(number).map(|station| station.ports.all()).unwrap_or_default()
    }

    /// The rate of a station while it has packets to send: bytes over times of its last frames, of
    /// which the time is counted from the head of the queue to the receiver. Of an [`AccessPoint`], its
    /// [capacity](AccessPoint::capacity). `None` if there is no such station.
    pub fn capacity(&self, number: usize) -> Option<&Service> {
        self.stations.get(number).map(|station| &station.capacity)
    }

    /// Packets that have arrived and that the driver has not collected yet.
    pub fn uncollected(&self) -> usize {
        self.ready.len()
    }

    /// What a station has done on air.
    pub fn stats(&self, number: usize) -> StationStats {
        self.stations.get(number).map_or_else(StationStats::default, |station| station.stats)
    }

    /// Frames transmitted that collided, over all frames transmitted, retransmissions included;
    /// where an RTS goes first, it counts in the frame's place. 0 before the first.
    pub fn collision_probability(&self) -> f64 {
        let sum = |part: fn(&StationStats) -> u64| {
            self.stations.iter().map(|station| part(&station.stats)).sum::<u64>() as f64
        };
        sum(|stats| stats.collisions) / sum(|stats| stats.transmissions).max(1.0)
    }

    /// Takes the memory of a medium that is not needed any more; nothing must have happened here.
    pub fn take_memory(&mut self, other: &mut Medium) {
        other.ready.clear();
        std::mem::swap(&mut self.ready, &mut other.ready);
        let stations = self.stations.iter_mut().zip(&mut other.stations);
        stations.for_each(|(new, old)| {
            new.ports.take_memory(&mut old.ports);
            if let (Some(new), Some(old)) = (&mut new.aggregator, &mut old.aggregator) {
                new.take_memory(old);
            }
        });
    }

    /// The packet's stations.
    fn hop(&self, packet: &Packet) -> Hop {
        self.addresses.hop(packet)
    }
}

impl Stage for Medium {
    fn push(&mut self, now: Time, packet: &Packet) {
        self.catch_up(now);
        self.accept(now, self.hop(packet), packet);
    }

    fn pop_into(&mut self, now: Time, place: &mut Packet) -> bool {
        while self.ready.is_empty() && self.due <= now && self.due != Time::NEVER {
            self.next_event();
        }
        match self.ready.pop_front_if(|(at, _)| *at <= now) {
            Some((_, packet)) => {
                *place = packet;
                true
            }
            None => false,
        }
    }

    #[inline]
    fn wake(&self) -> Time {
        self.ready.front().map_or(self.due, |(at, _)| *at)
    }
}
