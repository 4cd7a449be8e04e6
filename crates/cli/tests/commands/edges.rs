//! Unusual arguments and environments: huge values, pipes, devices, odd names.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::paceline;
use paceline_testing::Folder;

const SCENARIO: &str = "duration = \"1s\"\n[[link]]\nname = \"l\"\nraet = \"12Mbps\"\n[[flow]]\n\
                        scheme = \"abc\"\n";

/// Expects that the command fails soon, prints no results, and names every word in its error.
fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    let seen = paceline(arguments);
    assert_eq!(seen.code, code, "{arguments:?}: {}", seen.err);
    assert!(seen.err.starts_with("error"), "{arguments:?}: {}", seen.err);
    for word in words {
        assert!(seen.err.contains(word), "{arguments:?} lacks `{word}`: {}", seen.err);
    }
    assert!(seen.out.is_empty(), "{arguments:?} prints results: {}", seen.out);
}

fn fine(arguments: &[&str]) -> String {
    let seen = paceline(arguments);
    assert_eq!(seen.code, 0, "{arguments:?}: {}", seen.err);
    seen.out
}

#[test]
fn values_that_would_never_end_are_refused() {
    let folder = Folder::new("endless");
    let out = folder.path("out");
    refused(&["compare", "--trace", "1000000Gbps"], 2, &["1000000Gbps", "up to 1000Gbps"]);
    refused(&["compare", "--bin", "1ns", "-o", &out], 2, &["--bin", "1ms"]);
    refused(&["compare", "--bin", "1ms", "--duration", "24h", "-o", &out], 2, &["--bin", "longer"]);
    refused(&["compare", "--rtt", "200h"], 2, &["--rtt", "1h"]);
}

#[test]
fn negative_values_name_their_argument() {
    for name in ["--buffer", "--duration", "--warmup", "--rtt", "--bin"] {
        refused(&["compare", name, "-5ms"], 2, &[name, "-5ms"]);
    }
}

#[test]
fn rates_are_told_from_files() {
    assert!(fine(&["compare", "--duration", "1s", "--trace", "12Mbit/s"]).contains("12.0 Mbit/s"));
    refused(&["compare", "--trace", "12"], 2, &["needs a unit"]);
    refused(&["compare", "--trace", "12Mbsp"], 2, &["12Mbsp"]);
}

#[test]
fn quiet_says_nothing() {
    let folder = Folder::new("quiet");
    let out = folder.path("out");
    let arguments = ["compare", "--duration", "1s", "--schemes", "cubic", "-o", &out];
    assert!(paceline(&arguments).err.contains("wrote"));
    let seen = paceline(&[&arguments[..], &["--quiet"]].concat());
    assert!(seen.code == 0 && seen.err.is_empty() && !seen.out.is_empty(), "{}", seen.err);
}

#[test]
fn a_reader_that_leaves_does_not_cost_the_files() {
    let folder = Folder::new("leaves");
    let out = folder.path("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["compare", "--duration", "1s", "--schemes", "cubic", "-o", &out])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success());
    assert!(std::path::Path::new(&out).join("compare.json").exists());
}

#[test]
fn mistakes_in_a_piped_scenario_have_their_place() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["run", "/dev/stdin"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(SCENARIO.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("an end");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("/dev/stdin:4:1") && text.contains("raet = \"12Mbps\""), "{text}");
}

#[test]
fn suggestions_are_made_once() {
    let folder = Folder::new("once");
    let text = SCENARIO.replace("raet", "rate").replace("\"abc\"", "\"acb\"");
    let seen = paceline(&["run", &folder.write("bad.toml", text.as_bytes())]);
    assert_eq!(seen.err.matches("did you mean").count(), 1, "{}", seen.err);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_that_never_end_are_refused() {
    refused(&["run", "/dev/zero"], 2, &["/dev/zero", "larger than"]);
}

#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::new("dash");
    for arguments in [
        &["trace", "generate", "square", "-o", "-"][..],
        &["trace", "plot", "lte-walking", "-o", "-"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_paceline"))
            .args(arguments)
            .current_dir(folder.path(""))
            .output()
            .expect("the program starts");
        assert!(output.status.success() && !output.stdout.is_empty());
    }
    assert!(!std::path::Path::new(&folder.path("-")).exists());
}

#[test]
fn a_table_on_standard_output_stands_alone() {
    for line in
        [&["schemes", "--csv", "-"][..], &["reproduce", "S13", "--quick", "-q", "--csv", "-"]]
    {
        let table = fine(line);
        let cells = |row: &str| row.matches(',').count() >= 3;
        assert!(table.lines().count() > 1 && table.lines().all(cells), "{line:?}: {table}");
    }
}

#[test]
fn a_table_of_claims_has_the_verdicts_of_json() {
    let claim = |more: &[&str]| fine(&[&["reproduce", "S13", "--quick", "-q"], more].concat());
    let (csv, json) = (claim(&["--csv", "-"]), claim(&["--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let verdict = json["claims"][0]["verdict"].as_str().expect("a verdict");
    let mut rows = csv.lines();
    let heads: Vec<&str> = rows.next().expect("a heading").split(',').collect();
    assert!(heads.contains(&"stated_measured"), "{heads:?}");
    assert!(rows.all(|row| row.contains(&format!(",{verdict},"))), "{verdict}: {csv}");
}

#[test]
fn wider_bins_of_a_plot_are_reported() {
    let folder = Folder::new("bins");
    let plot = folder.path("p.svg");
    let bins = |bin: &str| {
        let line = ["trace", "plot", "lte-driving", "--bin", bin, "-o", &plot, "--caption"];
        let seen = paceline(&line);
        assert_eq!(seen.code, 0, "{}", seen.err);
        (seen.err, std::fs::read_to_string(&plot).expect("a figure"))
    };
    let (said, figure) = bins("100ms");
    assert!(said.contains("drawn in bins of 300ms"), "{said}");
    assert!(figure.contains("300ms"), "the caption");
    let (said, _) = bins("1s");
    assert!(!said.contains("drawn in bins"), "{said}");
}

#[test]
fn constant_traces_have_the_length_asked_for() {
    let trace = |more: &[&str]| fine(&[&["trace", "generate", "constant"], more].concat());
    assert_eq!(trace(&[]), "1\n");
    let lines = trace(&["--rate", "24Mbps", "--duration", "10s"]);
    assert_eq!((lines.lines().count(), lines.lines().last()), (20_000, Some("10000")));
}

#[test]
fn unknown_traces_to_generate_list_all_kinds() {
    refused(&["trace", "generate", "squre"], 2, &["lte-driving", "constant, square"]);
}

#[cfg(unix)]
#[test]
fn folders_need_no_utf8() {
    use std::os::unix::ffi::OsStringExt;
    let folder = Folder::new("bytes");
    let out = std::ffi::OsString::from_vec([folder.path("").as_bytes(), b"bad\xff"].concat());
    let status = Command::new(env!("CARGO_BIN_EXE_paceline"))
        .args(["compare", "--duration", "1s", "--schemes", "cubic", "--quiet", "-o"])
        .arg(&out)
        .stdout(Stdio::null())
        .status()
        .expect("the program starts");
    assert!(status.success());
    assert!(std::path::Path::new(&out).join("compare.html").exists());
}
