//! `paceline onoff`: interrupts one direction at random.

use std::process::ExitCode;

use clap::Args;
use paceline_cc::{Span, Stream};
use paceline_emulator::Element;
use paceline_emulator::onoff::OnOff as Line;

use super::loss::LossDirection;
use crate::args;
use crate::emulation::{DEFAULT_SEED, DirectionSetup, Emulation, Plan};
use crate::output::Error;

#[derive(Args)]
#[command(after_help = "Example: paceline onoff down 10s 500ms -- bash")]
pub(crate) struct OnOff {
    /// The direction
    way: LossDirection,
    /// The mean time for which the direction carries packets
    #[arg(value_parser = args::span)]
    on: Span,
    /// The mean time for which it drops all packets
    #[arg(value_parser = args::span)]
    off: Span,
    #[command(flatten)]
    emulation: Emulation,
}

impl OnOff {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        plan(self.way, self.on, self.off, self.emulation)?.run()
    }
}

/// Returns an emulation that only interrupts one direction.
pub(crate) fn plan(
    way: LossDirection,
    on: Span,
    off: Span,
    options: Emulation,
) -> Result<Plan, Error> {
    if on.is_zero() && off.is_zero() {
        return Err(Error::Message("the mean times on and off cannot both be zero".into()));
    }
    let stream = Stream::new(options.seed.unwrap_or(DEFAULT_SEED), "onoff");
    let line = Element::OnOff(Box::new(Line::new(on, off, stream)));
    let line = DirectionSetup { hops: vec![line], ..DirectionSetup::default() };
    let (up, down, word) = match way {
        LossDirection::Up => (line, DirectionSetup::default(), "up"),
        LossDirection::Down => (DirectionSetup::default(), line, "down"),
    };
    let prompt = format!("[onoff ({word}) on={on} off={off}] ");
    Ok(Plan { kind: "onoff", prompt, up, down, options })
}
