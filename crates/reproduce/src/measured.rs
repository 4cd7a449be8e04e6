//! Measured figures of all claims as lines of text (`claims/measured.tsv`), from which the document is
//! built without a run. `keep.rs` writes them.
//!
//! Fields are separated by tabs, and the first one names the kind of the line:
//!
//! | kind | fields |
//! | --- | --- |
//! | `command` | the command that measured |
//! | `claim` | its id; the lines below are about it |
//! | `now`, `stated` | a check as it is now, or as it was stated before its first run: what, expected, tolerance, measured in the first run, whether it `holds` by the median of the runs or in the only one |
//! | `runs` | the check above in several runs: their number; median, 5th and 95th percentile; the number of runs in which it holds; whether its median `holds` |
//! | `shown` | what shows the cause, and its value |
//! | `missing`, `stand-in` | a table of rules that was not at hand; and the built-in one that stood in for it |
//! | `sweep` | its name and its caption; `columns` and `row` below it are its table |

use std::path::Path;

use crate::claim::{Check, Claim, claims};
use crate::costs::Costs;
use crate::expectation::{Expectation, number};
use crate::findings::Sweep;
use crate::judged::{BoundResult, CheckResult, ClaimResult, Measured, judge_measured};
use crate::markdown::{document, paper_pages};
use crate::over_runs::OverRuns;
use crate::run::Reproduction;
use crate::summary::{plot, summary};
use crate::verdict::Limits;

/// File of the measured figures, relative to the root of the source tree.
const FILE: &str = "crates/reproduce/claims/measured.tsv";

/// Commands that write the file again.
const REMEDY: &str = "measure anew: sudo paceline reproduce --traces TRACES --tables TABLES --live --keep \
                      crates/reproduce/claims/measured.tsv; with ids, only those claims";

/// A reproduction that was measured earlier.
#[derive(Debug)]
pub struct RecordedReproduction {
    /// Command that measured it.
    pub command: String,
    /// The claims with their verdicts.
    pub reproduction: Reproduction,
    claims: Vec<Claim>,
    sweeps: Vec<Sweep>,
}

impl RecordedReproduction {
    /// Returns the whole document as Markdown.
    pub fn markdown(&self) -> String {
        document(&self.reproduction, &self.claims, &self.sweeps, &self.command)
    }

    /// Returns a plot of the papers' figures and ours, as an SVG file.
    pub fn figures_svg(&self) -> String {
        plot(&self.reproduction.claims).to_svg()
    }

    /// Returns a page for each paper: the name of its file and its Markdown.
    pub fn paper_pages(&self) -> Vec<(String, String)> {
        paper_pages(&self.reproduction.claims, &self.claims)
    }

    /// Returns the lines from which it was read.
    pub fn lines(&self) -> String {
        lines_of(&self.reproduction, &self.sweeps, &self.command)
    }

    /// Returns counts, and the claims that hold, as Markdown: docs/reproduction.md.
    pub fn summary(&self) -> String {
        summary(&self.reproduction)
    }
}

/// Returns the lines before those of claims.
pub(crate) fn head(command: &str) -> String {
    format!("# The figures of `paceline reproduce`. To {REMEDY}.\ncommand\t{command}\n")
}

/// Returns the figures of a reproduction as lines of text.
pub(crate) fn lines_of(done: &Reproduction, sweeps: &[Sweep], command: &str) -> String {
    let mut text = head(command);
    for judged in &done.claims {
        text += &format!("claim\t{}\n", judged.id);
        for CheckResult { what, stated, now, changed, .. } in &judged.checks {
            let mut line = |kind: &str, bound: &BoundResult| {
                let BoundResult { expected, tolerance, measured, holds, over_runs } = bound;
                let verdict = verdict(*holds);
                text +=
                    &format!("{kind}\t{what}\t{expected}\t{tolerance}\t{measured}\t{verdict}\n");
                text += &over_runs.map(over_runs_line).unwrap_or_default();
            };
            if let Some(now) = now {
                line("now", now);
            }
            if now.is_none() || !changed.is_empty() {
                line("stated", stated);
            }
        }
        if !judged.cause_if_needed().is_empty() {
            for (what, value) in &judged.shown {
                text += &format!("shown\t{what}\t{value}\n");
            }
        }
        for file in &judged.missing {
            text += &format!("missing\t{file}\n");
        }
        for (file, name) in &judged.stand_ins {
            text += &format!("stand-in\t{file}\t{name}\n");
        }
    }
    for Sweep { name, caption, columns, rows } in sweeps {
        text += &format!("sweep\t{name}\t{caption}\ncolumns\t{}\n", columns.join("\t"));
        for row in rows {
            text += &format!("row\t{}\n", row.join("\t"));
        }
    }
    text
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "does not hold" }
}

