//! `paceline medium`: what saturated stations get of a shared 802.11 channel.

use clap::{Args, ValueEnum};
use paceline_cc::{Rate, Span, Stream};
use paceline_path::medium::{Load, MediumConfig, Phy, Preamble, Protection, saturate};
use serde::Serialize;

use crate::args;
use crate::output::{self, Error};
use crate::table::{Grid, figure};

/// The most stations.
const MOST_STATIONS: u32 = 500;
/// The largest packet: an MSDU of the standard has 2304 bytes, of which 8 are LLC and SNAP.
const LARGEST_PACKET: u32 = 2296;

#[derive(Args)]
#[command(after_help = "\
A packet has --packet bytes from its IP header on; these bytes are what throughput counts. On air it \
has 36 bytes more: MAC header 24, LLC and SNAP 8, FCS 4.

Every stream is saturated: with `up` each station always has a packet for the access point, with \
`down` the access point has packets for all stations, in turn, in one queue; `both` is both. The \
rates are listed in this order: to station 1, 2, ..., then from station 1, 2, ... A second passes \
before anything is counted.

collision_probability is the number of frames that collided over the number of frames transmitted, \
retransmissions included.

802.11b at 1, 2, 5.5 and 11 Mbit/s, 802.11g (without 802.11b stations) at the rates of OFDM, unless \
--phy says otherwise. Acknowledgements have the highest basic rate that is not above that of the \
data: 1 Mbit/s for 802.11b, 6, 12 and 24 Mbit/s for OFDM, or what --basic-rate says. Frames at \
1 Mbit/s always have the long preamble, as the standard has it.

Examples:
  paceline medium --stations 5 --rate 11Mbps --direction up
  paceline medium --rates 11Mbps,11Mbps,1Mbps --json")]
pub(crate) struct Medium {
    /// How many stations there are beside the access point
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STATIONS)))]
    stations: u32,
    /// The rate of data frames
    #[arg(long, default_value = "11Mbps", value_parser = args::rate)]
    rate: Rate,
    /// The rates of data frames to and from each station, separated by commas, in place of
    /// --stations and --rate
    #[arg(long, value_delimiter = ',', value_parser = args::rate, conflicts_with_all = ["stations", "rate"])]
    rates: Vec<Rate>,
    /// Bytes of a packet, IP header included
    #[arg(long, default_value_t = 1300, value_parser = clap::value_parser!(u32).range(1..=i64::from(LARGEST_PACKET)))]
    packet: u32,
    /// Who has packets: stations (up), the access point (down), or all
    #[arg(long, value_enum, default_value_t = Direction::Up)]
    direction: Direction,
    /// The preamble of 802.11b
    #[arg(long, value_enum, default_value_t = Length::Long)]
    preamble: Length,
    /// The physical layer
    #[arg(long, value_enum, default_value_t = Layer::Auto)]
    phy: Layer,
    /// The basic rates, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = args::rate)]
    basic_rate: Vec<Rate>,
    /// RTS and CTS before frames of more bytes than this, MAC header and FCS included
    #[arg(long, value_name = "BYTES")]
    rts: Option<u32>,
    /// 802.11g: a CTS of 802.11b at 1 Mbit/s before each frame (CTS-to-self)
    #[arg(long)]
    protection: bool,
    /// What stations wait for that have heard a collision: 802.11b EIFS, OFDM DIFS
    #[arg(long, value_enum)]
    after_collision: Option<Wait>,
    /// Seconds that are measured
    #[arg(long, default_value_t = 30.0, value_parser = seconds)]
    seconds: f64,
    /// The seed of all that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Direction {
    Up,
    Down,
    Both,
}

#[derive(Clone, Copy, ValueEnum)]
enum Length {
    Long,
    Short,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Layer {
    /// By the rates
    Auto,
    /// 802.11b: DSSS, at any rate
    B,
    /// 802.11g: OFDM in the 2.4 GHz band
    G,
    /// 802.11a: OFDM in the 5 GHz band
    A,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Wait {
    Eifs,
    Difs,
}

#[derive(Serialize)]
struct Report {
    throughput_mbps: f64,
    per_station_mbps: Vec<f64>,
    jain: f64,
    collision_probability: f64,
}

/// Seconds above zero, up to ten hours.
fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 36_000.0 => Ok(seconds),
        _ => Err("expected a number of seconds above 0 and up to 36000".into()),
    }
}

