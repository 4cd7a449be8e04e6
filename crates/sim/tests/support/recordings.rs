//! Recorded traces as capacities: see `paceline_testing::recording`.

use std::path::Path;

use paceline_sim::scenario::Capacity;
use paceline_testing::recording as path;

/// A recorded trace, if it is at hand; else the test is told as skipped.
#[allow(dead_code, reason = "some tests have stand-ins instead")]
pub(crate) fn recording(name: &str) -> Option<Capacity> {
    path(name).map(|path| load(&path))
}

/// A recorded trace, or the synthetic one that stands in for it; then what the test says of the
/// recorded one is told as skipped.
#[allow(dead_code, reason = "not every test has a stand-in")]
pub(crate) fn recording_or(name: &str, synthetic: &str) -> Capacity {
    recording(name).unwrap_or_else(|| {
        Capacity::trace(paceline_trace::load(synthetic).expect("a built-in trace"))
    })
}

fn load(path: &Path) -> Capacity {
    Capacity::trace(paceline_trace::load(&path.to_string_lossy()).expect("a valid recording"))
}
