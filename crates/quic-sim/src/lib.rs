//! Whole QUIC stacks over Paceline's links, in virtual time.
//!
//! A stack without input and output, such as quinn's `quinn-proto`, runs unchanged at both ends of
//! a flow: its own handshake, encryption, packets, acknowledgements, loss recovery, flow control,
//! path MTU discovery and ECN. Paceline's simulator provides links, queues, delay, loss, and the
//! time. Equal scenarios with equal seeds give equal runs, event by event. So a regression is a
//! test that fails, not a measurement that varies. The exceptions are quinn's own BBR and noq's own
//! BBR v3, which draw random numbers from the system.
//!
//! ```
//! use std::sync::Arc;
//!
//! use paceline_quic_sim::Quinn;
//! use paceline_sim::cc::{Rate, Span};
//! use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, Scenario};
//! use quinn_proto::congestion::CubicConfig;
//!
//! let cubic = Quinn::new("quinn's Cubic", Arc::new(CubicConfig::default()));
//! let mut scenario = Scenario::new("ten seconds of quinn");
//! scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
//! scenario.flows.push(FlowSpec::bulk(cubic.transport(), &["link"]));
//! scenario.duration = Span::from_secs(10);
//!
//! let outcome = paceline_sim::run(&scenario)?;
//! assert!(outcome.links[0].utilization > 0.8);
//! assert_eq!(outcome.digest, paceline_sim::run(&scenario)?.digest);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What figures mean
//! Rates of links count bytes on the wire: the stack's datagrams with 28 bytes of IPv4 and UDP
//! headers. A flow's goodput counts the application's bytes, so it is a few per cent lower; each byte
//! counts when it arrives, in whatever order. One-way delays are those of all datagrams from the
//! sending end to the receiving end. RTTs are the stack's smoothed ones, because stacks report no
//! others. A run in which a stack ends its connection has no figures but an error with the reason.

mod addresses;
mod application;
mod clock;
mod datagrams;
mod end;
mod families;
mod machine;
mod noq;
mod observers;
mod quinn;
mod stack;
pub mod suite;
mod thread;
pub mod tls;

use std::num::NonZeroUsize;

pub use end::{ends, largest_datagram};
pub use families::{add_families, noq_named, quinn_named};
pub use machine::{Machine, MachineStats, Transmission};
pub use noq::Noq;
pub use quinn::Quinn;
pub use thread::ends_on_a_thread;

/// Receive window larger than any of the simulated paths, so that congestion control, not flow
/// control, limits sending.
const WINDOW: u32 = 256 << 20;

/// Most datagrams that a stack may put into one transmission, as the drivers of quinn and noq on
/// Linux allow.
const SEGMENTS: NonZeroUsize = NonZeroUsize::new(10).unwrap();
