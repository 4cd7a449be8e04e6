//! The schemes, one folder each.

pub mod abc;
pub mod bbr;
pub mod bbr3;
pub mod c2tcp;
pub mod compound;
pub mod cubic;
pub mod dctcp;
pub mod ledbat;
pub mod newreno;
pub mod prague;
pub mod vegas;
