//! `paceline onoff`: interrupts a direction at random.

use std::process::ExitCode;

use clap::{ArgAction, Args};
use paceline_cc::{Span, Stream};
use paceline_emulator::Element;
use paceline_emulator::onoff::OnOff as Line;

use crate::args;
use crate::emulation::{DEFAULT_SEED, DirectionSetup, Emulation, Plan};
use crate::output::Error;

/// Emulate a link with random interruptions around a program
///
/// Runs COMMAND, or a shell, in a network of its own, whose packets are lost while a direction is off. The times of being on
/// and off are random, with the means that are given.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline onoff --down 10s 500ms -- bash
  paceline onoff --up 5s 1s --down 5s 1s -- ./call.sh

Times are exponentially distributed. `paceline onoff down 10s 500ms` is the former form of `paceline onoff --down \
10s 500ms`.")]
pub(crate) struct OnOff {
    /// The mean times for which the direction from inside to outside carries packets, and drops all
    /// of them
    #[arg(long, value_names = ["ON", "OFF"], num_args = 2, action = ArgAction::Set, value_parser = args::span, required_unless_present = "down",
        help_heading = "Interruptions")]
    up: Vec<Span>,
    /// The mean times of the direction from outside to inside
    #[arg(long, value_names = ["ON", "OFF"], num_args = 2, action = ArgAction::Set, value_parser = args::span, help_heading = "Interruptions")]
    down: Vec<Span>,
    #[command(flatten)]
    emulation: Emulation,
}

/// Mean times for which a direction carries packets, and drops them.
pub(crate) type MeanTimes = (Span, Span);

impl OnOff {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let times = |both: &[Span]| match both {
            [on, off] => Some((*on, *off)),
            _ => None,
        };
        let plan = || plan(times(&self.up), times(&self.down), self.emulation.clone());
        plan()?.with_prelude(plan)?.run()
    }
}

/// Returns an emulation that only interrupts directions.
pub(crate) fn plan(
    up: Option<MeanTimes>,
    down: Option<MeanTimes>,
    options: Emulation,
) -> Result<Plan, Error> {
    if [up, down].into_iter().flatten().any(|(on, off)| on.is_zero() && off.is_zero()) {
        return Err(Error::Usage("the mean times on and off cannot both be zero".into()));
    }
    let seed = options.seed.unwrap_or(DEFAULT_SEED);
    let side = |times: Option<MeanTimes>, place: &str| {
        let line = times.map(|(on, off)| {
            Element::OnOff(Box::new(Line::new(on, off, Stream::new(seed, place))))
        });
        DirectionSetup { hops: line.into_iter().collect(), ..DirectionSetup::default() }
    };
    let word = |word, times: Option<MeanTimes>| {
        times.map(|(on, off)| format!("({word}) on={on} off={off}"))
    };
    let words: Vec<String> = [word("up", up), word("down", down)].into_iter().flatten().collect();
    let prompt = format!("[onoff {}] ", words.join(" "));
    // Both directions have random numbers of their own; one direction has those of the seed alone.
    let place = if up.is_some() { "onoff down" } else { "onoff" };
    Ok(Plan { kind: "onoff", prompt, up: side(up, "onoff"), down: side(down, place), options })
}
