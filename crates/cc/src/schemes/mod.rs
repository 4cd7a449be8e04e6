//! The schemes, one folder each.

pub mod abc;
pub mod cubic;
pub mod newreno;
pub mod vegas;
