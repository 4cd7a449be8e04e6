//! The subcommands, one file each.

mod bench;
mod compare;
mod generate;
mod run;
mod schemes;
mod trace;
mod validate;

use clap::Subcommand;

use crate::output::Error;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run schemes over links side by side: table, plots, JSON
    Compare(compare::Compare),
    /// Run a scenario file
    Run(run::Run),
    /// List schemes and queues, or the parameters of one
    Schemes(schemes::Schemes),
    /// Inspect, make, convert and plot traces of link capacity
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Hold our figures against those of ns-3, real Linux and the papers
    Validate(validate::Validate),
    /// Measure the simulator's speed
    Bench(bench::Bench),
    /// Print a shell's completions
    Completions(generate::Completions),
    /// Print the manual page, or write all of them into a folder
    Man(generate::Man),
}

impl Command {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            Command::Compare(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Schemes(command) => command.run(),
            Command::Trace(command) => command.run(),
            Command::Validate(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    }
}
