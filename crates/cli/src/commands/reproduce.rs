//! `paceline reproduce`: measures the papers' claims again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use paceline_reproduce::{
    BUILT_IN, BoundResult, CheckResult, Claim, ClaimResult, Costs, FindClaimError, ListedClaim,
    Live, OverRuns, RUNS, Recordings, ReproduceFields, Reproduction, Setting, Store, Tables,
    Verdict, WrittenScenarios, find_claims, keep, markdown, page, reproduce, write_scenarios,
};
use serde::Serialize;

use crate::args;
use crate::cost_bar::CostBar;
use crate::names::command_line;
use crate::output::{self, Error};
use crate::results::{self, Kind};
use crate::table::{Grid, counted};
use crate::threads::ThreadsArgs;

/// Measure the claims of the papers again, and say which of them hold
///
/// Each claim is a statement of a paper with checks whose bounds were written down before the first run. See docs/howto/reproduce.md.
#[derive(Args)]
#[command(after_help = "\
With -o DIR, finished runs are kept in DIR/runs. A reproduction that was stopped uses them and
goes on from there.

Examples:
  paceline reproduce --quick
  paceline reproduce A01 A33 --traces TRACES -o out
  paceline reproduce --list
  paceline reproduce A06 --scenarios out
  sudo paceline reproduce S09 S12 --live --traces TRACES")]
pub(crate) struct Reproduce {
    /// The claims to measure, such as A01; without any, all of them
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Run for seconds instead of a minute, and with fewer traces. Fewer claims hold then
    #[arg(long, help_heading = "Claims")]
    quick: bool,
    /// The folder of recorded traces, with the names of Mahimahi's folder `traces`. Without it,
    /// synthetic traces are used, and no claim about recorded ones counts as reproduced
    #[arg(long, value_name = "DIR", help_heading = "Claims")]
    traces: Option<PathBuf>,
    /// The folder of published tables of rules for claims about Remy, as files and in folders.
    /// Without it, tables trained here replace them, and no such claim counts as reproduced
    #[arg(long, value_name = "DIR", help_heading = "Claims")]
    tables: Option<PathBuf>,
    /// The folder of `remy studies`: its tables are those trained here. Where it lacks one, a
    /// built-in table for the same networks is; `built-in` in place of a folder takes these only.
    /// With `--tables`, claims about Remy are measured a second time with these tables, whose
    /// figures count in no verdict
    #[arg(long, value_name = "DIR", help_heading = "Claims")]
    trained: Option<PathBuf>,
    /// Also measure claims of running systems, with programs in real time through the emulator, in
    /// networks of their own: some 15 minutes, as root
    #[arg(long, conflicts_with_all = ["list", "scenarios"], help_heading = "Claims")]
    live: bool,
    /// Only list the claims
    #[arg(long, help_heading = "Claims")]
    list: bool,
    /// Only write the runs behind the claims into this folder, as scenario files for `paceline run`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "json", "output"], help_heading = "Claims")]
    scenarios: Option<PathBuf>,
    /// How often to run what the checks read, each time with other seeds and starts; 1 for one run
    /// without medians [default: 8, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with_all = ["list", "scenarios"], help_heading = "Runs")]
    runs: Option<u32>,
    /// Also make the runs that only show why a claim fails; no check reads them. With ids or --keep they
    /// are made in any case
    #[arg(long, conflicts_with_all = ["list", "scenarios"], help_heading = "Runs")]
    causes: bool,
    /// The seed of all random numbers
    #[arg(long, value_parser = args::seed, default_value_t = 1, help_heading = "Runs")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsArgs,
    /// Write the figures over those of the same claims in this file, and leave the other claims in it as they
    /// are: crates/reproduce/claims/measured.tsv of the source tree, from which its pages are made
    #[arg(long, value_name = "FILE", requires = "traces", conflicts_with_all = ["list", "scenarios", "quick", "runs", "seed"], help_heading = "Outputs")]
    keep: Option<PathBuf>,
    /// Also print the processor time of each experiment, and how busy the threads were
    #[arg(long, conflicts_with_all = ["list", "scenarios"], help_heading = "Outputs")]
    costs: bool,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Fail unless every run succeeds and every claim is reproduced by its present bounds
    #[arg(long, help_heading = "Outputs")]
    strict: bool,
    /// Do not show progress or the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
    /// Write results; the name says what: a folder for the page, the JSON and finished runs; .csv or .parquet for the
    /// table; .json
    #[arg(short, long, value_name = "PATH", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Write a row for each check into this CSV or Parquet file, with the fields of JSON as columns; - for standard output,
    /// instead of tables
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    csv: Option<PathBuf>,
}

