//! Tests, a module for each subject, in one executable: each executable takes 1.5 s or more to build.
//! `allocations` counts those of its process.

#[path = "../../../sim/tests/all/recordings.rs"]
mod recordings;

mod bare_names;
mod c2tcp;
mod peers;
mod sprout;
