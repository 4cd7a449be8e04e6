//! The laboratory on top of the simulator: research that holds Paceline against others.
//!
//! - [`validate`]: our figures beside those of ns-2, ns-3, real Linux and the papers.
//! - [`contest`](mod@contest): entries written as sweeps, and their standings.
//! - [`wireless`]: the XCP-b paper's network around a shared 802.11 medium.
//! - [`bench`](mod@bench): the scenarios by which the simulator's speed is measured.

pub mod bench;
pub mod contest;
pub mod validate;
pub mod wireless;
