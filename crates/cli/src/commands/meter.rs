//! `paceline meter`: shows the rate of the traffic and changes nothing.

use std::process::ExitCode;

use clap::Args;

use crate::emulation::{DirectionSetup, Emulation, Plan};
use crate::output::Error;

/// Show the rate of the traffic of a program, and change nothing
///
/// Runs COMMAND, or a shell, in a network of its own without a limit, and prints the rates of its traffic.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline meter -- curl -O https://example.org/file
  paceline delay 20ms -- paceline meter")]
pub(crate) struct Meter {
    #[command(flatten)]
    emulation: Emulation,
}

impl Meter {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let side = || DirectionSetup { meter: (true, false), ..DirectionSetup::default() };
        let plan = || Plan {
            kind: "meter",
            prompt: "[meter] ".into(),
            up: side(),
            down: side(),
            options: self.emulation.clone(),
        };
        plan().with_prelude(|| Ok(plan()))?.run()
    }
}
