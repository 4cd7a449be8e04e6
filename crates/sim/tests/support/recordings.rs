//! Recorded traces, which are no part of the repository: tests look for them in the folder that
//! the environment variable `PACELINE_TRACES` names, or else in `shared/traces` beside the
//! repository. Without them a test says so on standard error, past the test harness, which would
//! hide what a passing test prints.

use std::io::Write;
use std::path::PathBuf;

use paceline_sim::scenario::Capacity;

/// A recorded trace, if it is at hand; else the test is told to skip what needs it.
#[allow(dead_code, reason = "some tests have stand-ins instead")]
pub(crate) fn recording(name: &str) -> Option<Capacity> {
    let found = load(name);
    if found.is_none() {
        say(&format!(
            "SKIPPED: there is no recorded trace {name}; name its folder in PACELINE_TRACES"
        ));
    }
    found
}

/// A recorded trace, or the synthetic one that stands in for it.
#[allow(dead_code, reason = "not every test has a stand-in")]
pub(crate) fn recording_or(name: &str, synthetic: &str) -> Capacity {
    load(name).unwrap_or_else(|| {
        say(&format!("there is no recorded trace {name}: the synthetic {synthetic} instead"));
        Capacity::trace(paceline_trace::load(synthetic).expect("a built-in trace"))
    })
}

/// The folder of recorded traces, if there is one.
#[allow(dead_code, reason = "most tests want traces by their names")]
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = place();
    if !folder.is_dir() {
        say("SKIPPED: there are no recorded traces; name their folder in PACELINE_TRACES");
    }
    folder.is_dir().then_some(folder)
}

fn place() -> PathBuf {
    let beside = || [env!("CARGO_MANIFEST_DIR"), "../../../shared/traces"].iter().collect();
    std::env::var_os("PACELINE_TRACES").map_or_else(beside, PathBuf::from)
}

fn load(name: &str) -> Option<Capacity> {
    let path = place().join(name);
    let path = path.to_str().filter(|_| path.exists())?;
    Some(Capacity::trace(paceline_trace::load(path).expect("a valid recording")))
}

fn say(text: &str) {
    // A test that cannot say so is not wrong for that.
    let _ = writeln!(std::io::stderr(), "{text}");
}
