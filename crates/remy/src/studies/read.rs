//! Reads the file of a study.

use serde::Deserialize;
use thiserror::Error;
use toml::{Table, Value};

use super::{OTHERS, Study, StudyCheck, StudyTable, StudyTest, TablePair};
use crate::spec::{Specification, SpecificationError};
use crate::train::Settings;

/// Maximum size of a file in bytes.
const LARGEST: usize = 1 << 20;
/// Maximum number of generations.
const MOST_GENERATIONS: u32 = 10_000;

/// Why a study is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("study {study}: {problem}")]
pub struct StudyError {
    /// Name of the study.
    pub study: String,
    /// The error, with its part of the file.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStudy {
    question: String,
    #[serde(default)]
    claims: Vec<String>,
    judged: String,
    generations: u32,
    #[serde(default)]
    schemes: Vec<String>,
    #[serde(default)]
    common: Table,
    table: Vec<FileTable>,
    #[serde(default)]
    pair: Vec<TablePair>,
    test: Vec<FileTest>,
    #[serde(default)]
    check: Vec<StudyCheck>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    name: String,
    published: Option<String>,
    published_others: Option<String>,
    duration: Option<Value>,
    networks: Option<Value>,
    objective: Option<Value>,
    training: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTest {
    name: String,
    #[serde(default)]
    rows: Vec<String>,
    #[serde(default)]
    repairs: bool,
    duration: Option<Value>,
    networks: Option<Value>,
    objective: Option<Value>,
}

impl Study {
    /// Reads a study.
    ///
    /// # Errors
    /// The text is not a valid study.
    pub fn parse(name: &str, text: &str) -> Result<Study, StudyError> {
        let fail = |problem: String| StudyError { study: name.to_string(), problem };
        if text.len() > LARGEST {
            return Err(fail(format!(
                "it has {} bytes; studies have {LARGEST} at most",
                text.len()
            )));
        }
        let file: FileStudy = toml::from_str(text).map_err(|error| fail(error.to_string()))?;
        file.read(name).map_err(fail)
    }
}

impl FileStudy {
    fn read(self, name: &str) -> Result<Study, String> {
        is_folder_name("the study's name", name)?;
        if !(1..=MOST_GENERATIONS).contains(&self.generations) {
            return Err(format!(
                "generations = {}: write 1 to {MOST_GENERATIONS}",
                self.generations
            ));
        }
        let tables: Vec<StudyTable> = self
            .table
            .into_iter()
            .map(|table| table.read(&self.common))
            .collect::<Result<_, _>>()?;
        let tests: Vec<StudyTest> =
            self.test.into_iter().map(|test| test.read(&self.common)).collect::<Result<_, _>>()?;
        let names =
            tables.iter().map(|table| &table.name).chain(self.pair.iter().map(|pair| &pair.name));
        are_unique("table or pair", names)?;
        are_unique("test", tests.iter().map(|test| &test.name))?;
        for scheme in &self.schemes {
            paceline_sim::scenario::check_scheme(scheme)
                .map_err(|error| format!("schemes: {error}"))?;
        }
        let study = Study {
            name: name.to_string(),
            question: self.question,
            claims: self.claims,
            judged: self.judged,
            generations: self.generations,
            schemes: self.schemes,
            tables,
            pairs: self.pair,
            tests,
            checks: self.check,
        };
        study.check()?;
        Ok(study)
    }
}

impl Study {
    /// Returns an error if a pair, test or check names a row or a test that does not exist.
    fn check(&self) -> Result<(), String> {
        let tables: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        for pair in &self.pairs {
            if let Some(name) = [&pair.first, &pair.second]
                .into_iter()
                .find(|name| !tables.contains(&name.as_str()))
            {
                let (pair, tables) = (&pair.name, tables.join(", "));
                return Err(format!("pair {pair}: there is no table `{name}`; there are {tables}"));
            }
        }
        for test in &self.tests {
            let all = StudyTest { rows: Vec::new(), ..test.clone() };
            let known = [self.rows_of(&all), self.schemes_of(&all)].concat();
            if let Some(row) = test.rows.iter().find(|row| !known.contains(row)) {
                let (test, known) = (&test.name, known.join(", "));
                return Err(format!("test {test}: there is no row `{row}`; there are {known}"));
            }
        }
        for check in &self.checks {
            self.check_bound(check)
                .map_err(|problem| format!("check `{}`: {problem}", check.what))?;
        }
        Ok(())
    }

