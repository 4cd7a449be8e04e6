//! Shared by the tests of all crates: reports of tests that cannot run here, the paths of recorded
//! traces and reference files, which are not part of the repository, folders for temporary files, and
//! IP packets as bytes ([`packets`]).
//!
//! A test that cannot run calls [`skip`] and returns. The test harness hides the output of passing
//! tests, so [`skip`] writes to standard error itself. It also appends a line to the file in the
//! environment variable `PACELINE_SKIPS`; `make test` prints that list at its end.
//! `PACELINE_REQUIRE=net,traces` turns skips for these needs into failures.

mod files;
mod folder;
pub mod packets;
mod skips;

pub use files::{RECORDINGS, recording, reference};
pub use folder::Folder;
pub use skips::{Need, skip, this_test};
