//! `paceline scenario`: lists and writes the example scenarios, from which users begin their own.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use paceline_cc::spec::nearest;
use serde::Serialize;

use crate::output::{self, Error};
use crate::results;
use crate::table::Grid;

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline scenario list
  paceline scenario new fairness -o mine.toml
  paceline run mine.toml -o results")]
pub(crate) enum ScenarioCommand {
    /// List the example scenarios
    List(List),
    /// Print an example scenario, or write it into a file, to change and run it
    New(New),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline scenario list
  paceline scenario list --json")]
pub(crate) struct List {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline scenario new
  paceline scenario new fairness -o mine.toml")]
pub(crate) struct New {
    /// The example: see `paceline scenario list`
    #[arg(default_value = "dumbbell")]
    name: String,
    /// Write to this file, which must not exist, instead of standard output (`-`)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

macro_rules! examples {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),+]
    };
}

/// Names and texts of the examples: the files of the folders `scenarios` and `scenarios/linux`.
const EXAMPLES: [(&str, &str); 24] = examples![
    "abc-lte",
    "app-limited",
    "buffers",
    "call",
    "coexistence",
    "dual-window",
    "dumbbell",
    "fairness",
    "home-802.11n",
    "home-call",
    "home-medium",
    "linux/iperf3",
    "lossy",
    "nada",
    "on-off",
    "outage",
    "parking-lot",
    "reverse",
    "scream",
    "short-flows",
    "six-uploads",
    "video",
    "wifi",
    "wifi-queues",
];

#[derive(Serialize)]
struct ExampleRow {
    name: &'static str,
    description: String,
}

#[derive(Serialize)]
struct Listing {
    scenarios: Vec<ExampleRow>,
}

/// Returns a scenario's description: the text behind `description = `.
fn description(text: &str) -> String {
    let value = text.lines().find_map(|line| line.strip_prefix("description = \""));
    value.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_string()
}

/// Adds the command that writes an example of this name to an error about a missing scenario file.
pub(crate) fn with_example(error: Error, file: &Path) -> Error {
    let Error::Usage(message) = error else { return error };
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_named = |name: &str| name.rsplit('/').next() == Some(stem);
    let hint = match EXAMPLES.iter().find(|(name, _)| is_named(name)) {
        _ if file.exists() => String::new(),
        Some((name, _)) => {
            format!("; `paceline scenario new {name} -o {stem}.toml` writes this example")
        }
        None => "; `paceline scenario list` lists examples".into(),
    };
    Error::Usage(message + &hint)
}

impl ScenarioCommand {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            ScenarioCommand::List(list) => list.run(),
            ScenarioCommand::New(new) => new.run(),
        }
    }
}

impl List {
    fn run(self) -> Result<(), Error> {
        let rows = EXAMPLES.map(|(name, text)| ExampleRow { name, description: description(text) });
        if self.json {
            return output::print_json(&Listing { scenarios: rows.into() });
        }
        let mut grid = Grid::words(&["scenario", "description"]);
        for row in rows {
            grid.row(vec![row.name.into(), row.description]);
        }
        output::print(&grid.text())
    }
}

impl New {
    pub(crate) fn run(self) -> Result<(), Error> {
        let names = || EXAMPLES.iter().map(|(name, _)| *name);
        let Some((_, text)) = EXAMPLES.iter().find(|(name, _)| *name == self.name) else {
            let near = nearest(&self.name, names())
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default();
            let list = names().collect::<Vec<_>>().join(", ");
            return Err(Error::Usage(format!(
                "there is no example scenario `{}`{near}; there are {list}",
                self.name
            )));
        };
        if let Some(path) = &self.output {
            results::check_name(path, "-o", "a scenario", &["toml"])?;
        }
        match self.output.as_deref().filter(|path| path.as_os_str() != "-") {
            None => output::print(text),
            Some(path) if path.exists() => Err(Error::Usage(format!(
                "{}: there is such a file; name another one, or remove it",
                path.display()
            ))),
            Some(path) => {
                output::write_file(path, text.as_bytes())?;
                output::note(&format!("wrote {0}; `paceline run {0}`", path.display()));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_scenarios_of_the_folder_are_examples_with_a_description() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut files = BTreeSet::new();
        for (inside, prefix) in [("", ""), ("linux", "linux/")] {
            for entry in std::fs::read_dir(folder.join(inside)).expect("scenarios") {
                let path = entry.expect("an entry").path();
                if path.extension().is_some_and(|extension| extension == "toml") {
                    let name = path.file_stem().expect("a name").to_string_lossy();
                    files.insert(format!("{prefix}{name}"));
                }
            }
        }
        let names: BTreeSet<String> = EXAMPLES.iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(files, names);
        for (name, text) in EXAMPLES {
            assert!(description(text).len() > 10, "{name} has no description");
        }
    }
}
