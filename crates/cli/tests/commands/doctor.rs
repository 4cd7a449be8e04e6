//! Tests of `paceline doctor`.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::common::paceline;
use paceline_testing::Folder;
use serde_json::Value;

fn checks(arguments: &[&str]) -> Vec<Value> {
    let seen = paceline(&[&["doctor", "--json"], arguments].concat());
    assert_eq!(seen.code, 0, "{}", seen.err);
    let document: Value = serde_json::from_str(&seen.out).expect("JSON");
    document["checks"].as_array().expect("checks").clone()
}

#[test]
fn every_check_has_a_verdict_a_detail_and_commands() {
    let all = checks(&[]);
    assert!(all.len() > 15, "{} checks", all.len());
    for check in &all {
        let verdict = check["verdict"].as_str().expect("a verdict");
        assert!(["ok", "limited", "missing"].contains(&verdict), "{check}");
        assert!(!check["detail"].as_str().expect("a detail").is_empty(), "{check}");
        assert!(!check["commands"].as_array().expect("commands").is_empty(), "{check}");
    }
    let simulator = &all[0];
    assert_eq!((&simulator["name"], &simulator["verdict"]), (&"simulator".into(), &"ok".into()));
}

#[test]
fn the_verdict_on_emulators_is_that_of_an_emulator() {
    let found = checks(&["link"]);
    let started = found.iter().find(|check| check["name"] == "an emulator started once");
    let verdict = started.expect("the check")["verdict"].clone();
    let seen = paceline(&["delay", "1ms", "-q", "--", "true"]);
    assert_eq!(seen.code == 0, verdict != "missing", "{verdict}: {}", seen.err);
}

#[test]
fn named_commands_are_checked_alone_and_strict_fails_for_what_is_missing() {
    let of_simulator = checks(&["compare"]);
    assert_eq!(of_simulator.len(), 1);
    assert_eq!(paceline(&["doctor", "compare", "--strict"]).code, 0);
    let kernel = checks(&["kernel"]);
    let is_missing = kernel.iter().any(|check| check["verdict"] == "missing");
    let seen = paceline(&["doctor", "kernel", "--strict"]);
    assert_eq!(seen.code, i32::from(is_missing), "{}", seen.err);
    assert!(!is_missing || seen.err.contains("--strict: "), "{}", seen.err);
    let seen = paceline(&["doctor", "lnik"]);
    assert_eq!(seen.code, 2, "{}", seen.err);
    assert!(seen.err.contains("`lnik`: there is no check for it") && seen.err.contains("link"));
}

#[test]
fn the_python_package_and_the_browser_are_those_of_the_path() {
    let folder = Folder::new("doctor");
    let look = |name: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_paceline"))
            .args(["doctor", name, "--json"])
            .env("PATH", folder.path(""))
            .output()
            .expect("the program starts");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        document["checks"][0].clone()
    };
    assert_eq!(look("python")["verdict"], "missing");
    assert_eq!(look("browser")["verdict"], "limited");
    for (name, text) in [("python3", "#!/bin/sh\necho 9.9 here\n"), ("chromium", "")] {
        let path = folder.write(name, text.as_bytes());
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("the file's mode");
    }
    assert_eq!(look("python")["detail"], "9.9 here");
    assert_eq!(look("browser")["detail"], folder.path("chromium"));
}
