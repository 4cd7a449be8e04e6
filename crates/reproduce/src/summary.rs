//! The summary of a reproduction: docs/reproduction.md, one screen.

use paceline_report::{Agreement, Dot, Figure, Marker, Paint, Shape};

use crate::expectation::number;
use crate::figures::{FigurePair, figures, measures};
use crate::judged::{BoundResult, CheckResult, ClaimResult};
use crate::run::Reproduction;

const ABOUT: &str = "\
`paceline reproduce` measures claims of papers anew: numbers and orderings that they state about ABC, C2TCP, Remy, \
Sprout\nand XCP-b. We wrote down the checks of each claim, with their tolerances, before its first run (*stated in \
advance*).\nSome were corrected later (*with later changes*). Each check is measured in several runs, which differ in \
seeds, starts\nand processing times at hosts. A check holds if the median of its runs meets the bound; it is *fragile* \
if one to four of five\nruns do.";

const END: &str = "\
| to | run |
| --- | --- |
| read the page: each claim's words, checks, changes, cause | `make docs`, then `out/docs/reproduction.md`, or one file for each paper in `out/docs/reproduction`, which also has a plot of all figures; or *Claims* in the page of `make site` |
| measure a claim | `paceline reproduce A13 --traces TRACES` |
| measure all of them | `sudo paceline reproduce --traces TRACES --tables TABLES --live -o out/reproduce` |
| keep new figures | add `--keep crates/reproduce/claims/measured.tsv` to either command, then `make docs` |

Claims about recorded traces need Mahimahi's (`--traces`), those about Remy the published tables (`--tables`), and three
are measured by running programs (`--live`), in one run. The claims with their bounds are in `crates/reproduce/claims/*.toml`,
the measured figures in `measured.tsv` beside them. Tests hold the figures against the bounds, and this summary against both.
";

/// The figures shown first: claims and checks.
const HEADLINES: [(&str, &str); 10] = [
    ("A16", "ABC's throughput over Cubic+CoDel's"),
    ("A16", "ABC's 95th-percentile delay over Cubic+CoDel's"),
    ("A33", "95th-percentile delay with knowledge, ms"),
    ("A24", "120 ms over 20 ms"),
    ("A02", "throughput over Cubic+CoDel's"),
    ("C02", "Cubic: mean delay over C2TCP's"),
    ("S02", "speed-up over Cubic+CoDel"),
    ("S01", "Cubic's delay over Sprout's"),
    ("R13", "queueing delay of naive over that of aware"),
    ("X12", "XCP-b: up over down"),
];

/// Number of rows about the figures that are farthest from a paper's.
const FARTHEST: usize = 6;

/// How sure a claim's verdict is, from its bounds stated in advance, its present ones, and the runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Holds by the medians with both bounds, and no check is fragile.
    Firm,
    /// Holds by the medians with both bounds; a check is fragile.
    Fragile,
    /// Holds by the medians with the bounds stated in advance, not with the present ones.
    OnlyStated,
    /// Holds by the medians with the present bounds only.
    OnlyChanged,
    /// A check holds.
    InPart,
    /// No check holds.
    Not,
    /// Not measured, or not on what the paper measured, but on a stand-in.
    Apart,
}

impl Standing {
    const ALL: [(Standing, &'static str); 7] = [
        (Standing::Firm, "holds"),
        (Standing::Fragile, "holds, fragile"),
        (Standing::OnlyStated, "only as stated in advance"),
        (Standing::OnlyChanged, "only with later changes"),
        (Standing::InPart, "in part"),
        (Standing::Not, "not"),
        (Standing::Apart, "not comparable"),
    ];

    pub(crate) fn of(claim: &ClaimResult) -> Standing {
        let is_apart = !claim.unmeasured.is_empty() || !claim.missing.is_empty();
        if is_apart || !claim.stand_ins.is_empty() || !claim.replaced.is_empty() {
            return Standing::Apart;
        }
        let (stated, now) = match claim.over_runs {
            Some(over) => (over.stated_verdict, over.verdict),
            None => (claim.stated_verdict, claim.verdict),
        };
        match (stated.holds(), now.holds()) {
            (true, true) if claim.over_runs.is_some_and(|over| over.fragile > 0) => {
                Standing::Fragile
            }
            (true, true) => Standing::Firm,
            (true, false) => Standing::OnlyStated,
            (false, true) => Standing::OnlyChanged,
            _ if claim.checks.iter().any(|check| holds(check.shown())) => Standing::InPart,
            _ => Standing::Not,
        }
    }
}

/// Returns whether a bound holds: by the median of the runs, or in the only one.
pub(crate) fn holds(bound: &BoundResult) -> bool {
    bound.over_runs.map_or(bound.holds, |over| over.holds)
}

/// Returns the figures of the papers beside ours as a plot.
pub(crate) fn plot(claims: &[ClaimResult]) -> Figure {
    let dot = |pair: &FigurePair<'_>| {
        let held = holds(pair.check.shown());
        Dot {
            x: pair.paper,
            y: pair.here,
            label: String::new(),
            tooltip: format!(
                "{}, {}: {} in the paper, {} here",
                pair.claim.id,
                pair.check.what,
                number(pair.paper),
                number(pair.here)
            ),
            paint: if held { Paint::GOOD } else { Paint::BAD },
            marker: Marker { shape: Shape::Circle, filled: held, radius: 4.0 },
            counts: false,
            tie: None,
        }
    };
    let plot = Agreement {
        label: "Figures of the papers and ours".into(),
        x_title: "the paper's figure".into(),
        y_title: "ours: the median of the runs".into(),
        dots: figures(claims).iter().map(dot).collect(),
    };
    plot.figure()
}

