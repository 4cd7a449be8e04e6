//! `paceline kernel`: congestion control in this machine's own TCP.

mod choice;
mod report;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use paceline_cc::Span;
use paceline_kernel::{self as kernel, Options, Program};

use crate::args;

use crate::output::{self, Error};

pub(crate) use choice::{ProgramChoice, chosen, scheme};

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  sudo paceline kernel load abc --dev eth0
  sudo paceline kernel load remy --table-file RemyCC-2014-100x.dna
  sudo paceline kernel load c2tcp --over reno
  paceline kernel list --json
  iperf3 -c server -C abc
  sudo paceline kernel stats abc
  sudo paceline kernel watch
  sudo paceline kernel unload abc")]
pub(crate) enum Kernel {
    /// Put a congestion control into the kernel, where any program can choose it
    Load(Load),
    /// List the congestion controls and say which are loaded
    List(List),
    /// Take a congestion control out of the kernel
    Unload(Unload),
    /// Say what this machine can, and what it lacks
    Status(Json),
    /// Print the counters of a congestion control over all of its sockets
    Stats(Stats),
    /// Show the sockets of this network namespace that use the congestion controls, live
    Watch(watch::Watch),
    /// Let packets leave a device of this network namespace as ABC's accelerates
    Accelerate(Accelerate),
}

#[derive(Args)]
pub(crate) struct Load {
    /// The congestion control: see `paceline kernel list`
    name: String,
    /// Let its packets leave this device as accelerates; may be repeated
    #[arg(long = "dev", value_name = "DEVICE")]
    devices: Vec<String>,
    /// Of `remy`: the name of a built-in table
    #[arg(long, value_name = "NAME", conflicts_with = "table_file")]
    table: Option<String>,
    /// Of `remy`: a file with a table, published (.dna) or readable (TOML, JSON)
    #[arg(long, value_name = "FILE")]
    table_file: Option<PathBuf>,
    /// Of `remy`: RTTs that exceed the smallest one by no more count as the smallest; 1ms if it is
    /// not given
    #[arg(long, value_name = "TIME", value_parser = args::span, allow_hyphen_values = true)]
    resolution: Option<Span>,
    /// Of `c2tcp`: the scheme that it stands on, `cubic` or `reno`
    #[arg(long, value_name = "SCHEME", value_parser = ["cubic", "reno"])]
    over: Option<String>,
}

#[derive(Args)]
pub(crate) struct List {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Json {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Unload {
    /// The congestion control
    name: String,
}

#[derive(Args)]
pub(crate) struct Stats {
    /// The congestion control
    name: String,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Accelerate {
    /// The devices
    #[arg(required = true)]
    devices: Vec<String>,
    /// The congestion control whose packets are meant
    #[arg(long, default_value = "abc")]
    name: String,
}

fn fail(error: kernel::KernelError) -> Error {
    Error::Message(error.to_string())
}

/// The program of a name that the user wrote.
fn find(name: &str) -> Result<&'static Program, Error> {
    kernel::find(name).map_err(|error| Error::Usage(error.to_string()))
}

impl Load {
    /// What is chosen for this program.
    fn options(&self, program: &Program) -> Result<Options, Error> {
        let remy = self.table.is_some() || self.table_file.is_some() || self.resolution.is_some();
        for (given, whose, option) in [
            (remy, "remy", "--table, --table-file and --resolution"),
            (self.over.is_some(), "c2tcp", "--over"),
        ] {
            if given && program.name != whose {
                return Err(Error::Usage(format!("{option}: only for the program `{whose}`")));
            }
        }
        let resolution = self.resolution.unwrap_or(kernel::RESOLUTION);
        let file = self.table_file.as_deref();
        let table = match remy {
            true => Some(choice::table(self.table.as_deref(), file, resolution)?),
            false => None,
        };
        Ok(Options::with(|options| {
            options.table = table;
            options.over_reno = self.over.as_deref() == Some("reno");
        }))
    }
}

impl Kernel {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            Kernel::Load(load) => {
                let program = find(&load.name)?;
                kernel::load(program, &load.options(program)?).map_err(fail)?;
                let attached = attach(program, &load.devices);
                if attached.is_err() {
                    // Half of what was asked for is nothing.
                    let _ = kernel::unload(program);
                }
                attached
            }
            Kernel::List(list) => report::list(list.json),
            Kernel::Unload(unload) => {
                let program = find(&unload.name)?;
                kernel::unload(program).map_err(fail)
            }
            Kernel::Status(status) => report::status(status.json),
            Kernel::Stats(stats) => {
                let program = find(&stats.name)?;
                report::stats(&kernel::stats(program).map_err(fail)?, stats.json)
            }
            Kernel::Watch(watch) => watch.run(),
            Kernel::Accelerate(accelerate) => {
                let program = find(&accelerate.name)?;
                attach(program, &accelerate.devices)
            }
        }
    }
}

fn attach(program: &Program, devices: &[String]) -> Result<(), Error> {
    if !devices.is_empty() && !program.accelerates {
        let text = format!("`{}` sends no accelerates: it needs no device", program.name);
        return Err(Error::Message(text));
    }
    devices.iter().try_for_each(|device| kernel::accelerate(program, device).map_err(fail))
}

/// Lets a program's packets leave every device of this network namespace as accelerates.
pub(super) fn accelerate_everywhere(name: &str) -> Result<(), Error> {
    let program = find(name)?;
    let devices = kernel::devices().map_err(fail)?;
    attach(program, &devices)
}

/// A program that is loaded for as long as this value lives, if it was not loaded before.
pub(crate) struct LoadedProgram(Option<&'static Program>);

impl LoadedProgram {
    /// Loads it if need be.
    pub(crate) fn ensure(chosen: &ProgramChoice) -> Result<LoadedProgram, Error> {
        let ProgramChoice { program, options } = chosen;
        if kernel::loaded(program) {
            let (there, wanted) = (kernel::options(program), options.words(program).map_err(fail)?);
            return if there == wanted {
                Ok(LoadedProgram(None))
            } else {
                Err(other(program, &there))
            };
        }
        kernel::load(program, options).map_err(fail)?;
        Ok(LoadedProgram(Some(program)))
    }
}

fn other(program: &Program, there: &[String]) -> Error {
    let name = program.name;
    let there = if there.is_empty() { "no options".into() } else { there.join(", ") };
    Error::Message(format!(
        "`{name}` is loaded with {there}, and not with what is asked for here: `paceline kernel \
         unload {name}` first"
    ))
}

impl Drop for LoadedProgram {
    fn drop(&mut self) {
        let Some(program) = self.0 else { return };
        if let Err(error) = kernel::unload(program) {
            output::note(&error.to_string());
        }
    }
}
