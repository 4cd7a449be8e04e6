//! Asserts that the measured figures belong to the present claims, that their verdicts follow from
//! them, and that `docs/reproduction.md` and README.md have the right counts. Measures nothing.

use std::fs;
use std::path::Path;

use paceline_reproduce::{ClaimResult, RecordedReproduction, Verdict, claims, read_record};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn recorded() -> RecordedReproduction {
    read_record(root()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_check_of_every_claim_is_in_the_document() {
    let document = recorded().markdown();
    for claim in claims().expect("the built-in claims") {
        let (_, section) = document.split_once(&format!("\n## {}\n", claim.id)).expect(&claim.id);
        let section = section.split("\n## ").next().unwrap_or(section);
        for part in [&claim.title, &claim.quote, &claim.setup] {
            assert!(section.contains(part.as_str()), "{}: {part}", claim.id);
        }
        for part in [&claim.corrected, &claim.replaced, &claim.after_trials, &claim.unmeasured] {
            assert!(section.contains(part.trim()), "{}: {part}", claim.id);
        }
        for check in &claim.checks {
            assert!(
                section.contains(&format!("\n| {}", check.what)),
                "{}: {}",
                claim.id,
                check.what
            );
            for part in [&check.changed, &check.added] {
                assert!(section.contains(part.as_str()), "{}: {part}", claim.id);
            }
        }
        for sweep in &claim.sweeps {
            assert!(document.contains(&format!("### Sweep: {sweep}\n")), "{}: {sweep}", claim.id);
        }
    }
}

#[test]
fn every_claim_that_does_not_hold_has_a_cause_that_runs_show() {
    for claim in &recorded().reproduction.claims {
        if !claim.unmeasured.is_empty()
            || !claim.missing.is_empty()
            || !claim.stand_ins.is_empty()
            || !claim.replaced.is_empty()
        {
            continue;
        }
        // A setting that was chosen after trial runs counts as a reason by itself.
        let rows_hold = claim.verdict.holds()
            && (claim.stated_verdict.holds() || !claim.after_trials.is_empty());
        let is_shown = !claim.shown.is_empty() || !claim.sweeps.is_empty();
        assert!(rows_hold || (!claim.cause.is_empty() && is_shown), "{} needs a cause", claim.id);
        for (what, value) in &claim.shown {
            assert!(value != "none", "{}: {what} was not measured", claim.id);
        }
    }
}

#[test]
fn what_was_stated_first_may_be_beyond_measuring_and_nothing_else() {
    for claim in &recorded().reproduction.claims {
        for check in &claim.checks {
            let measured = &check.shown().measured;
            assert!(!measured.is_empty(), "{}: {}", claim.id, check.what);
            assert!(check.now.is_none() || measured != "none", "{}: {}", claim.id, check.what);
        }
    }
}

#[test]
fn the_counts_of_summary_and_readme_are_those_of_the_figures() {
    let recorded = recorded();
    assert!(read("docs/reproduction.md") == recorded.summary(), "make it anew: make docs");
    let all = &recorded.reproduction.claims;
    // A stand-in reproduces nothing.
    let verdicts = |claim: &ClaimResult| {
        [claim.stated_verdict, claim.verdict].map(|verdict| verdict == Verdict::Reproduced)
    };
    let count = |holds: [bool; 2], is_counted: fn(&ClaimResult) -> bool| {
        let counted = all.iter().filter(|claim| is_counted(claim)).map(verdicts);
        counted.filter(|[stated, now]| *stated >= holds[0] && *now >= holds[1]).count()
    };
    let sentence = format!(
        "Of {} claims, {} pass their first checks, {} their corrected ones, and {} both; {} of those that pass both needed \
         no correction.",
        all.len(),
        count([true, false], |_| true),
        count([false, true], |_| true),
        count([true, true], |_| true),
        count([true, true], |claim| claim.changes.is_empty()),
    );
    let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&sentence), "README.md should say: {sentence}");
}

#[test]
fn a_record_that_is_read_and_written_is_the_file() {
    let text = read("crates/reproduce/claims/measured.tsv");
    let recorded = paceline_reproduce::recorded(claims().expect("the built-in claims"), &text);
    let again = recorded.unwrap_or_else(|error| panic!("{error}")).lines();
    for (written, line) in again.lines().zip(text.lines()) {
        assert_eq!(written, line, "the file has another line than `record` writes");
    }
    assert_eq!(again.lines().count(), text.lines().count());
}
