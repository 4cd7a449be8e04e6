//! Figures of an earlier release, which a later one must not fall behind.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Suite;
use super::bounds::{Aim, Bound, BoundCheck, Measure};
use super::report::{CaseReport, SuiteReport};

/// Share by which a figure may be worse than the baseline's.
const TOLERANCE: f64 = 0.1;

/// Figures of a stack's earlier release, kept as a file beside its tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Name of the scheme.
    pub scheme: String,
    /// The figures.
    pub figures: Vec<BaselineFigure>,
}

/// A figure of a case in each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineFigure {
    /// Name of the case.
    pub case: String,
    /// Name of the measure, as reports have it.
    pub measure: String,
    /// Value in each run; `None` if it was not measured.
    pub values: Vec<Option<f64>>,
}

/// Reason why a text is no baseline.
#[derive(Debug, Error)]
#[error("not a baseline: {0}; make it with SuiteReport::baseline")]
pub struct BaselineError(#[from] serde_json::Error);

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// The text is not what [`Baseline::to_json`] writes.
    pub fn from_json(text: &str) -> Result<Baseline, BaselineError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Returns the baseline as JSON with a line for each figure.
    pub fn to_json(&self) -> String {
        let quoted = |value: &dyn fmt::Display| serde_json::Value::from(value.to_string());
        let lines: Vec<String> = self
            .figures
            .iter()
            .map(|figure| {
                let (case, measure) = (quoted(&figure.case), quoted(&figure.measure));
                let values: Vec<String> = figure
                    .values
                    .iter()
                    .map(|value| value.map_or("null".into(), |value| format!("{value:.4}")))
                    .collect();
                let values = values.join(", ");
                format!("    {{\"case\": {case}, \"measure\": {measure}, \"values\": [{values}]}}")
            })
            .collect();
        let scheme = quoted(&self.scheme);
        format!("{{\n  \"scheme\": {scheme},\n  \"figures\": [\n{}\n  ]\n}}\n", lines.join(",\n"))
    }

    /// Returns the values of a figure that were measured.
    fn values(&self, case: &str, measure: Measure) -> Vec<f64> {
        let measure = measure.to_string();
        let figure =
            self.figures.iter().find(|figure| figure.case == case && figure.measure == measure);
        figure.map_or(Vec::new(), |figure| figure.values.iter().flatten().copied().collect())
    }

    /// Returns the report of `suite` with the baseline's figures, for congestion control with the
    /// purpose `aim`: without digests, and with no value for a bound that the baseline lacks.
    pub fn report(&self, suite: &Suite, aim: Aim) -> SuiteReport {
        let check = |case: &str, bound: &Bound| {
            let measure = bound.measure.to_string();
            let is_of = |figure: &&BaselineFigure| figure.case == case && figure.measure == measure;
            let values = self.figures.iter().find(is_of).map(|figure| &figure.values);
            let values = values.into_iter().flatten().map(|value| value.unwrap_or(f64::NAN));
            BoundCheck { bound: bound.clone(), values: values.collect() }
        };
        let cases = suite.cases.iter().map(|case| CaseReport {
            name: case.name,
            about: case.about,
            checks: case
                .bounds
                .iter()
                .filter(|bound| bound.applies_to(aim))
                .map(|bound| check(case.name, bound))
                .collect(),
            digests: Vec::new(),
            failures: Vec::new(),
        });
        SuiteReport { scheme: self.scheme.clone(), cases: cases.collect() }
    }

    /// Compares a bound's check in the case called `case` with the baseline.
    ///
    /// A bound that held in most of the baseline's runs must hold still. In addition, the median
    /// must not be worse than the worst of the baseline's runs by more than a tenth of its median
    /// or, if that is larger, of the bound. Bounds on both sides and counts of marks say nothing
    /// about better and worse; for them only the bound counts.
    pub(super) fn verdict(&self, case: &str, check: &BoundCheck) -> Verdict {
        let values = self.values(case, check.bound.measure);
        if values.is_empty() {
            return if check.holds() { Verdict::Holds } else { Verdict::Fails };
        }
        let before = BoundCheck { bound: check.bound.clone(), values };
        if before.holds() && !check.holds() {
            return Verdict::Fails;
        }
        let bound = &check.bound;
        let (is_above, is_below) = (bound.least.is_finite(), bound.most.is_finite());
        if (is_above && is_below) || bound.measure == Measure::Marks {
            return if check.holds() { Verdict::Holds } else { Verdict::Known };
        }
        let limit = if is_above { bound.least } else { bound.most };
        let margin = TOLERANCE * before.median().abs().max(limit.abs());
        // NaN keeps up with nothing.
        let keeps_up = match is_above {
            true => check.median() >= before.smallest() - margin,
            false => check.median() <= before.largest() + margin,
        };
        match (keeps_up, check.holds()) {
            (false, _) => Verdict::Worse { baseline: before.median() },
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Known,
        }
    }
}

/// Result of a check against a baseline.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The bound holds, and the figure is not worse than the baseline's.
    Holds,
    /// The bound does not hold, nor did it in the baseline; the figure is not worse.
    Known,
    /// The bound does not hold. It did in the baseline, or the baseline does not have it.
    Fails,
    /// The figure is worse than the baseline's by more than a tenth.
    Worse {
        /// Median of the baseline.
        baseline: f64,
    },
}

