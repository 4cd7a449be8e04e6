//! Claims as data: a paper's statement, the tolerance, and changes after a first run.

use serde::Deserialize;

use crate::expectation::{Bounds, Expectation};

/// The built-in claims, by paper and subject.
const FILES: &[(&str, &str)] = &[
    ("claims/abc-cellular.toml", include_str!("../claims/abc-cellular.toml")),
    ("claims/abc-one-link.toml", include_str!("../claims/abc-one-link.toml")),
    ("claims/abc-control.toml", include_str!("../claims/abc-control.toml")),
    ("claims/abc-coexistence.toml", include_str!("../claims/abc-coexistence.toml")),
    ("claims/abc-wifi.toml", include_str!("../claims/abc-wifi.toml")),
    ("claims/c2tcp.toml", include_str!("../claims/c2tcp.toml")),
    ("claims/xcp-b.toml", include_str!("../claims/xcp-b.toml")),
    ("claims/sprout.toml", include_str!("../claims/sprout.toml")),
    ("claims/remy.toml", include_str!("../claims/remy.toml")),
];

/// A number or an ordering that a paper states.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Identifier of the claim: `A01`.
    pub id: String,
    /// The paper.
    pub paper: String,
    /// Section, figure or table in the paper.
    pub place: String,
    /// The statement in a few words.
    pub title: String,
    /// Quote from the paper.
    pub quote: String,
    /// The setup: links, flows, times.
    pub setup: String,
    /// Whether the paper measured it over recorded traces, so that synthetic ones cannot
    /// reproduce it.
    #[serde(default)]
    pub recording: bool,
    /// Correction of the setup after a first run, to the values of the paper or of its authors'
    /// programs and scripts. The bounds stated in advance are applied to the corrected setup.
    #[serde(default)]
    pub corrected: String,
    /// Part of the setup that the paper leaves open and that was chosen after trial runs of the
    /// compared schemes. Such a claim does not count as reproduced as stated in advance.
    #[serde(default)]
    pub after_trials: String,
    /// What stands in for a program or data that the paper measured and that is not at hand. Such a
    /// claim does not count as reproduced.
    #[serde(default)]
    pub replaced: String,
    /// Whether it is a claim about running systems, which only programs in real time can test.
    #[serde(default)]
    pub live: bool,
    /// Tables of rules of the scheme `remy` that the claim is about: files in the folder of
    /// `--tables`. If a file is missing, the claim is not measured.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Name of the experiment that measures it.
    pub experiment: String,
    /// Conditions that must hold; empty for a claim that is not measured.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Reason why it is not measured; empty if it is.
    #[serde(default)]
    pub unmeasured: String,
    /// Result of an investigation of why a check does not hold.
    #[serde(default)]
    pub cause: String,
    /// Measures that show the cause, printed beside it. No verdict depends on them.
    #[serde(default)]
    pub shown: Vec<CauseMeasure>,
    /// Sweeps that show the cause, by the names of their tables.
    #[serde(default)]
    pub sweeps: Vec<String>,
}

/// A measure that is printed to show a cause.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CauseMeasure {
    /// Description of the measure.
    pub what: String,
    /// Name of the measure.
    pub measure: String,
}

/// One condition of a claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "FileCheck")]
pub struct Check {
    /// Description of the measure.
    pub what: String,
    /// Expectation stated before the first run. A check that was added later has the expectation
    /// with which it was added.
    pub stated: Expectation,
    /// Expectation in force; `None` if the check was withdrawn.
    pub now: Option<Expectation>,
    /// Reason for the tolerance.
    pub why: String,
    /// Change after a first run, with the old value and the reason; empty if there was none.
    pub changed: String,
    /// Reason why the check was added after first runs of its claim; empty if it was there from the
    /// beginning.
    pub added: String,
    /// Where the expected figure comes from if the paper does not print it: a formula of the paper,
    /// or a simulator.
    pub source: String,
}

/// A check as written in a file.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FileCheck {
    what: String,
    why: String,
    changed: String,
    added: String,
    source: String,
    stated: Option<Bounds>,
    measure: Option<String>,
    expected: Option<f64>,
    share: f64,
    within: f64,
    least: Option<f64>,
    most: Option<f64>,
    falling: Option<Vec<String>>,
    rising: Option<Vec<String>>,
    step: Option<f64>,
}

impl TryFrom<FileCheck> for Check {
    type Error = String;

    fn try_from(written: FileCheck) -> Result<Check, String> {
        let FileCheck { what, why, changed, added, source, stated, .. } = written;
        let now = Bounds {
            measure: written.measure,
            expected: written.expected,
            share: written.share,
            within: written.within,
            least: written.least,
            most: written.most,
            falling: written.falling,
            rising: written.rising,
            step: written.step,
        };
        let fail = |problem: String| format!("{what}: {problem}");
        let withdrawn = now.measure.is_none() && now.falling.is_none() && now.rising.is_none();
        let now = match withdrawn && stated.is_some() {
            true => None,
            false => Some(Expectation::try_from(now).map_err(fail)?),
        };
        if let Some(Expectation::Near { .. }) = &now
            && why.is_empty()
        {
            return Err(fail("say `why` the tolerance is what it is".into()));
        }
        if stated.is_some() == changed.is_empty() {
            return Err(fail(
                "a bound that was changed has both: what was `stated` and what was `changed`"
                    .into(),
            ));
        }
        let stated = stated.map(Expectation::try_from).transpose().map_err(fail)?;
        let Some(stated) = stated.or_else(|| now.clone()) else {
            return Err(fail("nothing is expected".into()));
        };
        Ok(Check { what, stated, now, why, changed, added, source })
    }
}

