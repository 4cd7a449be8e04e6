//! `paceline sweep` and `paceline merge`: a scenario under every combination of values.

use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;
use paceline_sweep::{Grid, GridError, Progress, Shard, Swept, merge, sweep, write_parquet};
use paceline_trace::FileKind;
use serde::Serialize;

use crate::host;
use crate::kinds;
use crate::output::{self, Error};
use crate::registries;
use crate::threads::ThreadsArgs;

/// Largest file of a sweep or of its scenario, in bytes.
const LARGEST: u64 = 16 << 20;

#[derive(Args)]
#[command(after_help = "\
A sweep names a scenario, and values of its keys:

  scenario = \"fairness.toml\"
  runs = 5
  [grid]
  \"link.*.rate\" = [\"6Mbps\", \"12Mbps\", \"48Mbps\"]
  \"flow.*.scheme\" = [\"cubic\", \"bbr\", \"copa\"]

A scheme may be a controller in Python, \"./mine.py\", with the path relative to the scenario's file.
The table has a row for each link and each flow of each run, with the swept keys as columns. If it
is stopped, the same command continues. Shards go to several machines: each makes its part, and
`paceline merge` joins the parts.

Examples:
  paceline sweep grid.toml -o out/
  paceline sweep grid.toml --shard 3/100 -o out/      # Slurm: --shard $SLURM_ARRAY_TASK_ID/100
  paceline merge out/ -o all.parquet")]
pub(crate) struct SweepCommand {
    /// The file of the sweep (TOML): see docs/howto/sweeps.md
    file: PathBuf,
    /// Make only part I of N
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE, help_heading = "Runs")]
    shard: Shard,
    #[command(flatten)]
    threads: ThreadsArgs,
    /// Print the counts as JSON
    #[arg(long)]
    json: bool,
    /// Do not show progress or the names of written files
    #[arg(short, long)]
    quiet: bool,
    /// Write the table into this folder, as part-I-of-N.parquet
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline merge out/ -o all.parquet")]
pub(crate) struct MergeCommand {
    /// The folder with the tables of all shards of one sweep
    folder: PathBuf,
    /// Print the counts as JSON
    #[arg(long)]
    json: bool,
    /// Do not show the name of the written file
    #[arg(short, long)]
    quiet: bool,
    /// Write the joined table into this Parquet file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// The JSON of `sweep`.
#[derive(Serialize)]
struct SweepFields {
    file: String,
    shard: String,
    all_runs: u64,
    shard_runs: u64,
    found_runs: u64,
}

/// The JSON of `merge`.
#[derive(Serialize)]
struct MergeFields {
    file: String,
    table_rows: usize,
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, all: u64, done: u64) {
        self.0.set_length(all);
        self.0.set_position(done);
        self.0.reset_eta();
    }

    fn ended(&self) {
        self.0.inc(1);
    }

    fn go_on(&self) -> bool {
        host::go_on()
    }
}

impl SweepCommand {
    pub(crate) fn run(self) -> Result<(), Error> {
        let grid = self.grid()?;
        output::make_folder(&self.output)?;
        let pool = self.threads.start()?;
        let bar = Bar(output::progress(self.quiet, 1));
        let made =
            pool.install(|| sweep(&grid, self.shard, &self.output, registries::names(), &bar));
        bar.0.finish_and_clear();
        let Swept { file, all, runs, found } = made.map_err(|error| match error {
            paceline_sweep::SweepError::Grid(error) => self.wrong(&error),
            error => Error::Message(error.to_string()),
        })?;
        let file = file.display().to_string();
        if self.json {
            let shard = self.shard.to_string();
            let fields =
                SweepFields { file, shard, all_runs: all, shard_runs: runs, found_runs: found };
            return output::print_json(&fields);
        }
        if !self.quiet {
            let before = match found {
                0 => String::new(),
                found => format!(", {found} of them made before"),
            };
            output::note(&format!("wrote {file}: {runs} of {all} runs{before}"));
        }
        Ok(())
    }

    fn grid(&self) -> Result<Grid, Error> {
        let text = text_of(&self.file).map_err(|error| match error {
            Error::Usage(text) if !self.file.exists() => {
                Error::Usage(format!("{text}; docs/howto/sweeps.md shows such a file"))
            }
            error => error,
        })?;
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let read = |path: &Path| text_of(path).map_err(|error| error.to_string());
        let grid = Grid::parse(&text, folder, read).map_err(|error| {
            let other = kinds::instead_of(FileKind::Sweep, &self.file, text.as_bytes());
            other.unwrap_or_else(|| self.wrong(&error))
        })?;
        Ok(grid.with_salt(host::salt()))
    }

    fn wrong(&self, error: &GridError) -> Error {
        Error::Usage(format!("{}: {error}", self.file.display()))
    }
}

fn text_of(file: &Path) -> Result<String, Error> {
    String::from_utf8(output::read(file, LARGEST)?).map_err(|error| {
        let unreadable =
            || Error::Usage(format!("{}: cannot be read: expected text in UTF-8", file.display()));
        kinds::instead_of(FileKind::Sweep, file, error.as_bytes()).unwrap_or_else(unreadable)
    })
}

impl MergeCommand {
    pub(crate) fn run(self) -> Result<(), Error> {
        if self.output.extension().is_none_or(|suffix| suffix != "parquet") {
            return Err(Error::Usage(format!(
                "-o {}: the joined table is a Parquet file: give it a name that ends with .parquet",
                self.output.display()
            )));
        }
        let (table, facts) =
            merge(&self.folder).map_err(|error| Error::Usage(error.to_string()))?;
        let file = self.output.display().to_string();
        write_parquet(&self.output, &table, &facts)
            .map_err(|error| Error::Message(format!("{file}: {error}")))?;
        let table_rows = table.rows();
        if self.json {
            return output::print_json(&MergeFields { file, table_rows });
        }
        if !self.quiet {
            output::note(&format!("wrote {file}: {table_rows} rows"));
        }
        Ok(())
    }
}
