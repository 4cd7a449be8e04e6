//! `paceline remy studies`: trains the tables of the thesis' studies, and judges them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use paceline_cc::Span;
use paceline_remy::studies::{
    CheckVerdict, FigureRange, Shard, Study, StudyTraining, StudyVerdict, judge, trainings,
};
use paceline_remy::train::{EvaluatorWork, Folder, Plan, Trainer, TrainingEvaluator};
use serde::Serialize;

use super::search::{LARGEST, Limits, Shown, end_after, message};
use crate::args;
use crate::output::{self, Error};
use crate::table::Grid;
use crate::threads::Threads;

#[derive(Args)]
#[command(after_help = "\
A study trains several tables, each with several seeds, and compares them on networks that trained
none of them, by bounds that its file states: see docs/remy.md. All tables are trained for one
generation, then for the next, until each has the generations of its study, or until --budget is
over. Ctrl-C and kills lose nothing: the same command goes on, to the same tables.

With --shard k/n it trains one of n equal parts, for one of n machines or jobs. Their folders have
different files: copy them into one, and judge there. Without --shard the tables are judged at the
end, and DIR/judged.json has the results.

Examples:
  paceline remy studies --list
  paceline remy studies -o studies --budget 8h
  paceline remy studies -o studies --only rtt --only signals --seeds 5
  paceline remy studies -o studies --shard 3/20 --threads 1 --json
  paceline remy studies -o studies --judge --tables remycc")]
pub(crate) struct Studies {
    /// Files of studies instead of those that ship; a file's name is the name of its study
    #[arg(value_name = "STUDY.toml")]
    files: Vec<PathBuf>,
    /// The folder of all trainings; those that have begun there continue
    #[arg(
        short,
        long,
        value_name = "DIR",
        required_unless_present = "list",
        help_heading = "Outputs"
    )]
    output: Option<PathBuf>,
    /// Only the study of this name; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Training")]
    only: Vec<String>,
    /// Number of trainings of each table, with seeds from 1 on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "Training")]
    seeds: u64,
    /// Train one of several equal parts of all trainings: 1/4 to 4/4
    #[arg(long, value_name = "K/N", value_parser = shard, help_heading = "Training")]
    shard: Option<Shard>,
    /// Number of threads; 0 for one per core. The tables do not depend on it
    #[arg(long, default_value_t = 0, help_heading = "Training")]
    threads: u16,
    /// Train each table for this many generations, instead of those of its study
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "When to stop")]
    generations: Option<u32>,
    /// Stop after this elapsed time, judging not included
    #[arg(long, alias = "duration", value_name = "TIME", value_parser = args::length, help_heading = "When to stop")]
    budget: Option<Span>,
    /// Train nothing: judge the tables that are there
    #[arg(long, conflicts_with_all = ["shard", "budget"], help_heading = "Judging")]
    judge: bool,
    /// Judge the published tables in this folder, too
    #[arg(long, value_name = "DIR", help_heading = "Judging")]
    tables: Option<PathBuf>,
    /// List the studies: questions, bounds, and specifications
    #[arg(long, help_heading = "Outputs")]
    list: bool,
    /// Print each step as a line of JSON, and the results as the last line
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Do not show progress
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// Result of the command.
#[derive(Serialize)]
struct StudiesDocument {
    /// Trainings that have their generations, and all trainings of this call.
    complete_trainings: usize,
    all_trainings: usize,
    /// The studies, if they were judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    studies: Vec<StudyVerdict>,
}

fn shard(text: &str) -> Result<Shard, String> {
    let read = || -> Option<Shard> {
        let (part, parts) = text.split_once('/')?;
        let (part, parts) = (part.trim().parse().ok()?, parts.trim().parse().ok()?);
        (1 <= part && part <= parts && parts <= 10_000).then_some(Shard { part, parts })
    };
    read().ok_or_else(|| "expected K/N with K from 1 to N, such as 2/8".into())
}

