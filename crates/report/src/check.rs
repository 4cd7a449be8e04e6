//! Test code: a checker of documents, and runs to draw.

use crate::run::{Quantiles, RunView, TableFigure, TimeSeries};

/// Panics unless all tags are balanced, all quotes are closed and every number is valid.
pub(crate) fn assert_sound(document: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains("NaN") && !text.contains("inf"), "broken number: {text}");
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("unfinished tag");
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        assert!(!tag.contains('<'), "unescaped: {tag}");
        assert!(!tag.contains("NaN") && !tag.contains("\"inf"), "broken number: {tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "unbalanced quotes: {tag}");
        if tag.starts_with('!') || tag.ends_with('/') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed but not open");
            continue;
        }
        let name = tag.split_whitespace().next().unwrap_or("");
        open.push(name);
        if name == "script" || name == "style" {
            let close = format!("</{name}>");
            rest = &rest[rest.find(&close).expect("unfinished script")..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// Returns a plausible run.
pub(crate) fn run(trace: &str, scheme: &str, p95: f64) -> RunView {
    let wave = |i: usize| 6.0 + 4.0 * libm::sin(i as f64 / 20.0);
    RunView {
        trace: trace.into(),
        setting: None,
        state: Vec::new(),
        scheme: scheme.into(),
        capacity_mbps: 6.0,
        throughput_mbps: 5.0,
        utilization: 0.83,
        queue_delay_ms: Quantiles {
            mean: p95 / 2.0,
            p50: p95 / 3.0,
            p95,
            p99: p95 * 1.2,
            max: p95 * 2.0,
        },
        figures: vec![TableFigure::new("resent", "packets sent again", 12.0, 0)],
        series: TimeSeries {
            bin_s: 0.1,
            capacity_mbps: (0..300).map(wave).collect(),
            throughput_mbps: (0..300).map(|i| 0.8 * wave(i)).collect(),
            queue_delay_ms: (0..300).map(|i| p95 / wave(i)).collect(),
            window_packets: Some((0..300).map(|i| 10.0 * wave(i)).collect()),
        },
        digest: "00ff".into(),
        note: None,
        bound: false,
        runs: None,
    }
}

/// Returns a run in which every value is unusable.
pub(crate) fn broken_run() -> RunView {
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300];
    RunView {
        trace: "<lte> & \"co\"".into(),
        setting: None,
        state: Vec::new(),
        scheme: "</svg><script>alert(1)</script>".into(),
        capacity_mbps: f64::NAN,
        throughput_mbps: f64::INFINITY,
        utilization: f64::NAN,
        queue_delay_ms: Quantiles { mean: f64::NAN, p95: f64::NAN, ..Quantiles::default() },
        figures: vec![
            TableFigure::new("loss %", "packets lost", f64::NAN, 2),
            TableFigure::new("Jain", "index of <fairness>", f64::INFINITY, 3),
        ],
        series: TimeSeries {
            bin_s: 0.1,
            capacity_mbps: bad.to_vec(),
            throughput_mbps: bad[..2].to_vec(),
            queue_delay_ms: bad.to_vec(),
            window_packets: None,
        },
        digest: "<>".into(),
        note: Some("<note>".into()),
        bound: false,
        runs: None,
    }
}
