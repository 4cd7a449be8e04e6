//! The `paceline` command: parses arguments, calls the libraries, prints.

mod args;
mod commands;
mod emulation;
mod names;
mod output;
mod table;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use commands::Command;

/// Congestion control for wireless links: compares schemes in a deterministic
/// simulator, and emulates links around real programs.
#[derive(Parser)]
#[command(name = "paceline", version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  paceline compare --trace lte-driving --schemes abc,cubic -o results
  paceline run scenarios/fairness.toml
  paceline schemes abc
  paceline delay 20ms -- paceline link --up 12Mbps --down lte-driving")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Exit status of failures; that of wrong usage is 2.
const FAILURE: u8 = 1;

fn main() -> ExitCode {
    let done = match mahimahi_name() {
        Some(name) => commands::mahimahi::run(name, std::env::args_os().skip(1).collect()),
        None => Cli::parse().command.run(),
    };
    match done {
        Ok(status) => status,
        // Whoever read our output has seen enough: not a failure.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(FAILURE)
        }
    }
}

/// Ends as clap does with wrong usage, for mistakes that it cannot find by itself.
fn wrong_usage(problem: &str) -> ! {
    Cli::command().error(clap::error::ErrorKind::ValueValidation, problem).exit()
}

/// The one of Mahimahi's names under which the program was called, if it was.
fn mahimahi_name() -> Option<&'static str> {
    let called = std::env::args_os().next()?;
    let name = std::path::Path::new(&called).file_name()?;
    emulation::mahimahi::NAMES.into_iter().find(|known| name == *known)
}
