//! The `paceline` command: parses arguments, calls the libraries, prints.

mod args;
mod commands;
mod names;
mod output;
mod table;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

/// Congestion control for wireless links: compares schemes in a deterministic simulator.
#[derive(Parser)]
#[command(name = "paceline", version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  paceline compare --trace lte-driving --schemes abc,cubic -o results
  paceline run scenarios/fairness.toml
  paceline schemes abc")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Exit status of failures; that of wrong usage is 2.
const FAILURE: u8 = 1;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough: not a failure.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(FAILURE)
        }
    }
}
