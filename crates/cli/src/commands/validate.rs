//! `paceline validate`: compares Paceline's figures with those of ns-3, ns-2, htsim, real Linux,
//! the authors' programs and the papers.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::validate::{
    Case, ComparedFigure, Counts, GuestRun, Verdict, cases, explain, guest_figures, guest_runs,
    page, record, section,
};
use paceline_requests::compare::CompareRow;
use paceline_requests::numbers::figure;
use paceline_sim::scenario::{Scenario, SchemeChoice};
use rayon::prelude::*;
use serde::Serialize;

use crate::args;
use crate::linux_hosts::{self, LinuxArgs};
use crate::output::{self, Error};
use crate::registries;
use crate::results::{self, Kind};
use crate::table::Grid;

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline validate
  paceline validate --only ns-3
  paceline validate --traces mahimahi/traces -o validation.md
  paceline validate --only 802.11 --csv checks.csv")]
pub(crate) struct Validate {
    /// The folder of recorded traces; checks against real Linux and the authors' programs need them
    #[arg(long, value_name = "DIR", help_heading = "Checks")]
    traces: Option<PathBuf>,
    /// Only the checks whose peer or run has this text in its name, such as `802.11` or `ns-3`; without -o, which writes all
    /// checks
    #[arg(long, value_name = "TEXT", help_heading = "Checks")]
    only: Option<String>,
    /// The folder of published tables of rules (.dna), for checks that compare `remy` with a
    /// program that follows the same table
    #[arg(long, value_name = "DIR", help_heading = "Checks")]
    tables: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Write a row for each check into this CSV or Parquet file, with the fields of JSON as columns; - for standard output,
    /// instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    csv: Option<PathBuf>,
    /// Fail unless every check was measured and agrees
    #[arg(long, help_heading = "Outputs")]
    strict: bool,
    /// Do not show progress
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
    /// Write the result; the name says what: .csv or .parquet for a row for each check, .json for all of it, .tsv for a
    /// line for each check as the repository keeps it, and any other name for Markdown. It needs all checks, and so no
    /// --only
    #[arg(short, long, value_name = "FILE", conflicts_with = "only", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Run the Linux guests instead of the checks, and write the figures that checks compare with to
    /// this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["traces", "only", "tables", "json", "csv", "strict", "output"], help_heading = "Checks")]
    guests: Option<PathBuf>,
    #[command(flatten)]
    linux: LinuxArgs,
}

#[derive(Serialize)]
struct ValidateDocument {
    counts: Counts,
    rows: Vec<ComparedFigure>,
}

impl Validate {
    pub(crate) fn run(self) -> Result<(), Error> {
        if let Some(path) = &self.guests {
            return self.run_guests(path);
        }
        args::folder("--traces", self.traces.as_deref(), "of recorded traces")?;
        args::folder("--tables", self.tables.as_deref(), "of published tables of rules")?;
        let is_text = |path: &&Path| !matches!(Kind::of_name(path), Some(Kind::Table | Kind::Json));
        let text_file = self.output.as_deref().filter(is_text);
        if let Some(path) = text_file {
            results::check_name(
                path,
                "-o",
                "a table or a text",
                &["csv", "parquet", "json", "tsv", "md"],
            )?;
            output::has_folder(path)?;
        }
        let others = self.output.as_deref().filter(|path| !is_text(path));
        let wanted = results::prepare(others, &[Kind::Table, Kind::Json])?;
        results::prepare_table("--csv", self.csv.as_deref())?;
        let is_csv = results::replaces_tables(self.json, &[("--csv", self.csv.as_deref())])?;
        let mut cases = cases(self.traces.as_deref(), self.tables.as_deref());
        if let Some(only) = &self.only {
            let peers = peers(&cases);
            cases.retain(|case| is_named(case.peer, &case.group, only));
            if cases.is_empty() {
                return Err(Error::Usage(format!(
                    "--only: no check has `{only}` in the name of its peer or run; the peers are: {}; the page of \
                     docs/validation.md has the runs",
                    peers.join("; ")
                )));
            }
        }
        let bar = output::progress(self.quiet, cases.len());
        let measured = cases.par_iter().with_max_len(1).flat_map_iter(|case| {
            let rows = case.measure();
            bar.inc(1);
            bar.set_message(format!("{}: {}", case.peer, case.group));
            rows
        });
        let mut rows: Vec<ComparedFigure> = measured.collect();
        bar.finish_and_clear();
        explain(&cases, &mut rows);
        if let Some(path) = text_file {
            let lines = path.extension().is_some_and(|extension| extension == "tsv");
            let text = if lines { record(&rows) } else { page(&rows) };
            output::write_file(path, text.as_bytes())?;
        }
        let report = ValidateDocument { counts: Counts::of(&rows), rows };
        results::write_both(
            wanted,
            self.csv.as_deref(),
            &report.rows,
            (&report, None),
            self.quiet,
        )?;
        if self.json {
            output::print_json(&report)?;
        } else if !is_csv {
            output::print(&table(&report))?;
        }
        let Counts { checks, agree, differ, .. } = report.counts;
        // A difference whose cause a run shows is a result, not a failure, except with --strict.
        match (self.strict, differ, checks - agree) {
            (true, _, 1..) => Err(Error::Message(format!(
                "{} of {checks} checks do not agree, or were not measured",
                checks - agree
            ))),
            (false, 1, _) => Err(Error::Message("1 check differs, and no run shows why".into())),
            (false, 2.., _) => {
                Err(Error::Message(format!("{differ} checks differ, and no run shows why")))
            }
            _ => Ok(()),
        }
    }
}

