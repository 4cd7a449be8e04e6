//! The runs of a shard.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paceline_sim::runs::Run;
use paceline_sim::scenario::Scenario;
use paceline_sim::{BuildError, Names};
use parquet::errors::ParquetError;
use rayon::prelude::*;
use thiserror::Error;

use crate::grid::{Grid, GridError};
use crate::journal::{Head, Journal, Rows};
use crate::parquet_file::write_parquet;
use crate::rows::{empty, rows};
use crate::shard::Shard;

/// Facts in the files of shards.
pub(crate) const SWEEP: &str = "paceline.sweep";
pub(crate) const SHARD: &str = "paceline.shard";
pub(crate) const JOBS: &str = "paceline.jobs";
pub(crate) const VERSION: &str = "paceline.version";

/// Reason why a shard is not finished.
#[derive(Debug, Error)]
pub enum SweepError {
    /// A combination is invalid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A scenario cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The table cannot be written.
    #[error("{path}: {source}", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error.
        source: ParquetError,
    },
}

/// Hears how far a shard is.
pub trait Progress: Sync {
    /// The shard has `all` runs, of which `done` were made before.
    fn begin(&self, all: u64, done: u64);
    /// A run has ended.
    fn ended(&self);
}

/// A finished shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The file with its table.
    pub file: PathBuf,
    /// Number of runs of the whole sweep.
    pub all: u64,
    /// Number of runs of this shard.
    pub runs: u64,
    /// How many of them were made by an earlier call that was stopped.
    pub found: u64,
}

/// A scenario with the jobs of its runs.
struct Point {
    combination: u64,
    /// Job of its first run.
    first: u64,
    scenario: Scenario,
}

/// Makes the runs of a shard on all threads of the pool, and writes their table into `folder`: `part-1-of-4.parquet`.
/// While it runs, `part-1-of-4.journal` has the finished runs; another call continues from there. A shard whose table is
/// there is not made again.
///
/// # Errors
/// A combination of values is invalid: then nothing has run. Or a file cannot be written.
pub fn sweep(
    grid: &Grid,
    shard: Shard,
    folder: &Path,
    names: &Names,
    progress: &dyn Progress,
) -> Result<Swept, SweepError> {
    let points = points(grid, names)?;
    let all = points.last().map_or(0, |last| last.first + u64::from(last.scenario.runs.count));
    let runs = (0..all).filter(|job| shard.has(*job)).count() as u64;
    let file = folder.join(format!("{}.parquet", shard.file_stem()));
    let head = Head {
        sweep: format!("{:016x}", grid.digest()),
        version: env!("CARGO_PKG_VERSION").into(),
        shard: shard.to_string(),
    };
    if is_made(&file, &head) {
        progress.begin(runs, runs);
        return Ok(Swept { file, all, runs, found: runs });
    }
    let path = folder.join(format!("{}.journal", shard.file_stem()));
    let io = |source| SweepError::Io { path: path.clone(), source };
    let (journal, mut done) = Journal::open(&path, &head).map_err(io)?;
    done.retain(|job, _| *job < all && shard.has(*job));
    let found = done.len() as u64;
    progress.begin(runs, found);
    let jobs: Vec<(u64, &Point, u32)> = points
        .iter()
        .flat_map(|point| {
            (1..=point.scenario.runs.count)
                .map(move |number| (point.first + u64::from(number - 1), point, number))
        })
        .filter(|(job, ..)| shard.has(*job) && !done.contains_key(job))
        .collect();
    let journal = Mutex::new(journal);
    let made: Vec<(u64, Rows)> = jobs
        .into_par_iter()
        .map(|(job, point, number)| {
            let run = Run::of(&point.scenario, number);
            let outcome = paceline_requests::run(&run.scenario(&point.scenario), names)?;
            let rows = rows(grid, (job, point.combination), run, &outcome);
            let mut journal = journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            journal.add(job, rows.clone()).map_err(io)?;
            drop(journal);
            progress.ended();
            Ok((job, rows))
        })
        .collect::<Result<_, SweepError>>()?;
    done.extend(made);
    write(grid, &file, &head, all, done)?;
    let journal = journal.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    journal.remove().map_err(io)?;
    Ok(Swept { file, all, runs, found })
}

/// Returns the scenarios of all combinations.
fn points(grid: &Grid, names: &Names) -> Result<Vec<Point>, SweepError> {
    let mut points = Vec::new();
    let mut first = 0;
    for combination in 0..grid.combinations() {
        let scenario = grid.scenario(combination, names)?;
        let runs = u64::from(scenario.runs.count);
        points.push(Point { combination, first, scenario });
        first += runs;
    }
    Ok(points)
}

/// Returns true if the file has the finished table of this shard.
fn is_made(file: &Path, head: &Head) -> bool {
    let Ok((_, facts)) = crate::parquet_file::read_parquet(file) else { return false };
    let is = |name: &str, value: &str| facts.iter().any(|fact| fact.0 == name && fact.1 == value);
    is(SWEEP, &head.sweep) && is(SHARD, &head.shard) && is(VERSION, &head.version)
}

/// Writes the table under another name and renames it, so that a kill leaves no part of a table.
fn write(
    grid: &Grid,
    file: &Path,
    head: &Head,
    all: u64,
    done: BTreeMap<u64, Rows>,
) -> Result<(), SweepError> {
    let mut table = empty(grid);
    for row in done.into_values().flatten() {
        for (column, cell) in table.columns.iter_mut().zip(row) {
            column.values.push(cell);
        }
    }
    let facts = [
        (SWEEP, head.sweep.clone()),
        (SHARD, head.shard.clone()),
        (JOBS, all.to_string()),
        (VERSION, head.version.clone()),
    ];
    let facts: Vec<(String, String)> =
        facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    let aside = file.with_extension("part");
    write_parquet(&aside, &table, &facts)
        .map_err(|source| SweepError::Parquet { path: aside.clone(), source })?;
    std::fs::rename(&aside, file).map_err(|source| SweepError::Io { path: file.into(), source })
}
