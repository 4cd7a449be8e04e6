//! The page: verdicts first, then each experiment with its claims and exhibits.

use paceline_report::{Cell, Page, Paint, Table};

use crate::claim::Claim;
use crate::findings::Exhibit;
use crate::run::Reproduction;
use crate::verdict::{Judged, Verdict};

/// The page of a reproduction as one HTML file. `facts` are names and values for the footer.
pub fn page(reproduction: &Reproduction, claims: &[Claim], facts: &[(&str, String)]) -> String {
    let mut page = Page::new("The papers' claims, measured anew");
    page.paragraph(&format!(
        "{}. A claim is reproduced if all its checks hold. Tolerances and their reasons stand with \
         the claims, in crates/reproduce/claims/. A click on a column's head sorts by it.",
        reproduction.summary()
    ));
    page.heading("Verdicts");
    page.table(&verdicts(&reproduction.claims));
    if !reproduction.failures.is_empty() {
        page.heading("Runs that failed");
        for (task, problem) in &reproduction.failures {
            page.paragraph(&format!("{task}: {problem}"));
        }
    }
    for (experiment, findings) in &reproduction.experiments {
        page.heading(experiment.title);
        page.paragraph(experiment.about);
        if !findings.traces.is_empty() {
            page.paragraph(&format!("Traces: {}.", findings.traces.join(", ")));
        }
        let own = claims.iter().filter(|claim| claim.experiment == experiment.name);
        for claim in own {
            let Some(judged) = reproduction.claims.iter().find(|judged| judged.id == claim.id)
            else {
                continue;
            };
            page.subheading(
                &claim.id,
                &format!("{} {}: {}", claim.id, claim.title, words(judged.verdict)),
            );
            page.paragraph(&format!("{}, {}. {}", claim.paper, claim.place, claim.setup));
            page.table(&checks(judged));
            page.paragraph(&judged.cause_if_needed());
        }
        for (_, exhibit) in &findings.exhibits {
            match exhibit {
                Exhibit::Figure(figure, caption) => page.figure(figure, caption),
                Exhibit::Table(table, caption) => {
                    page.paragraph(caption);
                    page.table(table);
                }
            }
        }
    }
    for (name, value) in facts {
        page.footer(name, value);
    }
    page.to_html()
}

/// A verdict in words.
pub(crate) fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Partly => "in part",
        Verdict::Not => "not reproduced",
    }
}

fn colour(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Reproduced => Paint::GOOD,
        Verdict::Partly => Paint::FAIR,
        Verdict::Not => Paint::BAD,
    }
}

fn columns(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| ((*name).to_string(), String::new())).collect()
}

fn verdicts(judged: &[Judged]) -> Table {
    let row = |judged: &Judged| {
        let held = judged.checks.iter().filter(|check| check.holds).count();
        vec![
            Cell::text(&judged.id).with_link(&judged.id),
            Cell::text(&judged.place),
            Cell::text(&judged.title),
            Cell::text(words(judged.verdict)).with_colour(colour(judged.verdict)),
            Cell::text(format!("{held} of {}", judged.checks.len())),
        ]
    };
    Table {
        columns: columns(&["claim", "where", "what", "verdict", "checks"]),
        rows: judged.iter().map(row).collect(),
    }
}

fn checks(judged: &Judged) -> Table {
    let rows = judged.checks.iter().map(|check| {
        vec![
            Cell::text(&check.what),
            Cell::text(&check.expected),
            Cell::text(&check.tolerance),
            Cell::text(&check.measured),
            match check.holds {
                true => Cell::text("holds").with_colour(Paint::GOOD),
                false => Cell::text("does not hold").with_colour(Paint::BAD),
            },
        ]
    });
    Table { columns: columns(&["measure", "paper", "tolerance", "here", ""]), rows: rows.collect() }
}
