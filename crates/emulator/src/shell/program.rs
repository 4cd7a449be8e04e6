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
        let prefix = env::var(PREFIX).unwrap_or_default() + &without_commands(&self.prompt);
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

/// Returns the prompt with `?` for each character by which a shell would run or expand a part of it,
/// and for control characters. The prompt has names of trace files, and these may come from others.
fn without_commands(prompt: &str) -> String {
    let is_plain = |c: char| !matches!(c, '$' | '`' | '\\') && !c.is_control();
    prompt.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
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

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::shell::addresses::Network;

    #[test]
    fn the_name_of_a_file_is_no_command_in_a_prompt() {
        let mut options = ShellOptions::new("link", Vec::new());
        options.prompt = "[link a$(touch pwn)`touch pwn`\\u\u{1b}[2J ü] ".into();
        let addresses = Addresses::above(&[], Network::default()).expect("addresses");
        let command = options.command(&addresses, None);
        let value = |name: &str| {
            let (_, value) = command.get_envs().find(|(key, _)| *key == OsStr::new(name))?;
            value?.to_str().map(String::from)
        };
        let plain = "[link a?(touch pwn)?touch pwn??u?[2J ü] ";
        assert!(value(PREFIX).is_some_and(|text| text.ends_with(plain)), "{:?}", value(PREFIX));
        if let Some(text) = value("PS1") {
            assert!(text.ends_with(&format!("{plain}$ ")), "{text}");
        }
    }
}
