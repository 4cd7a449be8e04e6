//! Claims compared with findings: as stated in advance, and with later changes. Both are judged by the
//! medians over several runs, or by the only run.

use serde::Serialize;

use crate::claim::{CauseMeasure, Check, Claim};
use crate::expectation::{Expectation, number};
use crate::findings::{Findings, Measures};
use crate::over_runs::OverRuns;
use crate::verdict::{Limits, Verdict};

/// A claim with its verdicts: an entry of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimResult {
    /// Identifier of the claim.
    pub id: String,
    /// The paper.
    pub paper: String,
    /// Section, figure or table in the paper.
    pub place: String,
    /// The statement in a few words.
    pub title: String,
    /// Quote from the paper.
    pub quote: String,
    /// The setup.
    pub setup: String,
    /// Name of the experiment that measures it.
    pub experiment: String,
    /// Changes after a first run, in a few words; empty if there were none.
    pub changes: String,
    /// Correction of the setup after a first run.
    pub corrected: String,
    /// Part of the setup that was chosen after trial runs.
    pub after_trials: String,
    /// What stands in for a program or data that the paper measured; empty if nothing does.
    pub replaced: String,
    /// Expectations, check by check.
    pub expected: String,
    /// Measured values, check by check.
    pub measured: String,
    /// Tolerances, check by check.
    pub tolerance: String,
    /// Verdict with the changes after a first run.
    pub verdict: Verdict,
    /// Verdict as stated before the first run.
    pub stated_verdict: Verdict,
    /// The runs behind the verdicts; `None` with one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_runs: Option<RunsVerdict>,
    /// Reason why it does not hold; empty if it holds both ways.
    pub reason: String,
    /// Tables of the claim that are missing.
    pub missing: Vec<String>,
    /// Tables of the claim that are missing, each with the built-in one used in its place.
    pub stand_ins: Vec<(String, String)>,
    /// Tables of the claim, each with the one trained here that was measured, too; empty if none was.
    pub trained_tables: Vec<(String, String)>,
    /// Result of an investigation.
    pub cause: String,
    /// Measures that show the cause: description and value.
    pub shown: Vec<(String, String)>,
    /// Names of the sweeps that show the cause.
    pub sweeps: Vec<String>,
    /// Traces used; empty if there were none.
    pub traces: Vec<String>,
    /// Reason why it is not measured; empty if it is.
    pub unmeasured: String,
    /// The checks one by one.
    pub checks: Vec<CheckResult>,
}

/// The runs behind a claim's verdicts, which are by the medians of its checks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunsVerdict {
    /// Number of runs.
    pub runs: usize,
    /// Verdict by the bounds in force: that of the claim.
    pub verdict: Verdict,
    /// Verdict by the bounds stated before the first run: that of the claim.
    pub stated_verdict: Verdict,
    /// Number of checks, by the bounds in force, that hold in one to four of five runs.
    pub fragile: usize,
}

impl RunsVerdict {
    /// Counts the runs behind a claim's verdicts. `None` if no check has several runs.
    fn of(judged: &ClaimResult) -> Option<RunsVerdict> {
        let now = || judged.checks.iter().filter_map(|check| check.now.as_ref()?.over_runs);
        let stated = judged.checks.iter().filter_map(|check| check.stated.over_runs);
        let fewest_of_stated = stated.map(|over| over.runs).min();
        Some(RunsVerdict {
            runs: now().map(|over| over.runs).min().or(fewest_of_stated)?,
            verdict: judged.verdict,
            stated_verdict: judged.stated_verdict,
            fragile: now().filter(|over| over.is_fragile()).count(),
        })
    }

    /// Returns the number of runs and of fragile checks in words.
    pub fn words(&self) -> String {
        match self.fragile {
            0 => format!("{} runs", self.runs),
            fragile => format!("{} runs, {fragile} fragile", self.runs),
        }
    }
}

/// A check with its results.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// Description of the measure.
    pub what: String,
    /// Names of the measures of the experiment that it reads.
    pub measure_names: Vec<String>,
    /// Reason for the tolerance.
    pub why: String,
    /// Change after a first run, with the old value and the reason.
    pub changed: String,
    /// Reason why the check was added after first runs.
    pub added: String,
    /// Where the expected figure comes from if the paper does not print it.
    pub source: String,
    /// Result by the bound stated before the first run.
    pub stated: BoundResult,
    /// Result by the bound in force; `None` if the check was withdrawn.
    pub now: Option<BoundResult>,
    /// Result with tables trained here by the bound in force, or by the stated one of a check that was
    /// withdrawn; `None` if it was not measured. It counts in no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained: Option<BoundResult>,
}

