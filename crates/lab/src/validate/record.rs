//! Measured figures as lines of text (`measured.tsv`), from which the page is built without a run.
//!
//! Fields are separated by tabs. The first one names the kind of the line. `peer`, `run` and `ours`
//! hold for the lines below them. `check` is one figure: its name, the expected figure, the bound,
//! the measured figure, the lower and the upper end of the interval of one further run, whether it
//! agrees by the bound stated before the first run, and the verdict. `unmeasured` has the reason
//! instead of the last five fields.

use std::path::Path;

use super::case::{Case, ComparedFigure, Verdict, explain};

/// File of the measured figures, relative to the root of the source tree.
const FILE: &str = "crates/lab/src/validate/measured.tsv";

/// Command that writes the file again.
const REMEDY: &str = "measure anew: paceline validate --traces DIR --tables DIR -o \
                      crates/lab/src/validate/measured.tsv";

/// Returns the rows as lines of text.
pub fn record(rows: &[ComparedFigure]) -> String {
    let mut text = format!("# The figures of `paceline validate`. To {REMEDY}\n");
    let mut above = ["", "", ""];
    for row in rows {
        let ours =
            if row.variant { format!("variant\t{}", row.scheme) } else { row.scheme.clone() };
        let heads = [("peer", &row.peer), ("run", &row.group), ("ours", &row.scheme)];
        let first_change = heads.iter().zip(above).position(|((_, name), above)| *name != above);
        for (kind, name) in heads.iter().skip(first_change.unwrap_or(heads.len())) {
            let name = if *kind == "ours" { ours.as_str() } else { name.as_str() };
            text += &format!("{kind}\t{name}\n");
        }
        above = heads.map(|(_, name)| name.as_str());
        let ComparedFigure { figure, expected, bound, .. } = row;
        text += &match row.measured {
            None => format!("unmeasured\t{figure}\t{expected}\t{bound}\t{}\n", row.reason),
            Some(measured) => {
                let ends = row.interval.map_or(["", ""].map(String::from), |ends| ends.map(digits));
                format!(
                    "check\t{figure}\t{expected}\t{bound}\t{}\t{}\t{}\t{}\n",
                    digits(measured),
                    ends.join("\t"),
                    if row.agrees_as_stated == Some(true) { "agrees" } else { "differs" },
                    row.verdict().words()
                )
            }
        };
    }
    text
}

/// Rounds a figure to six significant digits.
fn digits(value: f64) -> String {
    match format!("{value:.5e}").parse::<f64>() {
        Ok(rounded) => rounded.to_string(),
        Err(_) => value.to_string(),
    }
}

/// Returns the rows of the checks of `cases`, with the figures from lines that [`record`] wrote.
///
/// # Errors
/// The first line that does not match the check at its position: the check, its expected figure or
/// its bound was changed after the measurement.
pub fn recorded(cases: &[Case<'_>], text: &str) -> Result<Vec<ComparedFigure>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let mut next = |row: &ComparedFigure| loop {
        let Some((at, line)) = lines.next() else {
            return Err(format!("{FILE}: {} is missing; {REMEDY}", name(row)));
        };
        let (kind, rest) = line.split_once('\t').unwrap_or((line, ""));
        let same = match kind {
            "peer" => rest == row.peer,
            "run" => rest == row.group,
            "ours" if row.variant => rest.strip_prefix("variant\t") == Some(&row.scheme),
            "ours" => rest == row.scheme,
            _ => return Ok((at + 1, kind, rest)),
        };
        if !same {
            return Err(format!("{FILE}, line {}: not of {}; {REMEDY}", at + 1, name(row)));
        }
    };
    let mut rows: Vec<ComparedFigure> = cases.iter().flat_map(Case::plan).collect();
    let mut verdicts = Vec::with_capacity(rows.len());
    for row in &mut rows {
        let (line, kind, rest) = next(row)?;
        let wrong = || format!("{FILE}, line {line}: not {} as it is now; {REMEDY}", name(row));
        let planned = format!("{}\t{}\t{}\t", row.figure, row.expected, row.bound);
        let fields: Vec<&str> =
            rest.strip_prefix(&planned).ok_or_else(wrong)?.split('\t').collect();
        let number = |field: &str| field.parse::<f64>().map_err(|_| wrong());
        let verdict = match (kind, fields.as_slice()) {
            ("unmeasured", [reason]) => {
                row.reason = (*reason).to_string();
                Verdict::Unmeasured.words()
            }
            ("check", [measured, low, high, stated, verdict]) => {
                let interval = match (*low, *high) {
                    ("", "") => None,
                    (low, high) => Some([number(low)?, number(high)?]),
                };
                (row.measured, row.interval) = (Some(number(measured)?), interval);
                row.agrees_as_stated = Some(*stated == Verdict::Agrees.words());
                row.agrees = Some(*verdict == Verdict::Agrees.words());
                verdict
            }
            _ => return Err(wrong()),
        };
        verdicts.push((line, verdict));
    }
    if let Some((at, line)) = lines.next() {
        return Err(format!("{FILE}, line {}: no check for `{line}`; {REMEDY}", at + 1));
    }
    explain(cases, &mut rows);
    for (row, (line, verdict)) in rows.iter().zip(verdicts) {
        let follows = row.verdict().words();
        if verdict != follows {
            return Err(format!(
                "{FILE}, line {line}: `{verdict}` does not follow from the figures of {}, which say `{follows}`",
                name(row)
            ));
        }
    }
    Ok(rows)
}

