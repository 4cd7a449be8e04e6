//! `paceline medium`: computes the throughput of saturated stations on a shared 802.11 channel.

use clap::{Args, ValueEnum};
use paceline_cc::{Rate, Span, Stream};
use paceline_requests::numbers::{figure, range_as};
use paceline_sim::metrics::{Distribution, jain};
use paceline_sim::runs::{Runs, seed_of_run};
use paceline_wifi::{
    Ht, LONGEST_PACKET, Mcs, MediumConfig, Phy, Preamble, Protection, SaturatedSenders, saturate,
};
use rayon::prelude::*;
use serde::Serialize;

use crate::args;
use crate::output::{self, Error};
use crate::results::TableFiles;
use crate::runs::RunsArgs;
use crate::table::Grid;

/// Most stations.
const MOST_STATIONS: u32 = 500;
/// Longest measurement.
const LONGEST: Span = Span::from_secs(36_000);

#[derive(Args)]
#[command(mut_arg("runs", RunsArgs::stated("", "1")))]
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

With --mcs stations transmit A-MPDUs of 802.11n (20 MHz, long guard interval, 5 GHz), of at most \
--max-frames packets and 5.484 ms, and the access point has a queue for each station. A packet then has \
38 bytes more, a delimiter, and padding to a multiple of 4. Frames are counted by A-MPDUs.

Examples:
  paceline medium --mcs 7 --stations 10
  paceline medium --stations 5 --rate 11Mbps --direction up
  paceline medium --rates 11Mbps,11Mbps,1Mbps --json")]
pub(crate) struct Medium {
    /// Number of stations beside the access point
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STATIONS)), help_heading = "Stations")]
    stations: u32,
    /// The rate of data frames
    #[arg(long, default_value = "11Mbps", value_parser = args::rate, help_heading = "Stations")]
    rate: Rate,
    /// The rates of data frames to and from each station, separated by commas, in place of
    /// --stations and --rate
    #[arg(long, value_delimiter = ',', value_parser = args::rate, conflicts_with_all = ["stations", "rate"], help_heading = "Stations")]
    rates: Vec<Rate>,
    /// The modulation and coding of A-MPDUs of 802.11n, 0 to 15; or that of each station, separated by
    /// commas, in place of --stations
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["rate", "rates", "phy", "preamble", "protection"],
        value_parser = clap::value_parser!(u8).range(0..=i64::from(Mcs::MAX)), help_heading = "Stations")]
    mcs: Vec<u8>,
    /// The most packets of an A-MPDU
    #[arg(long, requires = "mcs", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Stations")]
    max_frames: Option<u32>,
    /// Size of a packet in bytes, IP header included
    #[arg(long, default_value_t = 1300, value_parser = clap::value_parser!(u32).range(1..=i64::from(LONGEST_PACKET)), help_heading = "Stations")]
    packet: u32,
    /// The senders: stations (up), the access point (down), or all
    #[arg(long, value_enum, default_value_t = Direction::Up, help_heading = "Stations")]
    direction: Direction,
    /// The preamble of 802.11b
    #[arg(long, value_enum, default_value_t = Length::Long, help_heading = "Channel")]
    preamble: Length,
    /// The physical layer
    #[arg(long, value_enum, default_value_t = Layer::Auto, help_heading = "Channel")]
    phy: Layer,
    /// The basic rates, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = args::rate, help_heading = "Channel")]
    basic_rate: Vec<Rate>,
    /// RTS and CTS before frames of more bytes than this, MAC header and FCS included
    #[arg(long, value_name = "BYTES", help_heading = "Channel")]
    rts: Option<u32>,
    /// 802.11g: a CTS of 802.11b at 1 Mbit/s before each frame (CTS-to-self)
    #[arg(long, help_heading = "Channel")]
    protection: bool,
    /// The time that stations wait after they heard a collision: 802.11b EIFS, OFDM DIFS
    #[arg(long, value_enum, help_heading = "Channel")]
    after_collision: Option<CollisionWait>,
    /// How long to measure, after a second that does not count
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = measured_time, allow_hyphen_values = true, help_heading = "Runs")]
    duration: Span,
    /// Former name of --duration, in seconds
    #[arg(long, value_parser = seconds, conflicts_with = "duration", hide = true)]
    seconds: Option<Span>,
    /// The seed of all random numbers
    #[arg(long, value_parser = args::seed, default_value_t = 1, help_heading = "Runs")]
    seed: u64,
    #[command(flatten)]
    runs: RunsArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    #[command(flatten)]
    files: TableFiles,
    /// Do not show progress or the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
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
    /// Depends on the rates
    Auto,
    /// 802.11b: DSSS, at any rate
    B,
    /// 802.11g: OFDM in the 2.4 GHz band
    G,
    /// 802.11a: OFDM in the 5 GHz band
    A,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum CollisionWait {
    Eifs,
    Difs,
}

