//! `paceline remy eval`: what tables and schemes reach on a network.

use clap::Args;
use paceline_cc::Span;
use paceline_path::BufferSize;
use paceline_remy::{EvalRow, Network};
use paceline_sim::flow::{Amount, On};
use paceline_sim::scenario::{MadeScheme, SchemeChoice};
use serde::Serialize;

use super::{scheme, table};
use crate::args;
use crate::output::{self, Error};
use crate::table::{Grid, figure};

#[derive(Args)]
#[command(after_help = "\
Senders begin off, and are on and off for exponentially distributed times. Packets have 1250 bytes.
Throughput is packets over a sender's equal share of the time, as the published program counts it;
the score is the mean over senders of log2(throughput / link) - log2(delay / RTT).

Examples:
  paceline remy eval RemyCC-2014-100x.dna --link 15Mbps --rtt 150ms --senders 2
  paceline remy eval starter --scheme cubic,copa --link 15Mbps --buffer 1000 --json")]
pub(crate) struct Eval {
    /// Tables: files, or the names of built-in ones
    #[arg(value_name = "TABLE", required_unless_present = "schemes")]
    tables: Vec<String>,
    /// Schemes beside them, separated by commas
    #[arg(long = "scheme", value_name = "LIST")]
    schemes: Vec<String>,
    /// The link: a rate, a built-in trace, or a trace file
    #[arg(long, value_name = "RATE|NAME|FILE", default_value = "15Mbps")]
    link: String,
    /// The RTT without a queue
    #[arg(long, default_value = "150ms", value_parser = args::length, allow_hyphen_values = true)]
    rtt: Span,
    /// How many senders
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    senders: u32,
    /// How long senders are on, in the mean
    #[arg(long, default_value = "5s", value_parser = args::length, allow_hyphen_values = true)]
    on: Span,
    /// How long senders are off, in the mean
    #[arg(long, default_value = "5s", value_parser = args::span, allow_hyphen_values = true)]
    off: Span,
    /// What may wait at the link: packets, or 64kB, 50ms, 1bdp, inf
    #[arg(long, default_value = "inf", value_parser = args::buffer, allow_hyphen_values = true)]
    buffer: BufferSize,
    /// The share of packets that get lost behind the link
    #[arg(long, default_value_t = 0.0, value_parser = share, allow_hyphen_values = true)]
    loss: f64,
    /// How long each run is
    #[arg(long, default_value = "1000s", value_parser = args::length, allow_hyphen_values = true)]
    duration: Span,
    /// How many runs, each with a seed of its own
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: u32,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    rows: Vec<EvalRow>,
}

/// A probability below 1.
fn share(text: &str) -> Result<f64, String> {
    let share = <f64 as paceline_cc::ParamValue>::read(text)?;
    if (0.0..1.0).contains(&share) {
        Ok(share)
    } else {
        Err("expected a number from 0 to below 1, or a percentage".into())
    }
}

impl Eval {
    pub(crate) fn run(self) -> Result<(), Error> {
        let (network, packets_per_ms) = self.network()?;
        let seeds: Vec<u64> = (0..self.seeds).map(|n| self.seed.wrapping_add(n.into())).collect();
        let mut rows = Vec::new();
        for (name, scheme) in self.candidates()? {
            let row = paceline_remy::eval(
                &name,
                &network,
                packets_per_ms,
                &scheme,
                self.duration,
                &seeds,
            );
            rows.push(row.map_err(|error| Error::Message(format!("{name}: {error}")))?);
        }
        if self.json {
            return output::print_json(&Report { rows });
        }
        let mut grid = Grid::numbers(&[
            "table",
            "senders",
            "throughput, Mbit/s",
            "while on, Mbit/s",
            "delay, ms",
            "score per sender",
            "sd",
            "simulated s/CPU s",
        ]);
        for row in &rows {
            grid.row(vec![
                row.table.clone(),
                row.senders.to_string(),
                figure(row.throughput_mbps),
                figure(row.raw_throughput_mbps),
                figure(row.delay_ms),
                format!("{:.4}", row.normalized_score_per_sender),
                format!("{:.4}", row.score_sd),
                format!("{:.0}", row.simulated_s_per_cpu_s),
            ]);
        }
        output::print(&grid.text())
    }

    /// The network, and its mean rate in packets per millisecond.
    fn network(&self) -> Result<(Network, f64), Error> {
        let (_, link) = args::capacity(&self.link).map_err(Error::Usage)?;
        let mean = |span: Span| Amount::Exponential(span.as_secs_f64());
        let network = Network::new(paceline_cc::Rate::ZERO, self.rtt).with(|network| {
            network.link = link;
            (network.on, network.off) = (On::Time(mean(self.on)), mean(self.off));
            (network.senders, network.buffer, network.loss) =
                (self.senders, self.buffer, self.loss);
        });
        let rate = network.packets_per_ms(self.duration);
        Ok((network, rate.map_err(|error| Error::Message(error.to_string()))?))
    }

    /// The tables and schemes with their names.
    fn candidates(&self) -> Result<Vec<(String, SchemeChoice)>, Error> {
        let mut all = Vec::new();
        for name in &self.tables {
            all.push((name.clone(), scheme(name, table(name)?)));
        }
        let names = paceline_remy::names();
        for text in self.schemes.iter().flat_map(|list| paceline_cc::spec::split_list(list)) {
            let spec = names.check_scheme(text).map_err(|error| Error::Usage(error.to_string()))?;
            let choice = if spec.sender.name == "remy" {
                let halves = names.schemes.build(&spec.sender);
                let halves = halves.map_err(|error| Error::Message(error.to_string()))?;
                MadeScheme::new(text, halves).into()
            } else {
                SchemeChoice::Named(spec)
            };
            all.push((text.to_string(), choice));
        }
        Ok(all)
    }
}
