//! `paceline kernel`: congestion control in this machine's own TCP.

mod report;

use clap::{Args, Subcommand};
use paceline_kernel::{self as kernel, Program};

use crate::output::{self, Error};

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  sudo paceline kernel load abc --dev eth0
  paceline kernel list --json
  iperf3 -c server -C abc
  sudo paceline kernel stats abc
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

impl Kernel {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            Kernel::Load(load) => {
                let program = kernel::find(&load.name).map_err(fail)?;
                kernel::load(program).map_err(fail)?;
                let attached = attach(program, &load.devices);
                if attached.is_err() {
                    // Half of what was asked for is nothing.
                    let _ = kernel::unload(program);
                }
                attached
            }
            Kernel::List(list) => report::list(list.json),
            Kernel::Unload(unload) => {
                let program = kernel::find(&unload.name).map_err(fail)?;
                kernel::unload(program).map_err(fail)
            }
            Kernel::Status(status) => report::status(status.json),
            Kernel::Stats(stats) => {
                let program = kernel::find(&stats.name).map_err(fail)?;
                report::stats(&kernel::stats(program).map_err(fail)?, stats.json)
            }
            Kernel::Accelerate(accelerate) => {
                let program = kernel::find(&accelerate.name).map_err(fail)?;
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
    let program = kernel::find(name).map_err(fail)?;
    let devices = kernel::devices().map_err(fail)?;
    attach(program, &devices)
}

/// A program that is loaded for as long as this value lives, if it was not loaded before.
pub(crate) struct Loaded(Option<&'static Program>);

impl Loaded {
    /// Loads it if need be.
    pub(crate) fn ensure(program: &'static Program) -> Result<Loaded, Error> {
        if kernel::loaded(program) {
            return Ok(Loaded(None));
        }
        kernel::load(program).map_err(fail)?;
        Ok(Loaded(Some(program)))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let Some(program) = self.0 else { return };
        if let Err(error) = kernel::unload(program) {
            output::note(&error.to_string());
        }
    }
}