fn over_runs_line(over: OverRuns) -> String {
    let OverRuns { runs, median, p5, p95, held_in, holds } = over;
    let [median, p5, p95] = [median, p5, p95].map(number);
    format!("runs\t{runs}\t{median}\t{p5}\t{p95}\t{held_in}\t{}\n", verdict(holds))
}

/// Reads the file in the source tree at `root`, and judges the built-in claims by its figures.
///
/// # Errors
/// The file cannot be read, or [`recorded`] refuses it.
pub fn read_record(root: &Path) -> Result<RecordedReproduction, String> {
    let path = root.join(FILE);
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    recorded(claims().map_err(|error| error.to_string())?, &text)
}

/// Judges claims by the lines of `measured.tsv`.
///
/// # Errors
/// The first line that does not match the claims: a check, its expected figure or its tolerance was
/// changed after the measurement.
pub fn recorded(claims: Vec<Claim>, text: &str) -> Result<RecordedReproduction, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let lines = lines.map(|(at, line)| Line { number: at + 1, fields: line.split('\t').collect() });
    let mut lines = Lines { all: lines.collect(), next: 0 };
    let command = lines.take("command").ok_or("no `command`")?.field(1)?.to_string();
    let judged = claims.iter().map(|claim| read_claim(claim, &mut lines));
    let judged = judged.collect::<Result<Vec<ClaimResult>, String>>()?;
    let sweeps = read_sweeps(&mut lines)?;
    if let Some(line) = lines.peek() {
        return Err(line.wrong("expected a sweep"));
    }
    let runs = judged.iter().filter_map(|claim| Some(claim.over_runs?.runs as u32)).max();
    let runs = runs.unwrap_or(1);
    let reproduction = Reproduction {
        claims: judged,
        experiments: Vec::new(),
        failures: Vec::new(),
        unkept: Vec::new(),
        tasks: 0,
        runs,
        synthetic: false,
        quick: false,
        causes: true,
        costs: Costs::default(),
    };
    Ok(RecordedReproduction { command, reproduction, claims, sweeps })
}

struct Line<'a> {
    number: usize,
    fields: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn wrong(&self, problem: &str) -> String {
        format!("{FILE}, line {}: {problem}; {REMEDY}", self.number)
    }

    fn field(&self, at: usize) -> Result<&'a str, String> {
        self.fields.get(at).copied().ok_or_else(|| self.wrong("too few fields"))
    }

    fn strings(&self) -> Vec<String> {
        self.fields.iter().skip(1).map(|field| (*field).to_string()).collect()
    }
}

struct Lines<'a> {
    all: Vec<Line<'a>>,
    next: usize,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&Line<'a>> {
        self.all.get(self.next)
    }

    /// Takes the next line, if it is of this kind.
    fn take(&mut self, kind: &str) -> Option<&Line<'a>> {
        let line = self.all.get(self.next).filter(|line| line.fields.first() == Some(&kind));
        self.next += usize::from(line.is_some());
        line
    }
}

fn read_claim(claim: &Claim, lines: &mut Lines<'_>) -> Result<ClaimResult, String> {
    match lines.take("claim") {
        Some(line) if line.field(1)? == claim.id => {}
        Some(line) => return Err(line.wrong(&format!("expected claim {}", claim.id))),
        None => return Err(format!("{FILE}: no claim {}; {REMEDY}", claim.id)),
    }
    let mut measured = Measured::default();
    if claim.unmeasured.is_empty() {
        for check in &claim.checks {
            measured.checks.push(read_check(claim, check, lines)?);
        }
    }
    while let Some(line) = lines.take("shown") {
        measured.shown.push((line.field(1)?.to_string(), line.field(2)?.to_string()));
    }
    while let Some(line) = lines.take("missing") {
        measured.missing.push(line.field(1)?.to_string());
    }
    while let Some(line) = lines.take("stand-in") {
        measured.stand_ins.push((line.field(1)?.to_string(), line.field(2)?.to_string()));
    }
    Ok(judge_measured(claim, measured, Limits { live: true, ..Limits::default() }))
}

fn read_check(claim: &Claim, check: &Check, lines: &mut Lines<'_>) -> Result<CheckResult, String> {
    let mut bound = |kind: &str, expectation: &Expectation| {
        let (expected, tolerance) = (expectation.words(), expectation.tolerance());
        let wanted = [kind, check.what.as_str(), expected.as_str(), tolerance.as_str()];
        let problem = format!("{}: expected {}", claim.id, wanted.join(", "));
        let line = lines.take(kind).ok_or_else(|| format!("{FILE}: {problem}; {REMEDY}"))?;
        let mut bound = match line.fields.as_slice() {
            [found @ .., measured, verdict] if *found == wanted => BoundResult {
                expected: expected.clone(),
                tolerance: tolerance.clone(),
                measured: (*measured).to_string(),
                holds: *verdict == "holds",
                over_runs: None,
            },
            _ => return Err(line.wrong(&problem)),
        };
        if let Some(line) = lines.take("runs") {
            let over = read_over_runs(line)?;
            (bound.holds, bound.over_runs) = (over.holds, Some(over));
        }
        Ok(bound)
    };
    let now = check.now.as_ref().map(|now| bound("now", now)).transpose()?;
    let stated = match &now {
        Some(now) if check.changed.is_empty() => now.clone(),
        _ => bound("stated", &check.stated)?,
    };
    Ok(CheckResult::new(check, stated, now))
}

