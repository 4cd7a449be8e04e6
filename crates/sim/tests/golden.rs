//! Golden results: every scenario in `scenarios/` runs and gives the results of
//! `scenarios/golden.txt`, to the last bit. After an intended change of behaviour,
//! `PACELINE_UPDATE=1 cargo test -p paceline-sim --test golden` rewrites the file.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_sim::{Outcome, run, scenario};

const HEAD: &str = "\
# What the scenarios give. Written by the test `golden` of paceline-sim with PACELINE_UPDATE=1.
# scenario: the digest of every arrival of a packet, and packets that reached their receivers
# link:     throughput in Mbit/s, utilisation, queueing delay in ms (mean, 95th percentile), drops, marks
# flow:     goodput in Mbit/s, packets sent since the start, of these again, timeouts, finished transfers
# arrivals: flows that came, that finished, goodput in Mbit/s, completion time in ms (mean)
";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Returns the scenario files, sorted by name.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the scenarios").flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

/// Returns the golden text of one scenario.
fn block(outcome: &Outcome) -> String {
    let Outcome { name, digest, packets, .. } = outcome;
    let mut text = format!("\nscenario {name}: {digest} {packets}\n");
    // Writing to a string cannot fail.
    for link in &outcome.links {
        let delay = link.queue_delay_ms;
        let _ = writeln!(
            text,
            "  link {}: {:.6} {:.6} {:.3} {:.3} {} {}",
            link.name,
            link.throughput_mbps,
            link.utilization,
            delay.mean,
            delay.p95,
            link.drops,
            link.marks
        );
    }
    for flow in &outcome.flows {
        let sender = flow.since_start;
        let _ = writeln!(
            text,
            "  flow {}: {:.6} {} {} {} {}",
            flow.name,
            flow.goodput_mbps,
            sender.sent,
            sender.retransmits,
            sender.timeouts,
            flow.transfers
        );
    }
    if let Some(arrivals) = &outcome.arrivals {
        let _ = writeln!(
            text,
            "  arrivals: {} {} {:.6} {:.3}",
            arrivals.arrived,
            arrivals.finished,
            arrivals.goodput_mbps,
            arrivals.completion_ms.map_or(0.0, |times| times.mean)
        );
    }
    text
}

/// Returns the blocks of a golden file with the names of their scenarios.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let parts = text.split("\n\n").map(str::trim_end).filter(|part| part.starts_with("scenario "));
    parts.map(|part| (part["scenario ".len()..].split(':').next().unwrap_or(""), part)).collect()
}

#[test]
fn every_scenario_gives_its_golden_results() {
    let mut fresh = String::from(HEAD);
    for file in files() {
        let scenario = scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            file.file_stem().and_then(|stem| stem.to_str()),
            Some(scenario.name.as_str()),
            "a scenario here is called as its file"
        );
        fresh.push_str(&block(&run(&scenario).expect("a scenario that runs")));
    }
    let path = folder().join("golden.txt");
    if std::env::var_os("PACELINE_UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, &fresh).expect("written");
        return;
    }
    let golden = fs::read_to_string(&path).expect("scenarios/golden.txt");
    let (old, new) = (blocks(&golden), blocks(&fresh));
    let find = |list: &[(&str, &str)], name: &str| {
        list.iter().find(|(known, _)| *known == name).map(|(_, block)| block.to_string())
    };
    let mut wrong = Vec::new();
    for (name, block) in &new {
        match find(&old, name) {
            None => wrong.push(format!("{name} has no golden results; it gives\n{block}")),
            Some(was) if was != *block => wrong.push(format!("{name} was\n{was}\nand is\n{block}")),
            Some(_) => {}
        }
    }
    for (name, _) in old.iter().filter(|(name, _)| find(&new, name).is_none()) {
        wrong.push(format!("{name} has golden results but no scenario"));
    }
    assert!(
        wrong.is_empty(),
        "{}\n\nIf this is intended: PACELINE_UPDATE=1 cargo test -p paceline-sim --test golden",
        wrong.join("\n\n")
    );
    assert_eq!(golden, fresh, "golden.txt differs in its remarks or order");
}

/// Four of the five notations of a buffer have the same meaning on that link.
#[test]
fn sizes_of_buffers_agree() {
    let scenario = scenario::load(&folder().join("buffers.toml")).expect("valid");
    let outcome = run(&scenario).expect("runs");
    let first = &outcome.links[0];
    for link in &outcome.links[1..4] {
        assert_eq!((link.drops, link.queue_delay_ms), (first.drops, first.queue_delay_ms));
    }
}
