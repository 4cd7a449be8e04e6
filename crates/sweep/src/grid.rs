//! The file of a sweep: a scenario, the swept keys, and their values.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use paceline_sim::Names;
use paceline_sim::scenario::{self, Scenario, ScenarioError};
use thiserror::Error;
use toml::{Table, Value};

use crate::keys::set;

/// Most runs of a sweep.
const MOST_RUNS: u64 = 100_000_000;

/// Reason why the file of a sweep cannot be used.
#[derive(Debug, Error)]
pub enum GridError {
    /// It is no TOML.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A key is missing, unknown or has a wrong value.
    #[error("{0}")]
    Key(String),
    /// A combination of values is no valid scenario.
    #[error("with {values}: {error}")]
    Scenario {
        /// The swept keys and their values.
        values: String,
        /// The mistake.
        error: Box<ScenarioError>,
    },
}

/// A sweep: every combination of the values of the swept keys.
#[derive(Clone, Debug)]
pub struct Grid {
    scenario: Table,
    folder: PathBuf,
    keys: Vec<(String, Vec<Value>)>,
    runs: Option<i64>,
    text: String,
}

impl Grid {
    /// Reads the text of a sweep. Files that it names are relative to `folder`. `read` reads the file of the scenario.
    ///
    /// # Errors
    /// The text is no sweep: see [`GridError`].
    pub fn parse(
        text: &str,
        folder: &Path,
        read: impl FnOnce(&Path) -> Result<String, String>,
    ) -> Result<Grid, GridError> {
        let wrong = |problem: &str| GridError::Key(problem.into());
        let mut file: Table = toml::from_str(text)?;
        let (scenario, base, scenario_text) = match file.remove("scenario") {
            Some(Value::String(name)) => {
                let path = folder.join(name);
                let text = read(&path).map_err(GridError::Key)?;
                let base = path.parent().unwrap_or(folder).to_path_buf();
                let scenario = toml::from_str(&text)
                    .map_err(|error| GridError::Key(format!("{}: {error}", path.display())))?;
                (scenario, base, text)
            }
            Some(Value::Table(scenario)) => (scenario, folder.to_path_buf(), String::new()),
            _ => return Err(wrong("`scenario`: expected a file's name, or a table [scenario]")),
        };
        let runs = match file.remove("runs") {
            None => None,
            Some(Value::Integer(runs)) => Some(runs),
            Some(_) => return Err(wrong("`runs`: expected a number")),
        };
        let Some(Value::Table(grid)) = file.remove("grid") else {
            return Err(wrong("expected a table [grid]: \"flow.*.scheme\" = [\"cubic\", \"abc\"]"));
        };
        if let Some(unknown) = file.keys().next() {
            return Err(GridError::Key(format!(
                "`{unknown}`: unknown; a sweep has scenario, runs and [grid]"
            )));
        }
        let mut keys = Vec::new();
        flatten(String::new(), grid, &mut keys)?;
        if keys.is_empty() {
            return Err(wrong("[grid] has no keys"));
        }
        let mut text = format!("{text}\0{scenario_text}");
        for (name, digest) in files_of(&scenario, &keys, &base) {
            let _ = write!(text, "\0{name}\0{digest:016x}");
        }
        let grid = Grid { scenario, folder: base, keys, runs, text };
        if grid.points().is_none() {
            return Err(GridError::Key(format!("more than {MOST_RUNS} combinations")));
        }
        Ok(grid)
    }

    /// Makes the digest depend on a text, too, such as a digest of controllers' sources.
    #[must_use]
    pub fn with_salt(mut self, salt: &str) -> Grid {
        self.text.push_str(salt);
        self
    }

    /// Names of the swept keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the number of combinations of values; `None` if there are too many.
    fn points(&self) -> Option<u64> {
        let product = self
            .keys
            .iter()
            .try_fold(1u64, |product, (_, values)| product.checked_mul(values.len() as u64));
        product.filter(|points| *points <= MOST_RUNS)
    }

    /// Returns the number of combinations of values.
    pub fn combinations(&self) -> u64 {
        self.points().unwrap_or(0)
    }

    /// Returns the values of a combination, one for each key; the last key changes first.
    pub fn values(&self, combination: u64) -> Vec<&Value> {
        let mut rest = combination;
        let mut values: Vec<&Value> = Vec::with_capacity(self.keys.len());
        for (_, of_key) in self.keys.iter().rev() {
            values.push(&of_key[(rest % of_key.len() as u64) as usize]);
            rest /= of_key.len() as u64;
        }
        values.reverse();
        values
    }

    /// Returns all values of a key, by its place.
    pub(crate) fn of_key(&self, at: usize) -> &[Value] {
        &self.keys[at].1
    }

    /// Returns the scenario of a combination.
    ///
    /// # Errors
    /// A key is not in the scenario, or the scenario is invalid.
    pub fn scenario(&self, combination: u64, names: &Names) -> Result<Scenario, GridError> {
        let mut table = self.scenario.clone();
        if let Some(runs) = self.runs {
            table.insert("runs".into(), Value::Integer(runs));
        }
        let values = self.values(combination);
        for ((name, _), value) in self.keys.iter().zip(&values) {
            set(&mut table, name, value).map_err(GridError::Key)?;
        }
        let written = || {
            let one = |(name, value): (&str, &&Value)| format!("{name} = {value}");
            self.keys().zip(&values).map(one).collect::<Vec<_>>().join(", ")
        };
        let text = toml::to_string(&table)
            .map_err(|error| GridError::Key(format!("with {}: {error}", written())))?;
        scenario::parse_with("the scenario", &text, Some(&self.folder), names).map_err(
            |mut error| {
                // Its place is one in `text`, which no file has.
                error.file.clear();
                (error.span, error.line, error.column) = (None, None, None);
                GridError::Scenario { values: written(), error: Box::new(error) }
            },
        )
    }

