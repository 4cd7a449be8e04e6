//! `paceline key`: the keys of servers.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::keys::{self, KeyText};
use crate::output::{self, Error};

/// Make and show the keys of `recv`, `tunnel server` and `saturate server`
///
/// A file of keys is the server's secret. Its key string is what clients need; whoever has it may connect, so that it is
/// to be kept secret, too.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  (umask 077; paceline key new -o server.key > client.key)
  paceline recv --key-file server.key -o incoming/
  paceline key show server.key")]
pub(crate) enum KeyCommand {
    /// Make keys in a new file that only you can read, and print their key string
    New(New),
    /// Print the key string of a file of keys
    Show(Show),
}

#[derive(Args)]
pub(crate) struct New {
    /// Where to keep the keys; a file that is there is never replaced
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Args)]
pub(crate) struct Show {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl KeyCommand {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            KeyCommand::New(new) => {
                let identity = keys::make(&new.output)?;
                output::print(&format!("{}\n", identity.key()))
            }
            KeyCommand::Show(show) => {
                output::print(&format!("{}\n", KeyText::read(&show.file)?.key()))
            }
        }
    }
}
