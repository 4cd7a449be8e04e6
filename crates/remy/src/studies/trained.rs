//! The trainings of studies, and the folders in which they are: `BASE/STUDY/TABLE/seed-S`.

use std::path::{Path, PathBuf};

use super::Study;
use super::StudyTable;
use crate::train::{Plan, TrainingState};

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
/// A state cannot be read, or its specification is not that of the study: its file and the error.
pub(super) fn begun(base: &Path, study: &Study, table: &StudyTable) -> Result<Vec<Begun>, String> {
    let folder = folder_of(base, study, &table.name);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let seed = name.to_str().and_then(|name| name.strip_prefix("seed-")?.parse::<u64>().ok());
        let file = entry.path().join("state.json");
        let (Some(seed), Ok(text)) = (seed, std::fs::read_to_string(&file)) else { continue };
        let (state, _) = TrainingState::read(&text)
            .map_err(|problem| format!("{}: {problem}", file.display()))?;
        if !Plan::new(&table.specification, None, seed).says(&state.specification) {
            return Err(format!(
                "{}: trained with another specification than table {} of the study {} has; choose another folder",
                file.display(),
                table.name,
                study.name
            ));
        }
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
/// score; trainings whose score is not known yet count as the lowest. `None` if there is none below `base`, or if a state cannot be
/// read or has another specification.
pub fn trained_for(base: &Path, published: &str) -> Option<TrainedTable> {
    let studies = Study::shipped().ok()?;
    places_of(&studies, published).find_map(|StandsIn { study, table, is_others }| {
        let mut begun = begun(base, study, table).ok()?;
        let score = |one: &Begun| one.state.validation.unwrap_or(f64::NEG_INFINITY);
        begun.sort_by(|one, other| score(one).total_cmp(&score(other)));
        let chosen = begun.get(begun.len().saturating_sub(1) / 2)?;
        let name = format!("{}/{}/seed-{}", study.name, table.name, chosen.seed);
        let path = chosen.folder.join(if is_others { "others.toml" } else { "table.toml" });
        path.is_file().then_some(TrainedTable { path, name })
    })
}

/// Returns why trainings of shipped studies below `base` cannot be used in place of published tables: states that are broken
/// or have another specification. One text for each table.
pub fn unusable(base: &Path) -> Vec<String> {
    let studies = Study::shipped().unwrap_or_default();
    let tables =
        studies.iter().flat_map(|study| study.tables.iter().map(move |table| (study, table)));
    tables.filter_map(|(study, table)| begun(base, study, table).err()).collect()
}

/// Returns the name of the built-in table that a shipped study has trained in place of a published one, such as `rtt/150`.
pub fn built_in_for(published: &str) -> Option<String> {
    let studies = Study::shipped().ok()?;
    places_of(&studies, published).next().map(|place| place.built_in())
}

/// A table of a study that stands in for a published one.
struct StandsIn<'a> {
    study: &'a Study,
    table: &'a StudyTable,
    /// True for the table of the other senders, which was trained together with `table`.
    is_others: bool,
}

impl StandsIn<'_> {
    /// Returns the name of the built-in table: study and table.
    fn built_in(&self) -> String {
        let (study, table) = (&self.study.name, &self.table.name);
        let others = if self.is_others { "-others" } else { "" };
        format!("{study}/{table}{others}")
    }
}

/// Returns the tables of `studies` that stand in for a published one.
fn places_of<'a>(studies: &'a [Study], published: &'a str) -> impl Iterator<Item = StandsIn<'a>> {
    studies
        .iter()
        .flat_map(|study| study.tables.iter().map(move |table| (study, table)))
        .filter_map(move |(study, table)| {
            let is = |name: &Option<String>| name.as_deref() == Some(published);
            let is_others = !is(&table.published) && is(&table.published_others);
            (is_others || is(&table.published)).then_some(StandsIn { study, table, is_others })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_has_built_in_tables() {
        let tables = paceline_schemes::remy::RemyTables::builtin();
        for study in &Study::shipped().expect("valid") {
            for table in &study.tables {
                for is_others in [false, true] {
                    let name = StandsIn { study, table, is_others }.built_in();
                    let is_trained = !is_others || table.published_others.is_some();
                    assert_eq!(tables.find(&name).is_some(), is_trained, "{name}");
                }
            }
        }
        assert_eq!(built_in_for("fig4-rtt__rtt_10x.dna.3").as_deref(), Some("rtt/10x"));
        assert_eq!(built_in_for("RemyCC-2013-delta1.dna"), None);
    }

    #[test]
    fn broken_trainings_are_named() {
        let base = std::env::temp_dir().join(format!("paceline-unusable-{}", std::process::id()));
        assert!(unusable(&base).is_empty());
        let training = base.join("data-centre/data-centre/seed-1");
        std::fs::create_dir_all(&training).expect("a folder");
        std::fs::write(training.join("state.json"), "{").expect("written");
        let problems = unusable(&base);
        std::fs::remove_dir_all(&base).expect("removed");
        assert!(problems.len() == 1 && problems[0].contains("seed-1/state.json"), "{problems:?}");
    }

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