impl Studies {
    pub(crate) fn run(self) -> Result<(), Error> {
        args::folder("--tables", self.tables.as_deref(), "of published tables of rules")?;
        let studies = self.chosen()?;
        let Some(base) = self.output.as_ref().filter(|_| !self.list) else {
            return self.show(&studies);
        };
        if self.judge {
            args::folder("-o", Some(base), "of `paceline remy studies`")?;
        }
        let document = Threads::new(self.threads.into())?.install(|| self.work(&studies, base))?;
        if !document.studies.is_empty() {
            output::write(base, "judged.json", &output::to_saved_json(&document, None)?)?;
        }
        match self.json {
            true => output::print_line(&document),
            false => output::print(&document.words()),
        }
    }

    /// Returns the studies of the files, or those that ship, as far as `--only` names them.
    fn chosen(&self) -> Result<Vec<Study>, Error> {
        let mut studies = Vec::new();
        for file in &self.files {
            let text = output::read(file, LARGEST)?;
            let wrong = |problem: String| Error::Usage(format!("{}: {problem}", file.display()));
            let text = String::from_utf8(text).map_err(|_| wrong("it is not UTF-8".into()))?;
            let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            studies.push(Study::parse(name, &text).map_err(|error| wrong(error.problem))?);
        }
        if self.files.is_empty() {
            studies = Study::shipped().map_err(message)?;
        }
        let names: Vec<String> = studies.iter().map(|study| study.name.clone()).collect();
        if let Some(name) = self.only.iter().find(|name| !names.contains(name)) {
            let names = names.join(", ");
            return Err(Error::Usage(format!(
                "--only: there is no study `{name}`; there are {names}"
            )));
        }
        studies.retain(|study| self.only.is_empty() || self.only.contains(&study.name));
        if let Some(generations) = self.generations {
            studies.iter_mut().for_each(|study| study.generations = generations);
        }
        Ok(studies)
    }

    fn work(&self, studies: &[Study], base: &std::path::Path) -> Result<StudiesDocument, Error> {
        let all = trainings(studies, self.seeds, self.shard);
        let complete = match self.judge {
            true => 0,
            false => self.train(&all, base)?,
        };
        let published = |file: &str| paceline_reproduce::table_in(self.tables.as_deref()?, file);
        let verdict = |study: &Study| judge(study, base, &published).map_err(message);
        let studies = match self.shard {
            None => studies.iter().map(verdict).collect::<Result<_, _>>()?,
            Some(_) => Vec::new(),
        };
        Ok(StudiesDocument { complete_trainings: complete, all_trainings: all.len(), studies })
    }

    /// Trains all tables for a generation, then for the next. Returns the number of trainings that
    /// have their generations.
    fn train(&self, all: &[StudyTraining<'_>], base: &std::path::Path) -> Result<usize, Error> {
        let limits = Limits { end: end_after(self.budget), cpu_hours: None };
        let most = all.iter().map(|one| one.study.generations).max().unwrap_or(0);
        let mut done = vec![false; all.len()];
        for generation in 1..=most {
            for (training, done) in all.iter().zip(&mut done).filter(|(_, done)| !**done) {
                if limits.end.is_some_and(|end| Instant::now() >= end) {
                    return Ok(done_count(all, base));
                }
                self.go_on(training, base, generation.min(training.study.generations), limits)?;
                *done = generation >= training.study.generations;
            }
        }
        Ok(done_count(all, base))
    }

    /// Trains a table until it has this many generations.
    fn go_on(
        &self,
        training: &StudyTraining<'_>,
        base: &std::path::Path,
        generations: u32,
        limits: Limits,
    ) -> Result<(), Error> {
        if training.generations(base).is_some_and(|done| done >= generations) {
            return Ok(());
        }
        let work = Arc::new(EvaluatorWork::default());
        let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
        let folder = Folder::open(&training.folder(base)).map_err(message)?;
        let plan = Plan::new(&training.table.specification, None, training.seed);
        let opened = Trainer::open(&plan, evaluator, Arc::clone(&work), folder);
        let (mut trainer, _) = opened.map_err(message)?;
        let (study, table) = (training.study.name.as_str(), training.table.name.as_str());
        let label = format!("{study}, {table}, seed {}: ", training.seed);
        let shown = Shown { json: self.json, quiet: self.quiet, label, of: Some((study, table)) };
        shown.go_on(&mut trainer, &work, limits, Some(generations), drop)?;
        Ok(())
    }

    /// Lists the studies.
    fn show(&self, studies: &[Study]) -> Result<(), Error> {
        if self.json {
            #[derive(Serialize)]
            struct Listed<'a> {
                name: &'a str,
                question: &'a str,
                judged: &'a str,
                claims: &'a [String],
                generations: u32,
                tables: Vec<&'a str>,
            }
            let listed = |study: &'_ Study| {
                output::print_line(&Listed {
                    name: &study.name,
                    question: &study.question,
                    judged: &study.judged,
                    claims: &study.claims,
                    generations: study.generations,
                    tables: study.tables.iter().map(|table| table.name.as_str()).collect(),
                })
            };
            return studies.iter().try_for_each(listed);
        }
        let words = |study: &Study| {
            let tables: Vec<&str> = study.tables.iter().map(|table| table.name.as_str()).collect();
            format!(
                "{} ({}): {}\n  Tables: {}; {} generations\n  {}\n",
                study.name,
                study.claims.join(", "),
                study.question,
                tables.join(", "),
                study.generations,
                study.judged
            )
        };
        output::print(&studies.iter().map(words).collect::<String>())
    }
}

