//! Reports as JSON, and as JUnit's XML, which continuous-integration services show.

use paceline_report::{TestCase, TestFailure, junit};
use serde_json::{Value, json};

use super::baseline::{Baseline, Verdict};
use super::bounds::BoundCheck;
use super::report::{CaseReport, SuiteReport};

impl SuiteReport {
    /// Returns the report as JSON: `docs/quic.md` has its fields. Figures that were not measured
    /// and bounds that do not exist are null.
    pub fn to_json(&self) -> String {
        let cases: Vec<Value> = self.cases.iter().map(case).collect();
        let report = json!({ "scheme": self.scheme, "holds": self.holds(), "cases": cases });
        format!("{report:#}\n")
    }

    /// Returns the report as JUnit's XML: a test for each check. With a baseline, verdicts are
    /// those against it, as in [`SuiteReport::holds_against`].
    pub fn to_junit(&self, baseline: Option<&Baseline>) -> String {
        let test = |(case, check, verdict): (&CaseReport, &BoundCheck, Verdict)| TestCase {
            class: format!("{}.{}", self.scheme, case.name),
            name: format!("{} {}", check.bound.measure, check.bound.limits()),
            failure: (!verdict.passes()).then(|| failure(case, check, verdict)),
        };
        let tests: Vec<TestCase> = self.verdicts(baseline).map(test).collect();
        junit(&self.scheme, None, &tests)
    }
}

fn case(case: &CaseReport) -> Value {
    json!({
        "name": case.name,
        "about": case.about,
        "holds": case.holds(),
        "digests": case.digests,
        "failures": case.failures,
        "checks": case.checks.iter().map(check).collect::<Vec<_>>(),
    })
}

fn check(check: &BoundCheck) -> Value {
    // serde_json writes infinities and NaN as null.
    json!({
        "measure": check.bound.measure.to_string(),
        "at_least": check.bound.least,
        "at_most": check.bound.most,
        "why": check.bound.why,
        "values": check.values,
        "median": check.median(),
        "held": check.held(),
        "holds": check.holds(),
    })
}

fn failure(case: &CaseReport, check: &BoundCheck, verdict: Verdict) -> TestFailure {
    let (runs, held) = (check.values.len(), check.held());
    let (least, most) = (check.smallest(), check.largest());
    let message = format!("median {:.3}: {verdict}", check.median());
    let text = format!(
        "{}. In {runs} runs from {least:.3} to {most:.3}; the bound ({}) held in {held}. Its reason: {}.",
        case.about,
        check.bound.limits(),
        check.bound.why
    );
    let text = [&[text], &case.failures[..]].concat().join(" ");
    TestFailure { message, text }
}

#[cfg(test)]
mod tests {
    use super::super::bounds::{Bound, Measure};
    use super::*;

    fn report() -> SuiteReport {
        let slow = Bound::at_most(Measure::DelayP95Ms, 100.0, "queues < \"100 ms\"");
        let used = Bound::at_least(Measure::Utilisation, 0.8, "a reason");
        let checks = vec![
            BoundCheck { bound: slow, values: vec![90.0, 120.0, 130.0] },
            BoundCheck { bound: used, values: vec![f64::NAN, 0.9, 0.95] },
        ];
        let case = CaseReport {
            name: "case",
            about: "A case",
            checks,
            digests: Vec::new(),
            failures: vec!["run 3: lost".into()],
        };
        SuiteReport { scheme: "a & b".into(), cases: vec![case] }
    }

    #[test]
    fn json_has_every_figure() {
        let json: Value = serde_json::from_str(&report().to_json()).expect("JSON");
        assert_eq!(json["cases"][0]["failures"], json!(["run 3: lost"]));
        let checks = &json["cases"][0]["checks"];
        assert_eq!(json["holds"], false);
        assert_eq!((&checks[0]["median"], &checks[0]["held"]), (&json!(120.0), &json!(1)));
        assert_eq!((&checks[1]["values"][0], &checks[1]["holds"]), (&Value::Null, &json!(true)));
        assert_eq!(checks[1]["at_most"], Value::Null);
    }

    #[test]
    fn junit_has_a_test_for_each_check() {
        let xml = report().to_junit(None);
        assert!(xml.contains("name=\"a &amp; b\" tests=\"2\" failures=\"1\""), "{xml}");
        assert!(xml.contains("queues &lt; &quot;100 ms&quot;"), "{xml}");
        assert!(xml.contains(". run 3: lost</failure>"), "{xml}");
        assert!(xml.contains("name=\"utilisation at least 0.8\"/>"), "{xml}");
        // What a release did before passes.
        let xml = report().to_junit(Some(&report().baseline()));
        assert!(xml.contains("failures=\"0\""), "{xml}");
    }
}
