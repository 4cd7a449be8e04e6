//! Recorded traces as capacities: see `paceline_testing::recording`.

use std::path::Path;

use paceline_sim::scenario::Capacity;
use paceline_testing::recording as path;

/// Returns a recorded trace if it is available; otherwise reports the test as skipped.
#[allow(dead_code, reason = "some tests have stand-ins instead")]
pub(crate) fn recording(name: &str) -> Option<Capacity> {
    path(name).map(|path| load(&path))
}

/// Returns a recorded trace, or a synthetic one in its place; then the checks of the recorded trace
/// are reported as skipped.
#[allow(dead_code, reason = "not every test has a stand-in")]
pub(crate) fn recording_or(name: &str, synthetic: &str) -> Capacity {
    recording(name).unwrap_or_else(|| {
        Capacity::trace(paceline_trace::load(synthetic).expect("a built-in trace"))
    })
}

fn load(path: &Path) -> Capacity {
    Capacity::trace(paceline_trace::load(&path.to_string_lossy()).expect("a valid recording"))
}
