//! The summary of a reproduction: docs/reproduction.md, one screen.

use paceline_report::{Agreement, Dot, Figure, Marker, Paint, Shape};

use crate::claim::file_of;
use crate::expectation::number;
use crate::figures::{FigurePair, figures, measures};
use crate::judged::{BoundResult, CheckResult, ClaimResult};
use crate::run::Reproduction;
use crate::verdict::Verdict;

const ABOUT: &str = "\
`paceline reproduce` measures anew what papers state about ABC, C2TCP, Remy, Sprout and XCP-b. A claim is a statement of a\n\
paper with one or more checks, whose bounds we wrote down before its first run (*as stated*). Where a metric, a bound or a\n\
setting turned out to differ from the paper's, we changed it later and kept both (*with later changes*). A check holds if the\n\
median of its runs meets the bound. The runs differ in seeds, starts and processing times at hosts. A check is *fragile* if it\n\
holds in one to four of five runs.";

const END: &str = "\
| to | run |
| --- | --- |
| read the page: each claim's words, checks, changes, cause | `make docs`, then `out/docs/reproduction.md`, or one file \
for each paper in `out/docs/reproduction`, which also has a plot of all figures; or *Claims* in the page of `make site` |
| measure a claim | `paceline reproduce A13 --traces TRACES` |
| measure all of them | `sudo paceline reproduce --traces TRACES --tables TABLES --live -o out/reproduce` |
| keep new figures | add `--keep crates/reproduce/claims/measured.tsv` to either command, then `make docs` |

Claims about recorded traces need Mahimahi's (`--traces`), those about Remy the published tables (`--tables`), and three
are measured by running programs (`--live`), in one run. The claims with their bounds are in `crates/reproduce/claims/*.toml`,
the measured figures in `measured.tsv` beside them. Tests hold the figures against the bounds, and this summary against both.
";

/// The figures shown first: claims, checks, and the figure in words that need no context.
const HEADLINES: [(&str, &str, &str); 10] = [
    (
        "A16",
        "ABC's throughput over Cubic+CoDel's",
        "cellular: ABC's throughput over that of Cubic with CoDel",
    ),
    (
        "A16",
        "ABC's 95th-percentile delay over Cubic+CoDel's",
        "cellular: ABC's 95th-percentile delay over that of Cubic with CoDel",
    ),
    (
        "A33",
        "95th-percentile delay with knowledge, ms",
        "95th-percentile delay of ABC that knows the link's future rate, ms",
    ),
    (
        "A24",
        "120 ms over 20 ms",
        "six ABC flows: throughput at an RTT of 120 ms over that at 20 ms",
    ),
    (
        "A02",
        "throughput over Cubic+CoDel's",
        "Wi-Fi: ABC's throughput over that of Cubic with CoDel",
    ),
    ("C02", "Cubic: mean delay over C2TCP's", "cellular: Cubic's mean delay over C2TCP's"),
    (
        "S02",
        "speed-up over Cubic+CoDel",
        "cellular: Sprout-EWMA's throughput over that of Cubic with CoDel",
    ),
    ("S01", "Cubic's delay over Sprout's", "cellular: Cubic's self-inflicted delay over Sprout's"),
    (
        "R13",
        "queueing delay of naive over that of aware",
        "queueing delay of the TCP-naive RemyCC over that of the TCP-aware one",
    ),
    ("X12", "XCP-b: up over down", "Wi-Fi, XCP-b: bytes of uploads over those of downloads"),
];

/// Tolerance from which on a figure counts as one with a wide bound, as a share of it.
const WIDE: f64 = 0.3;

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
    /// Not measured, or not on what the paper measured or not at full length.
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

    /// Returns it in words.
    pub(crate) fn words(self) -> &'static str {
        Standing::ALL.iter().find(|(one, _)| *one == self).map_or("", |(_, words)| words)
    }

    pub(crate) fn of(claim: &ClaimResult) -> Standing {
        if !matches!(claim.verdict, Verdict::Reproduced | Verdict::Partly | Verdict::Not) {
            return Standing::Apart;
        }
        match (claim.stated_verdict.holds(), claim.verdict.holds()) {
            (true, true) if claim.over_runs.is_some_and(|over| over.fragile > 0) => {
                Standing::Fragile
            }
            (true, true) => Standing::Firm,
            (true, false) => Standing::OnlyStated,
            (false, true) => Standing::OnlyChanged,
            _ if claim.checks.iter().any(|check| check.shown().holds) => Standing::InPart,
            _ => Standing::Not,
        }
    }
}

