//! The trainings of studies, and the folders in which they are: `BASE/STUDY/TABLE/seed-S`.

use std::path::{Path, PathBuf};

use super::Study;
use super::StudyTable;
use crate::train::TrainingState;

/// One training of a study.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct StudyTraining<'a> {
    /// The study.
    pub study: &'a Study,
    /// The table.
    pub table: &'a StudyTable,
    /// The seed.
    pub seed: u64,
}

impl StudyTraining<'_> {
    /// Returns its folder below the folder of all studies.
    pub fn folder(&self, base: &Path) -> PathBuf {
        folder_of(base, self.study, &self.table.name).join(format!("seed-{}", self.seed))
    }

    /// Returns its number of complete generations so far; `None` if it has not begun, or if its state
    /// is broken, which [`Trainer::open`](crate::train::Trainer::open) reports.
    pub fn generations(&self, base: &Path) -> Option<u32> {
        let text = std::fs::read_to_string(self.folder(base).join("state.json")).ok()?;
        Some(TrainingState::read(&text).ok()?.0.generations_done())
    }
}

/// One of several equal parts of the trainings, for one of several machines.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
}

/// Returns the trainings of studies with seeds 1 to `seeds`, or those of a part of them.
pub fn trainings(studies: &[Study], seeds: u64, shard: Option<Shard>) -> Vec<StudyTraining<'_>> {
    let all = studies.iter().flat_map(|study| {
        let of_table =
            move |table| (1..=seeds).map(move |seed| StudyTraining { study, table, seed });
        study.tables.iter().flat_map(of_table)
    });
    let is_in = |at: usize| {
        shard.is_none_or(|shard| at as u64 % u64::from(shard.parts) + 1 == u64::from(shard.part))
    };
    all.enumerate().filter(|(at, _)| is_in(*at)).map(|(_, training)| training).collect()
}

fn folder_of(base: &Path, study: &Study, table: &str) -> PathBuf {
    base.join(&study.name).join(table)
}

/// A training that has begun.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) seed: u64,
    pub(super) folder: PathBuf,
    pub(super) state: TrainingState,
}

/// Returns the trainings of a table that have begun, in the order of their seeds.
///
/// # Errors
/// A state cannot be read: its file and the error.
pub(super) fn begun(base: &Path, study: &Study, table: &str) -> Result<Vec<Begun>, String> {
    let folder = folder_of(base, study, table);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let seed = name.to_str().and_then(|name| name.strip_prefix("seed-")?.parse::<u64>().ok());
        let file = entry.path().join("state.json");
        let (Some(seed), Ok(text)) = (seed, std::fs::read_to_string(&file)) else { continue };
        let (state, _) = TrainingState::read(&text)
            .map_err(|problem| format!("{}: {problem}", file.display()))?;
        all.push(Begun { seed, folder: entry.path(), state });
    }
    all.sort_by_key(|begun| begun.seed);
    Ok(all)
}

/// A table of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedTable {
    /// Its file.
    pub path: PathBuf,
    /// Study, table and seed: `rtt/150/seed-2`.
    pub name: String,
}

/// Returns the table that a shipped study has trained in place of a published one: that of the seed with the median validation
/// score; trainings whose score is not known yet count as the lowest. `None` if there is none below `base`.
pub fn trained_for(base: &Path, published: &str) -> Option<TrainedTable> {
    let studies = Study::shipped().ok()?;
    let find = |study: &Study| {
        study.tables.iter().find_map(|table| {
            let is = |name: &Option<String>| name.as_deref() == Some(published);
            let file = match (is(&table.published), is(&table.published_others)) {
                (true, _) => "table.toml",
                (false, true) => "others.toml",
                (false, false) => return None,
            };
            let mut begun = begun(base, study, &table.name).ok()?;
            let score = |one: &Begun| one.state.validation.unwrap_or(f64::NEG_INFINITY);
            begun.sort_by(|one, other| score(one).total_cmp(&score(other)));
            let chosen = begun.get(begun.len().saturating_sub(1) / 2)?;
            let name = format!("{}/{}/seed-{}", study.name, table.name, chosen.seed);
            let path = chosen.folder.join(file);
            path.is_file().then_some(TrainedTable { path, name })
        })
    };
    studies.iter().find_map(find)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_trainings_once() {
        let studies = Study::shipped().expect("valid");
        let folders = |shard| -> Vec<PathBuf> {
            let trainings = trainings(&studies, 3, shard);
            trainings.iter().map(|training| training.folder(Path::new("base"))).collect()
        };
        let mut joined: Vec<PathBuf> =
            (1..=5).flat_map(|part| folders(Some(Shard { part, parts: 5 }))).collect();
        let mut all = folders(None);
        assert_eq!(all.len(), 72);
        assert_eq!(all[0], Path::new("base/data-centre/data-centre/seed-1"));
        joined.sort();
        all.sort();
        assert_eq!(joined, all);
    }
}
