//! Shared by the adapters for QUIC stacks.
//!
//! A QUIC stack keeps its own account: it numbers packets, detects losses, estimates the RTT, and
//! reports the results to its congestion controller. A [`QuicController`] converts these reports to
//! the [`Feedback`](paceline_cc::Feedback) of Paceline's controllers, and adds facts that stacks do
//! not report: delivery-rate samples, round trips, fates of packets, and whether a loss is a new
//! congestion event.
//!
//! An adapter for one stack, such as `paceline-quinn`, implements the stack's trait with it.

mod controller;
#[cfg(test)]
mod controller_tests;
mod error;
mod ledger;
mod pacing;
mod path;
mod scheme;

pub use controller::{LossReport, QuicController};
pub use error::SchemeError;
pub use pacing::Pacing;
pub use path::PathController;
pub use scheme::{QUIC_SIGNALS, QuicScheme};
