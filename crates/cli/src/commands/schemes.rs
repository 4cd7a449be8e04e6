//! `paceline schemes`: lists the registries' schemes and queues.

use std::path::PathBuf;

use clap::Args;
use owo_colors::OwoColorize;
use paceline_cc::ParamInfo;
use paceline_cc::params::NO_UNIT;
use paceline_cc::spec::nearest;
use paceline_requests::ParameterFields;
use serde::Serialize;

use crate::output::{self, Error};
use crate::registries;
use crate::results;
use crate::table::Grid;

/// List schemes and queues, or the parameters of one
///
/// A scheme is written `sender[param=value,...]+queue[param=value,...]`, such as `'cubic[beta=0.5]+codel[target=50ms]'`.
/// Put it between single quotes, since shells give brackets a meaning of their own.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline schemes
  paceline schemes abc
  paceline schemes codel
  paceline schemes --csv schemes.csv")]
pub(crate) struct Schemes {
    /// A scheme or queue whose parameters to show; without it, list all
    name: Option<String>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Write a row for each scheme and queue into this CSV or Parquet file, or with a name for each of its parameters;
    /// - for standard output, instead of tables
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

#[derive(Serialize)]
struct Listing {
    schemes: Vec<Entry>,
    queues: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    halves: Vec<&'static str>,
    parameters: Vec<ParameterFields>,
    source: String,
}

impl Schemes {
    pub(crate) fn run(self) -> Result<(), Error> {
        results::prepare_table("--csv", self.csv.as_deref())?;
        let is_csv = results::replaces_tables(self.json, &[("--csv", self.csv.as_deref())])?;
        let mut listing = listing();
        if let Some(name) = &self.name {
            let known = listing.schemes.iter().chain(&listing.queues);
            let elsewhere = paceline_schemes::known_elsewhere(name).map(String::from);
            let near = elsewhere.or_else(|| nearest(name, known.map(|entry| entry.name.as_str())));
            let near = near.map(|near| format!("did you mean `{near}`?"));
            listing.schemes.retain(|entry| entry.name == *name);
            listing.queues.retain(|entry| entry.name == *name);
            if listing.schemes.is_empty() && listing.queues.is_empty() {
                let hint = paceline_schemes::instead_of(name).or(near);
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                return Err(Error::Usage(format!(
                    "there is no scheme or queue `{name}`{hint}; `paceline schemes` lists all"
                )));
            }
        }
        if let Some(path) = &self.csv {
            let entries = || listing.schemes.iter().chain(&listing.queues);
            match self.name {
                None => results::write_rows(path, &entries().collect::<Vec<_>>(), false)?,
                Some(_) => {
                    let parameters: Vec<_> =
                        entries().flat_map(|entry| &entry.parameters).collect();
                    results::write_rows(path, &parameters, false)?;
                }
            }
        }
        if self.json {
            return output::print_json(&listing);
        }
        if is_csv {
            return Ok(());
        }
        match self.name {
            None => output::print(&overview(&listing)),
            Some(_) => {
                let entries = listing.schemes.iter().chain(&listing.queues);
                output::print(&entries.map(details).collect::<String>())
            }
        }
    }
}

fn listing() -> Listing {
    let parameters = |infos: Vec<ParamInfo>| infos.into_iter().map(ParameterFields::from).collect();
    let names = registries::names();
    let schemes = names.schemes.iter().map(|scheme| Entry {
        name: scheme.name.to_string(),
        summary: scheme.summary.to_string(),
        halves: scheme.halves(),
        parameters: parameters(scheme.params()),
        source: scheme.source.to_string(),
    });
    let queues = names.queues.iter().map(|queue| Entry {
        name: queue.name.to_string(),
        summary: queue.summary.to_string(),
        halves: Vec::new(),
        parameters: parameters(queue.params()),
        source: queue.source.to_string(),
    });
    Listing { schemes: schemes.collect(), queues: queues.collect() }
}

fn overview(listing: &Listing) -> String {
    let mut schemes = Grid::words(&["scheme", "halves", "summary", "source"]);
    for entry in &listing.schemes {
        let halves = entry.halves.join(", ");
        schemes.row(vec![entry.name.clone(), halves, entry.summary.clone(), entry.source.clone()]);
    }
    let mut queues = Grid::words(&["queue", "summary", "source"]);
    for entry in &listing.queues {
        queues.row(vec![entry.name.clone(), entry.summary.clone(), entry.source.clone()]);
    }
    format!(
        "{}\n{}\nA scheme is written sender[param=value,...]+queue[param=value,...].\n\
         `paceline schemes NAME` shows parameters. pacing=linux behind a sender with a window: on a host \
         that paces it.\n",
        schemes.text(),
        queues.text()
    )
}

fn details(entry: &Entry) -> String {
    let mut text = format!("{}: {}\nSource: {}\n", entry.name.bold(), entry.summary, entry.source);
    if !entry.halves.is_empty() {
        text += &format!("Halves: {}\n", entry.halves.join(", "));
    }
    if entry.parameters.is_empty() {
        return text + "No parameters.\n";
    }
    let mut grid = Grid::words(&["parameter", "unit", "default", "range", "source", "meaning"]);
    for parameter in &entry.parameters {
        let ParameterFields { name, unit, default, range, source, doc, .. } = parameter;
        let unit = if *unit == NO_UNIT { "" } else { *unit };
        let texts = [*name, unit, default.as_str(), range.as_str(), *source, doc.as_str()];
        grid.row(texts.map(String::from).to_vec());
    }
    text + "\n" + &grid.text()
}
