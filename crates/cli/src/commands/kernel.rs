//! `paceline kernel`: congestion control in this machine's own TCP.

mod choice;
mod next;
mod report;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use paceline_cc::{ParamValue as _, Span};
use paceline_kernel::{self as kernel, Options, Program};

use crate::args;

use crate::output::{self, Error};

pub(crate) use choice::{ProgramChoice, chosen, scheme};

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  sudo paceline kernel load abc --dev eth0
  sudo paceline kernel load remy --table-file RemyCC-2014-100x.dna
  sudo paceline kernel load c2tcp --over newreno --target 1.5rtt
  paceline kernel list --json
  sudo sysctl net.ipv4.tcp_congestion_control=abc    (at both ends, before they connect)
  sudo paceline kernel stats abc
  sudo paceline kernel watch
  sudo paceline kernel unload abc")]
pub(crate) enum Kernel {
    /// Put a congestion control into the kernel, where any program can choose it
    Load(Load),
    /// List the congestion controls and say which are loaded
    List(List),
    /// Remove a congestion control from the kernel
    Unload(Unload),
    /// Report which features this machine has, and which it lacks
    Status(Json),
    /// Print the counters of a congestion control, summed over its sockets
    Stats(Stats),
    /// Show the sockets of this network namespace that use the congestion controls, live
    Watch(watch::Watch),
    /// Mark a congestion control's packets that leave a device of this network namespace as
    /// accelerates
    Accelerate(Accelerate),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  sudo paceline kernel load abc --dev eth0
  sudo paceline kernel load remy --table general-delta1
  sudo paceline kernel load c2tcp --over newreno --target 1.5rtt")]
pub(crate) struct Load {
    /// The congestion control: see `paceline kernel list`
    name: String,
    /// Mark its packets that leave this device as accelerates; may be repeated
    #[arg(long = "dev", value_name = "DEVICE")]
    devices: Vec<String>,
    /// For `remy`: the name of a built-in table
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "table_file",
        help_heading = "Tables of remy"
    )]
    table: Option<String>,
    /// For `remy`: a file with a table, published (.dna) or readable (TOML, JSON)
    #[arg(long, value_name = "FILE", help_heading = "Tables of remy")]
    table_file: Option<PathBuf>,
    /// For `remy`: RTTs that exceed the smallest one by at most this count as the smallest; 1ms by
    /// default
    #[arg(long, value_name = "TIME", value_parser = args::span, allow_hyphen_values = true, help_heading = "Tables of remy")]
    resolution: Option<Span>,
    /// For `c2tcp`: the scheme below it, `cubic` or `newreno`
    #[arg(long, value_name = "SCHEME", value_parser = over, help_heading = "Limits of c2tcp")]
    over: Option<String>,
    /// For `c2tcp`: the RTT above which it closes the window, a time or a multiple of the smallest
    /// RTT such as 1.5rtt; 2rtt by default
    #[arg(
        long,
        value_name = "LIMIT",
        allow_hyphen_values = true,
        help_heading = "Limits of c2tcp"
    )]
    target: Option<String>,
    /// For `c2tcp`: how long RTTs have to be above the target; 2rtt by default
    #[arg(
        long,
        value_name = "LIMIT",
        allow_hyphen_values = true,
        help_heading = "Limits of c2tcp"
    )]
    interval: Option<String>,
    /// For `c2tcp`: the least target and interval if they are multiples of the RTT; 100ms by
    /// default
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Limits of c2tcp")]
    floor: Option<String>,
    /// Do not print the next steps
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline kernel list
  paceline kernel list --json")]
