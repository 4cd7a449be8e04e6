//! A shared medium: stations and an access point that contend for one channel by the distributed
//! coordination function (DCF) of IEEE 802.11-2020, 10.3.
//!
//! Every station has a port with a queue and a router, a rate, and retry counters; the access
//! point, station 0, has one port or one per receiver. A station with a frame waits until the
//! medium has been idle for a DIFS, or for an EIFS after a frame that it received with errors, and
//! then for its backoff: a random number of slots that counts down while the medium is idle and
//! stops while it is busy. Stations whose backoffs end together collide, and all of their frames
//! are lost. The receiver acknowledges a frame after a SIFS. A sender without an acknowledgement
//! doubles its contention window and transmits again, until it gives the packet up. After each
//! packet a station draws a new backoff; a station without a frame while the medium is idle
//! transmits its next frame at once.
//!
//! Two known effects follow from this alone: every station gets the same number of packets through,
//! whatever its rate (the performance anomaly); and an access point with downloads for many
//! stations gets no more than one station with an upload.
//!
//! Stations of 802.11n transmit A-MPDUs: as many packets (MPDUs) for one receiver as the limits of
//! the standard, the receiver and a time limit allow. The block acknowledgement says which of them
//! have arrived; the others are sent again in the next A-MPDU for the same receiver, which passes
//! packets on in order. A router at the station receives each block acknowledgement
//! ([`Router::on_batch`](paceline_cc::Router::on_batch)). Packets that are given up are announced
//! to the receiver at no cost.
//!
//! Background stations are stations of other networks, of whose frames only the times are modelled.
//! They are not simulated while no station has a frame; when a station gets one, the last half
//! second of background stations is simulated first.
//!
//! Not modelled: stations that do not hear each other, capture (the stronger of two colliding
//! frames may be received), propagation delay, beacons and associations, fragments, and power
//! saving. A station transmits to the access point, and the access point to stations.
//!
//! There are no events per slot: when a transmission begins, each station computes how many slots
//! have passed.

mod access_point;
mod aggregate;
mod background;
mod capacity;
mod coding;
mod contention;
mod errors;
mod events;
mod idle;
mod mcs;
mod minstrel;
mod phy;
mod ports;
mod saturation;
mod sequence;
mod station;
mod station_config;
mod transmit_queue;
mod turns;

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
pub use saturation::{SaturatedSenders, Saturation, saturate};
pub use station::StationStats;
pub use station_config::{RateControl, StationConfig};
pub use turns::Turn;

use std::collections::VecDeque;

use paceline_cc::{Packet, Rate, Span, Stage, Stream, Time};
use paceline_path::{Counters, Port, PortLog, Service, ServiceError};

use self::background::Background;
use self::contention::Contention;
use self::idle::IdleTime;
use self::station::Station;

/// Overhead of a frame beyond its IP packet, in bytes: MAC header 24, LLC and SNAP 8, FCS 4.
pub const MAC_OVERHEAD: u32 = 24 + 8 + 4;

/// Overhead of a frame of 802.11n beyond its IP packet, in bytes: its MAC header has 26.
pub const QOS_OVERHEAD: u32 = 26 + 8 + 4;

/// Longest packet of a frame in bytes: the largest MSDU of IEEE 802.11-2020, 9.2.4.7.1, has 2304, of
/// which 8 are LLC and SNAP.
pub const LONGEST_PACKET: u32 = 2304 - 8;

/// How 802.11g protects its frames from stations of 802.11b, which cannot receive them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No protection.
    None,
    /// A CTS of 802.11b to the station itself before each frame, at this rate and with this
    /// preamble. A [scaled](Phy::scaled) layer divides its time.
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

/// Returns the index of a station among the receivers of a sender: the access point sends to all
/// others, the first of which is 0; a station sends only to the access point.
fn receiver(station: u32) -> usize {
    station.saturating_sub(1) as usize
}

/// How the sending and receiving stations of a packet are found.
#[derive(Clone, Debug)]
pub(crate) enum Addresses {
    /// By the number of its route.
    Routes(Vec<Hop>),
    /// By its flow: the access point sends it to the station of the flow, where station 1 is 0.
    /// Other flows use the last station; the number is that of all stations.
    Flows(Vec<u32>, u32),
}