    fn check_bound(&self, check: &StudyCheck) -> Result<(), String> {
        if check.least.is_none() && check.most.is_none() {
            return Err("it has no bound: write least or most".into());
        }
        if check.tests.is_empty() {
            return Err("it has no tests".into());
        }
        for name in &check.tests {
            let Some(test) = self.tests.iter().find(|test| test.name == *name) else {
                let names: Vec<&str> = self.tests.iter().map(|test| test.name.as_str()).collect();
                return Err(format!("there is no test `{name}`; there are {}", names.join(", ")));
            };
            let rows = [self.rows_of(test), self.schemes_of(test)].concat();
            if let Some(row) = [Some(&check.of), check.over.as_ref()]
                .into_iter()
                .flatten()
                .find(|row| !rows.contains(row))
            {
                return Err(format!("test {name} has no row `{row}`; it has {}", rows.join(", ")));
            }
        }
        Ok(())
    }
}

impl FileTable {
    fn read(self, common: &Table) -> Result<StudyTable, String> {
        let FileTable { name, published, published_others, .. } = self;
        let place = |error: SpecificationError| format!("table {name}: {}", without_line(error));
        is_folder_name("the name of a table", &name)?;
        let mut all = common.clone();
        let keys = [
            ("duration", self.duration),
            ("networks", self.networks),
            ("objective", self.objective),
            ("training", self.training),
        ];
        keys.into_iter().for_each(|(key, value)| put(&mut all, key, value));
        let text = toml::to_string(&all).map_err(|error| format!("table {name}: {error}"))?;
        let specification = Specification::parse(&text).map_err(place)?;
        let settings = Settings::parse(&text).map_err(place)?;
        settings.check(&specification).map_err(place)?;
        Ok(StudyTable {
            trains_two: specification.trains_two(),
            specification: text,
            name,
            published,
            published_others,
        })
    }
}

impl FileTest {
    fn read(self, common: &Table) -> Result<StudyTest, String> {
        let FileTest { name, rows, repairs, .. } = self;
        let place = |error: SpecificationError| format!("test {name}: {}", without_line(error));
        let mut all = common.clone();
        all.remove("training");
        let keys = [
            ("duration", self.duration),
            ("networks", self.networks),
            ("objective", self.objective),
        ];
        keys.into_iter().for_each(|(key, value)| put(&mut all, key, value));
        let text = toml::to_string(&all).map_err(|error| format!("test {name}: {error}"))?;
        let specification = Specification::parse(&text).map_err(place)?;
        Ok(StudyTest { specification, name, repairs, rows })
    }
}

/// Puts a value into a table. Keys of tables in both remain, unless the value has them, too; but the
/// value replaces ranges, which are tables, and other values.
fn put(all: &mut Table, key: &str, value: Option<Value>) {
    match (all.get_mut(key), value) {
        (_, None) => {}
        (Some(Value::Table(known)), Some(Value::Table(new))) if key != "duration" => {
            known.extend(new)
        }
        (_, Some(value)) => drop(all.insert(key.to_string(), value)),
    }
}

/// Returns an error about a specification that was put together: its lines are not those of the file.
fn without_line(error: SpecificationError) -> SpecificationError {
    match error {
        SpecificationError::Value { key, problem, .. } => {
            SpecificationError::Value { key, problem, line: None }
        }
        error => error,
    }
}

fn is_folder_name(what: &str, name: &str) -> Result<(), String> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    let fits = !name.is_empty()
        && name.len() <= 100
        && !name.starts_with('.')
        && name.chars().all(is_plain);
    match fits && name != OTHERS {
        true => Ok(()),
        false => Err(format!(
            "{what}, `{name}`, is a folder's name: write letters, digits, `-`, `_` and `.`"
        )),
    }
}

fn are_unique<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut known = std::collections::BTreeSet::new();
    match names.into_iter().find(|name| !known.insert(*name)) {
        Some(name) => Err(format!("there are two of the {what} `{name}`")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
question = "?"
judged = "by a bound"
generations = 2
schemes = ["cubic"]
[common]
duration = "1s"
networks = { link = "2Mbps", rtt = "40ms", senders = 1, on = "1s", off = "1s" }
training = { max_rules = 3 }
[[table]]
name = "a"
networks = { link = { from = "1Mbps", to = "2Mbps", scale = "random" } }
[[table]]
name = "b"
objective = { delta = 2.0 }
[[test]]
name = "t"
networks = { rtt = "50ms" }
[[check]]
what = "a above b"
of = "a"
over = "b"
tests = ["t"]
least = 0.0
"#;

    #[test]
    fn tables_and_tests_have_what_is_common_and_their_own() {
        let study = Study::parse("s", STUDY).expect("a study");
        let read = |text: &str| Specification::parse(text).expect("a specification");
        let one = read(&study.tables[0].specification);
        assert_eq!((one.link_mbps.from, one.link_mbps.to, one.rtt_ms.from), (1.0, 2.0, 40.0));
        let other = read(&study.tables[1].specification);
        assert_eq!((other.link_mbps.to, other.objective.delta), (2.0, 2.0));
        assert_eq!(Settings::parse(&study.tables[1].specification).map(|one| one.max_rules), Ok(3));
        assert_eq!(study.tests[0].specification.rtt_ms.from, 50.0);
        assert_eq!(study.rows_of(&study.tests[0]), ["a", "b"]);
        assert_eq!(study.schemes_of(&study.tests[0]), ["cubic"]);
    }

    #[test]
    fn errors_name_the_part() {
        for (from, to, words) in [
            ("rtt = \"50ms\"", "rtt = \"50\"", "study s: test t: networks.rtt: "),
            ("delta = 2.0", "delte = 2.0", "study s: table b: "),
            (
                "over = \"b\"",
                "over = \"c\"",
                "check `a above b`: test t has no row `c`; it has a, b, cubic",
            ),
            ("tests = [\"t\"]", "tests = [\"u\"]", "there is no test `u`; there are t"),
            ("least = 0.0", "", "it has no bound: write least or most"),
            ("name = \"b\"", "name = \"a\"", "there are two of the table or pair `a`"),
            ("name = \"b\"", "name = \"../b\"", "`../b`, is a folder's name"),
            ("generations = 2", "generations = 0", "write 1 to 10000"),
            ("[\"cubic\"]", "[\"cubik\"]", "schemes: "),
        ] {
            let error = Study::parse("s", &STUDY.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(error.contains(words), "{to}: {error}");
        }
    }

    #[test]
    fn studies_that_ship_are_valid() {
        let studies = Study::shipped().expect("valid");
        let tables: usize = studies.iter().map(|study| study.tables.len()).sum();
        let two = studies.iter().flat_map(|study| &study.tables).filter(|table| table.trains_two);
        assert_eq!((studies.len(), tables, two.count()), (8, 24, 1));
        assert!(studies.iter().all(|study| !study.checks.is_empty() && !study.claims.is_empty()));
    }
}
