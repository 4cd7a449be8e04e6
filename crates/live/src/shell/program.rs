//! The program inside: its words and its environment.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use nix::unistd::{User, getuid};

use super::ShellOptions;
use super::addresses::Addresses;

/// What stands before the prompt, of this shell and those around it. Mahimahi's name for it, so
/// that both nest in each other.
const PREFIX: &str = "MAHIMAHI_SHELL_PREFIX";

impl ShellOptions {
    /// The program to start, or the user's shell.
    pub(crate) fn command(&self, addresses: &Addresses) -> Command {
        let mut words = self.command.iter();
        let mut command = match words.next() {
            Some(program) => Command::new(program),
            None => Command::new(shell()),
        };
        command.args(words);
        environment(&mut command, addresses);
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

/// Tells a program the address of the outer end.
pub(crate) fn environment(command: &mut Command, addresses: &Addresses) {
    for name in ["PACELINE_BASE", "MAHIMAHI_BASE"] {
        command.env(name, addresses.outside.to_string());
    }
    command.env("PACELINE_BASE6", addresses.outside6.to_string());
}

/// The user's shell.
fn shell() -> OsString {
    let named = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let entered =
        || User::from_uid(getuid()).ok().flatten().map(|user| user.shell.into_os_string());
    named.or_else(entered).filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}
