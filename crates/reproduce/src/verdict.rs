//! Claims held against findings.

use serde::Serialize;

use crate::claim::{Claim, Expectation, number};
use crate::findings::Findings;

/// Whether a claim holds here.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All checks hold.
    Reproduced,
    /// Some checks hold.
    Partly,
    /// None holds.
    Not,
}

/// A claim and what became of it: an entry of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The name of the claim.
    pub id: String,
    /// The paper.
    pub paper: String,
    /// Where in the paper.
    pub place: String,
    /// What it says.
    pub title: String,
    /// What is expected, check by check.
    pub expected: String,
    /// What was measured, check by check.
    pub measured: String,
    /// How far they may lie apart.
    pub tolerance: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why not; empty if it holds.
    pub reason: String,
    /// What an investigation has found.
    #[serde(skip)]
    pub cause: String,
    /// The traces that were used; empty if none was.
    pub traces: Vec<String>,
    /// Each check by itself.
    pub checks: Vec<JudgedCheck>,
}

/// A check and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedCheck {
    /// What is measured.
    pub what: String,
    /// What is expected.
    pub expected: String,
    /// How far from it.
    pub tolerance: String,
    /// Why so far.
    pub why: String,
    /// What was measured.
    pub measured: String,
    /// Whether it holds.
    pub holds: bool,
}

impl Judged {
    /// What an investigation has found, if there was need of one.
    pub fn cause_if_needed(&self) -> String {
        match (self.verdict, self.cause.is_empty()) {
            (Verdict::Reproduced, _) => String::new(),
            (_, true) => "The cause has not been found.".into(),
            (_, false) => self.cause.clone(),
        }
    }
}

/// Judges a claim by what its experiment has found. What was not measured does not hold.
pub fn judge(claim: &Claim, findings: &Findings) -> Judged {
    let checks: Vec<JudgedCheck> = claim
        .checks
        .iter()
        .map(|check| {
            let values: Vec<f64> =
                check.expectation.measures().iter().map(|name| findings.get(name)).collect();
            let shown: Vec<String> = values.iter().map(|value| number(*value)).collect();
            JudgedCheck {
                what: check.what.clone(),
                expected: check.expectation.words(),
                tolerance: check.expectation.tolerance(),
                why: check.why.clone(),
                measured: shown.join(", "),
                holds: holds(&check.expectation, &values),
            }
        })
        .collect();
    let held = checks.iter().filter(|check| check.holds).count();
    let verdict = match held {
        all if all == checks.len() => Verdict::Reproduced,
        0 => Verdict::Not,
        _ => Verdict::Partly,
    };
    let list = |part: fn(&JudgedCheck) -> String| {
        checks.iter().map(part).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    };
    let mut reason = checks
        .iter()
        .filter(|check| !check.holds)
        .map(|check| format!("{}: {}, not {}", check.what, check.measured, check.expected))
        .collect::<Vec<_>>()
        .join("; ");
    if verdict != Verdict::Reproduced && !claim.cause.is_empty() {
        reason = format!("{reason}. {}", claim.cause);
    }
    Judged {
        id: claim.id.clone(),
        paper: claim.paper.clone(),
        place: claim.place.clone(),
        title: claim.title.clone(),
        expected: list(|check| format!("{}: {}", check.what, check.expected)),
        measured: list(|check| check.measured.clone()),
        tolerance: list(|check| check.tolerance.clone()),
        verdict,
        reason,
        cause: claim.cause.clone(),
        traces: findings.traces.clone(),
        checks,
    }
}

fn holds(expectation: &Expectation, values: &[f64]) -> bool {
    if values.iter().any(|value| !value.is_finite()) || values.is_empty() {
        return false;
    }
    let pairs = || values.iter().zip(values.iter().skip(1));
    let value = values[0];
    match expectation {
        Expectation::Near { expected, share, within, .. } => {
            (value - expected).abs() <= (share * expected.abs()).max(*within)
        }
        Expectation::Between { least, most, .. } => (*least..=*most).contains(&value),
        Expectation::Least { least, .. } => value >= *least,
        Expectation::Most { most, .. } => value <= *most,
        Expectation::Falling { slack, .. } => {
            pairs().all(|(before, after)| *after <= before + slack * before.abs())
        }
        Expectation::Rising { slack, .. } => {
            pairs().all(|(before, after)| *after >= before - slack * before.abs())
        }
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
setup = "s"
experiment = "e"
cause = "Because."
checks = [
  { what = "near", measure = "a", expected = 10.0, share = 0.1, why = "w" },
  { what = "order", falling = ["a", "b"] },
]
"#;

    fn verdict(a: f64, b: f64) -> Judged {
        let claim = &parse("x", CLAIM).expect("a claim")[0];
        let mut findings = Findings::default();
        findings.measure("a", a);
        findings.measure("b", b);
        judge(claim, &findings)
    }

    #[test]
    fn all_some_none() {
        assert_eq!(verdict(10.9, 1.0).verdict, Verdict::Reproduced);
        assert_eq!(verdict(12.0, 1.0).verdict, Verdict::Partly);
        assert_eq!(verdict(12.0, 13.0).verdict, Verdict::Not);
        assert_eq!(verdict(f64::NAN, f64::NAN).verdict, Verdict::Not);
        assert!(verdict(12.0, 1.0).reason.ends_with("near: 12, not 10. Because."));
        assert!(verdict(10.0, 1.0).reason.is_empty());
    }
}
