//! The schemes, one folder each.

pub mod abc;
pub mod bbr;
pub mod bbr3;
pub mod c2tcp;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod gcc;
pub mod ledbat;
pub mod newreno;
pub mod prague;
pub mod rcp;
pub mod remy;
pub mod sprout;
pub mod sprout_ewma;
pub mod vcp;
pub mod vegas;
pub mod verus;
pub mod vivace;
pub mod xcp;
pub mod xcpb;
pub mod xcpw;