/// An invalid file of claims.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct ClaimError {
    /// The file.
    pub file: String,
    /// The problem, with its line.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// Parses a file of claims.
///
/// # Errors
/// The file is invalid; the error has the line.
pub fn parse(file: &str, text: &str) -> Result<Vec<Claim>, ClaimError> {
    let fail = |problem: String| ClaimError { file: file.to_string(), problem };
    let read: File = toml::from_str(text).map_err(|error| fail(error.to_string()))?;
    for claim in &read.claim {
        let id = &claim.id;
        match (claim.checks.is_empty(), claim.unmeasured.is_empty()) {
            (true, true) => {
                return Err(fail(format!("claim {id} has no checks, so that nothing can fail")));
            }
            (false, false) => {
                return Err(fail(format!("claim {id} is `unmeasured` and has `checks`")));
            }
            _ => {}
        }
        if claim.quote.is_empty() {
            return Err(fail(format!("claim {id} does not quote the paper (`quote`)")));
        }
        if !claim.cause.is_empty() && claim.shown.is_empty() && claim.sweeps.is_empty() {
            return Err(fail(format!(
                "claim {id} has a cause that nothing shows: name measures (`shown`) or `sweeps`"
            )));
        }
    }
    Ok(read.claim)
}

/// Returns all built-in claims, in the order of their ids.
///
/// # Errors
/// None, unless a built-in file is invalid, which a test excludes.
pub fn claims() -> Result<Vec<Claim>, ClaimError> {
    let mut all = Vec::new();
    for (file, text) in FILES.iter().copied() {
        all.extend(parse(file, text)?);
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
}

/// Returns the file of a built-in claim, relative to the crate's folder.
pub(crate) fn file_of(id: &str) -> Option<&'static str> {
    let head = format!("\nid = \"{id}\"\n");
    FILES.iter().find(|(_, text)| text.contains(&head)).map(|(file, _)| *file)
}

impl Claim {
    /// Returns the changes after a first run in a few words, for a table; empty if there were none.
    pub fn changes(&self) -> String {
        let any = |what: &dyn Fn(&Check) -> bool| self.checks.iter().any(what);
        let measures = |check: &Check| {
            let now = check.now.as_ref();
            now.is_some_and(|now| now.measures() != check.stated.measures())
        };
        let bound = |check: &Check| {
            let now = check.now.as_ref();
            now.is_some_and(|now| {
                *now != check.stated
                    && (now.words(), now.tolerance())
                        != (check.stated.words(), check.stated.tolerance())
            })
        };
        let marks = [
            (!self.after_trials.is_empty(), "setting chosen after trials"),
            (!self.corrected.is_empty(), "setting corrected"),
            (any(&measures), "metric or run"),
            (any(&bound), "bound"),
            (any(&|check| check.now.is_none()), "check withdrawn"),
            (any(&|check| !check.added.is_empty()), "checks added"),
        ];
        marks.iter().filter(|mark| mark.0).map(|mark| mark.1).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_is_read_and_measured_by_an_experiment() {
        let all = claims().expect("the built-in claims");
        assert_eq!(all.len(), 108);
        for claim in &all {
            assert!(crate::experiment(&claim.experiment).is_some(), "{}", claim.id);
            assert!(all.iter().filter(|other| other.id == claim.id).count() == 1, "{}", claim.id);
        }
    }

    #[test]
    fn mistakes_are_told() {
        let text = "[[claim]]\nid = \"X\"\npapper = \"P\"";
        assert!(parse("x.toml", text).is_err_and(|error| error.to_string().contains("x.toml")));
        let claim = "[[claim]]\nid='X'\npaper='P'\nplace='1'\ntitle='t'\nquote='q'\nsetup='s'\n\
                     experiment='e'\n";
        for (rest, part) in [
            ("checks=[]", "no checks"),
            ("unmeasured='u'\nchecks=[{what='w',measure='m',least=1}]", "`unmeasured`"),
            ("cause='c'\nchecks=[{what='w',measure='m',least=1}]", "nothing shows"),
            ("checks=[{what='w',measure='m',expected=1,share=0.1}]", "say `why`"),
            ("checks=[{what='w',measure='m',least=1,changed='c'}]", "`stated`"),
            ("checks=[{what='w',stated={measure='m',least=1}}]", "`changed`"),
            ("checks=[{what='w',measure='m',leest=1}]", "leest"),
        ] {
            let problem = parse("x", &format!("{claim}{rest}")).map_err(|error| error.to_string());
            assert!(problem.as_ref().is_err_and(|text| text.contains(part)), "{rest}: {problem:?}");
        }
    }

    #[test]
    fn changes_are_named() {
        let text = "[[claim]]\nid='X'\npaper='P'\nplace='1'\ntitle='t'\nquote='q'\nsetup='s'\n\
                    experiment='e'\ncorrected='c'\nchecks=[\n\
                    {what='w',measure='m',least=1,changed='c',stated={measure='n',least=1}},\n\
                    {what='v',changed='c',stated={measure='n',least=1}}]";
        let claim = &parse("x", text).expect("a claim")[0];
        assert_eq!(claim.changes(), "setting corrected, metric or run, check withdrawn");
        assert!(claim.checks[1].now.is_none());
    }
}