    /// Returns a digest of the sweep's file, of the scenario's, and of the files that they name, such as recordings, as they
    /// were when the sweep was read: shards of one sweep have one digest.
    pub fn digest(&self) -> u64 {
        // FNV-1a.
        self.text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// Returns the digests of the files that the scenario and the swept values name.
fn files_of(
    scenario: &Table,
    keys: &[(String, Vec<Value>)],
    folder: &Path,
) -> BTreeMap<String, u64> {
    let swept = keys.iter().map(|(name, values)| (name.clone(), Value::Array(values.clone())));
    let mut files = scenario::named_files(&swept.collect(), Some(folder));
    files.append(&mut scenario::named_files(scenario, Some(folder)));
    files
}

/// Returns the text of a scenario with other values of its keys. `values` is TOML: paths of keys, as in `[grid]`, with one
/// value each.
///
/// # Errors
/// A text is no TOML, or a key is not in the scenario.
pub fn with_values(scenario: &str, values: &str) -> Result<String, GridError> {
    let mut table: Table = toml::from_str(scenario)?;
    for (path, value) in toml::from_str::<Table>(values)? {
        set(&mut table, &path, &value).map_err(GridError::Key)?;
    }
    toml::to_string(&table).map_err(|error| GridError::Key(error.to_string()))
}

/// Collects the keys of the table `grid`: `"link.*.rate" = [...]` or, with bare keys, `link.main.rate = [...]`.
fn flatten(
    before: String,
    table: Table,
    keys: &mut Vec<(String, Vec<Value>)>,
) -> Result<(), GridError> {
    for (name, value) in table {
        let name = if before.is_empty() { name } else { format!("{before}.{name}") };
        match value {
            Value::Table(inner) => flatten(name, inner, keys)?,
            Value::Array(values) if values.is_empty() => {
                return Err(GridError::Key(format!("`{name}`: expected at least one value")));
            }
            Value::Array(values) => {
                let is_again = |at: usize| values[..at].contains(&values[at]);
                if let Some(at) = (0..values.len()).find(|&at| is_again(at)) {
                    let value = &values[at];
                    let problem = format!("`{name}`: {value} stands in the list twice");
                    return Err(GridError::Key(problem));
                }
                keys.push((name, values));
            }
            _ => {
                return Err(GridError::Key(format!("`{name}`: expected a list of values in [ ]")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: &str = "runs = 2\n[grid]\n\"link.rate\" = [\"6Mbps\", \"12Mbps\"]\nflow.scheme = [\"cubic\", \"bbr\", \
                         \"copa\"]\n[scenario]\nduration = \"1s\"\n[[scenario.link]]\nname = \"l\"\nrate = \"1Mbps\"\n\
                         [[scenario.flow]]\nscheme = \"cubic\"\npath = [\"l\"]\n";

    fn grid(text: &str) -> Result<Grid, String> {
        let no_file = |_: &Path| Err("no file".into());
        Grid::parse(text, Path::new("."), no_file).map_err(|error| error.to_string())
    }

    #[test]
    fn a_grid_has_every_combination_and_the_last_key_changes_first() {
        let grid = grid(SWEEP).expect("a grid");
        assert_eq!(grid.combinations(), 6);
        let written = |at| {
            grid.values(at).iter().map(|value| value.as_str().unwrap_or("?")).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..6).map(written).collect();
        let names: Vec<&str> = grid.keys().collect();
        assert_eq!(names.len(), 2);
        assert_ne!(all[0][1], all[1][1]);
        assert_eq!(all[0][0], all[1][0]);
        let scenario = grid.scenario(0, &paceline_remy::names()).expect("a scenario");
        assert_eq!(scenario.runs.count, 2);
    }

    #[test]
    fn wrong_files_name_the_key() {
        for (text, said) in [
            ("", "`scenario`: expected"),
            ("scenario = \"a.toml\"\n[grid]\nseed = [1]\n", "no file"),
            ("[scenario]\n", "expected a table [grid]"),
            ("[scenario]\n[grid]\n", "[grid] has no keys"),
            ("[scenario]\n[grid]\nseed = 1\n", "`seed`: expected a list of values"),
            ("[scenario]\n[grid]\nseed = []\n", "`seed`: expected at least one value"),
            ("[scenario]\n[grid]\nseed = [1, 2, 1]\n", "`seed`: 1 stands in the list twice"),
            ("more = 1\n[scenario]\n[grid]\nseed = [1]\n", "`more`: unknown"),
            ("runs = \"many\"\n[scenario]\n[grid]\nseed = [1]\n", "`runs`: expected a number"),
        ] {
            let error = grid(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_wrong_combination_is_named() {
        let grid = grid(&SWEEP.replace("\"copa\"", "\"nothing\"")).expect("a grid");
        let names = paceline_remy::names();
        let wrong = (0..6).filter_map(|at| grid.scenario(at, &names).err()).collect::<Vec<_>>();
        assert_eq!(wrong.len(), 2);
        let text = wrong[0].to_string();
        assert!(text.contains("flow.scheme = \"nothing\"") && text.contains("nothing"), "{text}");
        assert!(!text.contains("the scenario:"), "{text}");
    }
}
