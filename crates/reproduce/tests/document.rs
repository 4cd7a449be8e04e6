//! `docs/reproduction.md` says what the claims say, its verdicts follow from its rows, and the
//! README's sentence follows from its counts. What the runs measured is not checked here.

use std::fs;
use std::path::Path;

use paceline_reproduce::{Claim, claims, row_head, section_head, section_notes};

const AGAIN: &str = "write it anew: paceline reproduce --traces TRACES --tables TABLES --live -o out/reproduce, and \
                     copy out/reproduce/reproduce.md";

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A claim's section: from its heading to the next one.
fn section<'a>(document: &'a str, claim: &Claim) -> &'a str {
    let head = section_head(claim);
    let at = document.find(&head);
    let at = at.unwrap_or_else(|| panic!("{} is out of date; {AGAIN}\n{head}", claim.id));
    let rest = &document[at + 1..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// Whether the row that begins so says that the check holds.
fn holds(section: &str, head: &str, id: &str) -> bool {
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with(head)).collect();
    let [row] = rows.as_slice() else {
        panic!("{id}: {} rows begin with `{head}`; {AGAIN}", rows.len())
    };
    let cells: Vec<&str> = row[head.len()..].trim_matches('|').split('|').map(str::trim).collect();
    let [measured, verdict] = cells.as_slice() else { panic!("{id}: two cells expected: {row}") };
    assert!(!measured.is_empty(), "{id}: {row}");
    // Only what was stated first may be beyond measuring.
    assert!(*measured != "none" || head.contains("*(stated"), "{id} is not measured: {row}");
    match *verdict {
        "holds" => true,
        "does not hold" => false,
        other => panic!("{id}: {other}?"),
    }
}

/// Whether the claim was not measured with the tables that it is about, which are no part of the
/// repository: not at all, or with built-in ones in their place.
fn is_missing(document: &str, claim: &Claim) -> bool {
    let section = section(document, claim);
    let missing = section.contains("Stated in advance: **not measured");
    // Only a claim about tables can be beyond measuring, and the document says which are wanted.
    let telling = ["Not at hand: ", "Built-in tables, trained here, stood in for published ones"];
    let told = section.lines().any(|line| telling.iter().any(|start| line.starts_with(start)));
    assert_eq!(missing, told, "{}", claim.id);
    assert!(!missing || !claim.tables.is_empty(), "{}", claim.id);
    missing
}

/// Whether all rows hold: by what was stated in advance, and with later changes.
fn verdicts(document: &str, claim: &Claim) -> [bool; 2] {
    let section = section(document, claim);
    if !claim.unmeasured.is_empty() || is_missing(document, claim) {
        return [false; 2];
    }
    let (mut stated, mut now) = (claim.after_trials.is_empty(), true);
    for check in &claim.checks {
        let heads = row_head(check);
        let rows: Vec<bool> = heads.iter().map(|head| holds(section, head, &claim.id)).collect();
        // The last row is what was stated, the first one what holds now, unless it is withdrawn.
        stated &= rows.last().is_some_and(|holds| *holds);
        now &= check.now.is_none() || rows[0];
    }
    [stated, now]
}

#[test]
fn every_check_of_every_claim_is_in_the_document() {
    let document = read("docs/reproduction.md");
    for claim in claims().expect("the built-in claims") {
        let section = section(&document, &claim);
        assert!(section.contains(&section_notes(&claim)), "{} is out of date; {AGAIN}", claim.id);
        if !claim.unmeasured.is_empty() {
            continue;
        }
        let words = |holds: bool| if holds { "**reproduced**" } else { "**" };
        let [stated, now] = verdicts(&document, &claim);
        let line = section.lines().find(|line| line.starts_with("Stated in advance: "));
        let line = line.unwrap_or_else(|| panic!("{}: no verdict; {AGAIN}", claim.id));
        let (first, second) = line.split_once("With later changes: ").expect(line);
        assert_eq!(first.contains("**reproduced**"), stated, "{}: {line}", claim.id);
        assert_eq!(second.contains("**reproduced**"), now, "{}: {line}", claim.id);
        assert!(first.contains(words(stated)) && second.contains(words(now)));
        let fails = (!stated || !now) && !is_missing(&document, &claim);
        if fails && !claim.cause.is_empty() {
            assert!(section.contains(claim.cause.trim()), "{}: cause; {AGAIN}", claim.id);
        }
        for sweep in &claim.sweeps {
            assert!(document.contains(&format!("### Sweep: {sweep}\n")), "{}: {sweep}", claim.id);
        }
    }
}

#[test]
fn every_claim_that_does_not_hold_has_a_cause_that_runs_show() {
    let document = read("docs/reproduction.md");
    for claim in claims().expect("the built-in claims") {
        if !claim.unmeasured.is_empty() || is_missing(&document, &claim) {
            continue;
        }
        let [stated, now] = verdicts(&document, &claim);
        // A setting chosen after trial runs is a reason of its own.
        let rows_hold = now && (stated || !claim.after_trials.is_empty());
        let shown = !claim.shown.is_empty() || !claim.sweeps.is_empty();
        assert!(rows_hold || (!claim.cause.is_empty() && shown), "{} needs a cause", claim.id);
        for shown in claim.shown.iter().filter(|_| !(stated && now)) {
            let row = format!("| {} | ", shown.what);
            let value = section(&document, &claim).lines().find_map(|line| line.strip_prefix(&row));
            assert!(value.is_some_and(|value| value != "none |"), "{}: {row}", claim.id);
        }
    }
}

#[test]
fn the_counts_of_document_and_readme_are_those_of_the_rows() {
    let (document, readme) = (read("docs/reproduction.md"), read("README.md"));
    let all = claims().expect("the built-in claims");
    let each: Vec<[bool; 2]> = all.iter().map(|claim| verdicts(&document, claim)).collect();
    let stated = each.iter().filter(|[stated, _]| *stated).count();
    let now = each.iter().filter(|[_, now]| *now).count();
    let both = each.iter().filter(|[stated, now]| *stated && *now).count();
    for part in [
        format!("{} claims. By what was stated in advance: {stated} reproduced, ", all.len()),
        format!("With later changes: {now} reproduced, "),
        format!("Reproduced both ways: {both}."),
    ] {
        assert!(document.contains(&part), "the document does not say `{part}`; {AGAIN}");
    }
    let sentence = format!(
        "Of the {} claims of the papers {stated} are reproduced by what was stated before the \
         first run, {now} with what was changed since, and {both} both ways",
        all.len()
    );
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&sentence), "README.md should say: {sentence}");
}
