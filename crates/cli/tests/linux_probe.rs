//! `paceline run --probe`: the events of TCP at Linux hosts as a table. Tests of whole tables are skipped without a
//! built guest.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use paceline_testing::{Folder, Need, skip, this_test};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");
/// Two connections of one pair of hosts, of which the second is Reno's.
const SCENARIO: &str = "duration = \"3s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\nbuffer = 40\n\
     [[flow]]\nname = \"big\"\nhost = \"linux\"\nhost_name = \"pc\"\ncc = \"cubic\"\npath = [\"link\"]\nrtt = \"20ms\"\n\
     [[flow]]\nname = \"late\"\nhost = \"linux\"\nhost_name = \"pc\"\ncc = \"reno\"\npath = [\"link\"]\nrtt = \"20ms\"\nstart = \"1s\"\n";

/// Runs the program; returns its exit status, output and error output.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(PROGRAM).args(arguments).env("NO_COLOR", "1").output();
    let output = output.expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Rows of a CSV file without quotes, by the names of their columns.
fn rows(text: &str) -> Vec<HashMap<String, String>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let row = |line: &str| {
        let pairs = names.iter().zip(line.split(','));
        pairs.map(|(name, cell)| ((*name).to_string(), cell.to_string())).collect()
    };
    lines.map(row).collect()
}

#[test]
fn every_acknowledgement_has_a_row() {
    if let Err(error) = paceline_guest::find(None) {
        return skip(Need::Linux, &this_test(), &error.to_string());
    }
    let folder = Folder::new("linux-probe");
    let scenario = folder.write("two.toml", SCENARIO.as_bytes());
    let file = folder.path("events.csv");
    let (code, out, err) = run(&["run", &scenario, "--json", "--probe", &file]);
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains("missing"), "{err}");
    let outcome: Value = serde_json::from_str(&out).expect("JSON");
    let rows = rows(&fs::read_to_string(&file).expect("the file"));
    let number = |row: &HashMap<String, String>, name: &str| row[name].parse::<f64>().ok();
    assert!(rows.is_sorted_by_key(|row| (number(row, "time_s").expect("a time") * 1e6) as u64));

    for (flow, start) in [("big", 0.0), ("late", 1.0)] {
        let of = |host: &str, event: &str| {
            let of_host = rows.iter().filter(|row| row["flow"] == flow && row["host"] == host);
            of_host.filter(|row| row["event"] == event).collect::<Vec<_>>()
        };
        let acks = of("sender", "received");
        assert!(acks.len() > 300, "{flow}: {}", acks.len());
        assert!(acks.iter().all(|row| number(row, "time_s") > Some(start)));
        // The last events of the run are not read: 10 ms, and a path of 10 ms.
        let results = outcome["flows"].as_array().expect("flows");
        let results = results.iter().find(|it| it["name"] == flow).expect("the flow");
        let again = results["retransmits"].as_f64().expect("a number");
        let seen = of("sender", "retransmit").len() as f64;
        assert!(
            seen > 0.0 && (again - seen).abs() <= 0.1 * again + 1.0,
            "{flow}: {seen} of {again}"
        );
        let mut before = 0.0;
        for row in &acks {
            let [una, next] = ["snd_una", "snd_nxt"].map(|name| number(row, name).expect("bytes"));
            assert!(before <= una && una <= next, "{row:?}");
            before = una;
        }
        let bytes = results["goodput_mbps"].as_f64().expect("a rate") * 3e6 / 8.0;
        assert!((0.9..1.0).contains(&(before / bytes)), "{flow}: {before} of {bytes}");
        let last = acks.last().expect("a row");
        assert!((20.0..80.0).contains(&number(last, "srtt_ms").expect("a time")), "{last:?}");
        assert!(number(last, "ssthresh").is_some_and(|packets| packets < 200.0), "{last:?}");
        // Losses are repaired in recovery, state 3, which ends in state 0.
        let states = of("sender", "state");
        for state in ["3", "0"] {
            assert!(states.iter().any(|row| row["ca_state"] == state), "{flow}: {state}");
        }
        assert!(!of("receiver", "received").is_empty());
    }
    // Without the probe nothing is recorded; with it, runs are equal.
    let (_, out, _) = run(&["run", &scenario, "--json", "--probe", &folder.path("again.csv")]);
    let again: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(again["digest"], outcome["digest"]);
    assert_eq!(fs::read(folder.path("again.csv")).ok(), fs::read(&file).ok());
    let parquet = folder.path("events.parquet");
    let (code, _, err) = run(&["run", &scenario, "--probe", &parquet]);
    assert_eq!(code, Some(0), "{err}");
    assert!(fs::read(&parquet).expect("a file").starts_with(b"PAR1"));
}

#[test]
fn runs_without_linux_hosts_have_no_events() {
    let folder = Folder::new("linux-probe-none");
    let text = "duration = \"1s\"\n[[link]]\nname = \"a\"\nrate = \"1Mbps\"\n[[flow]]\nscheme = \"cubic\"\nrtt = \"20ms\"\n";
    let scenario = folder.write("own.toml", text.as_bytes());
    let (code, _, err) = run(&["run", &scenario, "--probe", &folder.path("events.csv")]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("no flow has Linux hosts") && err.contains("--series"), "{err}");
    assert!(!fs::exists(folder.path("events.csv")).expect("a folder"));
}
