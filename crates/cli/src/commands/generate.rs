//! `paceline completions` and `paceline man`: generated from the definition of the command line.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::output::{self, Error};
use crate::{Cli, completions, manual, registries};

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline completions bash > ~/.local/share/bash-completion/completions/paceline
  paceline completions zsh > ~/.zfunc/_paceline
  paceline completions fish > ~/.config/fish/completions/paceline.fish")]
pub(crate) struct Completions {
    /// The shell to complete for
    shell: Shell,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline man ~/.local/share/man/man1
  paceline man | man -l -")]
pub(crate) struct Man {
    /// Write a page for each command into this folder
    folder: Option<PathBuf>,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Error> {
        let schemes = registries::names().schemes.iter().map(|scheme| scheme.name.to_string());
        let traces = paceline_trace::names().map(str::to_string);
        let (schemes, traces): (Vec<String>, Vec<String>) = (schemes.collect(), traces.collect());
        output::print(&completions::script(self.shell, Cli::command(), &schemes, &traces))
    }
}

impl Man {
    pub(crate) fn run(self) -> Result<(), Error> {
        let mut root = Cli::command();
        root.build();
        match self.folder {
            None => output::print(&page(&root, &root)?),
            Some(folder) => write(&folder, &root, &root),
        }
    }
}

fn page(root: &Command, command: &Command) -> Result<String, Error> {
    manual::page(root, command).map_err(|source| Error::Io { path: None, source })
}

/// Writes the manual page of a command and those of its subcommands.
fn write(folder: &Path, root: &Command, command: &Command) -> Result<(), Error> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let told = |inner: &&Command| inner.get_name() != "help" && !inner.is_hide_set();
    for inner in command.get_subcommands().filter(told) {
        write(folder, root, inner)?;
    }
    output::write(folder, &format!("{name}.1"), &page(root, command)?).map(|_| ())
}
