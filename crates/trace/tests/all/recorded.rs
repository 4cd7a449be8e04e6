//! Compares the statistics of recorded traces with a table computed elsewhere. Tests that lack the
//! recordings or the table say so.

use std::path::PathBuf;

use paceline_testing::{RECORDINGS, recording, reference};
use paceline_trace::{Stats, load, mahimahi, names, target};

/// The table of statistics.
const TABLE: &str = "reference/trace_stats.csv";

/// Returns all recordings, or `None` if any is missing.
fn recordings() -> Option<Vec<(&'static str, PathBuf)>> {
    RECORDINGS.into_iter().map(|name| Some((name, recording(name)?))).collect()
}

#[test]
fn statistics_equal_the_recorded_table_to_its_last_digit() {
    let (Some(recordings), Some(table)) = (recordings(), reference(TABLE)) else { return };
    let table = std::fs::read_to_string(table).expect("readable");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let header = &rows[0];
    for (name, path) in recordings {
        let row = rows.iter().find(|row| row[0] == name).expect("a row of the recording");
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
    }
}

#[test]
fn recorded_traces_come_back_byte_for_byte() {
    let Some(recordings) = recordings() else { return };
    for (_, path) in recordings {
        let bytes = std::fs::read(&path).expect("readable");
        let trace = mahimahi::parse(&path.to_string_lossy(), &bytes).expect("a valid trace");
        let text = String::from_utf8(bytes).expect("text");
        assert_eq!(mahimahi::write(&trace).trim_end(), text.replace("\r\n", "\n").trim_end());
    }
}

#[test]
fn targets_are_rows_of_the_recorded_table() {
    let Some(table) = reference(TABLE) else { return };
    let table = std::fs::read_to_string(table).expect("readable");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    for target in names().filter_map(target).filter(|target| target.recorded) {
        // The satellites' recording is not in the table: see the test below.
        if target.source.starts_with("starlink.mahi") {
            continue;
        }
        let row = rows.iter().find(|row| row[0] == target.source).expect("a row");
        for (name, value) in target.stats.columns() {
            let at = rows[0].iter().position(|&column| column == name).expect("a column");
            assert_eq!(row[at].parse(), Ok(value), "{} {name}", target.source);
        }
    }
}

#[test]
fn the_target_of_leo_equals_the_recording() {
    let Some(path) = reference("leo/starlink.mahi") else { return };
    let stats = Stats::of(&load(&path.to_string_lossy()).expect("a valid trace"));
    let target = target("leo").expect("built in");
    for ((name, value), (_, want)) in stats.columns().into_iter().zip(target.stats.columns()) {
        // The target has four decimals.
        assert!(
            (value - want).abs() <= 0.5e-4 * value.abs().max(1.0),
            "{name}: {value} for {want}"
        );
    }
}