fn read_over_runs(line: &Line<'_>) -> Result<OverRuns, String> {
    let count = |at: usize| -> Result<usize, String> {
        line.field(at)?.parse().map_err(|_| line.wrong("expected a number of runs"))
    };
    let figure = |at: usize| -> Result<f64, String> {
        line.field(at)?.parse().map_err(|_| line.wrong("expected a figure"))
    };
    Ok(OverRuns {
        runs: count(1)?,
        median: figure(2)?,
        p5: figure(3)?,
        p95: figure(4)?,
        held_in: count(5)?,
        holds: line.field(6)? == "holds",
    })
}

fn read_sweeps(lines: &mut Lines<'_>) -> Result<Vec<Sweep>, String> {
    let mut sweeps = Vec::new();
    while let Some(line) = lines.take("sweep") {
        let (name, caption) = (line.field(1)?.to_string(), line.field(2)?.to_string());
        let columns = lines.take("columns").map(Line::strings).unwrap_or_default();
        let mut rows = Vec::new();
        while let Some(line) = lines.take("row") {
            rows.push(line.strings());
        }
        sweeps.push(Sweep { name, caption, columns, rows });
    }
    Ok(sweeps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::parse;

    const CLAIM: &str = "[[claim]]\nid='X1'\npaper='P'\nplace='1'\ntitle='t'\nquote='q'\nsetup='s'\n\
                         experiment='e'\ncause='c'\nshown=[{what='n itself',measure='n'}]\nchecks=[\n\
                         {what='w',measure='m',least=1,changed='why',stated={measure='n',least=1}},\n\
                         {what='v',changed='gone',stated={measure='n',most=1}}]";

    const LINES: &str = "command\tpaceline reproduce\nclaim\tX1\nnow\tw\tat least 1\t\t2\tholds\n\
                         runs\t8\t1.8\t1.1\t2.2\t7\tholds\n\
                         stated\tw\tat least 1\t\t0.5\tdoes not hold\nstated\tv\tat most 1\t\t0.5\tholds\n\
                         shown\tn itself\t0.5\nsweep\tn by m\tcaption\ncolumns\tm\tn\nrow\t1\t2\n";

    fn read(lines: &str) -> Result<RecordedReproduction, String> {
        recorded(parse("x", CLAIM).expect("a claim"), lines)
    }

    #[test]
    fn the_document_follows_from_lines_and_claims() {
        let read = read(LINES).expect("lines of the claim");
        let document = read.markdown();
        for part in [
            "# Reproduction\n\n`paceline reproduce` measures",
            "| P |  |  |  | [X1](#x1) |  |  |  |",
            "Made by `paceline reproduce`. 1 claims, judged by the medians of 8 runs.",
            "| w |  | at least 1 | 1.8 [1.1, 2.2] | 7 of 8 | holds |",
            "| w *(stated in advance)* |  | at least 1 | 0.5 | 0 of 1 | does not hold |",
            "Stated in advance: **in part**. With later changes: **reproduced** (by the medians of 8 runs).",
            "| n itself | 0.5 |",
            "### Sweep: n by m\n\ncaption\n\n| m | n |",
        ] {
            assert!(document.contains(part), "{part}\n{document}");
        }
        assert!(read.summary().contains("| P |  |  |  | X1 |  |  |  |"), "{}", read.summary());
        assert!(read.lines().ends_with(LINES), "{}", read.lines());
    }

    #[test]
    fn lines_of_other_bounds_and_claims_are_refused() {
        for (from, to, part) in [
            ("now\tw\tat least 1", "now\tw\tat least 2", "line 3: X1: expected now, w, at least 1"),
            ("claim\tX1", "claim\tX2", "line 2: expected claim X1"),
            ("stated\tw\tat least 1\t\t0.5\tdoes not hold\n", "", "expected stated, w"),
            ("\t8\t1.8", "\teight\t1.8", "line 4: expected a number of runs"),
            ("row\t1", "rows\t1", "line 10: expected a sweep"),
            ("\t0.5\nsweep", "\nsweep", "line 7: too few fields"),
        ] {
            let problem = read(&LINES.replacen(from, to, 1)).expect_err(to);
            assert!(problem.contains(part), "{problem}");
        }
    }
}