/// Returns rows with the figures of the file in the source tree at `root`.
///
/// # Errors
/// The file cannot be read, or [`recorded`] refuses it.
pub fn read_record(root: &Path) -> Result<Vec<ComparedFigure>, String> {
    let path = root.join(FILE);
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    recorded(&super::cases(None, None), &text)
}

fn name(row: &ComparedFigure) -> String {
    format!("`{}`, {}, {}, {}", row.figure, row.scheme, row.group, row.peer)
}

#[cfg(test)]
mod tests {
    use super::super::bound::{Bound, Tolerance};
    use super::super::case::{Check, OwnScheme};
    use super::*;

    fn case(ours: OwnScheme, runs: Vec<f64>) -> Case<'static> {
        Case {
            peer: "peer",
            group: "run".into(),
            ours,
            checks: vec![Check::new("delay, ms", 10.0, Bound::stated(Tolerance::Share(0.1)))],
            run: Box::new(move || match runs.as_slice() {
                [] => Err("no trace".into()),
                runs => Ok(runs.iter().map(|figure| vec![*figure]).collect()),
            }),
        }
    }

    fn cases() -> Vec<Case<'static>> {
        vec![
            case(OwnScheme::default("cubic"), vec![12.0]),
            case(OwnScheme::variant("cubic[c=1]", "a larger c"), vec![9.9, 10.2]),
            case(OwnScheme::default("bbr"), vec![]),
        ]
    }

    fn measured(cases: &[Case<'_>]) -> Vec<ComparedFigure> {
        let mut rows: Vec<ComparedFigure> = cases.iter().flat_map(Case::measure).collect();
        explain(cases, &mut rows);
        rows
    }

    #[test]
    fn rows_that_are_written_and_read_have_equal_figures_verdicts_and_reasons() {
        let rows = measured(&cases());
        let again = recorded(&cases(), &record(&rows)).expect("its own lines");
        for (row, again) in rows.iter().zip(&again) {
            assert_eq!(row.verdict(), again.verdict());
            assert_eq!(
                (&row.reason, row.agrees_as_stated),
                (&again.reason, again.agrees_as_stated)
            );
        }
        assert_eq!((again[0].measured, again[1].measured), (Some(12.0), Some(10.05)));
        assert_eq!(record(&again), record(&rows));
    }

    #[test]
    fn what_is_not_of_the_checks_is_refused_with_its_line() {
        let text = record(&measured(&cases()));
        for (from, to, part) in [
            (
                "check\tdelay, ms\t10\t10 %\t12",
                "check\tdelay, ms\t10\t20 %\t12",
                "line 5: not `delay, ms`",
            ),
            ("ours\tbbr", "ours\tbbr3", "not of `delay, ms`, bbr"),
            ("differs, explained", "differs", "line 5: `differs` does not follow"),
            ("\t12\t", "\ttwelve\t", "line 5"),
            ("no trace\n", "no trace\ncheck\tmore\n", "no check for `check\tmore`"),
        ] {
            assert!(text.contains(from), "{from}\n{text}");
            let problem = recorded(&cases(), &text.replacen(from, to, 1)).expect_err(to);
            assert!(problem.contains(part), "{problem}");
        }
        let cut = text.split("ours\tbbr").next().expect("a beginning");
        assert!(recorded(&cases(), cut).is_err_and(|problem| problem.contains("is missing")));
    }
}
