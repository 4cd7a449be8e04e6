//! A real program at a station of a shared 802.11 medium, beside five simulated stations.

#[path = "common/alone.rs"]
mod alone;
#[allow(dead_code, reason = "each test program uses a part")]
mod common;

use alone::{alone, skip, text};
use common::paceline;
use paceline_testing::Folder;
use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/six-uploads.toml");

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn rates(flows: &Value) -> Vec<f64> {
    flows.as_array().into_iter().flatten().map(|flow| number(&flow["goodput_mbps"])).collect()
}

/// The first station's share of the throughput of all six, and the 95th percentile of its packets'
/// delay.
#[derive(Debug)]
struct Measured {
    share: f64,
    p95_ms: f64,
}

/// Runs the real flow and measures after 3 s of warm-up. `None` if that is impossible here.
fn emulated(test: &str, folder: &Folder) -> Option<Measured> {
    let sum = folder.path("sum");
    let script = format!(
        "chrt -f 1 true 2>/dev/null && ahead=--realtime\n\
         $P link --scenario {SCENARIO} --flow mine --warmup 3s --summary {sum} -q $ahead \
         --outside '$P traffic receive --bytes {bytes}' \
         -- $P traffic send cubic --duration 15s --counts {counts}",
        bytes = folder.path("bytes"),
        counts = folder.path("counts"),
    );
    let output = alone(test, &[], &script)?;
    let err = text(&output.stderr);
    if err.contains("cubic") && !output.status.success() {
        skip(test, &err);
        return None;
    }
    assert!(output.status.success(), "{err}");
    let summary: Value =
        serde_json::from_slice(&std::fs::read(sum).expect("a summary")).expect("JSON");
    let others = rates(&summary["simulated_flows"]);
    assert_eq!(others.len(), 5, "{summary}");
    assert!(others.iter().all(|rate| *rate > 0.05), "{others:?}");
    assert!(number(&summary["up"]["drops"]) > 0.0, "its queue overflows: {summary}");
    assert!(number(&summary["down"]["packets"]) > 100.0, "acknowledgements contend: {summary}");
    let mine = number(&summary["up"]["throughput_mbps"]);
    let share = mine / (mine + others.iter().sum::<f64>());
    Some(Measured { share, p95_ms: number(&summary["up"]["queue_delay_ms"]["p95"]) })
}

/// Runs the flow in the simulator, with another seed for each run.
fn simulated(folder: &Folder) -> Vec<Measured> {
    let scenario = std::fs::read_to_string(SCENARIO).expect("the scenario");
    assert!(scenario.contains("warmup = \"5s\""), "{scenario}");
    let scenario = scenario.replace("warmup = \"5s\"", "warmup = \"3s\"");
    let scenario = folder.write("six-uploads.toml", scenario.as_bytes());
    let runs = (1..=40).map(|seed: u64| {
        let seed = seed.to_string();
        let arguments = ["run", &scenario, "--duration", "15s", "--seed", &seed, "--json"];
        let run: Value = serde_json::from_str(&paceline(&arguments).out).expect("JSON");
        let all = rates(&run["flows"]);
        let p95_ms = number(&run["flows"][0]["one_way_delay_ms"]["p95"]);
        Measured { share: all[0] / all.iter().sum::<f64>(), p95_ms }
    });
    runs.collect()
}

/// Compares the share and the 95th percentile of delay of this machine's Cubic beside five
/// simulated uploads with the simulator, by the bounds of docs/medium.md, 3 points and 15 %. Runs
/// of 12 s differ by chance: in 60 simulated ones the percentile was 547 to 1254 ms. So the real
/// run may lie anywhere between the smallest and the largest of 40 simulated runs, or within the
/// bounds of them; a run that does not is repeated once.
#[test]
fn real_cubic_gets_what_simulated_cubic_gets() {
    let test = "real_cubic_gets_what_simulated_cubic_gets";
    let folder = Folder::new("six-uploads");
    let Some(first) = emulated(test, &folder) else { return };
    let runs = simulated(&folder);
    let least = |of: fn(&Measured) -> f64| runs.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Measured) -> f64| runs.iter().map(of).fold(0.0, f64::max);
    let shares = least(|run| run.share) - 0.03..=most(|run| run.share) + 0.03;
    let delays = least(|run| run.p95_ms) * 0.85..=most(|run| run.p95_ms) * 1.15;
    let fits = |run: &Measured| shares.contains(&run.share) && delays.contains(&run.p95_ms);
    if !fits(&first) {
        let second = emulated(test, &folder).expect("as the first");
        assert!(fits(&second), "{first:?} and {second:?}; bounds {shares:?}, {delays:?} ms");
    }
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
