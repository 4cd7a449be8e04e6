//! The verdicts as Markdown, for the documentation.

use crate::page::words;
use crate::run::Reproduction;
use crate::verdict::{Judged, Verdict};

/// All verdicts in a table, then each claim that does not hold with its checks and its cause.
pub fn markdown(reproduction: &Reproduction, command: &str) -> String {
    let claims = &reproduction.claims;
    let mut text = format!(
        "# Reproduction\n\nMade by `{command}`. {}. The tolerance of each check and its reason \
         stand in `crates/reproduce/claims/`, with what was changed after a first run.\n\n\
         | claim | paper | where | what | verdict | checks |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        reproduction.summary()
    );
    for judged in claims {
        let held = judged.checks.iter().filter(|check| check.holds).count();
        text += &format!(
            "| {} | {} | {} | {} | {} | {held} of {} |\n",
            judged.id,
            judged.paper,
            judged.place,
            judged.title,
            words(judged.verdict),
            judged.checks.len()
        );
    }
    text += "\n## What does not hold, and why\n";
    for judged in claims.iter().filter(|judged| judged.verdict != Verdict::Reproduced) {
        text += &section(judged);
    }
    text
}

fn section(judged: &Judged) -> String {
    let mut text = format!(
        "\n### {} {}\n\n| measure | paper | tolerance | here | |\n| --- | --- | --- | --- | --- |\n",
        judged.id, judged.title
    );
    for check in &judged.checks {
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            check.what,
            check.expected,
            check.tolerance,
            check.measured,
            if check.holds { "holds" } else { "does not" }
        );
    }
    text += &format!("\n{}\n", judged.cause_if_needed());
    text
}