/// A bound and its comparison with the measured value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoundResult {
    /// Expected value.
    pub expected: String,
    /// Tolerance.
    pub tolerance: String,
    /// Measured value, in the first run.
    pub measured: String,
    /// Whether it holds: by the median over several runs, or in the only run.
    pub holds: bool,
    /// The figure in several runs; `None` with one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_runs: Option<OverRuns>,
}

impl BoundResult {
    /// Compares a bound with the findings of the first run, and with the measures of further ones.
    pub(crate) fn of(
        expectation: &Expectation,
        findings: &Findings,
        further: &[Measures],
    ) -> BoundResult {
        let names = expectation.measures();
        let values_in = |measures: &Measures| -> Vec<f64> {
            names.iter().map(|name| measures.get(*name).copied().unwrap_or(f64::NAN)).collect()
        };
        let values = values_in(&findings.measures);
        let holds_first = expectation.holds(&values);
        let mut shown: Vec<String> = values.iter().map(|value| number(*value)).collect();
        // Formats with more digits if a value that misses its bound would look as if it met it.
        let same = |text: &String| expectation.words().split(' ').any(|word| word == text);
        if let (false, [value], true) = (holds_first, values.as_slice(), shown.iter().any(same)) {
            shown = vec![format!("{value:.5}")];
        }
        let runs = std::iter::once(&findings.measures).chain(further).map(values_in);
        let over_runs = OverRuns::of(expectation, runs);
        BoundResult {
            expected: expectation.words(),
            tolerance: expectation.tolerance(),
            measured: shown.join(", "),
            holds: over_runs.map_or(holds_first, |over| over.holds),
            over_runs,
        }
    }

    /// Returns the figure by which it is judged: the median with its range over several runs, of an
    /// order that of its smallest step, or the measured value of the only run.
    pub fn figure(&self) -> String {
        match self.over_runs {
            Some(over) if self.measured.contains(", ") => {
                format!("smallest step {}", over.range())
            }
            Some(over) => over.range(),
            None => self.measured.clone(),
        }
    }
}

impl CheckResult {
    /// Returns a check with its results by the bound stated before the first run and by the one in
    /// force.
    pub(crate) fn new(check: &Check, stated: BoundResult, now: Option<BoundResult>) -> CheckResult {
        let expectation = check.now.as_ref().unwrap_or(&check.stated);
        CheckResult {
            what: check.what.clone(),
            measure_names: expectation.measures().into_iter().map(str::to_string).collect(),
            why: check.why.clone(),
            changed: check.changed.clone(),
            added: check.added.clone(),
            source: check.source.clone(),
            stated,
            now,
            trained: None,
        }
    }

    fn of(check: &Check, findings: &Findings, further: &[Measures]) -> CheckResult {
        let result = |bound: &Expectation| BoundResult::of(bound, findings, further);
        CheckResult::new(check, result(&check.stated), check.now.as_ref().map(result))
    }

    /// Returns the result by the bound in force, or by the stated one if the check was withdrawn.
    pub fn shown(&self) -> &BoundResult {
        self.now.as_ref().unwrap_or(&self.stated)
    }

    /// True if it was changed after a first run.
    pub fn was_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// True if the stated bound holds, and the one in force if there is one.
    pub fn holds(&self) -> bool {
        self.stated.holds && self.now.as_ref().is_none_or(|now| now.holds)
    }
}

/// Remedy for claims about running systems.
pub(crate) const LIVE: &str = "It is a claim of running programs. Name --live, as root, to have it measured in \
                    real time.";

/// Remedy for missing tables.
const NO_TABLES: &str = "Name a folder with these files by --tables: published tables, or such as \
                         `paceline remy train` has made.";

impl ClaimResult {
    /// Returns the result of an investigation, if the claim needs one.
    pub fn cause_if_needed(&self) -> String {
        if !self.missing.is_empty() {
            return self.remedy();
        }
        if !self.stand_ins.is_empty() {
            let found = match self.holds() || self.cause.is_empty() {
                true => String::new(),
                false => format!(" What was found otherwise: {}", self.cause.trim()),
            };
            return self.stood_in() + &found;
        }
        match (self.holds(), self.cause.is_empty()) {
            (true, _) => String::new(),
            _ if !self.unmeasured.is_empty() => String::new(),
            (false, true) if self.checks.iter().all(CheckResult::holds) => String::new(),
            (false, true) => "The cause has not been found.".into(),
            (false, false) => self.cause.trim().to_string(),
        }
    }

