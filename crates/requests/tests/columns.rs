//! `docs/metrics.md` and `docs/json.md` say of each column what the program's table says.
//! `PACELINE_UPDATE=1 cargo test -p paceline-requests --test columns` writes the rows of `docs/metrics.md`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use paceline_requests::columns::{
    COLUMNS, Column, OfMedia, TableRow as _, TextTable, cells, headings,
};
use paceline_requests::compare::CompareRow;
use paceline_sim::metrics::Quantiles;
use serde_json::Value;

const REMEDY: &str = "PACELINE_UPDATE=1 cargo test -p paceline-requests --test columns";
const BEGIN: &str = "<!-- columns of compare and run -->\n";
const END: &str = "<!-- end of columns -->\n";

fn page(name: &str) -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let text = std::fs::read_to_string(&path).expect(name);
    (path, text)
}

/// The text with a small first letter, unless it is a name.
fn lower(text: &str) -> String {
    match text.chars().next() {
        Some(first) if !text.starts_with("Jain") => {
            first.to_lowercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.to_string(),
    }
}

#[test]
fn metrics_has_each_definition() {
    let mut rows = "| figure | definition |\n| --- | --- |\n".to_string();
    for Column { name, meaning, exactly, .. } in COLUMNS {
        let Some(exactly) = exactly else { continue };
        let exactly = exactly.trim_end_matches('.');
        rows += &format!("| `{name}` | {}. {exactly} |\n", lower(meaning));
    }
    let (path, text) = page("metrics.md");
    let (before, rest) = text.split_once(BEGIN).expect("the line before the columns");
    let (old, after) = rest.split_once(END).expect("the line behind the columns");
    if old == rows {
        return;
    }
    let update = std::env::var_os("PACELINE_UPDATE").is_some_and(|value| value == "1");
    assert!(update, "docs/metrics.md differs. Run {REMEDY}. Expected:\n{rows}");
    std::fs::write(&path, format!("{before}{BEGIN}{rows}{END}{after}")).expect("written");
}

/// A row of docs/json.md is shared by all commands that print the field. It begins with the column's meaning, and may go
/// on with what other commands mean by it.
#[test]
fn json_has_each_column() {
    let (_, text) = page("json.md");
    // Tables before this heading are about options and exit statuses.
    let (_, text) = text.split_once("\n## JSON\n").expect("the heading of the fields");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    for Column { name, unit, meaning, in_compare, in_run, .. } in COLUMNS {
        let expected = format!("`{name}` | {unit} | {}", lower(meaning));
        let row = rows.iter().find(|row| row[0].split(", ").any(|one| one == format!("`{name}`")));
        let row = row.unwrap_or_else(|| panic!("docs/json.md lacks | {expected} | compare |"));
        assert_eq!(row[1], *unit, "unit of {name}");
        let begins = row[2].strip_prefix(&*lower(meaning));
        let rest = begins.unwrap_or_else(|| panic!("docs/json.md: expected | {expected}"));
        assert!(rest.is_empty() || rest.starts_with([';', '.', ',']), "{name}: {rest}");
        let commands: Vec<&str> = row[3].split(", ").collect();
        let printed = |command| commands.contains(&"all") || commands.contains(&command);
        assert!(!in_compare || printed("compare"), "docs/json.md: compare prints `{name}`");
        assert!(!in_run || printed("run"), "docs/json.md: run prints `{name}`");
    }
}

#[test]
fn columns_are_fields_of_json_and_are_explained() {
    let names: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(names.len(), COLUMNS.len(), "a column stands twice");
    let row = CompareRow {
        frame_delay_ms: OfMedia(Some(Quantiles::default())),
        frozen: OfMedia(Some(0.0)),
        freezes: OfMedia(Some(0)),
        freezes_s: OfMedia(Some(0.0)),
        dropped_frames: OfMedia(Some(0)),
        frames_per_s: OfMedia(Some(0.0)),
        video_mbps: OfMedia(Some(0.0)),
        audio_delay_ms: OfMedia(Some(Quantiles::default())),
        audio_lost: OfMedia(Some(0.0)),
        audio_gap_ms: OfMedia(Some(0.0)),
        system_random: true,
        note: Some(String::new()),
        rtt: Some(String::new()),
        buffer: Some(String::new()),
        ..CompareRow::default()
    };
    let Value::Object(fields) = serde_json::to_value(row).expect("JSON") else {
        panic!("a row is an object")
    };
    let of_compare: BTreeSet<&str> =
        COLUMNS.iter().filter(|column| column.in_compare).map(|column| column.name).collect();
    assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), of_compare);
    for Column { name, meaning, exactly, .. } in COLUMNS {
        assert!(!meaning.ends_with('.') && !meaning.contains(['|', '\n']), "{name}: {meaning}");
        assert!(exactly.is_none_or(|text| text.ends_with('.') && !text.contains(['|', '\n'])));
    }
}

#[test]
fn jain_is_a_column_only_with_several_flows() {
    let mut row = CompareRow { scheme: "abc".into(), jain: 0.5, flows: 1, ..CompareRow::default() };
    let shown = |row: &CompareRow| headings(&cells(TextTable::Compare, std::slice::from_ref(row)));
    let one = shown(&row);
    assert_eq!(one[..4], ["Mbit/s", "used %", "delay ms mean", "p50"]);
    row.flows = 2;
    assert_eq!(shown(&row), [one, vec!["Jain".into()]].concat());
}

#[test]
fn figures_of_a_video_are_columns_only_beside_a_video() {
    let bulk = CompareRow { scheme: "cubic".into(), flows: 1, ..CompareRow::default() };
    let delays = Quantiles { p50: 40.0, p95: 80.0, ..Quantiles::default() };
    let call = CompareRow {
        scheme: "gcc".into(),
        frame_delay_ms: OfMedia(Some(delays)),
        frozen: OfMedia(Some(0.125)),
        ..bulk.clone()
    };
    let shown = |rows: &[CompareRow]| headings(&cells(TextTable::Compare, rows)).join(" ");
    assert!(!shown(std::slice::from_ref(&bulk)).contains("frozen"));
    let both = [bulk, call];
    assert!(shown(&both).contains("frame ms p50 p95 p99 frozen %"), "{}", shown(&both));
    let cells = cells(TextTable::Compare, &both);
    let frozen = cells.iter().find(|cell| cell.field() == "frozen").expect("a cell");
    assert_eq!((both[0].text(frozen), both[1].text(frozen)), (String::new(), "12.5".into()));
}
