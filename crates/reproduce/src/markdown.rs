//! The verdicts as Markdown, for the documentation: every check of every claim.

use crate::claim::{Check, Claim};
use crate::findings::Sweep;
use crate::judged::{BoundResult, CheckResult, ClaimResult};
use crate::run::Reproduction;
use crate::summary::{Ids, OPPOSITE, first_screen, here_and_held, papers, says_and_bound};

/// Introduction of the document, before its tables.
const ABOUT: &str = "\
Each claim quotes the paper and lists every check: the paper's value or bound, the tolerance, what \
was measured here, and whether it holds. Each claim is judged twice. *Stated in advance* is what \
was written down before the first run of the check: its metric, its bound, its run. *With later \
changes* is the check as it is now. Where they differ, a line below the table says what was \
changed, from what, and why, and both are in the table. A check \
has several runs, which differ in seeds, starts and processing times at hosts. It holds if the median \
of the runs meets the bound, and is fragile if one to four of five runs do. A check that was added later counts both \
ways; adding one can only take a claim away. A setting that was corrected to what the paper or its \
authors' programs have is named, and the bounds stated in advance are held against the corrected \
one. A claim whose setting the paper leaves open and which was chosen after trial runs does not \
count as reproduced by what was stated in advance. Of the orders in A and C only the order itself was \
stated in advance; their least steps (*each by 5 % or more*) were added after first runs, and both \
verdicts have them. A step can only take a claim away.

*Distance to the front* says how far a scheme lies outside the Pareto front of others. Against one \
other scheme its lead is the larger one of its throughput over the other's, less one, and the \
other's delay over its own, less one; the distance is the smallest lead over all others. At 0.1 it \
has, against each other scheme, at least 10 % more throughput or the other at least 10 % more \
delay; below 0 another is better in both.

*Opposite sense* marks a ratio within its tolerance that is above 1 in the paper and below 1 here, or the \
reverse: the figure is near, and what it says of the two schemes is not what the paper says.

A claim's cause is an explanation of what does not hold; below it stand the runs that show it.
";

/// Returns the document: counts, a table of verdicts, each claim with every check, and the sweeps.
pub fn markdown(reproduction: &Reproduction, claims: &[Claim], command: &str) -> String {
    let sweeps: Vec<Sweep> = reproduction.sweeps().cloned().collect();
    document(reproduction, claims, &sweeps, command)
}

/// Returns the document with these sweeps.
pub(crate) fn document(
    reproduction: &Reproduction,
    claims: &[Claim],
    shown: &[Sweep],
    command: &str,
) -> String {
    let mut text = format!(
        "# Reproduction\n\n{}\n\n## How claims are judged\n\nMade by `{command}`. {}.\n\n{ABOUT}\n\
         | claim | where | what | stated in advance | with later changes | changed since | runs |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
        first_screen(&reproduction.claims, Ids::Headings),
        reproduction.summary()
    );
    for judged in &reproduction.claims {
        let ((stated, all_stated), (now, all)) =
            (judged.stated_checks_held(), judged.checks_held());
        text += &format!(
            "| [{id}](#{anchor}) | {}, {} | {} | {} ({stated} of {all_stated}) | {} ({now} of \
             {all}) | {} | {} |\n",
            judged.paper,
            judged.place,
            judged.title,
            judged.stated_verdict.words(),
            judged.verdict.words(),
            judged.changes,
            judged.over_runs.map_or("one run".into(), |over| over.words()),
            id = judged.id,
            anchor = judged.id.to_lowercase(),
        );
    }
    for judged in &reproduction.claims {
        if let Some(claim) = claims.iter().find(|claim| claim.id == judged.id) {
            text += &section(claim, judged);
        }
    }
    text + &sweeps(shown)
}

/// Returns the beginning of a claim's section, which needs no run.
fn section_head(claim: &Claim) -> String {
    let mut text = format!(
        "\n## {}\n\n**{}** {}, {}: \"{}\"\n",
        claim.id, claim.title, claim.paper, claim.place, claim.quote
    );
    if !claim.unmeasured.is_empty() {
        text += &format!("\n{}\n\nNot measured: {}\n", claim.setup, claim.unmeasured.trim());
    }
    text
}

/// Returns the part of a claim's section between its verdicts and its checks, which needs no run.
fn details_head(claim: &Claim, is_trained: bool) -> String {
    let mut text = format!("\n{}\n", claim.setup);
    if !claim.corrected.is_empty() {
        text += &format!("\nCorrected after a first run: {}\n", claim.corrected.trim());
    }
    if !claim.replaced.is_empty() {
        text += &format!("\nStand-in: {}\n", claim.replaced.trim());
    }
    if !claim.after_trials.is_empty() {
        text += &format!("\nChosen after trial runs: {}\n", claim.after_trials.trim());
    }
    let (head, rule) = if is_trained { (" trained here |", " --- |") } else { ("", "") };
    text + &format!(
        "\n| check | paper says | bound (ours) | here [5 %, 95 % of runs] | held in | |{head}\n\
         | --- | --- | --- | --- | --- | --- |{rule}\n"
    )
}