impl Validate {
    /// Runs the guests of all checks against Linux guests, and writes their figures to `path`.
    fn run_guests(&self, path: &Path) -> Result<(), Error> {
        output::has_folder(path)?;
        let scheme_of = |run: &GuestRun| {
            let scheme = registries::names().read_scheme(&run.linux_scheme());
            scheme.map_err(|error| Error::Message(error.to_string()))
        };
        let runs = guest_runs();
        let schemes = runs.iter().map(scheme_of).collect::<Result<Vec<SchemeChoice>, Error>>()?;
        let guest = self.linux.find(&schemes)?;
        let guest = guest.ok_or_else(|| Error::Message("no check needs a Linux guest".into()))?;
        let described = linux_hosts::describe(&guest, &schemes)?;
        let bar = output::progress(self.quiet, runs.len());
        let row_of = |run: &GuestRun, scheme: &SchemeChoice, scenario: &Scenario| {
            let outcome = paceline_requests::run(scenario, registries::names());
            let outcome = outcome
                .map_err(|error| Error::Message(format!("{}: {error}", run.linux_scheme())))?;
            Ok(run.comparison(scheme).row(&outcome))
        };
        let rows_of = |(run, scheme): (&GuestRun, &SchemeChoice)| {
            let scenarios = run.scenarios(scheme);
            let rows = scenarios.iter().map(|scenario| row_of(run, scheme, scenario));
            let rows = rows.collect::<Result<Vec<CompareRow>, Error>>();
            bar.inc(1);
            bar.set_message(run.linux_scheme());
            rows
        };
        let rows = runs.par_iter().zip(&schemes).map(rows_of).collect::<Result<Vec<_>, Error>>();
        bar.finish_and_clear();
        output::write_file(path, guest_figures(&described, &rows?).as_bytes())
    }
}

/// Returns true if a check's peer, by its own name or that of the summary, or its run has this text in its name, in
/// capitals or not.
fn is_named(peer: &str, group: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    [peer, section(peer), group].iter().any(|name| name.to_lowercase().contains(&text))
}

/// Returns the names of the peers in the summary.
fn peers(cases: &[Case<'_>]) -> Vec<&'static str> {
    let mut peers: Vec<&str> = Vec::new();
    for case in cases {
        let name = section(case.peer);
        if !peers.contains(&name) {
            peers.push(name);
        }
    }
    peers
}

fn table(report: &ValidateDocument) -> String {
    let mut grid =
        Grid::words(&["peer", "run", "ours", "figure", "expected", "bound", "measured", "verdict"]);
    for row in &report.rows {
        let ComparedFigure { peer, group, scheme, figure: what, expected, bound, .. } = row;
        let scheme = if row.variant { format!("  {scheme}") } else { scheme.clone() };
        grid.row(vec![
            peer.clone(),
            group.clone(),
            scheme,
            what.clone(),
            figure(*expected),
            bound.clone(),
            row.measured.map_or("-".into(), figure),
            row.verdict().words().into(),
        ]);
    }
    let mut text = grid.text();
    let explained = |row: &&ComparedFigure| {
        !row.variant && matches!(row.verdict(), Verdict::Explained | Verdict::Unmeasured)
    };
    for row in report.rows.iter().filter(explained) {
        text += &format!("{}, {}, {}: {}\n", row.peer, row.group, row.figure, row.reason);
    }
    text + &format!("\n{}\n", report.counts.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_by_the_names_of_the_summary_and_of_their_peers() {
        assert!(is_named("RFC 9002", "a window", "Facts"));
        assert!(is_named("RFC 9002", "a window", "rfc"));
        assert!(is_named("Linux guests", "cubic", "Linux 6.12 over"));
        assert!(is_named("Linux guests", "cubic", "guests") && is_named("ns-3", "cubic", "cubic"));
        assert!(!is_named("ns-3", "cubic", "Facts"));
        let all = cases(None, None);
        assert!(
            peers(&all)
                .iter()
                .all(|peer| { all.iter().any(|case| is_named(case.peer, &case.group, peer)) })
        );
    }
}