    /// Returns the remedy for a claim that was not measured; empty if it was.
    pub fn remedy(&self) -> String {
        match self.missing.is_empty() {
            true => String::new(),
            false => format!("Not at hand: {}. {NO_TABLES}", self.missing.join(", ")),
        }
    }

    /// Returns a sentence about the built-in tables used in place of missing ones; empty if there
    /// were none.
    pub fn stood_in(&self) -> String {
        if self.stand_ins.is_empty() {
            return String::new();
        }
        let pairs = self.stand_ins.iter().map(|(file, name)| format!("`{name}` for {file}"));
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        format!(
            "Tables trained here stood in for published ones that are not at hand: {pairs}. The \
             bounds are those of the published ones. {NO_TABLES}"
        )
    }

    /// Leaves out what shows the cause and was not measured: values, and sweeps that are not among the
    /// findings.
    pub(crate) fn leave_out_unmeasured(&mut self, findings: &Findings) {
        self.shown.retain(|(_, value)| *value != number(f64::NAN));
        self.sweeps.retain(|name| findings.sweeps.iter().any(|sweep| sweep.name == *name));
    }

    /// True if it holds both as stated in advance and with later changes.
    pub fn holds(&self) -> bool {
        self.verdict.holds() && self.stated_verdict.holds()
    }

    /// True if it holds both ways, and nothing stood in for what the paper measured.
    pub fn is_reproduced(&self) -> bool {
        [self.verdict, self.stated_verdict].iter().all(|verdict| *verdict == Verdict::Reproduced)
    }

    /// Returns the number of checks that hold, and of all checks, with later changes.
    pub fn checks_held(&self) -> (usize, usize) {
        let now = || self.checks.iter().filter_map(|check| check.now.as_ref());
        (now().filter(|held| held.holds).count(), now().count())
    }

    /// Returns the number of checks that hold, and of all checks, as stated in advance.
    pub fn stated_checks_held(&self) -> (usize, usize) {
        let held = self.checks.iter().filter(|check| check.stated.holds).count();
        (held, self.checks.len())
    }
}

/// Inputs of a claim's verdict.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// The claim's checks, in its order.
    pub(crate) checks: Vec<CheckResult>,
    /// Measures that show the cause: description and value.
    pub(crate) shown: Vec<(String, String)>,
    /// Tables of rules of the claim that are missing.
    pub(crate) missing: Vec<String>,
    /// Such tables, each with the built-in one used in its place.
    pub(crate) stand_ins: Vec<(String, String)>,
    /// Traces used.
    pub(crate) traces: Vec<String>,
}

impl Measured {
    fn of(claim: &Claim, findings: &Findings, further: &[Measures]) -> Measured {
        let shown =
            |shown: &CauseMeasure| (shown.what.clone(), number(findings.get(&shown.measure)));
        let (missing, stand_ins) = (claim.tables.iter(), findings.stand_ins.iter());
        Measured {
            checks: claim
                .checks
                .iter()
                .map(|check| CheckResult::of(check, findings, further))
                .collect(),
            shown: claim.shown.iter().map(shown).collect(),
            missing: missing.filter(|file| findings.missing.contains(file)).cloned().collect(),
            stand_ins: stand_ins.filter(|(file, _)| claim.tables.contains(file)).cloned().collect(),
            traces: findings.traces.clone(),
        }
    }
}

/// Judges a claim by the findings of its experiment in the first run, and by the measures of
/// `further` runs. A value that was not measured does not hold.
pub fn judge(
    claim: &Claim,
    findings: &Findings,
    further: &[Measures],
    limits: Limits,
) -> ClaimResult {
    judge_measured(claim, Measured::of(claim, findings, further), limits)
}

