//! `paceline key`: the keys of servers and of their clients.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::keys::{self, KeyText};
use crate::output::{self, Error};

/// Make and show the keys of `recv`, `tunnel server` and `saturate server`, and of their clients
///
/// A file of a server's keys is its secret. Its key string (pl1-...) is what clients need; whoever has it may connect, so that
/// it is to be kept secret, too, and all who have it look alike. Clients with keys of their own can be listed by the server
/// (`recv --clients`), which then admits no others, and be taken off the list one by one.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  (umask 077; paceline key new -o server.key > client.key)
  paceline recv --key-file server.key -o incoming/
  paceline key show server.key
  paceline key new --for server.key -o laptop.key
  paceline key show laptop.key
  paceline recv --key-file server.key --clients clients.txt -o incoming/")]
pub(crate) enum KeyCommand {
    /// Make keys of a server, or with --for the key of one client, in a new file that only you can read, and print what the
    /// other end needs
    New(New),
    /// Print the key string of a server's file, or the public key of a client's
    Show(Show),
}

#[derive(Args)]
pub(crate) struct New {
    /// Make a client's own key for the server with the keys in FILE, or with the key string in it; - is standard input. Prints
    /// the client's public key (plc-...), which the server lists
    #[arg(long = "for", value_name = "FILE")]
    server: Option<PathBuf>,
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
        let shown = match self {
            KeyCommand::New(New { server: Some(server), output }) => {
                keys::make_for_client(KeyText::read(&server)?.key(), &output)?.to_string()
            }
            KeyCommand::New(New { server: None, output }) => keys::make(&output)?.key().to_string(),
            KeyCommand::Show(show) => KeyText::read(&show.file)?.shown(),
        };
        output::print(&format!("{shown}\n"))
    }
}
