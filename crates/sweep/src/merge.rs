//! Joins the tables of all shards of a sweep.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

use crate::parquet_file::{Facts, read_parquet};
use crate::rows::JOB;
use crate::shard::Shard;
use crate::sweep::{JOBS, SHARD, SWEEP};
use crate::table::{Table, Values};

/// Reason why tables cannot be joined.
#[derive(Debug, Error)]
pub enum MergeError {
    /// The folder cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file is no table.
    #[error("{path}: {source}", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error.
        source: ParquetError,
    },
    /// There are no tables of shards.
    #[error("{}: has no part-*.parquet of `paceline sweep`", .0.display())]
    Nothing(PathBuf),
    /// A file belongs to another sweep than the first.
    #[error(
        "{}: is of another sweep than {}, or its files, such as recordings, had other contents; put the shards of each \
         sweep into a folder of their own",
        .0.display(),
        .1.display()
    )]
    Other(PathBuf, PathBuf),
    /// A file is a table, but not one of a shard.
    #[error("{}: is no table of `paceline sweep`; move it into another folder", .0.display())]
    Foreign(PathBuf),
    /// Two files have the same shard.
    #[error("{}: has runs that {} has, too; remove one of the two files", .0.display(), .1.display())]
    Overlap(PathBuf, PathBuf),
    /// Two files are of different divisions of the sweep, so that a run may stand in both.
    #[error(
        "{}: is part {} of the sweep, and {} is part {}; remove the parts of one of the two divisions",
        .0.display(),
        .1,
        .2.display(),
        .3
    )]
    Division(PathBuf, Shard, PathBuf, Shard),
    /// Shards are missing.
    #[error("{}: has no table of shard {}; run `paceline sweep` with --shard {}", .0.display(), .1.join(", "), .1[0])]
    Missing(PathBuf, Vec<String>),
    /// The tables have not as many runs as the sweep.
    #[error("{}: the tables have {} runs, and the sweep {}", .0.display(), .1, .2)]
    Runs(PathBuf, u64, u64),
}

/// Returns the table of all shards in `folder`, in the order of the runs, and the facts about it.
///
/// # Errors
/// A shard is missing or there twice, or a table belongs to another sweep or to none.
pub fn merge(folder: &Path) -> Result<(Table, Facts), MergeError> {
    let files = files(folder)?;
    let mut joined: Option<(PathBuf, Table, Facts)> = None;
    let mut shards: Vec<(Shard, PathBuf)> = Vec::new();
    for path in files {
        let (table, facts) = read_parquet(&path)
            .map_err(|source| MergeError::Parquet { path: path.clone(), source })?;
        let shard = fact(&facts, SHARD).and_then(|shard| shard.parse::<Shard>().ok());
        let Some(shard) = shard else { return Err(MergeError::Foreign(path)) };
        let Some((first, all, of_first)) = &mut joined else {
            shards.push((shard, path.clone()));
            joined = Some((path, table, facts));
            continue;
        };
        let is_same = [SWEEP, JOBS].iter().all(|name| fact(of_first, name) == fact(&facts, name))
            && all.columns.len() == table.columns.len();
        let columns = all.columns.iter_mut().zip(table.columns);
        let fits = is_same
            && columns
                .into_iter()
                .all(|(to, from)| to.name == from.name && to.values.append(from.values));
        if !fits {
            return Err(MergeError::Other(path, first.clone()));
        }
        for (known, of_known) in &shards {
            if *known == shard {
                return Err(MergeError::Overlap(path, of_known.clone()));
            }
            if known.of() != shard.of() {
                return Err(MergeError::Division(path, shard, of_known.clone(), *known));
            }
        }
        shards.push((shard, path));
    }
    let (_, table, mut facts) = joined.ok_or_else(|| MergeError::Nothing(folder.into()))?;
    let missing = missing(&shards);
    if !missing.is_empty() {
        return Err(MergeError::Missing(folder.into(), missing));
    }
    let (table, runs) = in_order(table);
    let expected = fact(&facts, JOBS).and_then(|jobs| jobs.parse().ok()).unwrap_or(0);
    if runs != expected {
        return Err(MergeError::Runs(folder.into(), runs, expected));
    }
    facts.retain(|(name, _)| name.starts_with("paceline.") && name != SHARD);
    Ok((table, facts))
}

fn fact<'a>(facts: &'a Facts, name: &str) -> Option<&'a str> {
    facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Returns the tables of shards in a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, MergeError> {
    let io = |source| MergeError::Io { path: folder.into(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("part-") && name.ends_with(".parquet") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the shards that are not there. All that are there are of one division.
fn missing(shards: &[(Shard, PathBuf)]) -> Vec<String> {
    let of = shards.first().map_or(1, |(shard, _)| shard.of());
    let known: HashSet<String> = shards.iter().map(|(shard, _)| shard.to_string()).collect();
    let all = (1..=of).map(|number| format!("{number}/{of}"));
    all.filter(|text| !known.contains(text)).collect()
}

/// Returns the table in the order of its runs, and their number.
fn in_order(mut table: Table) -> (Table, u64) {
    let Some(Values::Whole(jobs)) = table.column(JOB) else { return (table, 0) };
    let jobs = jobs.clone();
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&row| jobs[row]);
    for column in &mut table.columns {
        column.values = column.values.of_rows(&order);
    }
    let mut known = jobs;
    known.sort_unstable();
    known.dedup();
    (table, known.len() as u64)
}
