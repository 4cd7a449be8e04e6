//! The statistics of recorded traces, against a table of them computed elsewhere. Needs the
//! folder `shared` beside the workspace; without it the tests say so and pass.
#![allow(clippy::print_stdout, reason = "a test says what it has seen")]

use std::io::Write;

use paceline_trace::{Stats, load, mahimahi, names, target};
use std::path::{Path, PathBuf};

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let there =
        folder.join("traces").is_dir() && folder.join("reference/trace_stats.csv").is_file();
    if !there {
        // Past the test harness, which hides what a passing test prints.
        let text = "SKIPPED: there are no recorded traces beside the workspace";
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    there.then_some(folder)
}

#[test]
fn statistics_equal_the_recorded_table_to_its_last_digit() {
    let Some(shared) = shared() else { return };
    let table =
        std::fs::read_to_string(shared.join("reference/trace_stats.csv")).expect("readable");
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let mut compared = 0;
    for line in lines {
        let row: Vec<&str> = line.split(',').collect();
        let path = shared.join("traces").join(row[0]);
        if !path.is_file() {
            continue;
        }
        let trace = load(&path.to_string_lossy()).expect("a valid trace");
        for (name, value) in Stats::of(&trace).columns() {
            let column = header.iter().position(|&column| column == name).expect("a column");
            let want: f64 = row[column].parse().expect("a number");
            let digits = row[column].split_once('.').map_or(0, |(_, digits)| digits.len());
            // The table drops trailing zeros: it has five decimals for fractions of bins, three
            // or four otherwise.
            let decimals = match name {
                "frac_zero_100ms" => 5,
                "length_s" | "longest_outage_s" | "p5_mbps" | "p50_mbps" | "p95_mbps" => 3,
                "p99_gap_ms" => 2,
                "opportunities" | "first_ms" | "max_opps_in_1ms" => 0,
                _ => 4,
            };
            assert!(digits <= decimals.max(1), "{name} has {digits} decimals");
            let half = 0.5 * libm::pow(10.0, -f64::from(decimals as u32)) + 1e-9;
            assert!((value - want).abs() <= half, "{} {name}: {value} for {want}", row[0]);
        }
        compared += 1;
    }
    println!("{compared} recorded traces compared");
    assert!(compared > 0);
}

#[test]
fn recorded_traces_come_back_byte_for_byte() {
    let Some(shared) = shared() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(shared.join("traces")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("readable");
        let trace = mahimahi::parse(&path.to_string_lossy(), &bytes).expect("a valid trace");
        let text = String::from_utf8(bytes).expect("text");
        assert_eq!(mahimahi::write(&trace).trim_end(), text.replace("\r\n", "\n").trim_end());
        compared += 1;
    }
    println!("{compared} recorded traces written back");
}

#[test]
fn targets_are_rows_of_the_recorded_table() {
    let Some(shared) = shared() else { return };
    let table =
        std::fs::read_to_string(shared.join("reference/trace_stats.csv")).expect("readable");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    for target in names().filter_map(target).filter(|target| target.recorded) {
        let row = rows.iter().find(|row| row[0] == target.source).expect("a row");
        for (name, value) in target.stats.columns() {
            let at = rows[0].iter().position(|&column| column == name).expect("a column");
            assert_eq!(row[at].parse(), Ok(value), "{} {name}", target.source);
        }
    }
}
