//! Shared 802.11 media in scenarios.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_wifi::{
    Ht, MAX_SCALE, Mcs, MediumConfig, Phy, Preamble, Protection, RateControl, StationConfig,
};

use super::{ChannelSpec, FlowSpec, QueueChoice, RouterChoice, Scenario};

/// A channel for which an access point and stations contend. [`paceline_wifi`] describes the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MediumSpec {
    /// Its name.
    pub name: String,
    /// The physical layer.
    pub layer: Layer,
    /// Divisor of all times of the layer, of the CTS of `protection` and of `channel`, and factor of
    /// the layer's basic rates.
    pub scale: u32,
    /// The basic rates; empty for those of the layer.
    pub basic_rates: Vec<Rate>,
    /// Frames of more bytes than this are preceded by an RTS; `None` for no RTS.
    pub rts: Option<u32>,
    /// True if each frame is preceded by a CTS of 802.11b at 1 Mbit/s.
    pub protection: bool,
    /// True if a packet that comes to an idle medium is transmitted without a backoff.
    pub immediate_access: bool,
    /// Whether stations wait for an EIFS after a collision; `None` for the layer's default.
    pub eifs_after_collision: Option<bool>,
    /// True if a station whose own frame collided, and ended before another one, then waits for an
    /// EIFS, as in ns-2.
    pub eifs_after_own_collision: bool,
    /// Number of transmissions after which a packet is given up: of a frame without RTS, of an RTS,
    /// and of the frame after it. `None` for the standard's numbers: seven, seven and four; packets
    /// in A-MPDUs have seven, with or without RTS.
    pub transmissions: Option<u32>,
    /// Limits of an A-MPDU, and stations of other networks.
    pub channel: ChannelSpec,
    /// The access point's queue.
    pub access_point: PortSpec,
    /// The stations.
    pub stations: Vec<StationPort>,
}

/// The physical layer of a medium.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// 802.11b, at any rate.
    B(Preamble),
    /// 802.11g without stations of 802.11b.
    G,
    /// 802.11a.
    A,
    /// 802.11n at 5 GHz or, with a signal extension, at 2.4 GHz.
    N(Ht),
}

/// The queue and router of a station or of the access point.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Its queue.
    pub queue: QueueChoice,
    /// Limit of its queue, in packets, bytes or sojourn time, or unlimited.
    pub buffer: BufferSize,
    /// Its router.
    pub router: RouterChoice,
}

/// A station of a medium.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StationPort {
    /// Its name, by which flows refer to it; unique among all stations of a scenario.
    pub name: String,
    /// Rate of data frames to and from it, from each offset on; the first offset is zero.
    pub rates: Vec<(Span, Rate)>,
    /// 802.11n: modulation and coding, in place of the rate.
    pub mcs: Vec<(Span, Mcs)>,
    /// 802.11n: maximum number of frames in an A-MPDU to or from it; `None` for the medium's.
    pub max_frames: Option<u32>,
    /// Signal-to-noise ratio of such frames in decibels, from each offset on; the first offset is
    /// zero. Empty for a channel without noise.
    pub snr: Vec<(Span, f64)>,
    /// Time after which the steps of `mcs` and of `snr` repeat.
    pub period: Option<Span>,
    /// How rates are chosen; senders that choose them ignore `rates` and `mcs`.
    pub rate_control: RateControl,
    /// Probability that a data frame to or from it is damaged.
    pub frame_error: f64,
    /// Probability that a bit of such a frame is damaged.
    pub bit_error: f64,
    /// Its queue and router.
    pub port: PortSpec,
}

/// How a flow uses a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationUse {
    /// The station.
    pub station: String,
    /// Direction of the flow's data; its acknowledgements take the other one.
    pub direction: Direction,
}

/// A direction over a medium.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the access point to the station: the medium is the last carrier of the data.
    Down,
    /// From the station to the access point: the medium is the first carrier of the data.
    Up,
}

impl PortSpec {
    /// Creates a port with a queue of `packets` packets; the queue is droptail, or that of the
    /// flows, which also choose the router.
    pub fn packets(packets: u64) -> PortSpec {
        PortSpec {
            queue: QueueChoice::Auto,
            buffer: BufferSize::Packets(packets),
            router: RouterChoice::Auto,
        }
    }
}

