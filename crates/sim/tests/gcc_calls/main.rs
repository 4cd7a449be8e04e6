//! Simulated calls under gcc against calls of Chromium. Measures each figure of `bounds.toml` and
//! compares the table in docs/gcc.md, which shows misses as missed, with the results. After an intended change,
//! `PACELINE_UPDATE=1 cargo test -p paceline-sim --test gcc_calls` rewrites the table.

mod runs;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
struct Bounds {
    bound: Vec<Bound>,
}

#[derive(Deserialize)]
struct Bound {
    run: String,
    what: String,
    measured: String,
    range: [f64; 2],
}

const SEEDS: u64 = 5;
const BEGIN: &str = "<!-- table of gcc_calls -->\n";
const END: &str = "<!-- end of table -->\n";

fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Three significant digits.
fn short(value: f64) -> String {
    match value {
        _ if value.is_infinite() => "never".to_string(),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The value below which a share of the sorted values lies, by linear interpolation.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    if below == above { below } else { below + (above - below) * at.fract() }
}

/// A row of the table; nothing if the run needs recordings that are not there.
fn row(bound: &Bound, results: &[runs::Measures]) -> Option<String> {
    let mut values: Vec<f64> = results.iter().map(|result| result.get(&bound.what)).collect();
    values.sort_by(f64::total_cmp);
    let (first, last) = (values.first()?, values.last()?);
    let median = quantile(&values, 0.5);
    let holds = (bound.range[0]..=bound.range[1]).contains(&median);
    let spread = if first == last {
        String::new()
    } else {
        format!(" [{}, {}]", short(quantile(&values, 0.05)), short(quantile(&values, 0.95)))
    };
    Some(format!(
        "| {} | {} | {} | {} to {} | {}{spread} | {} |",
        bound.run,
        bound.what,
        bound.measured,
        short(bound.range[0]),
        short(bound.range[1]),
        short(median),
        if holds { "yes" } else { "**missed**" },
    ))
}

#[test]
fn calls_come_out_as_the_document_says() {
    let text = fs::read_to_string(path("tests/gcc_calls/bounds.toml")).expect("the bounds");
    let bounds: Bounds = toml::from_str(&text).expect("bounds");
    let document = path("../../docs/gcc.md");
    let old = fs::read_to_string(&document).expect("docs/gcc.md");
    let (head, rest) = old.split_once(BEGIN).expect("the begin of the table");
    let (table, tail) = rest.split_once(END).expect("the end of the table");
    let mut lines = table.lines();
    let mut new = String::new();
    for line in lines.by_ref().take(2) {
        let _ = writeln!(new, "{line}");
    }
    let mut known = Vec::new();
    for bound in &bounds.bound {
        if !known.iter().any(|(run, _)| *run == bound.run) {
            let results: Option<Vec<_>> =
                (1..=SEEDS).map(|seed| runs::measure(&bound.run, seed)).collect();
            known.push((bound.run.clone(), results.unwrap_or_default()));
        }
        let results = known.iter().find(|(run, _)| *run == bound.run);
        let results = results.map_or(&[][..], |(_, results)| results);
        let old_row = lines.next().unwrap_or("");
        let row = row(bound, results).unwrap_or_else(|| old_row.to_string());
        let _ = writeln!(new, "{row}");
    }
    if std::env::var_os("PACELINE_UPDATE").is_some_and(|value| value == "1") {
        fs::write(&document, format!("{head}{BEGIN}{new}{END}{tail}")).expect("written");
        return;
    }
    assert_eq!(
        table, new,
        "docs/gcc.md tells other results\nIf this is intended: PACELINE_UPDATE=1 cargo test -p \
         paceline-sim --test gcc_calls"
    );
}
