//! The page: verdicts first, then each experiment with its claims and exhibits.

use paceline_report::{Cell, Page, Paint, Table};

use crate::claim::Claim;
use crate::findings::Exhibit;
use crate::judged::{BoundResult, ClaimResult};
use crate::markdown::notes;
use crate::over_runs::OverRuns;
use crate::run::Reproduction;
use crate::summary::{OPPOSITE, Standing, counts_in_words, plot, says_and_bound};
use crate::verdict::Verdict;

/// Returns the page of a reproduction as one HTML file. `facts` are names and values for the
/// footer.
pub fn page(reproduction: &Reproduction, claims: &[Claim], facts: &[(&str, String)]) -> String {
    let mut page = Page::new("The papers' claims, measured anew");
    page.paragraph(&format!(
        "{}. A claim is reproduced if all its checks hold: by what was stated before the first run, \
         and with what was changed since. A check holds if the median of its runs meets the bound; it is fragile \
         if one to four of five runs do. A click on a column's head sorts by it.",
        reproduction.summary()
    ));
    page.paragraph(&counts_in_words(&reproduction.claims));
    let caption = "Figures that the papers state, and ours. Filled: within the tolerance. On the middle \
                   line they are equal, on the others they differ by a factor of two.";
    page.figure(&plot(&reproduction.claims), caption);
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
            page.subheading(&claim.id, &format!("{} {}: {}", claim.id, claim.title, both(judged)));
            explain(&mut page, claim, judged);
        }
        for sweep in &findings.sweeps {
            page.paragraph(&format!("Sweep: {}. {}", sweep.name, sweep.caption));
            page.table(&sweep.table());
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

/// Returns both verdicts in words; one if they are equal.
fn both(judged: &ClaimResult) -> String {
    match (judged.stated_verdict, judged.verdict) {
        (stated, now) if stated == now => now.words().to_string(),
        (stated, now) => {
            format!("stated in advance: {}; with later changes: {}", stated.words(), now.words())
        }
    }
}

/// Writes a claim: quote, setup, changes, checks and cause.
fn explain(page: &mut Page, claim: &Claim, judged: &ClaimResult) {
    page.paragraph(&format!(
        "{}, {}: \u{201c}{}\u{201d}",
        judged.paper, judged.place, judged.quote
    ));
    page.paragraph(&judged.setup);
    for (mark, text) in [
        ("Corrected after a first run", &judged.corrected),
        ("Stand-in", &judged.replaced),
        ("Chosen after trial runs", &judged.after_trials),
    ] {
        if !text.is_empty() {
            page.paragraph(&format!("{mark}: {text}"));
        }
    }
    if !judged.unmeasured.is_empty() {
        page.paragraph(&format!("Not measured: {}", judged.unmeasured.trim()));
        return;
    }
    page.table(&checks(judged));
    let trained = judged.trained_in_words();
    if !trained.is_empty() {
        page.paragraph(&trained);
    }
    for note in notes(claim) {
        page.paragraph(&note);
    }
    let cause = judged.cause_if_needed();
    if !cause.is_empty() {
        page.paragraph(&cause);
        let shown: Vec<String> =
            judged.shown.iter().map(|(what, value)| format!("{what}: {value}")).collect();
        if !shown.is_empty() {
            page.paragraph(&format!("What shows it: {}.", shown.join("; ")));
        }
    }
}

fn colour(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Reproduced => Paint::GOOD,
        Verdict::Not | Verdict::SyntheticNone | Verdict::QuickNone => Paint::BAD,
        _ => Paint::FAIR,
    }
}

fn columns(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| ((*name).to_string(), String::new())).collect()
}

fn verdicts(judged: &[ClaimResult]) -> Table {
    let row = |judged: &ClaimResult| {
        let cell = |verdict: Verdict, (held, all): (usize, usize)| {
            Cell::text(format!("{} ({held} of {all})", verdict.words()))
                .with_colour(colour(verdict))
        };
        vec![
            Cell::text(&judged.id).with_link(&judged.id),
            Cell::text(&judged.place),
            Cell::text(&judged.title),
            Cell::text(Standing::of(judged).words()),
            cell(judged.stated_verdict, judged.stated_checks_held()),
            cell(judged.verdict, judged.checks_held()),
            match judged.over_runs {
                Some(over) => Cell::text(over.words()),
                None => Cell::text("one run"),
            },
            Cell::text(&judged.changes),
        ]
    };
    let heads = [
        "claim",
        "where",
        "what",
        "in a word",
        "stated in advance",
        "with later changes",
        "runs",
        "changed",
    ];
    Table { columns: columns(&heads), rows: judged.iter().map(row).collect() }
}

fn checks(judged: &ClaimResult) -> Table {
    let is_trained = !judged.trained_tables.is_empty();
    let verdict = |held: &BoundResult| match held.holds {
        true => Cell::text("holds").with_colour(Paint::GOOD),
        false => Cell::text("does not hold").with_colour(Paint::BAD),
    };
    let row = |source: &str, what: String, held: &BoundResult, trained: Option<&BoundResult>| {
        let (says, bound) = says_and_bound(held, source);
        let share = held.over_runs.map_or(String::new(), OverRuns::share);
        let mut cells = vec![
            Cell::text(what),
            Cell::text(says),
            Cell::text(bound),
            Cell::text(&held.measured),
            Cell::text(held.figure()),
            Cell::text(share),
            verdict(held),
        ];
        if is_trained {
            cells.push(Cell::text(trained.map_or(String::new(), BoundResult::figure)));
            cells.push(trained.map_or(Cell::text(""), verdict));
        }
        cells
    };
    let rows = judged.checks.iter().flat_map(|check| {
        let row = |what: String, held: &BoundResult| {
            let is_shown = std::ptr::eq(held, check.shown());
            row(&check.source, what, held, check.trained.as_ref().filter(|_| is_shown))
        };
        let stated = |mark| row(format!("{} ({mark})", check.what), &check.stated);
        let opposite = if check.is_opposite() { OPPOSITE } else { "" };
        let present = |now| row(format!("{}{opposite}", check.what), now);
        match (&check.now, check.was_changed()) {
            (Some(now), false) => vec![present(now)],
            (Some(now), true) => vec![present(now), stated("stated in advance")],
            (None, _) => vec![stated("stated in advance, withdrawn")],
        }
    });
    let mut heads = vec![
        "check",
        "paper says",
        "bound (ours)",
        "here, first run",
        "median [5 %, 95 %]",
        "held in",
        "by the median",
    ];
    if is_trained {
        heads.extend(["trained here", "by its median"]);
    }
    Table { columns: columns(&heads), rows: rows.collect() }
}
