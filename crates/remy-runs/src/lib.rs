//! Runs of senders that follow tables of rules: Remy's model of a network, a specialised world that runs most such networks,
//! the results of each sender, and which rules it used.
//!
//! Training spends its time here. This crate is optimized in releases; `paceline-remy`, which reads files and searches for
//! rules, is not.

mod network;
pub mod score;
pub mod usage;
mod world;

pub use network::{DelayMeasure, Measures, Network, Others, PACKET};
pub use world::{FastRun, TableSenders};
