//! `paceline reproduce --live`: claims about running systems.

#[allow(dead_code, reason = "only runs of the program are used here")]
mod common;

use paceline_testing::{Need, skip, this_test};
use serde_json::Value;

#[test]
fn a_claim_of_a_running_system_is_measured_only_if_programs_may_run() {
    let seen = common::paceline(&["reproduce", "S12", "--quick", "--json"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let found: Value = serde_json::from_str(&seen.out).expect("JSON");
    let reason = found["claims"][0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("not measured: ") && reason.contains("--live"), "{reason}");

    let seen = common::paceline(&["reproduce", "S12", "--quick", "--json", "--live"]);
    if seen.code != 0 && seen.err.contains("--live ") {
        skip(Need::Net, &this_test(), seen.err.trim());
        return;
    }
    assert_eq!(seen.code, 0, "{}", seen.err);
    let found: Value = serde_json::from_str(&seen.out).expect("JSON");
    let claim = &found["claims"][0];
    // Shortened runs on synthetic traces reproduce nothing, but measure everything.
    assert_eq!(claim["unmeasured"], "");
    for check in claim["checks"].as_array().expect("checks") {
        let share: f64 = check["now"]["measured"]
            .as_str()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("{check}: {}", seen.err));
        assert!((0.3..=1.0).contains(&share), "{check}");
    }
    let measures = &found["measures"]["saturator-live"];
    assert!(measures["thesis.up"].as_f64().is_some(), "{measures}");
}
