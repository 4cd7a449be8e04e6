//! The summary of a reproduction: docs/reproduction.md.

use crate::run::Reproduction;
use crate::verdict::ClaimResult;

const ABOUT: &str = "\
`paceline reproduce` measures claims of papers anew: numbers and orderings that they state about ABC, C2TCP, Remy, \
Sprout\nand XCP-b. We wrote down the checks of each claim, with their tolerances, before its first run (*stated in \
advance*).\nSome were corrected later (*with later changes*). A claim is reproduced if all its checks hold, and it is \
judged both\nways.";

const END: &str = "\
| to | run |
| --- | --- |
| read the page: each claim's words, checks, changes, cause | `make docs`, then `out/docs/reproduction.md`; or *Claims* in the page of `make site` |
| measure a claim | `paceline reproduce A13 --traces TRACES` |
| measure all of them | `sudo paceline reproduce --traces TRACES --tables TABLES --live -o out/reproduce` |
| keep new figures | copy `out/reproduce/measured.tsv` to `crates/reproduce/claims/`, then `make docs` |

Claims about recorded traces need Mahimahi's (`--traces`), those about Remy the published tables (`--tables`), and three
are measured by running programs (`--live`). The claims with their bounds are in `crates/reproduce/claims/*.toml`, the
measured figures in `measured.tsv` beside them. Tests hold the figures against the bounds, and this summary against both.
";

/// Returns the summary as Markdown: counts, and the claims that hold.
pub(crate) fn summary(reproduction: &Reproduction) -> String {
    let claims = &reproduction.claims;
    let mut papers: Vec<&str> = claims.iter().map(|claim| claim.paper.as_str()).collect();
    papers.dedup();
    let row = |paper: &str| {
        let own = claims.iter().filter(|claim| claim.paper == paper);
        let mut cells = [const { Vec::new() }; 5];
        own.for_each(|claim| cells[column(claim)].push(claim.id.as_str()));
        let cells = cells.map(|ids| ids.join(" "));
        format!("| {paper} | {} |\n", cells.join(" | "))
    };
    let rows: String = papers.into_iter().map(row).collect();
    format!(
        "# Reproduction\n\n{ABOUT}\n\n{}.\n\n\
         | paper | reproduced both ways | only as stated in advance | only with later changes | in part | not |\n\
         | --- | --- | --- | --- | --- | --- |\n{rows}\n{END}",
        reproduction.summary()
    )
}

/// Returns the column of the table for a claim, from both of its verdicts.
fn column(claim: &ClaimResult) -> usize {
    match (claim.stated_verdict.holds(), claim.verdict.holds()) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        _ if claim.checks.iter().any(|check| check.shown().holds) => 3,
        _ => 4,
    }
}
