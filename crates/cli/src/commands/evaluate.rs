//! `paceline evaluate`: answers the IETF's questions about congestion controls.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use paceline_cc::spec::split_list;
use paceline_evaluate::{
    Document, EvaluateError, EvaluateFields, Evaluation, ListedCriterion, Request, Row, Verdict,
    documents, evaluate, markdown, page, paper,
};
use paceline_export::{Fonts, to_pdf_pages};
use paceline_requests::numbers::figure;
use paceline_sim::runs::MAX_RUNS;
use paceline_tasks::Store;
use serde::Serialize;

use crate::args;
use crate::cost_bar::CostBar;
use crate::host;
use crate::linux_hosts::LinuxArgs;
use crate::names::command_line;
use crate::output::{self, Error};
use crate::registries;
use crate::results::{self, Kind};
use crate::table::{Grid, counted};
use crate::threads::ThreadsArgs;

#[derive(Args)]
#[command(after_help = "\
Each criterion has a question, a case that is simulated, a figure, and a rule for good and poor that
was stated before the first run: --list shows them, docs/evaluate.md explains them. With -o DIR,
finished runs are kept in DIR/runs; an evaluation that was stopped continues from them.

Examples:
  paceline evaluate abc --quick
  paceline evaluate cubic bbr3 'abc[dt=60ms]' -o report
  paceline evaluate gcc --cases rfc8867,rfc8869
  paceline evaluate bbr3 --cases bbr-draft
  paceline evaluate ./mine.py --quick
  paceline evaluate abc --only cubic,bufferbloat.delay --json
  paceline evaluate --list")]
pub(crate) struct Evaluate {
    /// Schemes, with parameters if wanted, or Python files with a class (./mine.py). Several ones
    /// stand side by side in one report
    #[arg(value_name = "NAME", required_unless_present = "list")]
    schemes: Vec<String>,
    /// Documents whose questions are answered: rfc9743 (BCP 133, for any scheme), rfc8867 and rfc8869
    /// (test cases for calls), bbr-draft (test cases of draft-ietf-ccwg-bbr), separated by commas
    #[arg(long, value_name = "DOCUMENTS", default_value = "rfc9743", value_parser = Documents::read, help_heading = "Criteria")]
    cases: Documents,
    /// Answer only these criteria, separated by commas: names, or their first parts, such as cubic or
    /// cubic.harm
    #[arg(long, value_name = "ID,...", value_delimiter = ',', help_heading = "Criteria")]
    only: Vec<String>,
    /// Make 3 runs of each case in place of 15, and leave out those that take long
    #[arg(long, help_heading = "Criteria")]
    quick: bool,
    /// Number of runs of each case, each with its own seed and start [default: 15, and 3 with --quick
    /// or for cases that take long]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RUNS)), help_heading = "Runs")]
    runs: Option<u32>,
    /// Only list the criteria: questions, figures, rules
    #[arg(long, help_heading = "Criteria")]
    list: bool,
    #[command(flatten)]
    linux: LinuxArgs,
    /// The seed of all random numbers
    #[arg(long, value_parser = args::seed, default_value_t = 1, help_heading = "Runs")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Fail if a run has failed, or a criterion's figure could not be measured
    #[arg(long, help_heading = "Outputs")]
    strict: bool,
    /// Do not show progress or the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
    /// Write results; the name says what: a folder for the page (index.html), report.pdf, report.md, report.json and
    /// finished runs; .csv or .parquet for the table; .json
    #[arg(short, long, value_name = "PATH", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Write a row for each criterion and scheme into this CSV or Parquet file, with the fields of JSON as columns; - for standard output,
    /// instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    csv: Option<PathBuf>,
}

