//! A real program at a station of a shared 802.11 medium, beside five simulated stations.

#[path = "common/alone.rs"]
mod alone;
#[allow(dead_code, reason = "each test program uses a part")]
mod common;

use alone::{alone, skip, text};
use common::{Folder, paceline};
use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/six-uploads.toml");

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn rates(flows: &Value) -> Vec<f64> {
    flows.as_array().into_iter().flatten().map(|flow| number(&flow["goodput_mbps"])).collect()
}

/// The share and the 95th percentile of delay of this machine's Cubic beside five simulated uploads,
/// held against the simulator. docs/medium.md has the bounds of long runs, 3 points and 15 %; these are
/// of 12 s, after which the share of a single run still varies by some points.
#[test]
fn real_cubic_gets_what_simulated_cubic_gets() {
    let test = "real_cubic_gets_what_simulated_cubic_gets";
    let folder = Folder::new("six-uploads");
    let sum = folder.path("sum");
    let script = format!(
        "chrt -f 1 true 2>/dev/null && ahead=--realtime\n\
         $P link --scenario {SCENARIO} --flow mine --warmup 3s --summary {sum} -q $ahead \
         --outside '$P traffic receive --bytes {bytes}' \
         -- $P traffic send cubic --duration 15s --counts {counts}",
        bytes = folder.path("bytes"),
        counts = folder.path("counts"),
    );
    let Some(output) = alone(test, &[], &script) else { return };
    let err = text(&output.stderr);
    if err.contains("cubic") && !output.status.success() {
        return skip(test, &err);
    }
    assert!(output.status.success(), "{err}");
    let emulated: Value =
        serde_json::from_slice(&std::fs::read(sum).expect("a summary")).expect("JSON");
    let arguments = ["run", SCENARIO, "--duration", "15s", "--json"];
    let simulated: Value = serde_json::from_str(&paceline(&arguments).out).expect("JSON");
    let others = rates(&emulated["simulated_flows"]);
    assert_eq!(others.len(), 5, "{emulated}");
    assert!(others.iter().all(|rate| *rate > 0.05), "{others:?}");
    let mine = number(&emulated["up"]["throughput_mbps"]);
    let share = mine / (mine + others.iter().sum::<f64>());
    let all = rates(&simulated["flows"]);
    let expected = all[0] / all.iter().sum::<f64>();
    assert!((share - expected).abs() < 0.1, "{share} against {expected}: {emulated}");
    let p95 = number(&emulated["up"]["queue_delay_ms"]["p95"]);
    let wanted = number(&simulated["flows"][0]["one_way_delay_ms"]["p95"]);
    assert!((p95 / wanted - 1.0).abs() < 0.4, "{p95} ms against {wanted}: {emulated}");
    assert!(number(&emulated["up"]["drops"]) > 0.0, "its queue overflows: {emulated}");
    assert!(number(&emulated["down"]["packets"]) > 100.0, "acknowledgements contend: {emulated}");
}

#[test]
fn which_flow_is_meant_must_be_said() {
    let refused = |arguments: &[&str]| {
        let seen = paceline(&[&["link", "--scenario", SCENARIO][..], arguments].concat());
        assert_ne!(seen.code, 0);
        seen.err
    };
    let err = refused(&["--", "true"]);
    assert!(err.contains("--flow") && err.contains("other-6"), "{err}");
    assert!(refused(&["--flow", "theirs", "--", "true"]).contains("no flow `theirs`"));
}
