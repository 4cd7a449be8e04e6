//! Tests of `paceline evaluate`: rows, files, continued evaluations, errors.

use std::collections::BTreeSet;

use crate::common::paceline;
use paceline_testing::Folder;
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 0, "{arguments:?}: {}", seen.err);
    serde_json::from_str(&seen.out).expect("JSON, and nothing else")
}

/// Names of the files in a folder.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    entries.map(name).collect()
}

#[test]
fn criteria_have_figures_verdicts_and_answers() {
    let folder = Folder::new("evaluate");
    let out = folder.path("out");
    let only = "bufferbloat.delay,cubic.harm,optimistic";
    let arguments =
        ["evaluate", "cubic", "vegas", "--only", only, "--runs", "2", "--json", "-q", "-o", &out];
    let document = json(&arguments);
    assert_eq!(document["schemes"], serde_json::json!(["cubic", "vegas"]));
    let rows = document["criteria"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    let row = |id: &str, scheme: &str| {
        let found = rows.iter().find(|row| row["id"] == id && row["scheme"] == scheme);
        found.unwrap_or_else(|| panic!("no {id} of {scheme}"))
    };
    // Cubic fills each FIFO; Vegas keeps a few packets in it.
    let bloat = row("bufferbloat.delay", "cubic");
    assert_eq!((&bloat["verdict"], &bloat["unit"]), (&"poor".into(), &"ms".into()), "{bloat}");
    assert_eq!((&bloat["document"], &bloat["runs"]), (&"RFC 9743".into(), &2.into()));
    assert!(bloat["answer"].as_str().is_some_and(|text| text.contains("poor (good: 250 ms")));
    let calm = row("bufferbloat.delay", "vegas");
    assert_eq!(calm["verdict"], "good");
    assert_eq!(calm["beside"]["median"], bloat["median"]);
    assert!(calm["median"].as_f64() < Some(50.0), "{calm}");
    // Beside its own kind, Cubic loses nothing by definition.
    assert_eq!(row("cubic.harm", "cubic")["median"], 0.0);
    let open = row("optimistic", "vegas");
    assert_eq!((&open["verdict"], &open["median"]), (&"not answerable".into(), &Value::Null));
    assert!(open["answer"].as_str().is_some_and(|text| !text.is_empty()));

    // Further evaluations use the kept runs, and give equal answers.
    let files =
        ["index.html", "report.json", "report.md", "report.pdf", "runs"].map(str::to_string);
    assert_eq!(names(&out), files.into());
    let runs = names(&format!("{out}/runs"));
    // Two cases for two schemes, twice.
    assert_eq!(runs.len(), 8, "{runs:?}");
    assert_eq!(json(&arguments), document);
    assert_eq!(names(&format!("{out}/runs")), runs);
    let page = std::fs::read_to_string(format!("{out}/index.html")).expect("the page");
    assert!(page.contains("bufferbloat.delay") && page.contains("<svg"));
    let pdf = std::fs::read(format!("{out}/report.pdf")).expect("the report for print");
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() > 10_000);
    let text = std::fs::read_to_string(format!("{out}/report.md")).expect("the report");
    assert!(text.starts_with("# Evaluation of cubic, vegas") && text.contains("## cubic.harm"));
}

#[test]
fn the_test_cases_of_calls_are_documents_of_their_own() {
    let arguments = ["evaluate", "gcc", "--cases", "rfc8867", "--only", "8867.5.1", "--quick"];
    let document = json(&[&arguments[..], &["--json", "-q"]].concat());
    let rows = document["criteria"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["document"] == "RFC 8867" && row["median"].is_number()));
    assert_eq!(rows.len(), 4);
}

#[test]
fn mistakes_are_named_before_anything_runs() {
    for (arguments, said) in [
        (&["evaluate"][..], "NAME"),
        (&["evaluate", "cubik"], "cubik"),
        (&["evaluate", "cubic", "--only", "cubic.ham"], "did you mean cubic.harm?"),
        (&["evaluate", "cubic", "--cases", "rfc1"], "rfc9743"),
        (&["evaluate", "cubic", "-o", "report.html"], "-o writes a folder or a table"),
        (&["evaluate", "cubic", "./missing.py"], "./missing.py: there is no such file"),
        (&["evaluate", "remy[table=none]"], "there are: starter"),
    ] {
        let seen = paceline(arguments);
        assert_eq!(seen.code, 2, "{arguments:?}: {}", seen.err);
        assert!(seen.err.contains(said), "{arguments:?}: {}", seen.err);
    }
}

/// An evaluation that was killed in between is finished by the runs that were kept, with equal answers.
#[test]
fn a_killed_evaluation_continues() {
    let folder = Folder::new("evaluate-killed");
    let (out, whole) = (folder.path("out"), folder.path("whole"));
    let only = "wired,short,umts,fairness";
    let arguments = |out: &str| {
        let all = ["evaluate", "vegas", "--only", only, "--runs", "4", "--threads", "1", "-q"];
        let mut all = all.map(str::to_string).to_vec();
        all.extend(["--json".into(), "-o".into(), out.into()]);
        all
    };
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(arguments(&out))
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program");
    let runs = format!("{out}/runs");
    let finished = || std::fs::read_dir(&runs).map_or(0, Iterator::count);
    while finished() < 5 && child.try_wait().expect("its state").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    // It may have ended meanwhile: then the second one only reads.
    let _ = child.kill();
    child.wait().expect("its end");
    let all = |out: &str| {
        let arguments = arguments(out);
        json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(all(&out), all(&whole));
}

/// A figure that a scheme does not have leaves its question open, and others are answered.
#[test]
fn questions_without_figures_are_not_answerable() {
    // Sprout repeats nothing, so that short flows do not complete for certain.
    let only = "short.own,wired.rate";
    let document = json(&["evaluate", "sprout", "--only", only, "--runs", "1", "--json", "-q"]);
    let rows = document["criteria"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["answer"].as_str().is_some_and(|text| !text.is_empty())));
    assert!(rows.iter().any(|row| row["id"] == "wired.rate" && row["median"].is_number()));
}

#[test]
fn the_list_has_every_rule() {
    let document = json(&["evaluate", "--list", "--cases", "rfc9743,rfc8867,rfc8869", "--json"]);
    let rows = document["criteria"].as_array().expect("rows");
    assert!(rows.len() > 100);
    assert!(rows.iter().any(|row| row["rule"].as_str().is_some_and(|rule| rule.contains("poor:"))));
    let seen = paceline(&["evaluate", "--list"]);
    assert!(seen.code == 0 && seen.out.contains("bufferbloat.delay"), "{}", seen.err);
}

#[test]
fn a_figure_that_no_run_has_is_a_failure_with_strict() {
    // Cubic does not report the variable `bw`.
    let arguments = [
        "evaluate",
        "cubic",
        "--cases",
        "bbr-draft",
        "--only",
        "bbr-draft.1.estimate",
        "--runs",
        "1",
    ];
    assert_eq!(paceline(&arguments).code, 0);
    let seen = paceline(&[&arguments[..], &["--strict"]].concat());
    assert!(
        seen.code == 1 && seen.err.contains("bbr-draft.1.estimate of cubic: No figure"),
        "{}",
        seen.err
    );
}
