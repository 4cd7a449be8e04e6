//! `paceline loss`: drops packets at random.

use std::process::ExitCode;

use clap::Args;
use paceline_cc::Span;
use paceline_emulator::Element;
use paceline_path::{Impairments, Loss as Model};
use paceline_sim::scenario::Stretch;

use crate::args;
use crate::emulation::{DEFAULT_SEED, DirectionSetup, Emulation, Plan, link};
use crate::output::Error;

/// Emulate random loss in one direction around a program
///
/// Runs COMMAND, or a shell, in a network of its own, whose packets are lost at random, each independently of the others.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline loss --down 1% -- curl -O https://example.org/file
  paceline loss --up 1% --down 0.5% -- iperf3 -c server
  paceline delay 20ms -- paceline loss --up 5% -- ping -c 20 1.1.1.1

`paceline loss up 1%` is the former form of `paceline loss --up 1%`. `paceline link --loss` adds a loss to a link.")]
pub(crate) struct Loss {
    /// The probability that a packet from inside to outside is lost: 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = args::probability, required_unless_present = "down", help_heading = "Loss")]
    up: Option<f64>,
    /// The probability that a packet from outside to inside is lost
    #[arg(long, value_name = "SHARE", value_parser = args::probability, help_heading = "Loss")]
    down: Option<f64>,
    #[command(flatten)]
    emulation: Emulation,
}

impl Loss {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let plan = || plan(self.up, self.down, self.emulation.clone());
        plan()?.with_prelude(plan)?.run()
    }
}

/// Returns an emulation that only drops packets, with these probabilities.
pub(crate) fn plan(up: Option<f64>, down: Option<f64>, options: Emulation) -> Result<Plan, Error> {
    let seed = options.seed.unwrap_or(DEFAULT_SEED);
    let side = |rate: Option<f64>, place: &str| -> Result<DirectionSetup, Error> {
        let Some(rate) = rate else { return Ok(DirectionSetup::default()) };
        let impairments = Impairments { loss: Model::Bernoulli(rate), ..Impairments::default() };
        let stretch = Stretch { delay: Span::ZERO, impairments };
        let lossy = link::pipe(place, Span::ZERO, &stretch, seed)?;
        let hops = lossy.map(|pipe| Element::Pipe(Box::new(pipe))).into_iter().collect();
        Ok(DirectionSetup { hops, ..DirectionSetup::default() })
    };
    let words = [("up", up), ("down", down)];
    let words = words.iter().filter_map(|(word, rate)| rate.map(|rate| format!("{word}={rate}")));
    let prompt = format!("[loss {}] ", words.collect::<Vec<_>>().join(" "));
    // Both directions have random numbers of their own; one direction has those of the seed alone.
    let place = if up.is_some() { "loss down" } else { "loss" };
    Ok(Plan { kind: "loss", prompt, up: side(up, "loss")?, down: side(down, place)?, options })
}
