//! The schemes, one folder each.

pub mod abc;
pub mod bbr;
pub mod c2tcp;
pub mod cubic;
pub mod newreno;
pub mod vegas;