impl Medium {
    pub(crate) fn run(self) -> Result<(), Error> {
        let rates = match self.rates.is_empty() {
            true => vec![self.rate; self.stations as usize],
            false => self.rates.clone(),
        };
        if rates.len() > MOST_STATIONS as usize {
            return Err(Error::Usage(format!("--rates: expected up to {MOST_STATIONS} rates")));
        }
        let config = self.config(&rates)?;
        let load = match self.direction {
            Direction::Up => Load::Up,
            Direction::Down => Load::Down,
            Direction::Both => Load::Both,
        };
        let span = Span::from_secs_f64(self.seconds);
        let got = saturate(config, load, self.packet, span, &Stream::new(self.seed, "medium"))
            .map_err(|error| Error::Message(error.to_string()))?;
        let report = Report {
            throughput_mbps: got.total_mbps(),
            jain: got.jain(),
            collision_probability: got.collision_probability,
            per_station_mbps: got.streams_mbps,
        };
        if self.json {
            return output::print_json(&report);
        }
        output::print(&table(&report, &rates, load))
    }

    fn phy(&self, rates: &[Rate]) -> Phy {
        let preamble = match self.preamble {
            Length::Long => Preamble::Long,
            Length::Short => Preamble::Short,
        };
        let ofdm = |rate: &Rate| Phy::ofdm().has_rate(*rate);
        match self.phy {
            Layer::B => Phy::dsss(preamble),
            Layer::G => Phy::erp_ofdm(),
            Layer::A => Phy::ofdm(),
            Layer::Auto if rates.iter().all(ofdm) => Phy::erp_ofdm(),
            Layer::Auto => Phy::dsss(preamble),
        }
    }

    fn config(&self, rates: &[Rate]) -> Result<MediumConfig, Error> {
        let mut phy = self.phy(rates);
        if let Some(rate) = rates.iter().find(|rate| !phy.has_rate(**rate)) {
            return Err(Error::Usage(format!(
                "OFDM has no rate of {rate}; use 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s, or --phy b"
            )));
        }
        if self.phy == Layer::Auto && rates.iter().any(|rate| !is_dsss(*rate) && !phy_is_ofdm(&phy))
        {
            return Err(Error::Usage(
                "802.11b has rates of 1, 2, 5.5 and 11 Mbit/s, and stations of 802.11b and g \
                 together are not modelled; use --phy b for other rates with the times of 802.11b"
                    .into(),
            ));
        }
        if !self.basic_rate.is_empty() {
            phy.basic_rates = self.basic_rate.clone();
        }
        if let Some(wait) = self.after_collision {
            phy.eifs_after_collision = wait == Wait::Eifs;
        }
        let mut config = MediumConfig::new(phy, rates.len() as u32, self.rate);
        for (station, rate) in config.stations.iter_mut().skip(1).zip(rates) {
            station.rates = vec![(Span::ZERO, *rate)];
        }
        config.rts_threshold = self.rts;
        if self.protection {
            config.protection = Protection::CtsToSelf(Rate::from_mbps(1.0), Preamble::Long);
        }
        Ok(config)
    }
}

fn phy_is_ofdm(phy: &Phy) -> bool {
    !phy.data_rates().is_empty()
}

fn is_dsss(rate: Rate) -> bool {
    matches!(rate.as_bps(), 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000)
}

fn table(report: &Report, rates: &[Rate], load: Load) -> String {
    let mut grid = Grid::after(2, &["stream", "rate", "Mbit/s"]);
    let streams = report.per_station_mbps.iter().enumerate();
    for (at, mbps) in streams {
        let down = load == Load::Down || (load == Load::Both && at < rates.len());
        let station = at % rates.len();
        let way = if down { "to" } else { "from" };
        let name = format!("{way} station {}", station + 1);
        grid.row(vec![name, rates[station].to_string(), figure(*mbps)]);
    }
    format!(
        "{}\n{} Mbit/s together, Jain's index {}, {} % of the frames collided\n",
        grid.text(),
        figure(report.throughput_mbps),
        figure(report.jain),
        figure(100.0 * report.collision_probability)
    )
}
