//! Commands for the source tree, and the rules that `tests/all/tidy.rs` checks.

pub mod api;
pub mod licenses;
pub mod rooms;
pub mod scan;
pub mod tree;
