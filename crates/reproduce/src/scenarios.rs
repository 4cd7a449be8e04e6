//! The runs behind claims as scenario files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use paceline_sim::scenario::{Record, Scenario, to_toml_with};
use paceline_trace::Trace;

use crate::claim::Claim;
use crate::experiments::Experiment;
use crate::pass::plan;
use crate::setting::Setting;
use paceline_tasks::Task;

/// Result of [`write_scenarios`].
#[derive(Clone, Debug, Default)]
pub struct WrittenScenarios {
    /// Number of scenario files.
    pub scenarios: usize,
    /// Number of trace files.
    pub traces: usize,
    /// Tasks that are not scenarios, by experiment.
    pub others: Vec<(&'static str, Vec<String>)>,
}

/// Writes the scenarios of the claims' experiments as `folder/EXPERIMENT/RUN.toml`, and the traces
/// that they use into `folder/traces`. Runs no simulation.
///
/// # Errors
/// An experiment cannot be planned, a file cannot be written, or scenario files cannot express a
/// scenario.
pub fn write_scenarios(
    claims: &[Claim],
    setting: &Setting,
    folder: &Path,
) -> Result<WrittenScenarios, String> {
    let mut written = WrittenScenarios::default();
    // Tables of rules in files are schemes, too.
    let schemes = paceline_remy::names();
    let mut traces = Traces { folder, names: Names::default(), known: Vec::new(), problem: None };
    for (experiment, tasks) in plan(claims, setting)? {
        let mut names = Names::default();
        let mut others = Vec::new();
        for task in &tasks {
            let Some(scenario) = task.simulates() else {
                others.push(task.name.clone());
                continue;
            };
            let file = format!("{}/{}.toml", experiment.name, names.new_one(&task.name));
            let about = about(claims, experiment, task, scenario, setting);
            let mut scenario = scenario.clone();
            if !matches!(scenario.record, Record::Series(_)) {
                scenario.record = Record::Series(Record::BIN);
            }
            // Runs of files always have a digest.
            scenario.digest = true;
            let text = to_toml_with(&scenario, &about, &mut |trace| traces.file(trace), &schemes)
                .map_err(|error| format!("{}: {}: {error}", experiment.name, task.name))?;
            if let Some(problem) = traces.problem.take() {
                return Err(problem);
            }
            save(&folder.join(file), &text)?;
            written.scenarios += 1;
        }
        if !others.is_empty() {
            written.others.push((experiment.name, others));
        }
    }
    written.traces = traces.known.len();
    Ok(written)
}

/// Returns the comment at the top of a file.
fn about(
    claims: &[Claim],
    experiment: &Experiment,
    task: &Task,
    scenario: &Scenario,
    setting: &Setting,
) -> String {
    let behind = claims.iter().filter(|claim| claim.experiment == experiment.name);
    let ids: Vec<&str> = behind.map(|claim| claim.id.as_str()).collect();
    let quick = if setting.quick { ", as `--quick` has it" } else { "" };
    let mut text = format!(
        "{}: a run of the experiment `{}`{quick}\nbehind {}; seed {}\n",
        task.name,
        experiment.name,
        ids.join(", "),
        scenario.seed
    );
    if !matches!(scenario.record, Record::Series(_)) {
        text += "The experiment records no time series, which changes nothing else.\n";
    }
    text
}

/// Writes a file, and creates its folder if it is missing.
fn save(path: &Path, text: &str) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

/// The traces, each of which is written once.
struct Traces<'a> {
    folder: &'a Path,
    names: Names,
    known: Vec<(Trace, String)>,
    problem: Option<String>,
}

impl Traces<'_> {
    /// Returns the path of a trace's file relative to an experiment's folder; writes the file if it
    /// is new.
    fn file(&mut self, trace: &Trace) -> String {
        let same = |known: &&(Trace, String)| known.0.opportunities() == trace.opportunities();
        if let Some((_, name)) = self.known.iter().find(same) {
            return format!("../traces/{name}");
        }
        // The name of a trace from a file is its path.
        let path = Path::new(trace.name());
        let stem = path.file_name().filter(|_| path.is_file()).and_then(|name| name.to_str());
        let name = format!("{}.trace", self.names.new_one(stem.unwrap_or(trace.name())));
        let text = paceline_trace::mahimahi::write(trace);
        if let Err(problem) = save(&self.folder.join("traces").join(&name), &text) {
            self.problem.get_or_insert(problem);
        }
        self.known.push((trace.clone(), name.clone()));
        format!("../traces/{name}")
    }
}

/// Names of files in a folder, without duplicates.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Longest name in bytes, which leaves room for an ending.
    const LONGEST: usize = 120;

    /// Returns a name that no other file in the folder has, made of letters, digits, `.`, `_` and
    /// `-`.
    fn new_one(&mut self, text: &str) -> String {
        let mut name = String::new();
        for c in text.chars().take(Self::LONGEST) {
            let c = if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
            if c != '-' || !name.ends_with('-') {
                name.push(c);
            }
        }
        let name = name.trim_matches(['-', '.']);
        let name = if name.is_empty() { "unnamed" } else { name };
        let mut free = name.to_string();
        // Some file systems do not distinguish upper from lower case.
        for number in 2_u64.. {
            if self.0.insert(free.to_lowercase()) {
                break;
            }
            free = format!("{name}-{number}");
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_differ() {
        let mut names = Names::default();
        for (text, name) in [
            ("abc on Verizon-LTE-short.down", "abc-on-Verizon-LTE-short.down"),
            ("cubic+codel[target=50ms] at 6.25 %, run 0", "cubic-codel-target-50ms-at-6.25-run-0"),
            ("a/../b", "a-..-b"),
            ("A/../B", "A-..-B-2"),
            ("../..", "unnamed"),
            ("", "unnamed-2"),
            ("é", "unnamed-3"),
        ] {
            assert_eq!(names.new_one(text), name);
        }
        assert_eq!(names.new_one(&"x".repeat(5000)).len(), Names::LONGEST);
        assert_eq!(names.new_one(&"x".repeat(5000)).len(), Names::LONGEST + 2);
    }
}
