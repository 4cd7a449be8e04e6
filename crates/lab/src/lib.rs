//! The laboratory on top of the simulator: compares Paceline with other programs and with papers.
//!
//! - [`validate`]: Paceline's figures beside those of ns-2, ns-3, real Linux and the papers.
//! - [`contest`](mod@contest): entries written as sweeps, and their standings.
//! - [`late`]: a sender that knows a link's rate one round trip late.
//! - [`wireless`]: the XCP-b paper's network around a shared 802.11 medium.
//! - [`bench`](mod@bench): benchmark scenarios for the simulator's speed.

pub mod bench;
pub mod contest;
pub mod late;
pub mod standings;
pub mod validate;
pub mod wireless;
