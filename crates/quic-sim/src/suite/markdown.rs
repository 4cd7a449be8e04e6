//! Reports of several congestion controls as tables in Markdown.

use std::fmt::Write as _;

use super::bounds::BoundCheck;
use super::report::{CaseReport, SuiteReport};

/// Returns a table of the bounds that do not hold, with a line for each congestion control: the
/// median, the smallest and the largest figure of the runs, the bound, and in how many runs it held.
pub fn missed_bounds(reports: &[SuiteReport]) -> String {
    let mut table = String::from("| | bounds missed | |\n| --- | --- | --- |\n");
    for report in reports {
        let missed: Vec<String> = checks(report)
            .filter(|(_, check)| !check.holds())
            .map(|(case, check)| {
                let (held, runs) = (check.held(), check.values.len());
                format!(
                    "{}: {} {}, {} ({held} of {runs})",
                    case.name,
                    check.bound.measure,
                    figure(check),
                    check.bound.limits()
                )
            })
            .collect();
        let count = format!("{} of {}", missed.len(), checks(report).count());
        // Writing to a string does not fail.
        let _ = writeln!(table, "| `{}` | {count} | {} |", report.scheme, missed.join("; "));
    }
    table
}

/// Returns a table of all figures, with a line for each bound and a column for each congestion
/// control. Figures of bounds that do not hold are bold. A cell is empty if the bound does not apply
/// to the purpose of the congestion control.
pub fn figures(reports: &[SuiteReport]) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for (case, check) in reports.iter().flat_map(checks) {
        let line = line(case, check);
        if !lines.contains(&line) {
            // Behind the last line of its case, because not every report has every bound.
            let last = lines.iter().rposition(|(label, _)| label.starts_with(&prefix(case)));
            lines.insert(last.map_or(lines.len(), |last| last + 1), line);
        }
    }
    let mut table = String::from("| figure | bound |");
    for report in reports {
        let _ = write!(table, " `{}` |", report.scheme);
    }
    let _ = writeln!(table, "\n| --- | --- |{}", " --- |".repeat(reports.len()));
    for line @ (label, limits) in &lines {
        let _ = write!(table, "| {label} | {limits} |");
        for report in reports {
            let found = checks(report).find(|(case, check)| self::line(case, check) == *line);
            let cell = found.map_or(String::new(), |(_, check)| match check.holds() {
                true => figure(check),
                false => format!("**{}**", figure(check)),
            });
            let _ = write!(table, " {cell} |");
        }
        table.push('\n');
    }
    table
}

fn checks(report: &SuiteReport) -> impl Iterator<Item = (&CaseReport, &BoundCheck)> {
    report.cases.iter().flat_map(|case| case.checks.iter().map(move |check| (case, check)))
}

/// Returns the label and the bound of a line.
fn line(case: &CaseReport, check: &BoundCheck) -> (String, String) {
    (format!("{}{}", prefix(case), check.bound.measure), check.bound.limits())
}

fn prefix(case: &CaseReport) -> String {
    format!("{}: ", case.name)
}

/// Returns the median of the runs, with the smallest and the largest figure if these differ.
fn figure(check: &BoundCheck) -> String {
    let [median, least, most] =
        [check.median(), check.smallest(), check.largest()].map(three_digits);
    if least == most { median } else { format!("{median} [{least}, {most}]") }
}

/// Returns a value with three significant digits, or all digits of its integer part.
fn three_digits(value: f64) -> String {
    if !value.is_finite() {
        return "none".into();
    }
    let digits = match value.abs() {
        value if value < 0.0005 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::super::bounds::{Bound, Measure};
    use super::*;

    fn report(scheme: &str, with_delay: bool, share: &[f64]) -> SuiteReport {
        let case = |name, mut checks: Vec<BoundCheck>| {
            if with_delay {
                let bound = Bound::at_most(Measure::DelayP95Ms, 125.0, "a reason");
                checks.push(BoundCheck { bound, values: vec![f64::NAN; 3] });
            }
            let (digests, failures) = (Vec::new(), Vec::new());
            CaseReport { name, about: "A case", checks, digests, failures }
        };
        let share = BoundCheck {
            bound: Bound::between(Measure::Share, (0.2, 0.8), "a reason"),
            values: share.to_vec(),
        };
        let loss = BoundCheck {
            bound: Bound::at_most(Measure::LossPercent, 2.0, "a reason"),
            values: vec![0.0, 0.0, 0.0],
        };
        let cases = vec![case("one", vec![share]), case("two", vec![loss])];
        SuiteReport { scheme: scheme.into(), cases }
    }

    #[test]
    fn tables_have_medians_with_ranges_and_mark_what_is_missed() {
        let reports = [report("a", false, &[0.5, 0.4, 0.6]), report("b", true, &[0.9, 0.7, 0.95])];
        assert_eq!(
            figures(&reports),
            "| figure | bound | `a` | `b` |\n\
             | --- | --- | --- | --- |\n\
             | one: share | 0.2 to 0.8 | 0.50 [0.40, 0.60] | **0.90 [0.70, 0.95]** |\n\
             | one: p95 delay ms | at most 125 |  | **none** |\n\
             | two: lost % | at most 2 | 0 | 0 |\n\
             | two: p95 delay ms | at most 125 |  | **none** |\n"
        );
        assert_eq!(
            missed_bounds(&reports),
            "| | bounds missed | |\n\
             | --- | --- | --- |\n\
             | `a` | 0 of 2 |  |\n\
             | `b` | 3 of 4 | one: share 0.90 [0.70, 0.95], 0.2 to 0.8 (1 of 3); \
             one: p95 delay ms none, at most 125 (0 of 3); two: p95 delay ms none, at most 125 (0 of 3) |\n"
        );
    }

    #[test]
    fn figures_have_three_digits() {
        let written = [0.0, 0.1234, 9.99, 12.345, 99.96, 1234.5, f64::NAN].map(three_digits);
        assert_eq!(written, ["0", "0.12", "9.99", "12.3", "100", "1234", "none"]);
    }
}
