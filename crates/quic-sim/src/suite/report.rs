//! Results of a suite.

use std::fmt;

use super::baseline::{Baseline, Verdict};
use super::bounds::BoundCheck;

/// Result of a case.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// The case's name.
    pub name: &'static str,
    /// Description of the case.
    pub about: &'static str,
    /// Bounds with their figures.
    pub checks: Vec<BoundCheck>,
    /// For each run that did not fail the digest of every arrival of a packet: equal for equal
    /// runs.
    pub digests: Vec<String>,
    /// Numbers of the runs that failed, with the reasons: a stack ended its connection, for example.
    pub failures: Vec<String>,
}

impl CaseReport {
    /// True if every bound holds.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(BoundCheck::holds)
    }
}

/// Results of a suite for one congestion control; prints itself as a table.
#[derive(Clone, Debug)]
pub struct SuiteReport {
    /// Name of the scheme.
    pub scheme: String,
    /// The cases.
    pub cases: Vec<CaseReport>,
}

impl SuiteReport {
    /// True if every bound of every case holds.
    pub fn holds(&self) -> bool {
        self.cases.iter().all(CaseReport::holds)
    }

    /// Returns the report against a baseline, for printing.
    pub fn against<'a>(&'a self, baseline: &'a Baseline) -> AgainstBaseline<'a> {
        AgainstBaseline { report: self, baseline }
    }

    /// Returns all checks with their cases and verdicts; without a baseline, by their bounds.
    pub(super) fn verdicts<'a>(
        &'a self,
        baseline: Option<&'a Baseline>,
    ) -> impl Iterator<Item = (&'a CaseReport, &'a BoundCheck, Verdict)> {
        self.cases.iter().flat_map(move |case| {
            case.checks.iter().map(move |check| {
                let verdict = match (baseline, check.holds()) {
                    (Some(baseline), _) => baseline.verdict(case.name, check),
                    (None, true) => Verdict::Holds,
                    (None, false) => Verdict::Fails,
                };
                (case, check, verdict)
            })
        })
    }

    /// Prints a line for each check, and the reason below each one that does not hold.
    fn print(&self, f: &mut fmt::Formatter<'_>, baseline: Option<&Baseline>) -> fmt::Result {
        let failed = |case: &&CaseReport| {
            self.verdicts(baseline)
                .any(|(of, _, verdict)| std::ptr::eq(of, *case) && !verdict.passes())
        };
        let failed = self.cases.iter().filter(failed).count();
        let runs = self.cases.first().map_or(0, |case| case.digests.len() + case.failures.len());
        let times = if runs == 1 { String::new() } else { format!(", {runs} runs each") };
        writeln!(f, "{}: {} cases{times}, {failed} failed", self.scheme, self.cases.len())?;
        let mut last = "";
        for (case, check, verdict) in self.verdicts(baseline) {
            let name = if case.name == last { "" } else { case.name };
            if case.name != last {
                for failure in &case.failures {
                    writeln!(f, "  {name:<16} {failure}")?;
                }
            }
            last = case.name;
            let bound = &check.bound;
            write!(f, "  {name:<16} {:<15} {:>8.2} ", bound.measure, check.median())?;
            if runs > 1 {
                let range = format!("({:.2} to {:.2})", check.smallest(), check.largest());
                write!(f, "{range:<20} ")?;
            }
            write!(f, " {:<16}", bound.limits())?;
            match runs {
                0 | 1 => writeln!(f, " {verdict}")?,
                _ => writeln!(f, " {verdict}, held in {} of {runs}", check.held())?,
            }
            if !check.holds() {
                writeln!(f, "    {}: {}", case.about, bound.why)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, None)
    }
}

/// A report whose verdicts are those against a baseline; prints itself as a table.
#[derive(Copy, Clone, Debug)]
pub struct AgainstBaseline<'a> {
    report: &'a SuiteReport,
    baseline: &'a Baseline,
}

impl fmt::Display for AgainstBaseline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.print(f, Some(self.baseline))
    }
}