/// Returns the summary as Markdown: what holds, how surely, and what does not come out.
pub(crate) fn summary(reproduction: &Reproduction) -> String {
    let claims = &reproduction.claims;
    let parts = [
        "# Reproduction".into(),
        ABOUT.into(),
        counts(claims),
        by_paper(claims).trim_end().into(),
        format!(
            "Ten figures of the papers, and ours over the runs:\n\n{}",
            headlines(claims).trim_end()
        ),
        format!("The figures farthest from a paper's:\n\n{}", farthest(claims).trim_end()),
        unknown(claims),
        END.trim_end().into(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n") + "\n"
}

/// Returns sentences about the number of claims and figures that hold.
fn counts(claims: &[ClaimResult]) -> String {
    let count = |wanted| claims.iter().filter(|claim| Standing::of(claim) == wanted).count();
    let [firm, fragile, stated, changed, part, none, apart] =
        Standing::ALL.map(|(standing, _)| count(standing));
    let runs = claims.iter().filter_map(|claim| Some(claim.over_runs?.runs)).max();
    let how = runs.map_or(String::new(), |runs| format!(" by the medians of {runs} runs"));
    let figures = figures(claims);
    let near = |share: f64| {
        let is_near = |pair: &&FigurePair<'_>| {
            (pair.here - pair.paper).abs() <= share * pair.paper.abs() + f64::EPSILON
        };
        figures.iter().filter(is_near).count()
    };
    let held = figures.iter().filter(|pair| holds(pair.check.shown())).count();
    let opposite = figures.iter().filter(|pair| pair.is_opposite()).count();
    format!(
        "**Of {all} claims {both} hold both as stated in advance and with later changes{how}; {fragile} of these \
         are fragile.** {stated} hold\nonly as stated in advance, {changed} only with later changes, {part} in part, \
         {none} not at all, and {apart} are not comparable.\n\
         Of {} figures of the papers {held} are within the tolerance, {} within 10 % of the paper's and {} \
         within 20 %.\n\
         {opposite} of those within the tolerance have the opposite sense: a ratio above 1 in the paper and below 1 here, or the \
         reverse.\n\
         Some stand in two claims: the {} figures compare {} measures.",
        figures.len(),
        near(0.1),
        near(0.2),
        figures.len(),
        measures(&figures),
        all = claims.len(),
        both = firm + fragile,
    )
}

fn by_paper(claims: &[ClaimResult]) -> String {
    let mut papers: Vec<&str> = claims.iter().map(|claim| claim.paper.as_str()).collect();
    papers.dedup();
    let heads = Standing::ALL.map(|(_, head)| head).join(" | ");
    let rule = [" --- "; 8].join("|");
    let row = |paper: &str| {
        let own = || claims.iter().filter(|claim| claim.paper == paper);
        let cells = Standing::ALL.map(|(standing, _)| {
            let ids = own().filter(|claim| Standing::of(claim) == standing);
            ids.map(|claim| claim.id.as_str()).collect::<Vec<_>>().join(" ")
        });
        format!("| {paper} | {} |\n", cells.join(" | "))
    };
    let rows: String = papers.into_iter().map(row).collect();
    format!("| paper | {heads} |\n|{rule}|\n{rows}")
}

const FIGURE_HEADS: &str = "\
| claim | figure | paper says | bound (ours) | here [5 %, 95 % of runs] | held in |
| --- | --- | --- | --- | --- | --- |
";

fn figure_row(claim: &ClaimResult, check: &CheckResult) -> String {
    let bound = check.shown();
    let (says, ours) = says_and_bound(bound, &check.source);
    let (here, mut held) = here_and_held(bound);
    if check.is_opposite() {
        held += OPPOSITE;
    }
    format!("| {} | {} | {says} | {ours} | {here} | {held} |\n", claim.id, check.what)
}

/// Words added to the result of a check that holds with the opposite sense.
pub(crate) const OPPOSITE: &str = ", opposite sense";

/// Returns what the paper says in a number, and our bound. A figure has a tolerance of ours, and the
/// `source` behind it if the paper does not print it. Any other bound is ours, made from the paper's
/// words.
pub(crate) fn says_and_bound(bound: &BoundResult, source: &str) -> (String, String) {
    let BoundResult { expected, tolerance, .. } = bound;
    let is_figure = !tolerance.is_empty() && expected.parse::<f64>().is_ok();
    match (is_figure, tolerance.is_empty()) {
        (true, _) if source.is_empty() => (expected.clone(), format!("± {tolerance}")),
        (true, _) => (format!("{expected} ({source})"), format!("± {tolerance}")),
        (false, true) => (String::new(), expected.clone()),
        (false, false) => (String::new(), format!("{expected}, {tolerance}")),
    }
}

/// Returns the median with its range and the number of runs in which it holds, or the only figure
/// and whether it holds.
pub(crate) fn here_and_held(bound: &BoundResult) -> (String, String) {
    match bound.over_runs {
        Some(over) => (over.range(), over.share()),
        None => (bound.measured.clone(), if bound.holds { "1 of 1" } else { "0 of 1" }.to_string()),
    }
}

fn headlines(claims: &[ClaimResult]) -> String {
    let row = |(id, what): (&str, &str)| {
        let claim = claims.iter().find(|claim| claim.id == id)?;
        let check = claim.checks.iter().find(|check| check.what == what)?;
        Some(figure_row(claim, check))
    };
    let rows: String = HEADLINES.into_iter().filter_map(row).collect();
    format!("{FIGURE_HEADS}{rows}")
}

fn farthest(claims: &[ClaimResult]) -> String {
    let mut figures = figures(claims);
    figures.retain(|pair| !holds(pair.check.shown()));
    figures.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    let rows: String =
        figures.iter().take(FARTHEST).map(|pair| figure_row(pair.claim, pair.check)).collect();
    format!("{FIGURE_HEADS}{rows}")
}

/// Returns a sentence with the claims of which something is not known; empty if there are none.
fn unknown(claims: &[ClaimResult]) -> String {
    let is_unknown = |claim: &&ClaimResult| {
        let cause = claim.cause_if_needed();
        Standing::of(claim) != Standing::Apart
            && ["not known", "has not been found"].iter().any(|words| cause.contains(words))
    };
    let ids: Vec<&str> = claims.iter().filter(is_unknown).map(|claim| claim.id.as_str()).collect();
    match ids.is_empty() {
        true => String::new(),
        false => format!(
            "We do not know why the following do not come out, or a part of it: {}. For the others \
             the whole document\nhas the cause, and the runs that show it.",
            ids.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_a_paper_is_a_number_with_a_tolerance() {
        let bound = |expected: &str, tolerance: &str| BoundResult {
            expected: expected.into(),
            tolerance: tolerance.into(),
            measured: "1.9".into(),
            holds: false,
            over_runs: None,
        };
        let figure = bound("1.5", "15 %");
        assert_eq!(says_and_bound(&figure, ""), ("1.5".into(), "± 15 %".into()));
        assert_eq!(here_and_held(&figure), ("1.9".into(), "0 of 1".into()));
        assert_eq!(says_and_bound(&figure, "eq. 5").0, "1.5 (eq. 5)");
        let least = bound("at least 2", "");
        assert_eq!(says_and_bound(&least, ""), (String::new(), "at least 2".into()));
        let order = bound("falling", "each by 5 % or more");
        assert_eq!(says_and_bound(&order, "").1, "falling, each by 5 % or more");
    }

    #[test]
    fn headlines_are_checks_of_claims() {
        let all = crate::claims().expect("the built-in claims");
        for (id, what) in HEADLINES {
            let claim = all.iter().find(|claim| claim.id == id).expect(id);
            assert!(claim.checks.iter().any(|check| check.what == what), "{id}: {what}");
        }
    }
}
