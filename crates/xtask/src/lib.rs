//! Commands for the source tree, and the rules that `tests/tidy.rs` holds the tree against.

pub mod api;
pub mod rooms;
pub mod scan;
pub mod tree;