impl StationPort {
    /// Creates a station without errors, with a queue of 50 packets.
    pub fn new(name: &str, rate: Rate) -> StationPort {
        StationPort {
            name: name.to_string(),
            rates: vec![(Span::ZERO, rate)],
            mcs: Vec::new(),
            max_frames: None,
            snr: Vec::new(),
            period: None,
            rate_control: RateControl::Fixed,
            frame_error: 0.0,
            bit_error: 0.0,
            port: PortSpec::packets(50),
        }
    }
}

impl MediumSpec {
    /// Creates a medium with queues of 50 packets and without stations.
    pub fn new(name: &str, layer: Layer) -> MediumSpec {
        MediumSpec {
            name: name.to_string(),
            layer,
            scale: 1,
            basic_rates: Vec::new(),
            rts: None,
            protection: false,
            immediate_access: true,
            eifs_after_collision: None,
            eifs_after_own_collision: false,
            transmissions: None,
            channel: ChannelSpec::new(64),
            access_point: PortSpec::packets(50),
            stations: Vec::new(),
        }
    }

    /// Returns the medium with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut MediumSpec)) -> MediumSpec {
        change(&mut self);
        self
    }

    /// Returns the physical layer with the medium's settings.
    pub fn phy(&self) -> Phy {
        let layer = match self.layer {
            Layer::B(preamble) => Phy::dsss(preamble),
            Layer::G => Phy::erp_ofdm(),
            Layer::A => Phy::ofdm(),
            Layer::N(ht) if ht.extension.is_zero() => Phy::ht(ht),
            Layer::N(ht) => Phy::ht_2ghz(ht),
        };
        let mut phy = layer.scaled(self.scale);
        if !self.basic_rates.is_empty() {
            phy.basic_rates = self.basic_rates.clone();
        }
        phy.eifs_after_collision = self.eifs_after_collision.unwrap_or(phy.eifs_after_collision);
        phy.eifs_after_own_collision = self.eifs_after_own_collision;
        phy
    }

    /// Returns the configuration of the medium.
    pub fn config(&self) -> MediumConfig {
        let fastest = self.stations.iter().filter_map(|station| station.rates.first());
        let fastest = fastest.map(|(_, rate)| *rate).max().unwrap_or(Rate::from_bps(1_000_000));
        let mut config = MediumConfig::new(self.phy(), 0, fastest);
        for station in &self.stations {
            let mut settings = StationConfig::new(fastest);
            settings.rates.clone_from(&station.rates);
            settings.frame_error = station.frame_error;
            settings.bit_error = station.bit_error;
            settings.mcs.clone_from(&station.mcs);
            settings.mcs_period = station.period.filter(|_| station.mcs.len() > 1);
            settings.max_mpdus = station.max_frames;
            settings.snr.clone_from(&station.snr);
            settings.snr_period = station.period.filter(|_| station.snr.len() > 1);
            settings.rate_control = station.rate_control;
            config.stations.push(settings);
        }
        config.rts_threshold = self.rts;
        config.immediate_access = self.immediate_access;
        if let Some(transmissions) = self.transmissions {
            config.short_retry_limit = transmissions;
            config.long_retry_limit = transmissions;
        }
        config.aggregation.transmissions = config.short_retry_limit;
        self.channel.apply(&mut config, self.scale.clamp(1, MAX_SCALE));
        if self.protection {
            config.protection = Protection::CtsToSelf(Rate::from_mbps(1.0), Preamble::Long);
        }
        config
    }

    /// Returns the port with this number; the access point has number 0.
    pub fn port(&self, number: usize) -> Option<&PortSpec> {
        match number.checked_sub(1) {
            None => Some(&self.access_point),
            Some(station) => self.stations.get(station).map(|station| &station.port),
        }
    }

    /// Returns the name of a port for messages and results.
    pub fn port_name(&self, number: usize) -> String {
        let station = number.checked_sub(1).and_then(|station| self.stations.get(station));
        let name = station.map_or("access point", |station| station.name.as_str());
        format!("{}, {name}", self.name)
    }

    /// Returns the number of the port that a flow's data passes, if the flow uses this medium.
    pub fn port_of(&self, flow: &FlowSpec) -> Option<usize> {
        let hop = flow.station.as_ref()?;
        let at = self.stations.iter().position(|station| station.name == hop.station)?;
        Some(if hop.direction == Direction::Down { 0 } else { at + 1 })
    }
}

impl Scenario {
    /// Returns the medium that has a station of this name, and the station's number, from 1 on.
    pub fn station(&self, name: &str) -> Option<(usize, usize)> {
        self.media.iter().enumerate().find_map(|(medium, spec)| {
            let at = spec.stations.iter().position(|station| station.name == name)?;
            Some((medium, at + 1))
        })
    }
}