impl Addresses {
    /// Returns the stations of a packet.
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

/// Settings of a medium.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MediumConfig {
    /// Times of the physical layer.
    pub phy: Phy,
    /// The stations, of which the first is the access point.
    pub stations: Vec<StationConfig>,
    /// `dot11ShortRetryLimit`: number of transmissions of a frame without RTS, or of an RTS, before
    /// the packet is given up.
    pub short_retry_limit: u32,
    /// `dot11LongRetryLimit`: number of transmissions of a frame after an RTS.
    pub long_retry_limit: u32,
    /// `dot11RTSThreshold`: frames of more bytes, including MAC header and FCS, are preceded by an
    /// RTS; `None` for no RTS.
    pub rts_threshold: Option<u32>,
    /// Protection from stations of 802.11b.
    pub protection: Protection,
    /// True if a frame that comes to a station without one, while the medium is idle, is
    /// transmitted after a DIFS without a backoff, as in the standard; false if it also waits for a
    /// backoff, as in ns-2.
    pub immediate_access: bool,
    /// True if a frame that comes to a station without one, exactly when another frame has arrived
    /// (as the answer to it does), is transmitted without a backoff after the acknowledgement and a
    /// DIFS, as in ns-3, where the medium counts as idle at that instant; false if it waits for a
    /// backoff, because the medium has not been idle for a DIFS (IEEE 802.11-2020, 10.3.4.3).
    pub access_at_arrival: bool,
    /// Overhead of a frame beyond its packet, in bytes.
    pub mac_overhead: u32,
    /// Size of the packets for which capacities are stated, in bytes.
    pub packet: u32,
    /// Limits of A-MPDUs, for layers that have them.
    pub aggregation: Aggregation,
    /// Stations of other networks.
    pub background: Vec<BackgroundConfig>,
}

impl MediumConfig {
    /// Creates an access point and `stations` stations, all at one rate, with seven transmissions
    /// of a frame, no RTS and no protection.
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
            packet: 1500,
            aggregation: Aggregation::default(),
            background: Vec::new(),
        }
    }
}

/// The activity of a medium until its next event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Idle; the next event is the start of a transmission.
    Contention,
    /// A frame that will arrive is on air; the next event is its end.
    Frame,
    /// The next event is the end of the exchange, with or without an acknowledgement.
    Answer,
}

/// An access point and stations at one channel.
///
/// As a [`Stage`] it takes packets by their routes. First [`Medium::set_hops`] must set which
/// stations send and receive those of each route.
pub struct Medium {
    config: MediumConfig,
    stations: Vec<Station>,
    background: Vec<Background>,
    /// The backoffs of all stations, and then of the background stations.
    contention: Contention,
    /// The stations on air, counted likewise, and the times at which their frames end if they
    /// collide.
    starters: Vec<usize>,
    own_ends: Vec<Time>,
    addresses: Addresses,
    phase: Phase,
    /// Time of the next event; [`Time::NEVER`] if no station has a frame.
    due: Time,
    /// End of the exchange on air.
    end: Time,
    idle: IdleTime,
    /// When a frame last arrived.
    arrived: Time,
    /// Sender of the frame that will arrive.
    sender: usize,
    /// True if several stations transmit.
    collided: bool,
    /// True if senders of single frames choose rates.
    controlled: bool,
    /// True while background stations are simulated among themselves.
    simulating_background: bool,
    /// Frames that have arrived and that the driver has not collected yet.
    ready: VecDeque<(Time, Packet)>,
}