/// Kinds of results that -o writes.
const WRITTEN: [Kind; 3] = [Kind::Folder, Kind::Table, Kind::Json];

/// A check of a claim, as a row of tables.
#[derive(Serialize)]
struct CheckRow<'a> {
    claim: &'a str,
    paper: &'a str,
    place: &'a str,
    title: &'a str,
    what: &'a str,
    /// The bound in force, or the stated one of a check that was withdrawn.
    #[serde(flatten)]
    bound: &'a BoundResult,
    /// The measured value of the bound that was stated before the first run, and whether that bound holds.
    stated_measured: &'a str,
    stated_holds: bool,
    verdict: Verdict,
    stated_verdict: Verdict,
}

/// Returns the rows of all checks.
fn check_rows(claims: &[ClaimResult]) -> Vec<CheckRow<'_>> {
    let mut rows = Vec::new();
    for claim in claims {
        rows.extend(claim.checks.iter().map(|check| CheckRow {
            claim: &claim.id,
            paper: &claim.paper,
            place: &claim.place,
            title: &claim.title,
            what: &check.what,
            bound: check.shown(),
            stated_measured: &check.stated.measured,
            stated_holds: check.stated.holds,
            verdict: claim.verdict,
            stated_verdict: claim.stated_verdict,
        }));
    }
    rows
}

/// JSON of `reproduce --list`.
#[derive(Serialize)]
struct List<'a> {
    claims: Vec<ListedClaim<'a>>,
}

impl Reproduce {
    pub(crate) fn run(self) -> Result<(), Error> {
        let chosen = self.chosen()?;
        if self.list {
            if self.json {
                return output::print_json(&List {
                    claims: chosen.iter().map(ListedClaim::of).collect(),
                });
            }
            return output::print(&list(&chosen));
        }
        args::folder("--traces", self.traces.as_deref(), "of recorded traces")?;
        args::folder("--tables", self.tables.as_deref(), "of published tables of rules")?;
        let trained = self.trained.as_deref().filter(|folder| *folder != Path::new(BUILT_IN));
        args::folder("--trained", trained, "of `paceline remy studies`, or `built-in`")?;
        for problem in trained.into_iter().flat_map(paceline_remy::studies::unusable) {
            output::note(&format!("warning: --trained: {problem}; a built-in table replaces it"));
        }
        let setting = Setting {
            quick: self.quick,
            traces: self.traces.clone().map(Recordings::Folder),
            tables: Tables::new(self.tables.clone(), self.trained.clone()),
            seed: self.seed,
            live: self.live.then(live).transpose()?,
            causes: self.causes
                || !self.ids.is_empty()
                || self.keep.is_some()
                || self.scenarios.is_some(),
        };
        if let Some(folder) = &self.scenarios {
            let written = write_scenarios(&chosen, &setting, folder)?;
            return output::print(&summary(&written, folder));
        }
        let wanted = results::prepare(self.output.as_deref(), &WRITTEN)?;
        results::prepare_table("--csv", self.csv.as_deref())?;
        let is_csv = results::replaces_tables(self.json, &[("--csv", self.csv.as_deref())])?;
        let store = match wanted {
            Some((folder, Kind::Folder)) => {
                let runs = Setting::runs(folder);
                Store::open(&runs).map_err(|source| Error::Io { path: Some(runs), source })?
            }
            Some(_) | None => Store::disabled(),
        };
        let pool = self.threads.start()?;
        let progress = CostBar::new(self.quiet);
        let began = Instant::now();
        let runs = self.runs.unwrap_or(if self.quick { 1 } else { RUNS });
        let done = pool.install(|| reproduce(&chosen, &setting, runs, &store, &progress));
        progress.clear();
        let done = done?;
        let printed = match (self.json, self.costs) {
            (true, true) => output::print_json(&ReproduceFields::with_costs(&done)),
            (true, false) => output::print_json(&ReproduceFields::of(&done)),
            (false, _) if is_csv => Ok(()),
            (false, true) => output::print(&(table(&done) + &costs(&done.costs))),
            (false, false) => output::print(&table(&done)),
        };
        // Prints and writes as many results as possible, also if some could not be kept.
        let unkept: Vec<String> = done.unkept.iter().map(|(_, why)| why.clone()).collect();
        let mut unwritten: Vec<String> = output::unkept(&unkept).into_iter().collect();
        if let Some((folder, Kind::Folder)) = wanted {
            let seconds = began.elapsed().as_secs_f64();
            unwritten.extend(self.write(folder, &done, &chosen, seconds));
        }
        if let Some(file) = &self.keep {
            unwritten.extend(keep(file, &done, &command_line()).err());
        }
        let (csv, rows) = (self.csv.as_deref(), check_rows(&done.claims));
        let tables = results::write_both(
            wanted,
            csv,
            &rows,
            (&ReproduceFields::of(&done), Some(self.seed)),
            self.quiet,
        );
        let written = output::all_of(&unwritten).and(tables);
        let warned = output::warn(&self.shortfalls(&done), self.strict);
        written.and(printed).and(warned)
    }

