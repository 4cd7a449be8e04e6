//! What the adapters for QUIC stacks share.
//!
//! A QUIC stack keeps its own account: it numbers packets, detects losses, estimates the RTT, and
//! calls its congestion controller with what it found. A [`QuicController`] turns these calls into
//! the [`Feedback`](paceline_cc::Feedback) that Paceline's controllers take, and adds what they need
//! and stacks do not tell: delivery-rate samples, round trips, fates of packets, when a loss is a
//! new congestion event.
//!
//! An adapter for one stack, such as `paceline-quinn`, implements the stack's trait by calling it.

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
