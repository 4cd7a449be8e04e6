//! What the tests of all crates share: how a test says that it cannot run here, where it finds
//! recorded traces and reference files, which are no part of the repository, and IP packets as bytes
//! ([`packets`]).
//!
//! A test that cannot run calls [`skip`] and returns. The test harness would hide what a passing
//! test prints, so [`skip`] writes to standard error itself, and appends a line to the file that
//! the environment variable `PACELINE_SKIPS` names; `make test` prints that list at its end.
//! `PACELINE_REQUIRE=net,traces` turns skips for want of these into failures.

mod files;
pub mod packets;
mod skips;

pub use files::{recording, reference};
pub use skips::{Need, skip, this_test};
