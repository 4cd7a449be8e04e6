//! Recordings of Linux 6.18 under the inputs of scripts (`reference/linux-sender`).

use std::fs;
use std::io::{Write, stderr};

use paceline_peers::linux::{Comparison, compare, read};
use paceline_peers::play::Schemes;
use paceline_peers::script;
use paceline_peers::vector::Declared::{ByDesign, Holds};
use paceline_peers::vector::Outcome;

use crate::{Declaration, causes, files, judge, stem};

pub(crate) const PEER: &str = "Linux 6.18, recordings";

/// Smallest share of windows within one packet of Linux', and of segments sent within 5 ms of
/// Linux'.
const LEAST_SHARE: f64 = 0.95;
/// Number of differences that a failure describes.
pub(crate) const DESCRIBED: usize = 3;

pub(crate) const DECLARED: &[Declaration] = &[
    ("alternate-10-of-40", Holds),
    ("app-limited-google", Holds),
    ("ca-app-limited", Holds),
    ("cubic-long", Holds),
    ("ecn-40", Holds),
    ("hystart-train", Holds),
    ("hystart-train-long", Holds),
    ("idle-reno", Holds),
    ("lost-retransmission", Holds),
    ("reno-ecn-long", Holds),
    ("reno-long", Holds),
    ("reorder-4", ByDesign(causes::NUMBERS)),
    ("rto-backoff", ByDesign(causes::LATE_TIMERS)),
    ("rto-genuine", Holds),
    ("rto-genuine-nodata", Holds),
    ("rto-spurious", ByDesign(causes::NUMBERS)),
    ("rto-spurious-nodata", ByDesign(causes::NUMBERS)),
    ("tail-3-of-10", Holds),
    ("tlp-rtt100-1pkt", ByDesign(causes::LATE_TIMERS)),
    ("tlp-rtt20-1pkt", ByDesign(causes::LATE_TIMERS)),
    ("tlp-rtt20-5pkt", ByDesign(causes::LATE_TIMERS)),
    ("tlp-rtt400-1pkt", ByDesign(causes::LATE_TIMERS)),
    ("tlp-rtt400-5pkt", ByDesign(causes::LATE_TIMERS)),
];

#[test]
fn sends_and_windows_are_as_recorded() {
    let Some(folder) = paceline_testing::reference("reference/linux-sender") else { return };
    let mut rows = String::from(
        "recording                 windows within 1   same state  sends within 5 ms  by a late timer\n",
    );
    let mut outcomes = Vec::new();
    for path in files(&folder, "pkt") {
        let load = |extension| fs::read_to_string(path.with_extension(extension));
        let script = script::read(&load("pkt").expect("a script")).expect("a script");
        let recording = read(&load("linux").expect("a recording")).expect("a recording");
        let compared = compare(&script, &recording, &Schemes::default(), DESCRIBED);
        let compared = compared.unwrap_or_else(|stopped| panic!("{path:?}: {stopped:?}"));
        let name = stem(&path);
        rows.push_str(&row(&name, &compared));
        if DECLARED.contains(&(name.as_str(), ByDesign(causes::LATE_TIMERS))) {
            let explained = compared.same_sends + compared.late_timers;
            assert_eq!(explained, compared.sends, "{name}: not only timers differ");
        }
        outcomes.push((name, outcome(&compared)));
    }
    // The table is only information, so a failed write does not fail the test.
    let _ = stderr().write_all(rows.as_bytes());
    judge(DECLARED, &outcomes);
}

pub(crate) fn outcome(compared: &Comparison) -> Outcome {
    let (windows, sends) = compared.shares();
    if windows >= LEAST_SHARE && sends >= LEAST_SHARE {
        return Ok(());
    }
    let described: Vec<String> = compared
        .differences
        .iter()
        .map(|remark| format!("  line {}: {}", remark.line, remark.text))
        .collect();
    let shares = format!("windows {:.1} %, sends {:.1} %", 100.0 * windows, 100.0 * sends);
    Err(format!("{shares}\n{}", described.join("\n")))
}

fn row(name: &str, compared: &Comparison) -> String {
    let Comparison { states, windows, ca_states, sends, same_sends, late_timers, .. } = compared;
    let (window_share, send_share) = compared.shares();
    format!(
        "{name:24} {windows:5}/{states:<5} {:5.1} % {ca_states:5}/{states:<5} {same_sends:5}/{sends:<5} {:5.1} % {late_timers:8}\n",
        100.0 * window_share,
        100.0 * send_share,
    )
}