/// Returns the figures of the papers beside ours as a plot.
pub(crate) fn plot(claims: &[ClaimResult]) -> Figure {
    let far = farthest_figures(claims);
    let is_far = |pair: &FigurePair<'_>| far.iter().any(|one| std::ptr::eq(one.check, pair.check));
    let dot = |pair: &FigurePair<'_>| {
        let held = pair.check.shown().holds;
        Dot {
            x: pair.paper,
            y: pair.here,
            label: if is_far(pair) { pair.claim.id.clone() } else { String::new() },
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

/// How ids of claims are written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// As links to the files of their claims, from the tree's folder of documents.
    Files,
    /// As links to their headings in the same document.
    Headings,
}

impl Ids {
    fn write(self, id: &str) -> String {
        match self {
            Ids::Files => match file_of(id) {
                Some(file) => format!("[{id}](../crates/reproduce/{file})"),
                None => id.to_string(),
            },
            Ids::Headings => format!("[{id}](#{})", id.to_lowercase()),
        }
    }
}

/// Returns the summary as Markdown: what holds, how surely, and what does not come out.
pub(crate) fn summary(reproduction: &Reproduction) -> String {
    let first = first_screen(&reproduction.claims, Ids::Files);
    format!("# Reproduction\n\n{first}\n\n{}\n", END.trim_end())
}

/// Returns what a reader sees first: how many claims hold, which, how near figures are, and what is
/// not known.
pub(crate) fn first_screen(claims: &[ClaimResult], ids: Ids) -> String {
    let parts = [
        ABOUT.into(),
        counts(claims),
        by_paper(claims, ids).trim_end().into(),
        near(claims),
        format!(
            "Ten figures of the papers, and ours over the runs:\n\n{}",
            headlines(claims, ids).trim_end()
        ),
        format!("The figures farthest from a paper's:\n\n{}", farthest(claims, ids).trim_end()),
        unknown(claims, ids),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// Returns the number of claims of each standing.
fn counts(claims: &[ClaimResult]) -> String {
    let count = |wanted| claims.iter().filter(|claim| Standing::of(claim) == wanted).count();
    let [firm, fragile, stated, changed, part, none, apart] =
        Standing::ALL.map(|(standing, _)| count(standing));
    let is_plain = |claim: &&ClaimResult| {
        matches!(Standing::of(claim), Standing::Firm | Standing::Fragile)
            && claim.changes.is_empty()
    };
    let plain = claims.iter().filter(is_plain).count();
    let runs = claims.iter().filter_map(|claim| Some(claim.over_runs?.runs)).max();
    let how = runs.map_or(String::new(), |runs| format!(" by the medians of up to {runs} runs"));
    format!(
        "**{both} of {all} claims hold both as stated and with later changes{how}.**\n\n\
         | claims | number | |\n| --- | --- | --- |\n\
         | hold both ways | {both} | in {plain} of them nothing was changed after the first run; {fragile} have a fragile check |\n\
         | hold only as stated | {stated} | with what was changed later, a check does not hold |\n\
         | hold only with later changes | {changed} | as stated, a check does not hold |\n\
         | hold in part | {part} | some of the claim's checks hold, others do not |\n\
         | do not hold | {none} | with later changes, none of the claim's checks holds |\n\
         | not comparable | {apart} | something stands in for a recording or program of the paper, or the claim was not measured |",
        both = firm + fragile,
        all = claims.len(),
    )
}

/// Returns how many claims have each standing, and which are not explained, in two sentences.
pub(crate) fn counts_in_words(claims: &[ClaimResult]) -> String {
    let count = |(standing, words): (Standing, &str)| {
        let number = claims.iter().filter(|claim| Standing::of(claim) == standing).count();
        format!("{words}: {number}")
    };
    let counts = Standing::ALL.map(count).join("; ");
    let unknown: Vec<&str> =
        claims.iter().filter(|claim| is_unknown(claim)).map(|claim| claim.id.as_str()).collect();
    match unknown.is_empty() {
        true => format!("Of {} claims: {counts}.", claims.len()),
        false => format!(
            "Of {} claims: {counts}. We do not know why some checks of these fail: {}.",
            claims.len(),
            unknown.join(", ")
        ),
    }
}

/// Returns how near the papers' figures ours are.
fn near(claims: &[ClaimResult]) -> String {
    let figures = figures(claims);
    let count =
        |is: &dyn Fn(&FigurePair<'_>) -> bool| figures.iter().filter(|pair| is(pair)).count();
    let within = |share: f64| {
        count(&|pair| (pair.here - pair.paper).abs() <= share * pair.paper.abs() + f64::EPSILON)
    };
    format!(
        "| figures that the papers print | number |\n| --- | --- |\n\
         | compared with ours | {}, of {} measures |\n\
         | within the tolerance that we set | {} |\n\
         | within 10 % of the paper's; within 20 % | {}; {} |\n\
         | with a tolerance of 30 % or more | {} |\n\
         | within the tolerance, but with the opposite sense: a ratio above 1 there and below 1 here, or the reverse | {} |",
        figures.len(),
        measures(&figures),
        count(&|pair| pair.check.shown().holds),
        within(0.1),
        within(0.2),
        count(&|pair| tolerance(pair) >= WIDE - 1e-9),
        count(&|pair| pair.is_opposite()),
    )
}

/// Returns the tolerance of a figure as a share of it.
fn tolerance(pair: &FigurePair<'_>) -> f64 {
    let text = &pair.check.shown().tolerance;
    match text.strip_suffix(" %").map(str::parse::<f64>) {
        Some(Ok(percent)) => percent / 100.0,
        _ => text.parse::<f64>().map_or(0.0, |within| within / pair.paper.abs()),
    }
}

/// Returns the papers of claims, each once, in the order of their first claims.
pub(crate) fn papers(claims: &[ClaimResult]) -> Vec<&str> {
    let mut papers: Vec<&str> = Vec::new();
    for claim in claims {
        if !papers.contains(&claim.paper.as_str()) {
            papers.push(&claim.paper);
        }
    }
    papers
}

fn by_paper(claims: &[ClaimResult], ids: Ids) -> String {
    let heads = Standing::ALL.map(|(_, head)| head).join(" | ");
    let rule = [" --- "; 8].join("|");
    let row = |paper: &str| {
        let own = || claims.iter().filter(|claim| claim.paper == paper);
        let cells = Standing::ALL.map(|(standing, _)| {
            let standing = own().filter(|claim| Standing::of(claim) == standing);
            standing.map(|claim| ids.write(&claim.id)).collect::<Vec<_>>().join(" ")
        });
        format!("| {paper} | {} |\n", cells.join(" | "))
    };
    let rows: String = papers(claims).into_iter().map(row).collect();
    format!("| paper | {heads} |\n|{rule}|\n{rows}")
}

const FIGURE_HEADS: &str = "\
| claim | figure | paper says | bound (ours) | here [5 %, 95 % of runs] | held in |
| --- | --- | --- | --- | --- | --- |
";

fn figure_row(claim: &ClaimResult, check: &CheckResult, what: &str, ids: Ids) -> String {
    let bound = check.shown();
    let (says, ours) = says_and_bound(bound, &check.source);
    let (here, mut held) = here_and_held(bound);
    if check.is_opposite() {
        held += OPPOSITE;
    }
    format!("| {} | {what} | {says} | {ours} | {here} | {held} |\n", ids.write(&claim.id))
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

fn headlines(claims: &[ClaimResult], ids: Ids) -> String {
    let row = |(id, what, words): (&str, &str, &str)| {
        let claim = claims.iter().find(|claim| claim.id == id)?;
        let check = claim.checks.iter().find(|check| check.what == what)?;
        Some(figure_row(claim, check, words, ids))
    };
    let rows: String = HEADLINES.into_iter().filter_map(row).collect();
    format!("{FIGURE_HEADS}{rows}")
}

fn farthest(claims: &[ClaimResult], ids: Ids) -> String {
    let rows: String = farthest_figures(claims)
        .iter()
        .map(|pair| figure_row(pair.claim, pair.check, &pair.check.what, ids))
        .collect();
    format!("{FIGURE_HEADS}{rows}")
}

/// Returns the figures beyond their tolerance that are farthest from a paper's.
fn farthest_figures(claims: &[ClaimResult]) -> Vec<FigurePair<'_>> {
    let mut figures = figures(claims);
    figures.retain(|pair| !pair.check.shown().holds);
    figures.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    figures.truncate(FARTHEST);
    figures
}

/// Returns whether the cause of a claim says that something is not known.
fn is_unknown(claim: &ClaimResult) -> bool {
    let cause = claim.cause_if_needed();
    Standing::of(claim) != Standing::Apart
        && ["not known", "has not been found"].iter().any(|words| cause.contains(words))
}

/// Returns a table of the claims of which something is not known; empty if there are none.
fn unknown(claims: &[ClaimResult], ids: Ids) -> String {
    let row = |claim: &ClaimResult| {
        let held = claim.checks.iter().filter(|check| check.shown().holds).count();
        let share = format!("{held} of {}", claim.checks.len());
        format!("| {} | {} | {share} |\n", ids.write(&claim.id), claim.title)
    };
    let rows: Vec<String> = claims.iter().filter(|claim| is_unknown(claim)).map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!(
            "We do not know why some checks of these claims fail. For each other claim that does not hold, the whole document \
             states\nthe cause and the runs that show it.\n\n| claim | statement | checks that hold |\n| --- | --- | --- |\n{}",
            rows.concat().trim_end()
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
    fn each_claim_has_a_file() {
        let all = crate::claims().expect("the built-in claims");
        for claim in &all {
            let link = Ids::Files.write(&claim.id);
            let (_, file) = link.split_once("](../crates/reproduce/").expect(&link);
            let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), file.trim_end_matches(')'));
            assert!(std::path::Path::new(&path).exists(), "{path}");
        }
        assert_eq!(Ids::Files.write("X1"), "X1");
    }

    #[test]
    fn headlines_are_checks_of_claims() {
        let all = crate::claims().expect("the built-in claims");
        for (id, what, _) in HEADLINES {
            let claim = all.iter().find(|claim| claim.id == id).expect(id);
            assert!(claim.checks.iter().any(|check| check.what == what), "{id}: {what}");
        }
    }
}
