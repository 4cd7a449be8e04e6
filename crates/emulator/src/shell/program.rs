//! The program inside: its words and its environment.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use nix::unistd::{User, getuid};

use super::ShellOptions;
use super::addresses::Addresses;
use super::shell_id::{ShellId, VARIABLE};

/// What stands before the prompt, of this shell and those around it. Mahimahi's name for it, so
/// that both nest in each other.
const PREFIX: &str = "MAHIMAHI_SHELL_PREFIX";

impl ShellOptions {
    /// Returns the program to start, or the user's shell.
    pub(crate) fn command(&self, addresses: &Addresses, mark: Option<ShellId>) -> Command {
        let mut words = self.command.iter();
        let mut command = match words.next() {
            Some(program) => Command::new(program),
            None => Command::new(shell()),
        };
        command.args(words);
        environment(&mut command, addresses, self.outside.is_some(), mark);
        let prefix = env::var(PREFIX).unwrap_or_default() + &self.prompt;
        // Bash asks for this each time; once is enough.
        command.env("PROMPT_COMMAND", format!("PS1=\"${PREFIX}$PS1\" PROMPT_COMMAND="));
        if self.command.is_empty() && env::var_os("PS1").is_none() {
            // For shells that know only this.
            command.env("PS1", format!("{prefix}$ "));
        }
        command.env(PREFIX, prefix);
        command
    }
}

/// Tells a program the address at which the outside is reached. In shells in shells, that is the
/// outermost's, as with Mahimahi: packets to it pass all of them, and it is there that servers
/// listen. With `own`, it is this shell's. Also says which shell it belongs to, so that it is found
/// when it is left behind.
pub(crate) fn environment(
    command: &mut Command,
    addresses: &Addresses,
    own: bool,
    shell: Option<ShellId>,
) {
    if let Some(shell) = shell {
        command.env(VARIABLE, shell.to_string());
    }
    let (four, six) = (addresses.outside.to_string(), addresses.outside6.to_string());
    for (name, value, own) in [
        ("MAHIMAHI_BASE", &four, false),
        ("PACELINE_BASE", &four, own),
        ("PACELINE_BASE6", &six, own),
    ] {
        if own || env::var_os(name).is_none_or(|outermost| outermost.is_empty()) {
            command.env(name, value);
        }
    }
}

/// Returns the user's shell.
fn shell() -> OsString {
    let named = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let entered =
        || User::from_uid(getuid()).ok().flatten().map(|user| user.shell.into_os_string());
    named.or_else(entered).filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}