    /// With `--strict`, returns why claims are not reproduced: failed runs and other verdicts.
    fn shortfalls(&self, done: &Reproduction) -> Vec<String> {
        if !self.strict {
            return Vec::new();
        }
        let failed = done.failures.iter().map(|(task, problem)| format!("{task}: {problem}"));
        let short = done.claims.iter().filter(|claim| claim.verdict != Verdict::Reproduced);
        let short = short.map(|claim| format!("{}: {}", claim.id, claim.verdict.words()));
        failed.chain(short).collect()
    }

    fn chosen(&self) -> Result<Vec<Claim>, Error> {
        find_claims(&self.ids).map_err(|error| match error {
            FindClaimError::Invalid(_) => Error::Message(error.to_string()),
            FindClaimError::Unknown(_) => {
                Error::Usage(format!("{error}; `paceline reproduce --list` shows them"))
            }
        })
    }

    /// Writes the files of results. Returns an error text for each file that could not be written.
    fn write(
        &self,
        folder: &Path,
        done: &Reproduction,
        chosen: &[Claim],
        seconds: f64,
    ) -> Vec<String> {
        let facts = [
            ("command", command_line()),
            ("version", env!("CARGO_PKG_VERSION").to_string()),
            ("seed", self.seed.to_string()),
            ("lengths", if self.quick { "shortened (--quick)" } else { "full" }.to_string()),
            ("runs", done.runs.to_string()),
            ("runs that only show causes", if done.causes { "made" } else { "left out" }.into()),
            ("tasks", done.tasks.to_string()),
            ("took", format!("{seconds:.0} s")),
        ];
        let command = &facts[0].1;
        let files = vec![
            ("reproduce.html", Ok(page(done, chosen, &facts))),
            ("reproduce.md", Ok(markdown(done, chosen, command))),
            ("reproduce.json", output::to_saved_json(&ReproduceFields::of(done), Some(self.seed))),
        ];
        output::write_each(folder, files, self.quiet)
    }
}

/// Returns the means to run programs for claims about running systems.
fn live() -> Result<Live, Error> {
    let program = crate::host::program().map_err(Error::Message)?;
    Live::open(&program).map_err(Error::Message)
}

fn summary(written: &WrittenScenarios, folder: &Path) -> String {
    let some = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let (scenarios, traces) = (some(written.scenarios, "scenario"), some(written.traces, "trace"));
    let mut text = format!("wrote {scenarios} and {traces} into {}\n", folder.display());
    for (experiment, tasks) in &written.others {
        let shown: Vec<&str> = tasks.iter().take(3).map(String::as_str).collect();
        let more = match tasks.len() - shown.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        text += &format!("not scenarios, of {experiment}: {}{more}\n", shown.join("; "));
    }
    text
}

fn list(claims: &[Claim]) -> String {
    let mut grid = Grid::words(&["claim", "paper", "where", "what", "checks"]);
    for claim in claims {
        grid.row(vec![
            claim.id.clone(),
            claim.paper.clone(),
            claim.place.clone(),
            claim.title.clone(),
            claim.checks.len().to_string(),
        ]);
    }
    grid.text()
}

