//! `paceline kernel` as a program: what it prints, and loaders that are killed.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use paceline_testing::{Need, skip, this_test};

/// The kernel has one register of names: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn paceline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_paceline")).args(args).output().expect("runs")
}

fn json(args: &[&str]) -> serde_json::Value {
    let output = paceline(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The row of `abc` in `paceline kernel list --json`.
fn abc() -> serde_json::Value {
    let list = json(&["kernel", "list", "--json"]);
    let rows = list["programs"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == "abc").expect("a row of abc").clone()
}

/// True if this machine can load programs; if not, the test is told as skipped.
fn can_load() -> bool {
    let status = json(&["kernel", "status", "--json"]);
    let taken = abc()["available"] == true;
    let why = status["missing"].as_str().map(String::from);
    let why = why.or_else(|| taken.then(|| "`abc` is loaded already; unload it".into()));
    if let Some(why) = &why {
        skip(Need::Kernel, &this_test(), why);
    }
    why.is_none()
}

#[test]
fn what_is_missing_is_one_clear_sentence() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let status = json(&["kernel", "status", "--json"]);
    if let Some(missing) = status["missing"].as_str() {
        let output = paceline(&["kernel", "load", "abc"]);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(missing), "{said}");
    }
    let output = paceline(&["kernel", "load", "nosuch"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("`nosuch`") && said.contains("abc"),
        "{said}"
    );
}

#[test]
fn a_killed_loader_leaves_nothing_or_what_can_be_unloaded() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    // How long loading takes here, so that loaders are killed before, during and after it.
    let begun = Instant::now();
    assert!(paceline(&["kernel", "load", "abc"]).status.success());
    let whole = begun.elapsed();
    assert!(paceline(&["kernel", "unload", "abc"]).status.success());
    let mut outcomes = [0; 2];
    for step in 0..24 {
        let mut loader = Command::new(env!("CARGO_BIN_EXE_paceline"))
            .args(["kernel", "load", "abc"])
            .stderr(Stdio::null())
            .spawn()
            .expect("runs");
        thread::sleep(whole * step / 12);
        loader.kill().expect("is ours");
        loader.wait().expect("is ours");
        // What its descriptors held goes a moment after it.
        thread::sleep(Duration::from_millis(50));
        let state = abc();
        let folder = Path::new("/sys/fs/bpf/paceline/abc").exists();
        outcomes[usize::from(state["loaded"] == true)] += 1;
        assert_eq!(state["available"], state["loaded"], "registered without a file: {state}");
        if folder {
            let output = paceline(&["kernel", "unload", "abc"]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let state = abc();
        assert!(state["available"] == false && state["leftover"] == false, "{state}");
    }
    // The last ones had twice the time that they need; a loader that never comes that far proves
    // nothing.
    assert!(outcomes[1] > 0, "no loader came to its end: {outcomes:?}");
}

#[test]
fn gap_runs_abc_of_the_kernel_beside_the_simulators() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    let args = ["gap", "--kernel", "abc", "--trace", "12Mbps", "--duration", "3s", "-q", "--json"];
    let output = paceline(&args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && said.contains("namespace") {
        return skip(Need::Net, &this_test(), said.trim());
    }
    assert!(output.status.success(), "{said}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = &rows["rows"][0];
    assert_eq!(row["scheme"], "abc");
    let (real, counters) = (&row["emulated"], &row["emulated"]["counters"]);
    assert_eq!(real["kernel_scheme"], "abc");
    assert_eq!(counters["fallbacks"], 0);
    assert!(counters["accelerated_bytes"].as_u64() > Some(0), "{counters}");
    assert!(counters["packets_sent_as_accelerates"].as_u64() > Some(0), "{counters}");
    // Three seconds are mostly the beginning: only that it works at all.
    assert!(real["utilization"].as_f64() > Some(0.5), "{real}");
    assert_eq!(abc()["available"], false, "gap unloads what it has loaded");
}