/// Documents that a list names.
#[derive(Clone, Debug)]
struct Documents(Vec<&'static Document>);

impl Documents {
    fn read(text: &str) -> Result<Documents, String> {
        documents(text).map(Documents)
    }
}

/// Kinds of results that -o writes.
const WRITTEN: [Kind; 3] = [Kind::Folder, Kind::Table, Kind::Json];

/// JSON of `evaluate --list`.
#[derive(Serialize)]
struct List {
    criteria: Vec<ListedCriterion>,
}

impl Evaluate {
    pub(crate) fn run(self) -> Result<(), Error> {
        if self.list {
            return self.print_list();
        }
        let request = self.request()?;
        request.criteria().map_err(failure)?;
        let mut salt = host::salt().to_string();
        for scheme in &request.schemes {
            let read = registries::compared(scheme).map_err(Error::Usage)?.0;
            if let Some(guest) = self.linux.find(read.iter().map(|(scheme, _)| scheme))? {
                salt += &format!("{};{}", guest.describe(), module(scheme));
            }
        }
        let wanted = results::prepare(self.output.as_deref(), &WRITTEN)?;
        results::prepare_table("--csv", self.csv.as_deref())?;
        let is_csv = results::replaces_tables(self.json, &[("--csv", self.csv.as_deref())])?;
        let store = match wanted {
            Some((folder, Kind::Folder)) => {
                let runs = folder.join("runs");
                Store::open_with(&runs, &salt)
                    .map_err(|source| Error::Io { path: Some(runs), source })?
            }
            Some(_) | None => Store::disabled(),
        };
        let pool = self.threads.start()?;
        let names = Arc::new(registries::names().clone());
        let progress = CostBar::new(self.quiet);
        let began = Instant::now();
        let done = pool.install(|| evaluate(&request, &names, &store, &progress));
        progress.clear();
        let done = done.map_err(failure)?;
        let printed = match self.json {
            true => output::print_json(&EvaluateFields::of(&done)),
            false if is_csv => Ok(()),
            false => output::print(&table(&done)),
        };
        // Prints and writes as many results as possible, also if some could not be kept.
        let unkept: Vec<String> = done.unkept.iter().map(|(_, why)| why.clone()).collect();
        let mut unwritten: Vec<String> = output::unkept(&unkept).into_iter().collect();
        if let Some((folder, Kind::Folder)) = wanted {
            unwritten.extend(self.write(folder, &done, began.elapsed().as_secs_f64()));
        }
        let document = EvaluateFields::of(&done);
        let csv = self.csv.as_deref();
        let tables =
            results::write_both(wanted, csv, &done.rows, (&document, Some(done.seed)), self.quiet);
        let failed = |(run, problem): &(String, String)| format!("{run}: {problem}");
        let mut failed: Vec<String> = done.failures.iter().map(failed).collect();
        if self.strict {
            failed.extend(
                done.rows
                    .iter()
                    .filter(|row| lacks_figure(row))
                    .map(|row| format!("{} of {}: {}", row.id, row.scheme, row.answer)),
            );
        }
        let warned = output::warn(&failed, self.strict);
        output::all_of(&unwritten).and(tables).and(printed).and(warned)
    }

    fn request(&self) -> Result<Request, Error> {
        let mut schemes: Vec<String> = Vec::new();
        for text in &self.schemes {
            let parts = split_list(text).map_err(|error| Error::Usage(error.to_string()))?;
            for scheme in parts.into_iter().flat_map(|part| registries::names().expand(part)) {
                if schemes.contains(&scheme) {
                    return Err(Error::Usage(format!("{scheme} stands in the list twice")));
                }
                schemes.push(scheme);
            }
        }
        Ok(Request {
            schemes,
            documents: self.cases.0.clone(),
            only: self.only.clone(),
            quick: self.quick,
            runs: self.runs,
            seed: self.seed,
        })
    }

    fn print_list(&self) -> Result<(), Error> {
        let request = Request { schemes: Vec::new(), ..self.request()? };
        let criteria: Vec<ListedCriterion> = request
            .criteria()
            .map_err(failure)?
            .into_iter()
            .map(|(document, criterion)| ListedCriterion::of(document, criterion))
            .collect();
        if self.json {
            return output::print_json(&List { criteria });
        }
        let mut grid = Grid::words(&["criterion", "section", "question", "figure", "rule"]);
        for one in &criteria {
            let figure = match (one.figure, one.unit) {
                (None, _) => "not answerable".to_string(),
                (Some(figure), "") => figure.to_string(),
                (Some(figure), unit) => format!("{figure}, {unit}"),
            };
            let section = format!("{} §{}", one.document, one.section);
            let words = [one.id, &section, one.question, &figure, &one.rule];
            grid.row(words.map(str::to_string).to_vec());
        }
        output::print(&grid.text())
    }

    /// Writes the files of results. Returns an error text for each file that could not be written.
    fn write(&self, folder: &Path, done: &Evaluation, seconds: f64) -> Vec<String> {
        let command = command_line();
        let facts = [
            ("command", command.clone()),
            ("version", env!("CARGO_PKG_VERSION").to_string()),
            ("seed", done.seed.to_string()),
            ("runs", done.runs.to_string()),
            ("took", format!("{seconds:.0} s")),
        ];
        let pdf = Fonts::built_in().convert(|fonts| {
            let (title, sheets) = paper(done, &facts, fonts.family());
            to_pdf_pages(&sheets, &title, fonts)
        });
        let pdf = pdf.map_err(|error| Error::Message(error.to_string()));
        let files = [
            ("index.html", Ok(page(done, &facts).into_bytes())),
            ("report.pdf", pdf),
            ("report.md", Ok(markdown(done, &command).into_bytes())),
            (
                "report.json",
                output::to_saved_json(&EvaluateFields::of(done), Some(done.seed))
                    .map(String::into_bytes),
            ),
        ];
        output::write_each(folder, files, self.quiet)
    }
}

/// Returns the text of the C file that a Linux host's scheme names (`linux:./mine.c`); empty without one.
/// Kept runs depend on it.
fn module(scheme: &str) -> String {
    let name = scheme.split_once(':').map_or("", |(_, name)| name);
    let name = name.split(['[', '+']).next().unwrap_or("");
    if name.ends_with(".c") {
        std::fs::read_to_string(name).unwrap_or_default()
    } else {
        String::new()
    }
}

/// Converts an error of the library: what the arguments cause, and what stopped the work.
fn failure(error: EvaluateError) -> Error {
    match error {
        EvaluateError::Scheme(text) => Error::Usage(text),
        EvaluateError::Criterion(text) => {
            Error::Usage(format!("--only: {text}; `paceline evaluate --list` shows all"))
        }
        EvaluateError::Stopped(text) => Error::Message(text),
    }
}

/// Returns a table with a row for each criterion, and a summary of the verdicts.
fn table(done: &Evaluation) -> String {
    let mut headings = vec!["criterion", "figure"];
    headings.extend(done.schemes.iter().map(String::as_str));
    headings.push("cubic");
    let mut grid = Grid::words(&headings);
    for rows in done.rows.chunk_by(|one, next| one.id == next.id) {
        let first = &rows[0];
        let figure_name = match (first.figure, first.unit) {
            (None, _) => String::new(),
            (Some(name), "") => name.to_string(),
            (Some(name), unit) => format!("{name}, {unit}"),
        };
        let mut cells = vec![first.id.to_string(), figure_name];
        cells.extend(rows.iter().map(cell));
        let beside = rows.iter().find_map(|row| row.beside);
        cells.push(beside.map(|beside| figure(beside.median)).unwrap_or_default());
        grid.row(cells);
    }
    let mut text = grid.text();
    for scheme in &done.schemes {
        let count = |word: &str| {
            let is = |row: &&Row| row.verdict.is_some_and(|verdict| verdict.word() == word);
            done.rows.iter().filter(|row| row.scheme == *scheme).filter(is).count()
        };
        let words = ["good", "mixed", "poor", "not answerable", "not measured"];
        let counts: Vec<String> = words
            .iter()
            .map(|word| (count(word), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        text += &format!("{scheme}: {}\n", counts.join(", "));
    }
    let few = if done.quick { " (--quick)" } else { "" };
    text + &format!("Medians over runs{few}; {} were simulated.\n", counted(done.runs, "run"))
}

/// Returns true if no run has the figure of a criterion, although its case was made.
fn lacks_figure(row: &Row) -> bool {
    row.figure.is_some() && row.median.is_none() && row.verdict != Some(Verdict::NotMeasured)
}

/// Returns a figure and its verdict.
fn cell(row: &Row) -> String {
    let verdict = row.verdict.map(|verdict| verdict.word());
    match (row.median, verdict) {
        (Some(median), Some(verdict)) => format!("{}, {verdict}", figure(median)),
        (Some(median), None) => figure(median),
        (None, verdict) => verdict.unwrap_or("").to_string(),
    }
}