fn table(done: &Reproduction) -> String {
    let mut text = String::new();
    let here = if done.runs > 1 { "here, median [5 %, 95 %]" } else { "here" };
    let mut heads = vec!["claim", "what", "paper", here, "stated", "changed"];
    if done.runs > 1 {
        heads.push("held in");
    }
    let is_trained = done.claims.iter().any(|judged| !judged.trained_tables.is_empty());
    if is_trained {
        heads.insert(4, "trained here");
    }
    let mut grid = Grid::words(&heads);
    for judged in &done.claims {
        for mut row in rows(judged, is_trained) {
            row.resize(heads.len(), String::new());
            grid.row(row);
        }
    }
    text += &grid.text();
    if done.quick {
        text += "In brackets: runs were shorter and fewer than the papers' (--quick).\n";
    }
    if done.synthetic {
        text +=
            "In brackets: the paper measured on recorded traces, and this is on synthetic ones.\n";
    }
    let mut stood_in: Vec<&(String, String)> =
        done.claims.iter().flat_map(|judged| &judged.stand_ins).collect();
    stood_in.sort();
    stood_in.dedup();
    if !stood_in.is_empty() {
        let pairs: Vec<String> =
            stood_in.iter().map(|(file, name)| format!("{name} for {file}")).collect();
        text += &format!(
            "In brackets: tables trained here stood in for published ones: {}. Name the folder of the \
             published ones by --tables.\n",
            pairs.join(", ")
        );
    }
    for judged in done.claims.iter().filter(|judged| !judged.trained_tables.is_empty()) {
        text += &format!("{}: {}\n", judged.id, judged.trained_in_words());
    }
    for judged in done.claims.iter().filter(|judged| !judged.replaced.is_empty()) {
        text += &format!("In brackets: {}: {}\n", judged.id, judged.replaced.trim());
    }
    for (task, problem) in &done.failures {
        text += &format!("failed: {task}: {problem}\n");
    }
    text += &format!("{}\n", done.summary());
    text
}

/// Returns the processor time of the experiments as a table.
fn costs(costs: &Costs) -> String {
    let mut grid = Grid::numbers(&["experiment", "tasks", "CPU s", "of runs made once"]);
    let seconds = |seconds: f64| format!("{seconds:.1}");
    for cost in &costs.experiments {
        let [all, causes] = [cost.cpu_s, cost.cause_cpu_s].map(seconds);
        grid.row(vec![cost.experiment.into(), cost.tasks.to_string(), all, causes]);
    }
    let mut longest = Grid::after(2, &["longest tasks", "experiment", "CPU s"]);
    for task in &costs.longest {
        longest.row(vec![task.name.clone(), task.experiment.into(), seconds(task.cpu_s)]);
    }
    format!(
        "\n{}\n{}{:.1} CPU s in {:.1} s on {}, which simulated {:.1} % of the time\n",
        grid.text(),
        longest.text(),
        costs.cpu_s,
        costs.wall_s + costs.live_s,
        counted(costs.threads, "thread"),
        100.0 * costs.busy,
    )
}

/// Returns the rows of a claim: one for each check, or one if it was not measured; `is_trained` adds a
/// cell for tables trained here. Those of several runs end with the number of runs in which the check
/// holds.
fn rows(judged: &ClaimResult, is_trained: bool) -> Vec<Vec<String>> {
    if !judged.unmeasured.is_empty() {
        let verdict = word(judged.verdict);
        let mut cells = vec![judged.id.clone(), judged.title.clone(), String::new(), String::new()];
        cells.extend(is_trained.then(String::new));
        cells.extend([verdict.clone(), verdict]);
        return vec![cells];
    }
    let figure = |held: &BoundResult| match held.holds {
        true => held.figure(),
        false => format!("{} ✗", held.figure()),
    };
    let row = |(at, check): (usize, &CheckResult)| {
        let first = |text: String| if at == 0 { text } else { String::new() };
        let cell = |held: Option<&BoundResult>| held.map_or("withdrawn".into(), figure);
        let here = match check.was_changed() {
            true => {
                format!("{}; stated: {}", cell(check.now.as_ref()), cell(Some(&check.stated)))
            }
            false => cell(check.now.as_ref()),
        };
        let mut row = vec![
            first(judged.id.clone()),
            check.what.clone(),
            check.shown().expected.clone(),
            here,
        ];
        row.extend(is_trained.then(|| check.trained.as_ref().map_or(String::new(), figure)));
        row.extend([first(word(judged.stated_verdict)), first(word(judged.verdict))]);
        row.extend(check.shown().over_runs.map(OverRuns::share));
        row
    };
    judged.checks.iter().enumerate().map(row).collect()
}

/// Returns a verdict in one word, which no column breaks.
fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Partly => "partly",
        Verdict::Not => "not",
        Verdict::StandInAll | Verdict::SyntheticAll | Verdict::QuickAll => "(holds)",
        Verdict::StandInSome | Verdict::SyntheticSome | Verdict::QuickSome => "(partly)",
        Verdict::StandInNone | Verdict::SyntheticNone | Verdict::QuickNone => "(not)",
        Verdict::NotMeasured => "not measured",
    }
    .to_string()
}