/// Figures of a run, or their medians and ranges over several runs.
#[derive(Serialize)]
struct MediumFigures<T> {
    throughput_mbps: T,
    per_station_mbps: Vec<T>,
    jain: T,
    collision_probability: T,
}

impl MediumFigures<f64> {
    /// Returns the distributions of the figures over several runs.
    fn over(runs: &[MediumFigures<f64>]) -> MediumFigures<Distribution> {
        let of = |figure: &dyn Fn(&MediumFigures<f64>) -> f64| {
            Distribution::of(runs.iter().map(figure)).unwrap_or_default()
        };
        let streams = runs.first().map_or(0, |run| run.per_station_mbps.len());
        MediumFigures {
            throughput_mbps: of(&|run| run.throughput_mbps),
            per_station_mbps: (0..streams).map(|at| of(&|run| run.per_station_mbps[at])).collect(),
            jain: of(&|run| run.jain),
            collision_probability: of(&|run| run.collision_probability),
        }
    }
}

/// Reads a number of seconds above zero, up to ten hours.
fn seconds(text: &str) -> Result<Span, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST.as_secs_f64() => {
            Ok(Span::from_secs_f64(seconds))
        }
        _ => Err("expected a number of seconds above 0 and up to 36000".into()),
    }
}

/// Reads a time above zero, up to ten hours.
fn measured_time(text: &str) -> Result<Span, String> {
    match args::length(text) {
        Ok(time) if time <= LONGEST => Ok(time),
        Ok(_) => Err("expected a time up to 10h".into()),
        Err(problem) => Err(problem),
    }
}

impl Medium {
    pub(crate) fn run(self) -> Result<(), Error> {
        let (config, rates) = self.settings()?;
        self.files.prepare(self.json)?;
        let load = match self.direction {
            Direction::Up => SaturatedSenders::Up,
            Direction::Down => SaturatedSenders::Down,
            Direction::Both => SaturatedSenders::Both,
        };
        let span = self.seconds.unwrap_or(self.duration);
        let runs = self.runs.or(Runs::default()).count;
        let bar = output::progress(self.quiet, runs as usize);
        let one = |number: u32| {
            let random = Stream::new(seed_of_run(self.seed, number), "medium");
            let got = saturate(config.clone(), load, self.packet, span, &random)
                .map_err(|error| Error::Message(error.to_string()))?;
            bar.inc(1);
            Ok(MediumFigures {
                throughput_mbps: got.total_mbps(),
                jain: jain(&got.streams_mbps),
                collision_probability: got.collision_probability,
                per_station_mbps: got.streams_mbps,
            })
        };
        let reports =
            (1..=runs).into_par_iter().map(one).collect::<Result<Vec<MediumFigures<f64>>, Error>>();
        bar.finish_and_clear();
        let reports = reports?;
        let write = |value: &f64, factor: f64| figure(factor * value);
        let write_range =
            |of: &Distribution, factor: f64| range_as(of, "-", |value| figure(factor * value));
        match &reports[..] {
            [report] => self.show(report, &rates, load, write),
            _ => self.show(&MediumFigures::over(&reports), &rates, load, write_range),
        }
    }