fn done_count(all: &[StudyTraining<'_>], base: &std::path::Path) -> usize {
    let is_done = |one: &&StudyTraining<'_>| {
        one.generations(base).is_some_and(|done| done >= one.study.generations)
    };
    all.iter().filter(is_done).count()
}

fn range(range: &FigureRange, digits: usize) -> String {
    match range.lowest == range.highest {
        true => format!("{:.digits$}", range.median),
        false => {
            format!(
                "{:.digits$} ({:.digits$} to {:.digits$})",
                range.median, range.lowest, range.highest
            )
        }
    }
}

impl StudiesDocument {
    fn words(&self) -> String {
        let mut text: String = self.studies.iter().map(words).collect();
        if self.complete_trainings > 0 || self.studies.is_empty() {
            text += &format!(
                "{} of {} trainings have their generations\n",
                self.complete_trainings, self.all_trainings
            );
        }
        text
    }
}

/// Returns a study's results: a table of its rows by test, and its checks.
fn words(study: &StudyVerdict) -> String {
    let mut text = format!("{}: {}\n\n", study.study, study.question);
    let headings =
        ["test", "table or scheme", "seeds", "generations", "score", "Mbit/s", "delay, ms"];
    let mut grid = Grid::after(2, &headings);
    for row in &study.rows {
        let trained =
            |number: usize| if row.seeds > 0 { number.to_string() } else { String::new() };
        grid.row(vec![
            row.judged_on.clone(),
            row.table.clone(),
            trained(row.seeds),
            trained(row.generations as usize),
            range(&row.score, 3),
            range(&row.throughput_mbps, 2),
            range(&row.delay_ms, 1),
        ]);
    }
    text += &grid.text();
    text += "\n";
    text += &study.checks.iter().map(check).collect::<String>();
    if !study.untrained.is_empty() {
        text += &format!("Not trained: {}\n", study.untrained.join(", "));
    }
    text + &format!(
        "Trained for {:.0} CPU s; the study has {} generations. Medians (and ranges) over seeds of training.\n\n",
        study.cpu_s, study.generations
    )
}

fn check(check: &CheckVerdict) -> String {
    let bounds = match (check.at_least, check.at_most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    };
    match (&check.value, check.holds) {
        (Some(value), Some(holds)) => format!(
            "{}: {}, {bounds}: {}, in {} of {} seeds\n",
            check.what,
            range(value, 3),
            if holds { "holds" } else { "does not hold" },
            check.seeds_within,
            check.seeds
        ),
        _ => format!("{}: not measured\n", check.what),
    }
}
