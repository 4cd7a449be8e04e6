//! `paceline key`: the keys of servers and of their clients.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::keys::{self, KeyText};
use crate::output::{self, Error};

/// Make and show the keys of `recv`, `tunnel server` and `saturate server`, and of their clients
///
/// A file with a server's keys is its secret. Clients need its key string (pl1-...). Whoever has
/// this string may connect, so keep it secret, too; the server cannot tell clients with the same
/// string apart. A server can list clients that have keys of their own (`recv --clients`); it then
/// admits no others, and you can remove each one from the list.
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
    /// Make a server's keys, or with --for one client's key, in a new file that only you can read,
    /// and print the string that the other end needs
    New(New),
    /// Print the key string of a server's file, or the public key of a client's
    Show(Show),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  (umask 077; paceline key new -o server.key > client.key)
  paceline key new --for server.key -o laptop.key")]
pub(crate) struct New {
    /// Make a client's own key for a server. FILE has the server's keys, or the key string; - is
    /// standard input. Prints the client's public key (plc-...), which the server lists
    #[arg(long = "for", value_name = "FILE")]
    server: Option<PathBuf>,
    /// The new file for the keys; an existing file is never replaced
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline key show server.key
  paceline key show laptop.key")]
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