pub(crate) struct List {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline kernel status
  paceline kernel status --json")]
pub(crate) struct Json {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  sudo paceline kernel unload abc")]
pub(crate) struct Unload {
    /// The congestion control
    name: String,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  sudo paceline kernel stats abc
  sudo paceline kernel stats abc --json")]
pub(crate) struct Stats {
    /// The congestion control
    name: String,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  sudo paceline kernel accelerate eth0
  sudo paceline kernel accelerate eth0 eth1 --name abc")]
pub(crate) struct Accelerate {
    /// The devices
    #[arg(required = true)]
    devices: Vec<String>,
    /// The congestion control whose packets to mark
    #[arg(long, default_value = "abc")]
    name: String,
}

fn over(text: &str) -> Result<String, String> {
    match text.to_ascii_lowercase().as_str() {
        "cubic" => Ok("cubic".into()),
        // Linux calls it Reno.
        "newreno" | "reno" => Ok("newreno".into()),
        _ => Err("expected cubic or newreno".into()),
    }
}

fn fail(error: kernel::KernelError) -> Error {
    Error::Message(error.to_string())
}

/// Finds the program of a name that the user wrote.
fn find(name: &str) -> Result<&'static Program, Error> {
    kernel::find(name).map_err(|error| {
        let is_linuxs = kernel::probe().available.iter().any(|known| known == name);
        let remedy = if is_linuxs {
            format!("; `{name}` is Linux' own: `sysctl net.ipv4.tcp_congestion_control={name}`")
        } else if name == "bbr" {
            "; `bbr` is Linux' own: `modprobe tcp_bbr`".into()
        } else {
            String::new()
        };
        Error::Usage(format!("{error}{remedy}"))
    })
}

impl Load {
    /// Returns the options for this program.
    fn options(&self, program: &Program) -> Result<Options, Error> {
        let remy = self.table.is_some() || self.table_file.is_some() || self.resolution.is_some();
        for (given, whose, option) in [
            (remy, "remy", "--table, --table-file and --resolution"),
            (!self.of_c2tcp().is_empty(), "c2tcp", "--over, --target, --interval and --floor"),
        ] {
            if given && program.name != whose {
                return Err(Error::Usage(format!("{option}: only for the program `{whose}`")));
            }
        }
        let parameters = if program.name == "c2tcp" { self.of_c2tcp() } else { self.of_remy() };
        choice::options(program, &parameters)
    }

    /// Returns the options of `remy` as parameters of the simulator's scheme.
    fn of_remy(&self) -> Vec<(String, String)> {
        let file = self.table_file.as_ref().map(|file| file.display().to_string());
        let resolution = self.resolution.map(|resolution| resolution.show());
        let params = [("table", self.table.clone()), ("file", file), ("resolution", resolution)];
        let given = params.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
        given.collect()
    }

    /// Returns the options of `c2tcp` as parameters of the simulator's scheme.
    fn of_c2tcp(&self) -> Vec<(String, String)> {
        let params = [
            ("base", &self.over),
            ("target", &self.target),
            ("interval", &self.interval),
            ("floor", &self.floor),
        ];
        let given = params.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.map(|(name, value)| (name.into(), value.clone())).collect()
    }

    fn run(&self) -> Result<(), Error> {
        let program = find(&self.name)?;
        kernel::load(program, &self.options(program)?).map_err(fail)?;
        if let Err(error) = attach(program, &self.devices) {
            // Leaves nothing half done: unloads the program again if a device fails.
            let _ = kernel::unload(program);
            return Err(error);
        }
        if !self.quiet {
            let steps = next::steps(program, &self.devices).join("\n  ");
            output::note(&format!("`{}` is loaded. Next:\n  {steps}", program.name));
        }
        Ok(())
    }
}

impl Kernel {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            Kernel::Load(load) => load.run(),
            Kernel::List(list) => report::list(list.json),
            Kernel::Unload(unload) => {
                let program = find(&unload.name)?;
                kernel::unload(program).map_err(fail)
            }
            Kernel::Status(status) => report::status(status.json),
            Kernel::Stats(stats) => {
                let program = find(&stats.name)?;
                let counters = kernel::stats(program).map_err(fail)?;
                report::stats(&counters, stats.json)?;
                let warnings = [next::fallbacks, next::only_brakes];
                for warning in warnings.iter().filter_map(|of| of(program, &counters)) {
                    output::note(&format!("warning: {warning}"));
                }
                Ok(())
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

/// Marks a program's packets that leave any device of this network namespace as accelerates.
pub(super) fn accelerate_everywhere(name: &str) -> Result<(), Error> {
    let program = find(name)?;
    let devices = kernel::devices().map_err(fail)?;
    attach(program, &devices)
}

/// A program that is unloaded when this value is dropped, unless it was loaded before.
pub(crate) struct LoadedProgram(Option<&'static Program>);

impl LoadedProgram {
    /// Loads the program unless it is loaded.
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
