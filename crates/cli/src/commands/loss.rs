//! `paceline loss`: drops packets at random in one direction.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use paceline_cc::Span;
use paceline_emulator::Element;
use paceline_path::{Impairments, Loss as Model};
use paceline_sim::scenario::Stretch;

use crate::args;
use crate::emulation::{DEFAULT_SEED, DirectionSetup, Emulation, Plan, link};
use crate::output::Error;

/// Direction of a loss or an interruption.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossDirection {
    /// From inside to outside
    #[value(alias = "uplink")]
    Up,
    /// From outside to inside
    #[value(alias = "downlink")]
    Down,
}

#[derive(Args)]
#[command(after_help = "Example: paceline loss up 1% -- iperf3 -c server")]
pub(crate) struct Loss {
    /// The direction
    way: LossDirection,
    /// The probability that a packet is lost: 1% or 0.01
    #[arg(value_parser = args::probability)]
    rate: f64,
    #[command(flatten)]
    emulation: Emulation,
}

impl Loss {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        plan(self.way, self.rate, self.emulation)?.run()
    }
}

/// Returns an emulation that only drops packets.
pub(crate) fn plan(way: LossDirection, rate: f64, options: Emulation) -> Result<Plan, Error> {
    let impairments = Impairments { loss: Model::Bernoulli(rate), ..Impairments::default() };
    let stretch = Stretch { delay: Span::ZERO, impairments };
    let seed = options.seed.unwrap_or(DEFAULT_SEED);
    let lossy = link::pipe("loss", Span::ZERO, &stretch, seed)?;
    let lossy = DirectionSetup {
        hops: lossy.map(|pipe| Element::Pipe(Box::new(pipe))).into_iter().collect(),
        ..DirectionSetup::default()
    };
    let (up, down, word) = match way {
        LossDirection::Up => (lossy, DirectionSetup::default(), "up"),
        LossDirection::Down => (DirectionSetup::default(), lossy, "down"),
    };
    Ok(Plan { kind: "loss", prompt: format!("[loss {word}={rate}] "), up, down, options })
}
