//! `paceline sweep` and `paceline merge`.

use std::fs;
use std::process::{Command, Output};

use paceline_testing::Folder;
use serde_json::Value;

const SCENARIO: &str = "duration = \"500ms\"\n[[link]]\nname = \"l\"\nrate = \"1Mbps\"\n[[flow]]\nscheme = \"cubic\"\n\
                        path = [\"l\"]\n";
const GRID: &str = "scenario = \"base.toml\"\nruns = 2\n[grid]\n\"link.rate\" = [\"4Mbps\", \"8Mbps\"]\n\
                    \"flow.*.scheme\" = [\"cubic\", \"copa\"]\n";

fn paceline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_paceline")).args(args).output().expect("it runs")
}

fn json(args: &[&str]) -> Value {
    let output = paceline(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn error(args: &[&str]) -> String {
    let output = paceline(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn shards_are_made_and_merged() {
    let folder = Folder::new("sweep");
    folder.write("base.toml", SCENARIO.as_bytes());
    let (grid, out) = (folder.write("grid.toml", GRID.as_bytes()), folder.path("out"));
    let (grid, out) = (grid.as_str(), out.as_str());
    let first = json(&["sweep", grid, "--shard", "1/2", "-o", out, "--json"]);
    assert_eq!((&first["all_runs"], &first["shard_runs"]), (&8.into(), &4.into()));
    let again = json(&["sweep", grid, "--shard", "1/2", "-o", out, "--json"]);
    assert_eq!(again["found_runs"], 4);
    let all = folder.path("all.parquet");
    let all = all.as_str();
    let missing = error(&["merge", out, "-o", all]);
    assert!(missing.contains("has no table of shard 2/2"), "{missing}");
    json(&["sweep", grid, "--shard", "2/2", "-o", out, "--json"]);
    assert_eq!(json(&["merge", out, "-o", all, "--json"])["table_rows"], 16);
    assert!(fs::metadata(all).is_ok_and(|about| about.len() > 0));
    assert!(error(&["merge", out, "-o", "all.csv"]).contains("ends with .parquet"));
}

#[test]
fn mistakes_name_file_key_and_remedy() {
    let folder = Folder::new("sweep-mistakes");
    folder.write("base.toml", SCENARIO.as_bytes());
    let out = folder.path("out");
    for (text, said) in [
        (GRID.replace("base.toml", "none.toml"), "none.toml: cannot be read"),
        (GRID.replace("copa", "cupa"), "flow.*.scheme = \"cupa\""),
        (GRID.replace("link.rate", "link.m.rate"), "`link.m.rate`"),
        (GRID.replace("[grid]", "[gird]"), "expected a table [grid]"),
        (GRID.replace("runs = 2", "runs = "), "grid.toml"),
    ] {
        let grid = folder.write("grid.toml", text.as_bytes());
        let error = error(&["sweep", &grid, "-o", &out]);
        assert!(error.contains(said) && error.contains("grid.toml"), "{text}: {error}");
    }
    assert!(error(&["sweep", "g.toml", "--shard", "5/4", "-o", "out"]).contains("such as 3/100"));
}