/// Judges a claim by its measured figures.
pub(crate) fn judge_measured(claim: &Claim, measured: Measured, limits: Limits) -> ClaimResult {
    let Measured { checks, shown, missing, stand_ins, traces } = measured;
    let list = |part: fn(&BoundResult) -> &String| {
        let parts = checks.iter().map(|check| part(check.shown()).as_str());
        parts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    };
    let mut judged = ClaimResult {
        id: claim.id.clone(),
        paper: claim.paper.clone(),
        place: claim.place.clone(),
        title: claim.title.clone(),
        quote: claim.quote.clone(),
        experiment: claim.experiment.clone(),
        setup: claim.setup.clone(),
        changes: claim.changes(),
        corrected: claim.corrected.clone(),
        after_trials: claim.after_trials.clone(),
        replaced: claim.replaced.clone(),
        expected: checks
            .iter()
            .map(|check| format!("{}: {}", check.what, check.shown().expected))
            .collect::<Vec<_>>()
            .join("; "),
        measured: list(|held| &held.measured),
        tolerance: list(|held| &held.tolerance),
        verdict: Verdict::Not,
        stated_verdict: Verdict::Not,
        over_runs: None,
        reason: String::new(),
        missing,
        stand_ins,
        trained_tables: Vec::new(),
        cause: claim.cause.clone(),
        shown,
        sweeps: claim.sweeps.clone(),
        traces,
        unmeasured: match claim.live && !limits.live {
            true => LIVE.into(),
            false => claim.unmeasured.clone(),
        },
        checks,
    };
    if !judged.unmeasured.is_empty() {
        judged.verdict = Verdict::NotMeasured;
        judged.stated_verdict = Verdict::NotMeasured;
        judged.reason = format!("not measured: {}", judged.unmeasured.trim());
        return judged;
    }
    let limits = Limits {
        stand_ins: !judged.stand_ins.is_empty() || !claim.replaced.is_empty(),
        synthetic: limits.synthetic && claim.recording,
        ..limits
    };
    let (held, all) = judged.checks_held();
    judged.verdict = Verdict::of(held, all, limits);
    let (held, all) = judged.stated_checks_held();
    // A setting chosen after trial runs was not stated in advance.
    let advance = usize::from(!claim.after_trials.is_empty());
    judged.stated_verdict = Verdict::of(held, all + advance, limits);
    if judged.missing.is_empty() {
        judged.over_runs = RunsVerdict::of(&judged);
    } else {
        (judged.verdict, judged.stated_verdict) = (Verdict::NotMeasured, Verdict::NotMeasured);
    }
    judged.reason = reason(&judged);
    judged
}

