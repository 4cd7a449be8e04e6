//! Results of a suite.

use std::fmt;

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
    /// Digest of every hand-over of a packet: equal for equal runs.
    pub digest: String,
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
}

/// Prints a line for each bound, and the reason below each one that does not hold.
impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.cases.iter().filter(|case| !case.holds()).count();
        writeln!(f, "{}: {} cases, {failed} failed", self.scheme, self.cases.len())?;
        for case in &self.cases {
            let mut name = case.name;
            for check in &case.checks {
                let (bound, value) = (&check.bound, check.value);
                let verdict = if check.holds() { "pass" } else { "FAIL" };
                write!(f, "  {name:<20} {:<15} {value:>8.2}  ", bound.measure)?;
                match (bound.least.is_finite(), bound.most.is_finite()) {
                    (true, true) => write!(f, "{:>6} to {:<6}", bound.least, bound.most)?,
                    (true, false) => write!(f, "at least {:<7}", bound.least)?,
                    _ => write!(f, "at most {:<8}", bound.most)?,
                }
                writeln!(f, " {verdict}")?;
                if !check.holds() {
                    writeln!(f, "    {}: {}", case.about, bound.why)?;
                }
                name = "";
            }
        }
        Ok(())
    }
}