impl Medium {
    /// Creates a medium whose stations have these ports, as many as the configuration has stations;
    /// `random` is its own random stream.
    ///
    /// # Errors
    /// A station's rates over time are not a valid schedule.
    pub fn new(
        config: MediumConfig,
        ports: Vec<StationPorts>,
        random: &Stream,
    ) -> Result<Medium, ServiceError> {
        let mut random = random.clone();
        let mut stations = Vec::with_capacity(ports.len());
        let mut contention = Contention::new(config.phy.slot);
        let cw_min = config.phy.cw_min;
        for (number, ports) in ports.into_iter().enumerate() {
            let Some(settings) = config.stations.get(number) else { break };
            // The capacity for routers until frames have shown how long they take.
            let capacity = Service::constant(config.nominal_rate_of(settings));
            let aggregator = config.aggregator(number, &mut random)?;
            let own = random.split("station");
            let parts = (ports, capacity);
            let mut station = Station::new(settings, parts, &config.phy, aggregator)?;
            if config.phy.high_throughput().is_none() {
                let mut control = || config.minstrel(settings, &mut random);
                station.controls = control().zip(control()).map(|both| Box::new(both.into()));
            }
            stations.push(station);
            contention.add(own, cw_min);
        }
        let mut background = Vec::with_capacity(config.background.len());
        for settings in &config.background {
            let mut own = random.split("background");
            contention.add(own.split("backoff"), cw_min);
            background.push(Background::new(settings.clone(), own));
        }
        let all = stations.len() + background.len();
        let controlled = stations.iter().any(|station| station.controls.is_some());
        let idle = IdleTime::new(&config);
        Ok(Medium {
            config,
            stations,
            background,
            contention,
            starters: Vec::with_capacity(all),
            own_ends: Vec::with_capacity(all),
            addresses: Addresses::Routes(Vec::new()),
            phase: Phase::Contention,
            due: Time::NEVER,
            end: Time::ZERO,
            idle,
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

    /// Starts or stops to record what statistics need of all stations: [`PortLog::departures`], and
    /// [`Medium::drain_turns`]. This costs less than events.
    pub fn record_statistics(&mut self, on: bool) {
        for station in &mut self.stations {
            station.ports.all_mut().iter_mut().for_each(|port| port.record_statistics(on));
            station.record_turns(on);
        }
    }

    /// Sets the stations that send and receive the packets of each route, by its number.
    pub fn set_hops(&mut self, hops: Vec<Hop>) {
        self.addresses = Addresses::Routes(hops);
    }

    /// Returns the number of stations, including the access point.
    pub fn len(&self) -> usize {
        self.stations.len()
    }

    /// Returns true if there are no stations.
    pub fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// Returns the logs of a station, one per port.
    pub fn logs_mut(&mut self, number: usize) -> impl Iterator<Item = &mut PortLog> {
        let ports = self.stations.get_mut(number).map(|station| station.ports.all_mut());
        ports.unwrap_or_default().iter_mut().map(|port| port.log_mut())
    }

    /// Returns the counters of all ports of a station since the start.
    pub fn counters(&self, number: usize) -> Counters {
        self.stations.get(number).map_or_else(Counters::default, |one| one.ports.counters())
    }

    /// Returns the packets at a station, waiting or in transmission.
    pub fn backlog_packets(&self, number: usize) -> usize {
        self.ports(number).iter().map(Port::backlog_packets).sum()
    }

    /// Returns the bytes at a station, waiting or in transmission.
    pub fn backlog_bytes(&self, number: usize) -> u64 {
        self.ports(number).iter().map(Port::backlog_bytes).sum()
    }

    /// Returns true if a port of the station has a router.
    pub fn has_router(&self, number: usize) -> bool {
        self.ports(number).iter().any(|port| port.router().is_some())
    }

    fn ports(&self, number: usize) -> &[Port] {
        self.stations.get(number).map(|station| station.ports.all()).unwrap_or_default()
    }

    /// Returns the time until `now` in which a station had packets to send, waiting or on air. `None`
    /// if there is no such station, or for an [`AccessPoint`], whose capacity is not measured.
    pub fn busy_time(&self, number: usize, now: Time) -> Option<Span> {
        Some(self.stations.get(number)?.measured_turns()?.busy(now))
    }

    /// Returns when the present turn of a station began, if it has packets to send.
    pub fn open_turn(&self, number: usize) -> Option<Time> {
        self.stations.get(number)?.measured_turns()?.open()
    }

    /// Takes the turns of a station that have ended since the last call. Empty unless statistics are
    /// recorded, and for an [`AccessPoint`].
    pub fn drain_turns(&mut self, number: usize) -> impl Iterator<Item = Turn> {
        self.stations.get_mut(number).into_iter().flat_map(|station| station.turns.drain())
    }

    /// Returns the capacity that routers receive: bytes divided by times of the station's last
    /// frames, where a frame's time counts from the head of the queue to the end of its
    /// acknowledgement, and that of a frame that was given up counts, too. For an
    /// [`AccessPoint`], returns its [capacity](AccessPoint::capacity). `None` if there is no such
    /// station.
    pub fn capacity(&self, number: usize) -> Option<&Service> {
        self.stations.get(number).map(|station| &station.capacity)
    }

    /// Returns the packets that have arrived and that the driver has not collected yet.
    pub fn uncollected(&self) -> usize {
        self.ready.len()
    }

    /// Returns what a station has done on air.
    pub fn stats(&self, number: usize) -> StationStats {
        self.stations.get(number).map_or_else(StationStats::default, |station| station.stats)
    }

    /// Returns collided frames divided by transmitted frames, including retransmissions; an RTS
    /// counts in its frame's place. 0 before the first frame.
    pub fn collision_probability(&self) -> f64 {
        let sum = |part: fn(&StationStats) -> u64| {
            self.stations.iter().map(|station| part(&station.stats)).sum::<u64>() as f64
        };
        sum(|stats| stats.collisions) / sum(|stats| stats.transmissions).max(1.0)
    }

    /// Returns the packet's stations.
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