fn reason(judged: &ClaimResult) -> String {
    if !judged.missing.is_empty() {
        return judged.remedy();
    }
    let failed = |check: &CheckResult| {
        let stated = (!check.stated.holds).then_some((&check.stated, "stated in advance: "));
        let now = check.now.as_ref().filter(|now| !now.holds).map(|now| (now, ""));
        let (held, mark) = match (now, stated) {
            (Some(now), _) => now,
            (None, Some(stated)) => stated,
            (None, None) => return None,
        };
        Some(format!("{mark}{}: {}, not {}", check.what, held.figure(), held.expected))
    };
    let mut reason: Vec<String> = judged.checks.iter().filter_map(failed).collect();
    if !judged.after_trials.is_empty() {
        reason.push("the setting was chosen after trial runs".into());
    }
    let reason = reason.join("; ");
    match judged.cause_if_needed() {
        cause if cause.is_empty() => reason,
        cause => format!("{reason}. {cause}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::parse;

    const CLAIM: &str = r#"
[[claim]]
id = "X1"
paper = "P"
place = "§1"
title = "t"
quote = "q"
setup = "s"
recording = true
experiment = "e"
cause = "Because."
shown = [{ what = "a again", measure = "a" }]
checks = [
  { what = "near", measure = "a", expected = 10.0, share = 0.1, why = "w" },
  { what = "order", falling = ["a", "b"], step = 0.0 },
]
"#;

    fn judged(text: &str, a: f64, b: f64, synthetic: bool) -> ClaimResult {
        let claim = &parse("x", text).expect("a claim")[0];
        let mut findings = Findings::default();
        findings.measure("a", a);
        findings.measure("b", b);
        judge(claim, &findings, &[], Limits { synthetic, ..Limits::default() })
    }

    fn verdict(a: f64, b: f64) -> ClaimResult {
        judged(CLAIM, a, b, false)
    }

    #[test]
    fn with_a_stand_in_it_can_hold_and_is_not_reproduced() {
        let other = CLAIM.replace("recording = true", "replaced = \"Another link.\"");
        let judged = judged(&other, 10.0, 1.0, false);
        assert!(judged.holds() && !judged.is_reproduced(), "{judged:?}");
        assert!(verdict(10.0, 1.0).holds() && verdict(10.0, 1.0).is_reproduced());
    }

    #[test]
    fn all_some_none() {
        assert_eq!(verdict(10.9, 1.0).verdict, Verdict::Reproduced);
        assert_eq!(verdict(12.0, 1.0).verdict, Verdict::Partly);
        assert_eq!(verdict(12.0, 13.0).verdict, Verdict::Not);
        assert_eq!(verdict(f64::NAN, f64::NAN).verdict, Verdict::Not);
        assert!(verdict(12.0, 1.0).reason.ends_with("near: 12, not 10. Because."));
        assert!(verdict(10.0, 1.0).reason.is_empty());
        assert_eq!(verdict(10.0, 1.0).shown, [("a again".to_string(), "10".to_string())]);
    }

    #[test]
    fn a_synthetic_trace_reproduces_nothing() {
        for (a, b) in [(10.0, 1.0), (12.0, 1.0), (12.0, 13.0)] {
            let judged = judged(CLAIM, a, b, true);
            for verdict in [judged.verdict, judged.stated_verdict] {
                assert!(verdict.words().starts_with("not measured on the paper's traces"));
                let json = serde_json::to_string(&verdict).expect("text");
                assert!(!json.contains("reproduced"), "{json}");
            }
        }
        // The kind of trace does not matter to a claim about constant links.
        let constant = CLAIM.replace("recording = true", "");
        assert_eq!(judged(&constant, 10.0, 1.0, true).verdict, Verdict::Reproduced);
    }

    #[test]
    fn what_is_not_measured_is_not_reproduced() {
        let text = "[[claim]]\nid='X'\npaper='P'\nplace='1'\ntitle='t'\nquote='q'\nsetup='s'\n\
                    experiment='e'\nunmeasured='No such thing here.'";
        let judged = judged(text, 1.0, 1.0, false);
        assert_eq!(
            (judged.verdict, judged.stated_verdict),
            (Verdict::NotMeasured, Verdict::NotMeasured)
        );
        assert!(!judged.holds());
        assert_eq!(judged.reason, "not measured: No such thing here.");
    }

    #[test]
    fn shortened_runs_reproduce_nothing() {
        let claim = &parse("x", CLAIM).expect("a claim")[0];
        for (a, b) in [(10.0, 1.0), (12.0, 1.0), (12.0, 13.0)] {
            let mut findings = Findings::default();
            findings.measure("a", a);
            findings.measure("b", b);
            let judged = judge(claim, &findings, &[], Limits { quick: true, ..Limits::default() });
            for verdict in [judged.verdict, judged.stated_verdict] {
                assert!(verdict.words().starts_with("not measured at full length"));
                assert_eq!(verdict.holds(), a < 12.0);
                let json = serde_json::to_string(&verdict).expect("text");
                assert!(json.starts_with("\"quick-"), "{json}");
            }
            // Of both limits the verdict names synthetic traces.
            let both = judge(
                claim,
                &findings,
                &[],
                Limits { synthetic: true, quick: true, ..Limits::default() },
            );
            assert!(both.verdict.words().contains("synthetic"));
        }
    }

    #[test]
    fn what_was_stated_is_judged_beside_what_was_changed() {
        let changed = CLAIM.replace(
            "step = 0.0 }",
            "step = 0.0, changed = 'c', stated = { measure = 'b', least = 5 } }",
        );
        let judged_now = judged(&changed, 10.0, 1.0, false);
        assert_eq!(judged_now.verdict, Verdict::Reproduced);
        assert_eq!(judged_now.stated_verdict, Verdict::Partly);
        assert!(!judged_now.holds());
        assert!(judged_now.reason.starts_with("stated in advance: order: 1, not at least 5"));
        let withdrawn = CLAIM.replace(
            "falling = [\"a\", \"b\"], step = 0.0 }",
            "changed = 'c', stated = { measure = 'b', least = 5 } }",
        );
        let judged = judged(&withdrawn, 10.0, 1.0, false);
        assert_eq!((judged.checks_held(), judged.stated_checks_held()), ((1, 1), (1, 2)));
    }

    #[test]
    fn a_setting_chosen_after_trials_was_not_stated_in_advance() {
        let chosen = CLAIM.replace("experiment", "after_trials = 'RTT'\nexperiment");
        let judged = judged(&chosen, 10.0, 1.0, false);
        assert_eq!(judged.verdict, Verdict::Reproduced);
        assert_eq!(judged.stated_verdict, Verdict::Partly);
        assert!(judged.cause_if_needed().contains("Because"));
    }
}