impl Verdict {
    /// True if the check passes.
    pub fn passes(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::Known)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds => f.write_str("pass"),
            Verdict::Known => f.write_str("as before"),
            Verdict::Fails => f.write_str("FAIL"),
            Verdict::Worse { baseline } => write!(f, "WORSE than {baseline:.2}"),
        }
    }
}

impl SuiteReport {
    /// Returns the figures as a baseline for later releases.
    pub fn baseline(&self) -> Baseline {
        let mut figures: Vec<BaselineFigure> = Vec::new();
        for case in &self.cases {
            for check in &case.checks {
                let (case, measure) = (case.name.to_string(), check.bound.measure.to_string());
                // Two bounds of a measure have one figure.
                if figures.iter().any(|known| known.case == case && known.measure == measure) {
                    continue;
                }
                let values =
                    check.values.iter().map(|value| value.is_finite().then_some(*value)).collect();
                figures.push(BaselineFigure { case, measure, values });
            }
        }
        Baseline { scheme: self.scheme.clone(), figures }
    }

    /// True if every check passes against `baseline`: no bound is missed that held there, and no
    /// figure is worse than there by more than a tenth. [`SuiteReport::against`] shows the checks.
    pub fn holds_against(&self, baseline: &Baseline) -> bool {
        self.verdicts(Some(baseline)).all(|(_, _, verdict)| verdict.passes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: Bound, values: &[f64]) -> BoundCheck {
        BoundCheck { bound, values: values.to_vec() }
    }

    fn baseline(measure: Measure, values: &[f64]) -> Baseline {
        let values = values.iter().copied().map(Some).collect();
        let figure = BaselineFigure { case: "case".into(), measure: measure.to_string(), values };
        Baseline { scheme: "scheme".into(), figures: vec![figure] }
    }

    #[test]
    fn a_figure_may_be_worse_by_a_tenth() {
        let delay = || Bound::at_most(Measure::DelayP95Ms, 100.0, "a reason");
        let before = baseline(Measure::DelayP95Ms, &[50.0, 60.0, 55.0]);
        let verdict = |values: &[f64]| before.verdict("case", &check(delay(), values));
        assert_eq!(verdict(&[69.0]), Verdict::Holds);
        assert_eq!(verdict(&[71.0]), Verdict::Worse { baseline: 55.0 });
        assert_eq!(verdict(&[101.0]), Verdict::Fails);
        assert_eq!(verdict(&[f64::NAN]), Verdict::Fails);
        // Faster is not worse, and the median of the runs counts.
        assert_eq!(verdict(&[200.0, 20.0, 20.0]), Verdict::Holds);
    }

    #[test]
    fn a_known_failure_passes_until_it_grows() {
        let rate = || Bound::at_least(Measure::Utilisation, 0.8, "a reason");
        let before = baseline(Measure::Utilisation, &[0.7]);
        let verdict = |value: f64| before.verdict("case", &check(rate(), &[value]));
        assert_eq!(verdict(0.65), Verdict::Known);
        assert_eq!(verdict(0.61), Verdict::Worse { baseline: 0.7 });
        assert_eq!(verdict(0.9), Verdict::Holds);
        // A case that the baseline lacks is judged by its bound.
        assert_eq!(before.verdict("new", &check(rate(), &[0.7])), Verdict::Fails);
    }

    #[test]
    fn a_share_is_judged_by_its_bound() {
        let share = || Bound::between(Measure::Share, (0.2, 0.8), "a reason");
        let before = baseline(Measure::Share, &[0.5]);
        let verdict = |value: f64| before.verdict("case", &check(share(), &[value]));
        assert_eq!((verdict(0.75), verdict(0.85)), (Verdict::Holds, Verdict::Fails));
    }

    #[test]
    fn a_report_has_the_kept_values() {
        let mut kept = baseline(Measure::Utilisation, &[0.4, 0.6, 0.7]);
        kept.figures[0].case = "startup".into();
        kept.figures[0].values.push(None);
        let report = kept.report(&Suite::standard().only(&["startup"]), Aim::FillsBuffers);
        let [used, first] = &report.cases[0].checks[..] else { panic!("{report}") };
        assert_eq!((used.median(), used.held(), used.values.len()), (0.6, 2, 4));
        assert!(!used.holds() && first.values.is_empty() && !first.holds());
        // Of an even number of runs it is the mean of the two middle values, as in `compare`.
        kept.figures[0].values.push(Some(0.5));
        let report = kept.report(&Suite::standard().only(&["startup"]), Aim::FillsBuffers);
        assert_eq!(report.cases[0].checks[0].median(), 0.55);
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let mut kept = baseline(Measure::FirstKb(90), &[11.25, 12.5]);
        kept.figures[0].values.push(None);
        assert_eq!(Baseline::from_json(&kept.to_json()).expect("a baseline"), kept);
        let wrong = Baseline::from_json("{}").expect_err("no baseline").to_string();
        assert!(wrong.contains("scheme"), "{wrong}");
    }
}
