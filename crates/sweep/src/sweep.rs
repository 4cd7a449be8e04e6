//! The runs of a shard.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paceline_sim::runs::Run;
use paceline_sim::{BuildError, Names};
use parquet::errors::ParquetError;
use rayon::prelude::*;
use thiserror::Error;

use crate::grid::{Grid, GridError};
use crate::journal::{Head, Journal, Rows};
use crate::parquet_file::{read_facts, read_parquet, write_parquet};
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
    /// [`Progress::go_on`] has ended the sweep.
    #[error("stopped")]
    Stopped,
    /// A file has runs of another sweep.
    #[error(
        "{}: has runs of another sweep, or of one whose files, such as recordings, have changed; choose another folder, \
         or remove the file",
        .0.display()
    )]
    Other(PathBuf),
    /// A file of the part's name was not written by a sweep.
    #[error(
        "{}: was not written by `paceline sweep`, which would overwrite it; choose another folder, or move the file",
        .0.display()
    )]
    Foreign(PathBuf),
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
    /// Returns false to end the sweep early, with [`SweepError::Stopped`]; finished runs are kept.
    fn go_on(&self) -> bool {
        true
    }
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

/// Makes the runs of a shard on all threads of the pool, and writes their table into `folder`: `part-1-of-4.parquet`.
/// While it runs, `part-1-of-4.journal` has the finished runs; another call continues from there. A shard whose table is
/// there is not made again, unless another version of the program made it.
///
/// # Errors
/// Before anything has run: a combination of this shard is invalid, the folder has runs of another
/// sweep or a foreign file of the part's name, or another process makes this shard there. Later: a
/// file cannot be written, or `progress` has ended the sweep.
pub fn sweep(
    grid: &Grid,
    shard: Shard,
    folder: &Path,
    names: &Names,
    progress: &dyn Progress,
) -> Result<Swept, SweepError> {
    let first = FirstJobs::of(grid, names)?;
    let all = first.job(grid.combinations());
    let runs = (0..all).filter(|job| shard.has(*job)).count() as u64;
    let file = folder.join(format!("{}.parquet", shard.file_stem()));
    let head = Head {
        sweep: format!("{:016x}", grid.digest()),
        version: env!("CARGO_PKG_VERSION").into(),
        shard: shard.to_string(),
    };
    let path = folder.join(format!("{}.journal", shard.file_stem()));
    for (path, owner) in [(&file, owner_of(&file)), (&path, Journal::owner_of(&path))] {
        match owner {
            Owner::Sweep(sweep) if sweep != head.sweep => {
                return Err(SweepError::Other(path.clone()));
            }
            Owner::Foreign => return Err(SweepError::Foreign(path.clone())),
            Owner::Sweep(_) | Owner::Nobody => {}
        }
    }
    if is_made(&file, &head) {
        progress.begin(runs, runs);
        return Ok(Swept { file, all, runs, found: runs });
    }
    // Before there is a journal: a mistake in a value leaves no file that refuses the corrected sweep. Scenarios are parsed
    // again for their runs: those of a whole sweep may not fit into memory.
    let jobs_of = |combination: u64| first.job(combination)..first.job(combination + 1);
    let combinations: Vec<u64> = (0..grid.combinations())
        .filter(|combination| jobs_of(*combination).any(|job| shard.has(job)))
        .collect();
    combinations
        .par_iter()
        .try_for_each(|combination| grid.scenario(*combination, names).map(|_| ()))?;
    let io = |source| SweepError::Io { path: path.clone(), source };
    let (journal, mut done) = Journal::open(&path, &head).map_err(io)?;
    // Another process may have ended in between.
    if is_made(&file, &head) {
        journal.remove().map_err(io)?;
        progress.begin(runs, runs);
        return Ok(Swept { file, all, runs, found: runs });
    }
    done.retain(|job, _| *job < all && shard.has(*job));
    let found = done.len() as u64;
    progress.begin(runs, found);
    let is_missing = |job: &u64| shard.has(*job) && !done.contains_key(job);
    let journal = Mutex::new(journal);
    let made: Vec<(u64, Rows)> = combinations
        .into_par_iter()
        .with_max_len(1)
        .flat_map_iter(|combination| jobs_of(combination).map(move |job| (combination, job)))
        .filter(|(_, job)| is_missing(job))
        .map(|(combination, job)| {
            if !progress.go_on() {
                return Err(SweepError::Stopped);
            }
            let scenario = grid.scenario(combination, names)?;
            let number = (job - first.job(combination) + 1) as u32;
            let run = Run::of(&scenario, number);
            let outcome = paceline_requests::run(&run.scenario(&scenario), names)?;
            // The run of a controller that has failed is no result.
            if !progress.go_on() {
                return Err(SweepError::Stopped);
            }
            let rows = rows(grid, (job, combination), run, &outcome);
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

/// The jobs of combinations: each combination has a job for each of its runs.
enum FirstJobs {
    /// Runs of every combination.
    Equal(u64),
    /// The first job of each combination, and at the end the number of all jobs. For grids over `runs`.
    Listed(Vec<u64>),
}

impl FirstJobs {
    /// Returns the jobs of a grid. Parses all scenarios only if their numbers of runs may differ.
    fn of(grid: &Grid, names: &Names) -> Result<FirstJobs, GridError> {
        let runs = |combination| {
            grid.scenario(combination, names).map(|scenario| u64::from(scenario.runs.count))
        };
        if !grid.keys().any(|key| key == "runs") {
            return Ok(FirstJobs::Equal(runs(0)?));
        }
        let mut first = vec![0];
        for combination in 0..grid.combinations() {
            first.push(first[combination as usize] + runs(combination)?);
        }
        Ok(FirstJobs::Listed(first))
    }

    /// Returns the first job of a combination; for the number of combinations the number of all jobs.
    fn job(&self, combination: u64) -> u64 {
        match self {
            FirstJobs::Equal(runs) => combination * runs,
            FirstJobs::Listed(first) => first[combination as usize],
        }
    }
}

/// Who has written a file of a part's name.
pub(crate) enum Owner {
    /// There is no file, or a kill or a power cut has left none that is whole.
    Nobody,
    /// The sweep with this digest.
    Sweep(String),
    /// Another program.
    Foreign,
}

/// Returns who has written a table.
fn owner_of(file: &Path) -> Owner {
    let Ok(facts) = read_facts(file) else { return Owner::Nobody };
    let sweep = facts.into_iter().find(|(name, _)| name == SWEEP);
    sweep.map_or(Owner::Foreign, |(_, sweep)| Owner::Sweep(sweep))
}

/// Returns true if the file has the finished table of this shard.
fn is_made(file: &Path, head: &Head) -> bool {
    let Ok((_, facts)) = read_parquet(file) else { return false };
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
        table.push(row);
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
