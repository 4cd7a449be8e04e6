//! `paceline delay`: a fixed or recorded delay in each direction.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use paceline_cc::Span;
use paceline_emulator::Element;
use paceline_path::{Impairments, Pipe};
use paceline_sim::scenario::Stretch;

use crate::args;
use crate::emulation::{DEFAULT_SEED, DirectionSetup, Emulation, Plan, link};
use crate::output::Error;

/// Emulate a delay around a program, in real time
///
/// Runs COMMAND, or a shell, in a network of its own, whose packets are delayed by TIME in each direction, so that a round trip takes
/// twice as long. `paceline link --delay` adds a delay to a link.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline delay 20ms -- ping -c 3 1.1.1.1
  paceline delay 20ms -- paceline link --up 12Mbps --down 12Mbps -- bash
  paceline delay --trace starlink.delay -- paceline link --up 12Mbps --down starlink.mahi")]
pub(crate) struct Delay {
    /// The delay in each direction, such as 50ms; a round trip takes twice as long. Not needed with
    /// --trace
    #[arg(value_name = "TIME", value_parser = first, required_unless_present = "trace")]
    delay: Option<FirstArgument>,
    /// A recording of the one-way delay, which both directions follow; TIME is added to it. It has
    /// a line for each 10 ms, or is a .csv file of time_ms,delay_ms, and repeats
    #[arg(long, value_name = "FILE", alias = "delay-trace")]
    trace: Option<String>,
    /// Let packets overtake each other when the recorded delay falls
    #[arg(long, requires = "trace")]
    overtake: bool,
    #[command(flatten)]
    emulation: Emulation,
}

/// The first argument: a time, or with --trace perhaps the program.
#[derive(Clone, Debug)]
enum FirstArgument {
    Time(Span),
    Program { word: OsString, problem: String },
}

fn first(text: &str) -> Result<FirstArgument, String> {
    Ok(match args::rtt(text) {
        Ok(time) => FirstArgument::Time(time),
        Err(problem) => FirstArgument::Program { word: text.into(), problem },
    })
}

impl Delay {
    /// Returns the time. If the first argument is the program, moves it to the command.
    fn time(&mut self) -> Result<Span, Error> {
        match self.delay.take() {
            None => Ok(Span::ZERO),
            Some(FirstArgument::Time(time)) => {
                // As in netem's `delay 100ms 10ms`.
                let second = self.emulation.command.first().and_then(|word| word.to_str());
                match second.filter(|word| args::span(word).is_ok()) {
                    Some(word) => Err(Error::Usage(format!(
                        "`{word}` stands where the program does; a jitter is `paceline link --delay {time} --jitter \
                         {word} -- COMMAND`, with --up and --down"
                    ))),
                    None => Ok(time),
                }
            }
            Some(FirstArgument::Program { word, .. }) if self.trace.is_some() => {
                self.emulation.command.insert(0, word);
                Ok(Span::ZERO)
            }
            Some(FirstArgument::Program { word, problem }) => Err(Error::Usage(format!(
                "invalid value '{}' for '<TIME>': {problem}; `paceline delay 50ms -- COMMAND`",
                word.display()
            ))),
        }
    }

    pub(crate) fn run(mut self) -> Result<ExitCode, Error> {
        let delay = self.time()?;
        self.plan(delay)?.with_prelude(|| self.plan(delay))?.run()
    }

    fn plan(&self, delay: Span) -> Result<Plan, Error> {
        let Some(trace) = &self.trace else {
            return Ok(plan(delay, format!("[delay {delay}] "), self.emulation.clone()));
        };
        let impairments = Impairments {
            delays: Some(args::delays(trace).map_err(Error::Usage)?),
            reorder_jitter: self.overtake,
            ..Impairments::default()
        };
        let stretch = Stretch { delay: Span::ZERO, impairments };
        let seed = self.emulation.seed.unwrap_or(DEFAULT_SEED);
        let side = |place: &str| -> Result<DirectionSetup, Error> {
            let pipe = link::pipe(place, delay, &stretch, seed)?;
            let hops = pipe.map(|pipe| Element::Pipe(Box::new(pipe))).into_iter().collect();
            Ok(DirectionSetup { hops, ..DirectionSetup::default() })
        };
        let fixed = if delay.is_zero() { String::new() } else { format!("{delay} + ") };
        let prompt = format!("[delay {fixed}{trace}] ");
        let (up, down) = (side("delay up")?, side("delay down")?);
        Ok(Plan { kind: "delay", prompt, up, down, options: self.emulation.clone() })
    }
}

/// Returns an emulation that only delays packets.
pub(crate) fn plan(delay: Span, prompt: String, options: Emulation) -> Plan {
    let side = || DirectionSetup {
        hops: vec![Element::Pipe(Box::new(Pipe::new(delay)))],
        ..DirectionSetup::default()
    };
    Plan { kind: "delay", prompt, up: side(), down: side(), options }
}
