//! Propagation delay that follows a recording, from a scenario file.

use std::path::{Path, PathBuf};

use paceline_cc::Span;
use paceline_sim::{run, scenario};

/// Creates a folder with a recording of 30 ms for a second and 10 ms for another.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("paceline-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let lines = "30\n".repeat(100) + &"10\n".repeat(100);
    std::fs::write(folder.join("moves.delay"), lines).expect("written");
    folder
}

fn read(folder: &Path, key: &str) -> Result<scenario::Scenario, scenario::ScenarioError> {
    let text = format!(
        "duration = \"10s\"\n[[link]]\nname = \"link\"\nrate = \"100Mbps\"\n\
         [[flow]]\nscheme = \"newreno\"\nrtt = \"2ms\"\nhandshake = false\nlimited = {{ rate = \"1Mbps\" }}\n\
         data = {{ {key} }}\nacks = {{ {key} }}\n"
    );
    scenario::parse("moves.toml", &text, Some(folder))
}

#[test]
fn the_rtt_is_the_recordings() {
    let folder = folder("moves");
    let scenario = read(&folder, "delay_trace = \"moves.delay\"").expect("valid");
    let delays = scenario.flows[0].data.impairments.delays.as_ref().expect("a recording");
    assert_eq!(delays.period(), Span::from_secs(2));
    let outcome = run(&scenario).expect("runs");
    let rtt = &outcome.flows[0].rtt_ms;
    // Few bytes every 12 ms: 2 ms plus twice 10 or twice 30, and 0.12 ms of transmission.
    assert!((62.1..62.3).contains(&rtt.p95) && (62.1..62.3).contains(&rtt.max), "{rtt:?}");
    let one_way = &outcome.flows[0].one_way_delay_ms;
    assert!((20.0..22.5).contains(&one_way.mean), "half of the time each: {one_way:?}");
    let (fresh, written) = (outcome.digest, write_and_read(&scenario));
    assert_eq!(fresh, written, "what is written is read back");
    std::fs::remove_dir_all(folder).expect("removed");
}

fn write_and_read(scenario: &scenario::Scenario) -> String {
    let mut file = |_: &paceline_trace::Trace| String::from("unused");
    let text = scenario::to_toml(scenario, "", &mut file).expect("can be written");
    assert!(text.contains("delay_trace = "), "{text}");
    let again = scenario::parse("again.toml", &text, None).expect("valid");
    run(&again).expect("runs").digest
}

#[test]
fn a_recording_that_is_wrong_is_told_with_its_place() {
    let folder = folder("wrong-moves");
    let told = |key: &str| read(&folder, key).expect_err("wrong").to_string();
    let missing = told("delay_trace = \"no.delay\"");
    assert!(
        missing.contains("no.delay: no such file") && missing.contains("moves.toml"),
        "{missing}"
    );
    std::fs::write(folder.join("bad.delay"), "30\nfast\n").expect("written");
    let bad = told("delay_trace = \"bad.delay\"");
    assert!(bad.contains("bad.delay:2: expected milliseconds"), "{bad}");
    std::fs::remove_dir_all(folder).expect("removed");
}
