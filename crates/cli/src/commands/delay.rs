//! `paceline delay`: a fixed delay each way.

use std::process::ExitCode;

use clap::Args;
use paceline_cc::Span;
use paceline_live::emulator::Element;
use paceline_path::Pipe;

use crate::args;
use crate::emulation::{Emulation, Plan, Side};
use crate::output::Error;

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline delay 20ms -- ping -c 3 1.1.1.1
  paceline delay 20ms -- paceline link --up 12Mbps --down 12Mbps -- bash")]
pub(crate) struct Delay {
    /// The delay each way, such as 50ms: a round trip takes twice as long
    #[arg(value_name = "TIME", value_parser = args::rtt)]
    delay: Span,
    #[command(flatten)]
    emulation: Emulation,
}

impl Delay {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        plan(self.delay, format!("[delay {}] ", self.delay), self.emulation).run()
    }
}

/// An emulation of nothing but a delay.
pub(crate) fn plan(delay: Span, prompt: String, options: Emulation) -> Plan {
    let side = || Side { hops: vec![Element::Pipe(Box::new(Pipe::new(delay)))], ..Side::default() };
    Plan { kind: "delay", prompt, up: side(), down: side(), options }
}