/// Returns the names of a check's rows: of the check in force, and of the check stated in advance
/// if it differs.
fn row_heads(check: &Check) -> Vec<String> {
    let what = &check.what;
    match (&check.now, check.changed.is_empty()) {
        (Some(_), true) => vec![what.clone()],
        (Some(_), false) => vec![what.clone(), format!("{what}{STATED}")],
        (None, _) => vec![format!("{what}{WITHDRAWN}")],
    }
}

const STATED: &str = " *(stated in advance)*";
const WITHDRAWN: &str = " *(stated in advance, withdrawn)*";

fn rows(check: &Check, judged: &CheckResult, is_trained: bool) -> String {
    let helds: Vec<&BoundResult> = match (&judged.now, judged.was_changed()) {
        (Some(now), true) => vec![now, &judged.stated],
        _ => vec![judged.shown()],
    };
    let line = |(head, held): (String, &BoundResult)| {
        let (says, bound) = says_and_bound(held, &check.source);
        let (here, share) = here_and_held(held);
        let verdict = match (held.over_runs, held.holds) {
            (Some(over), _) => over.words(),
            (None, true) => "holds",
            (None, false) => "does not hold",
        };
        let is_now = judged.now.as_ref().is_some_and(|now| std::ptr::eq(now, held));
        let opposite = if is_now && judged.is_opposite() { OPPOSITE } else { "" };
        // An order's figure over runs is its smallest step; its measures are those of the first run.
        let here = match held.over_runs.is_some() && held.measured.contains(", ") {
            true => format!("{}; {}", held.measured, held.figure()),
            false => here,
        };
        let trained = match &judged.trained {
            Some(trained) if std::ptr::eq(held, judged.shown()) => {
                let (figure, share) = here_and_held(trained);
                let misses = if trained.holds { "" } else { ", does not hold" };
                format!(" {figure}, in {share}{misses} |")
            }
            _ if is_trained => " |".into(),
            _ => String::new(),
        };
        format!("| {head} | {says} | {bound} | {here} | {share} | {verdict}{opposite} |{trained}\n")
    };
    row_heads(check).into_iter().zip(helds).map(line).collect()
}

/// Returns a claim's section: at most ten lines that say what it is and how it stands, and then its
/// details.
fn section(claim: &Claim, judged: &ClaimResult) -> String {
    if !judged.unmeasured.is_empty() {
        // This also covers a claim that could be measured on another machine.
        return section_head(&Claim { unmeasured: judged.unmeasured.clone(), ..claim.clone() });
    }
    let mut text = section_head(claim);
    text += &format!(
        "\nStated in advance: **{}**. With later changes: **{}**{}.\n",
        judged.stated_verdict.words(),
        judged.verdict.words(),
        judged.over_runs.map_or(String::new(), |over| {
            let fragile = match over.fragile {
                0 => String::new(),
                fragile => format!("; fragile checks: {fragile}"),
            };
            format!(" (by the medians of {} runs{fragile})", over.runs)
        })
    );
    let missed: Vec<String> = judged.checks.iter().filter_map(missed).collect();
    if !missed.is_empty() {
        let more = missed.len().saturating_sub(MOST_MISSED);
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        let shown = &missed[..missed.len().min(MOST_MISSED)];
        text += &format!("\nDoes not hold: {}{more}.\n", shown.join("; "));
    }
    let recordings = if claim.recording { " --traces TRACES" } else { "" };
    let tables = if claim.tables.is_empty() { "" } else { " --tables TABLES" };
    text += &format!("\nMeasure it: `paceline reproduce {}{recordings}{tables}`\n", claim.id);
    let is_trained = !judged.trained_tables.is_empty();
    text += &details_head(claim, is_trained);
    for (check, judged) in claim.checks.iter().zip(&judged.checks) {
        text += &rows(check, judged, is_trained);
    }
    if is_trained {
        text += &format!("\n{}\n", judged.trained_in_words());
    }
    let notes = section_notes(claim);
    if !notes.is_empty() {
        text += &format!("\n{notes}");
    }
    let cause = judged.cause_if_needed();
    if !cause.is_empty() {
        text += &format!("\n{cause}\n");
    }
    let about_these = judged.missing.is_empty() && judged.stand_ins.is_empty();
    if !cause.is_empty() && about_these && !judged.shown.is_empty() {
        text += "\n| what shows it | here |\n| --- | --- |\n";
        for (what, value) in &judged.shown {
            text += &format!("| {what} | {value} |\n");
        }
    }
    for name in &judged.sweeps {
        text += &format!("\nSee the sweep [{name}](#sweep-{}).\n", anchor(name));
    }
    text
}