    /// Prints the figures and writes their files; `write` writes a figure times a factor.
    fn show<T: Serialize>(
        &self,
        report: &MediumFigures<T>,
        rates: &[String],
        load: SaturatedSenders,
        write: impl Fn(&T, f64) -> String,
    ) -> Result<(), Error> {
        self.files.write(&streams(report, rates, load), (report, Some(self.seed)), self.quiet)?;
        match self.json {
            true => output::print_json(report),
            false if self.files.replaces_tables() => Ok(()),
            false => output::print(&table(report, rates, load, write)),
        }
    }

    /// Returns the settings, and the text for each station's rate in the table.
    fn settings(&self) -> Result<(MediumConfig, Vec<String>), Error> {
        let too_many = |what: &str| {
            Error::Usage(format!("--{what}: expected up to {MOST_STATIONS}, one for each station"))
        };
        let mcs: Vec<Mcs> = self.mcs.iter().filter_map(|index| Mcs::new(*index)).collect();
        if let [first, ..] = mcs[..] {
            if mcs.len() > MOST_STATIONS as usize {
                return Err(too_many("mcs"));
            }
            let mcs = if mcs.len() == 1 { vec![first; self.stations as usize] } else { mcs };
            let name = |mcs: &Mcs| format!("MCS {}", mcs.index());
            return Ok((self.ampdus(&mcs), mcs.iter().map(name).collect()));
        }
        let rates = match self.rates.is_empty() {
            true => vec![self.rate; self.stations as usize],
            false => self.rates.clone(),
        };
        if rates.len() > MOST_STATIONS as usize {
            return Err(too_many("rates"));
        }
        let names = rates.iter().map(Rate::to_string).collect();
        Ok((self.config(&rates)?, names))
    }

    fn ampdus(&self, mcs: &[Mcs]) -> MediumConfig {
        let mut phy = Phy::ht(Ht::default());
        if !self.basic_rate.is_empty() {
            phy.basic_rates = self.basic_rate.clone();
        }
        if let Some(wait) = self.after_collision {
            phy.eifs_after_collision = wait == CollisionWait::Eifs;
        }
        let mut config = MediumConfig::new(phy, mcs.len() as u32, Rate::ZERO);
        for (station, mcs) in config.stations.iter_mut().skip(1).zip(mcs) {
            station.mcs = vec![(Span::ZERO, *mcs)];
        }
        config.rts_threshold = self.rts;
        config.aggregation.max_mpdus = self.max_frames.unwrap_or(config.aggregation.max_mpdus);
        config
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
            phy.eifs_after_collision = wait == CollisionWait::Eifs;
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

/// A stream of packets between a station and the access point, as a row of tables.
#[derive(Serialize)]
struct StreamRow<'a, T> {
    /// `from` the station or `to` it.
    direction: &'static str,
    /// Number of the station, from 1.
    station: usize,
    rate: &'a str,
    throughput_mbps: &'a T,
}

/// Returns the streams in the order of the figures.
fn streams<'a, T>(
    report: &'a MediumFigures<T>,
    rates: &'a [String],
    load: SaturatedSenders,
) -> Vec<StreamRow<'a, T>> {
    let stream = |(at, throughput_mbps): (usize, &'a T)| {
        let is_down =
            load == SaturatedSenders::Down || (load == SaturatedSenders::Both && at < rates.len());
        let station = at % rates.len();
        let direction = if is_down { "to" } else { "from" };
        StreamRow { direction, station: station + 1, rate: &rates[station], throughput_mbps }
    };
    report.per_station_mbps.iter().enumerate().map(stream).collect()
}

/// Returns the report as a table; `write` writes a figure times a factor.
fn table<T>(
    report: &MediumFigures<T>,
    rates: &[String],
    load: SaturatedSenders,
    write: impl Fn(&T, f64) -> String,
) -> String {
    let mut grid = Grid::after(2, &["stream", "rate", "Mbit/s"]);
    for stream in streams(report, rates, load) {
        let name = format!("{} station {}", stream.direction, stream.station);
        grid.row(vec![name, stream.rate.to_string(), write(stream.throughput_mbps, 1.0)]);
    }
    format!(
        "{}\n{} Mbit/s together, Jain's index {}, {} % of the frames collided\n",
        grid.text(),
        write(&report.throughput_mbps, 1.0),
        write(&report.jain, 1.0),
        write(&report.collision_probability, 100.0)
    )
}
