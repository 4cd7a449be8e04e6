//! Shared 802.11 media in scenarios.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_wifi::{
    BackgroundConfig, Ht, Mcs, MediumConfig, Phy, Preamble, Protection, RateControl, StationConfig,
};

use super::{FlowSpec, QueueChoice, RouterChoice, Scenario};

/// A channel that an access point and stations contend for. See [`paceline_wifi`] for what
/// it models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MediumSpec {
    /// Its name.
    pub name: String,
    /// The physical layer.
    pub layer: Layer,
    /// All times of the layer are divided by this, and its basic rates multiplied by it.
    pub scale: u32,
    /// The basic rates; empty for those of the layer.
    pub basic_rates: Vec<Rate>,
    /// Frames of more bytes have an RTS before them; `None` for no RTS.
    pub rts: Option<u32>,
    /// Before each frame a CTS of 802.11b is sent at 1 Mbit/s.
    pub protection: bool,
    /// What comes to an idle medium is transmitted without a backoff.
    pub immediate_access: bool,
    /// Whether stations wait for an EIFS after a collision; `None` as the layer has it.
    pub eifs_after_collision: Option<bool>,
    /// Whether a station whose own frame collided, and ended before another one, waits for an EIFS
    /// after that, as in ns-2.
    pub eifs_after_own_collision: bool,
    /// How often a frame is transmitted before it is given up.
    pub transmissions: u32,
    /// 802.11n: the most frames (MPDUs) of an A-MPDU.
    pub max_frames: u32,
    /// 802.11n: the longest transmission of an A-MPDU, preamble included.
    pub max_airtime: Span,
    /// Stations of other networks that contend for the channel.
    pub contenders: u32,
    /// The mean time that each transmission of theirs takes.
    pub contender_airtime: Span,
    /// The mean pause between transmissions of each; zero if they always have something to send.
    pub contender_gap: Span,
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

/// What a station or the access point holds its packets in.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Its queue.
    pub queue: QueueChoice,
    /// The limit of its queue, in packets, bytes or sojourn times, or none.
    pub buffer: BufferSize,
    /// Its router.
    pub router: RouterChoice,
}

/// A station of a medium.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StationPort {
    /// Its name, by which flows call it; no two stations of a scenario have the same.
    pub name: String,
    /// The rate of data frames to and from it, from each offset on, the first at zero.
    pub rates: Vec<(Span, Rate)>,
    /// 802.11n: the modulation and coding in place of the rate.
    pub mcs: Vec<(Span, Mcs)>,
    /// 802.11n: the most frames of an A-MPDU to or from it; `None` for the medium's.
    pub max_frames: Option<u32>,
    /// The ratio of signal to noise of such frames in decibels, from each offset on, the first at
    /// zero; empty for a channel without noise.
    pub snr: Vec<(Span, f64)>,
    /// When the steps of `mcs` and of `snr` repeat.
    pub period: Option<Span>,
    /// Who chooses the rates; senders that do leave `rates` and `mcs` out of account.
    pub rate_control: RateControl,
    /// The probability that a data frame to or from it is damaged.
    pub frame_error: f64,
    /// The probability that a bit of such a frame is damaged.
    pub bit_error: f64,
    /// Its queue.
    pub port: PortSpec,
}

/// Where a flow passes a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationUse {
    /// The station.
    pub station: String,
    /// The way of the flow's data; its acknowledgements take the other one.
    pub direction: Direction,
}

/// A way over a medium.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the access point to the station: the medium is the last that data passes.
    Down,
    /// From the station to the access point: the medium is the first that data passes.
    Up,
}

impl PortSpec {
    /// The queue and router that flows bring, or droptail, of so many packets.
    pub fn packets(packets: u64) -> PortSpec {
        PortSpec {
            queue: QueueChoice::Auto,
            buffer: BufferSize::Packets(packets),
            router: RouterChoice::Auto,
        }
    }
}

impl StationPort {
    /// A station without errors, with a queue of 50 packets.
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
    /// A medium with queues of 50 packets and as yet no stations.
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
            transmissions: 7,
            max_frames: 64,
            max_airtime: Span::from_micros(5484),
            contenders: 0,
            contender_airtime: Span::from_millis(1),
            contender_gap: Span::ZERO,
            access_point: PortSpec::packets(50),
            stations: Vec::new(),
        }
    }

    /// The same with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut MediumSpec)) -> MediumSpec {
        change(&mut self);
        self
    }

    /// The physical layer as the medium has it.
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

    /// The settings of the medium.
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
        config.short_retry_limit = self.transmissions;
        config.aggregation.max_mpdus = self.max_frames;
        config.aggregation.max_duration = self.max_airtime;
        config.aggregation.transmissions = self.transmissions;
        let contender = BackgroundConfig::new(self.contender_airtime, self.contender_gap);
        config.background = vec![contender; self.contenders as usize];
        if self.protection {
            config.protection = Protection::CtsToSelf(Rate::from_mbps(1.0), Preamble::Long);
        }
        config
    }

    /// The port of a number: the access point's is 0.
    pub(crate) fn port(&self, number: usize) -> Option<&PortSpec> {
        match number.checked_sub(1) {
            None => Some(&self.access_point),
            Some(station) => self.stations.get(station).map(|station| &station.port),
        }
    }

    /// The name of a port for messages and results.
    pub(crate) fn port_name(&self, number: usize) -> String {
        let station = number.checked_sub(1).and_then(|station| self.stations.get(station));
        let name = station.map_or("access point", |station| station.name.as_str());
        format!("{}, {name}", self.name)
    }

    /// The number of the port that a flow's data passes, if it passes this medium.
    pub(crate) fn port_of(&self, flow: &FlowSpec) -> Option<usize> {
        let hop = flow.station.as_ref()?;
        let at = self.stations.iter().position(|station| station.name == hop.station)?;
        Some(if hop.direction == Direction::Down { 0 } else { at + 1 })
    }
}

impl Scenario {
    /// The medium that has a station of this name, and the station's number, from 1 on.
    pub(crate) fn station(&self, name: &str) -> Option<(usize, usize)> {
        self.media.iter().enumerate().find_map(|(medium, spec)| {
            let at = spec.stations.iter().position(|station| station.name == name)?;
            Some((medium, at + 1))
        })
    }
}
