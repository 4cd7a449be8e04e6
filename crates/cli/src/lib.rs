//! The `paceline` command: parses arguments, calls the libraries, prints.
//!
//! A program with schemes and queues of its own can have all of the commands, too:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use paceline_cc::Spec;
//! use paceline_schemes::{SchemeEntry, registry};
//!
//! fn main() -> ExitCode {
//!     let mut names = paceline_cli::names();
//!     // Cubic without the early end of slow start, under a new name.
//!     let calm = SchemeEntry::new("calm", |_| registry::build(&Spec::parse("cubic[hystart=off]")?));
//!     names.schemes.add(calm).expect("a free name");
//!     paceline_cli::main_with(names)
//! }
//! ```
//!
//! `examples/workbench` is such a program, with a controller and a queue of its own.

mod args;
mod bar;
mod capture;
mod commands;
mod completions;
mod connection_logs;
mod cost_bar;
mod csv;
mod emulation;
#[cfg(test)]
mod example_tests;
mod figure;
mod former;
mod host;
mod keys;
mod kinds;
mod linux_hosts;
mod made;
mod manual;
mod messages;
mod mistake;
mod names;
mod output;
mod progress;
mod python;
mod registries;
mod remedies;
mod results;
mod runs;
mod series;
mod sheet;
mod table;
mod tcp_probe;
mod temporary;
mod threads;
mod usage;

use std::process::ExitCode;

use clap::Parser;
use paceline_sim::Names;

use commands::Command;

pub use host::{Host, ThreadWork};
pub use python::{PythonScheme, python_schemes};
pub use registries::builtin as names;

/// Congestion control for wireless links: compare schemes in a simulator, emulate links around real
/// programs, and send real data.
#[derive(Parser)]
#[command(name = "paceline", version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  paceline compare --trace lte-driving --schemes abc,cubic -o results
  paceline run scenarios/fairness.toml
  paceline schemes abc
  paceline delay 20ms -- paceline link --up 12Mbps --down lte-driving

In all commands:
  --json      print the result as JSON instead of text; docs/json.md has every field
  -o PATH     write results; the name says what: a folder, .pdf, .svg, .png, .csv, .parquet, .json
  up, down    from the program inside to the outside, and back
  delay, rtt  a delay is one way, an RTT is both ways together
  --strict    fail if there is a warning, or a result could not be measured

Exit status: 0 if all went well; 1 if something failed, or a warning was given with --strict;
2 if the arguments, or files that they name, are wrong; nothing has run then. Emulators end with
the status of the program inside.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Runs the command that the process's arguments name, with the schemes, queues and hosts of `names`,
/// and returns the exit status. Call it once, at the start of `main`: a process has one set of names.
///
/// Begin with [`names()`], which has everything that the `paceline` command has, and add to it. A
/// scheme of yours may bring a router ([`Halves`](paceline_cc::Halves)); links and
/// `paceline router` find it by the scheme's name. `paceline recv` and `paceline tunnel` also build
/// your schemes when a client asks for one, with parameters that the client sends: an entry must do
/// nothing with them that a stranger may not do.
pub fn main_with(names: Names) -> ExitCode {
    let host = Host::process(names);
    let arguments = host.arguments.clone();
    host::set(host);
    let schemes = python_schemes(&arguments);
    let done = match (mahimahi_name(), schemes.is_empty()) {
        (Some(name), _) => commands::mahimahi::run(name, arguments.into_iter().skip(1).collect()),
        (None, false) => python::run(&arguments, &schemes).map(|()| ExitCode::SUCCESS),
        (None, true) => usage::parse::<Cli>().command.run(),
    };
    done.unwrap_or_else(|error| ExitCode::from(failure(&error)))
}

/// Runs the command of the host in its process, and returns the exit status. Wrong arguments end the process, as in
/// [`main_with`]. If the host has ended runs early, the command prints neither results nor an error.
pub fn run_in(host: Host) -> u8 {
    host::set(host);
    match usage::parse::<Cli>().command.run() {
        // Emulators end with the status of the program inside. An `ExitCode` can only be compared.
        Ok(status) => (0..=u8::MAX).find(|code| ExitCode::from(*code) == status).unwrap_or(1),
        Err(error) if host::go_on() => failure(&error),
        Err(error) => error.status(),
    }
}

/// Prints an error, and returns its exit status.
fn failure(error: &output::Error) -> u8 {
    // The reader has closed the pipe, since it has seen enough: not a failure.
    if error.is_broken_pipe() {
        return 0;
    }
    output::error(error);
    error.status()
}

/// Returns Mahimahi's name under which the program was called, if it was called by one.
fn mahimahi_name() -> Option<&'static str> {
    let called = host::arguments().into_iter().next()?;
    let name = std::path::Path::new(&called).file_name()?;
    emulation::mahimahi::NAMES.into_iter().find(|known| name == *known)
}