/// Largest number of checks that are named above a claim's details.
const MOST_MISSED: usize = 3;

/// Returns a present check that does not hold, with its figures; `None` if it holds.
fn missed(check: &CheckResult) -> Option<String> {
    let bound = check.now.as_ref()?;
    let (says, ours) = says_and_bound(bound, &check.source);
    let expected = if says.is_empty() { ours } else { says };
    (!bound.holds).then(|| format!("{}: {expected}, here {}", check.what, here_and_held(bound).0))
}

/// Returns a page for each paper: the name of its file, and the sections of its claims.
pub(crate) fn paper_pages(judged: &[ClaimResult], claims: &[Claim]) -> Vec<(String, String)> {
    let page = |paper: &str| {
        let own = judged.iter().filter(|claim| claim.paper == paper);
        let sections: String = own
            .filter_map(|judged| {
                let claim = claims.iter().find(|claim| claim.id == judged.id)?;
                Some(section(claim, judged).replace("](#sweep-", "](../reproduction.md#sweep-"))
            })
            .collect();
        let name = anchor(paper);
        (
            format!("{name}.md"),
            format!("# Claims of {paper}\n\n[All claims](../reproduction.md)\n{sections}"),
        )
    };
    papers(judged).into_iter().map(page).collect()
}

/// Returns the notes below a claim's table.
fn section_notes(claim: &Claim) -> String {
    notes(claim).iter().map(|note| format!("- {note}\n")).collect()
}

/// Returns notes about changed and added checks, and about the reasons for tolerances. Checks with
/// equal notes share one.
pub(crate) fn notes(claim: &Claim) -> Vec<String> {
    let mut notes: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    let mut add =
        |mark, text, what| match notes.iter_mut().find(|note| (note.0, note.1) == (mark, text)) {
            Some(note) => note.2.push(what),
            None => notes.push((mark, text, vec![what])),
        };
    let mut why = "";
    for check in &claim.checks {
        let what = check.what.as_str();
        // "As above" refers to the previous check.
        why = if check.why == "as above" { why } else { check.why.as_str() };
        for (mark, text) in
            [("Changed", check.changed.as_str()), ("Added", &check.added), ("Tolerance", why)]
        {
            if !text.is_empty() {
                add(mark, text, what);
            }
        }
    }
    let line = |(mark, text, checks): &(&str, &str, Vec<&str>)| match checks.len() {
        all if all == claim.checks.len() => format!("{mark}, all checks: {text}."),
        _ => format!("{mark} ({}): {text}.", checks.join("; ")),
    };
    notes.iter().map(line).collect()
}

fn sweeps(all: &[Sweep]) -> String {
    let section = |sweep: &Sweep| format!("\n### Sweep: {}\n\n{}", sweep.name, sweep.markdown());
    let sections: Vec<String> = all.iter().map(section).collect();
    match sections.is_empty() {
        true => String::new(),
        false => format!(
            "\n## Sweeps\n\nWhere a paper leaves a setting open, or a cause needs one, these \
             tables show what comes out by its value.\n{}",
            sections.concat()
        ),
    }
}

/// Converts a heading to the form that links to it have.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::parse;
    use crate::findings::Findings;
    use crate::judged::judge;

    #[test]
    fn a_section_shows_both_bounds_and_the_change() {
        let text = "[[claim]]\nid='X1'\npaper='P'\nplace='1'\ntitle='t'\nquote='q'\nsetup='s'\n\
                    experiment='e'\ncause='c'\nshown=[{what='n itself',measure='n'}]\nchecks=[\n\
                    {what='w',measure='m',least=1,changed='why',stated={measure='n',least=1}},\n\
                    {what='v',changed='gone',stated={measure='n',most=1}}]";
        let claim = &parse("x", text).expect("a claim")[0];
        let mut findings = Findings::default();
        findings.measure("m", 2.0);
        findings.measure("n", 0.5);
        let shown =
            section(claim, &judge(claim, &findings, &[], crate::verdict::Limits::default()));
        for part in [
            "| w |  | at least 1 | 2 | 1 of 1 | holds |",
            "| w *(stated in advance)* |  | at least 1 | 0.5 | 0 of 1 | does not hold |",
            "| v *(stated in advance, withdrawn)* |  | at most 1 | 0.5 | 1 of 1 | holds |",
            "Measure it: `paceline reproduce X1`",
            "- Changed (w): why.",
            "Stated in advance: **in part**. With later changes: **reproduced**.",
            "| n itself | 0.5 |",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }

    #[test]
    fn anchors_are_as_on_the_web() {
        assert_eq!(anchor("Sprout by RTT, ms"), "sprout-by-rtt-ms");
    }
}
