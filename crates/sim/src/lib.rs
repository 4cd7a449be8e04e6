//! Simulates congestion control: senders and receivers, links with queues and routers, delay and
//! loss, in virtual time and to the nanosecond.
//!
//! A [`Scenario`](scenario::Scenario) says which links there are, which flows pass them, and how long; it is written in
//! Rust or in a file ([`scenario::load`]). [`run()`] runs it to its end and gives an [`Outcome`]:
//! rates, delays, drops, fairness, time series if asked for. [`Simulation`] is a run that can be
//! looked at on the way, [`Interactive`] one that can be changed on the way. Equal scenarios with equal seeds give equal results, whatever the machine.
//!
//! A scheme is called by name (`paceline schemes` lists what is built in), comes from
//! [`Names`] to which the caller has added it, or is a value: any
//! [`Controller`](cc::Controller), with a receiver's and a router's half if it has them. Here is one
//! that keeps 60 packets in flight whatever happens, beside Cubic:
//!
//! ```
//! use paceline_sim::cc::{Controller, Feedback, Halves, Plan, Rate, Span};
//! use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, CustomScheme, Scenario, SchemeChoice};
//!
//! struct Sixty(u64);
//!
//! impl Controller for Sixty {
//!     fn on_feedback(&mut self, _: &Feedback<'_>) {}
//!
//!     fn plan(&self) -> Plan {
//!         Plan::window(self.0)
//!     }
//! }
//!
//! let sixty = CustomScheme::new("sixty", Halves::sender(|setup| Sixty(60 * u64::from(setup.mss))));
//! let cubic: SchemeChoice = "cubic".parse()?;
//! let mut scenario = Scenario::new("sixty packets beside Cubic");
//! scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
//! scenario.flows.push(FlowSpec::bulk(sixty, &["link"]));
//! scenario.flows.push(FlowSpec::bulk(cubic, &["link"]));
//! scenario.duration = Span::from_secs(10);
//!
//! let outcome = paceline_sim::run(&scenario)?;
//! assert!(outcome.links[0].utilization > 0.9);
//! assert!(outcome.flows[1].goodput_mbps > outcome.flows[0].goodput_mbps);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/own_controller.rs` has a controller that reacts; `examples/by_hand.rs` drives a sender,
//! a link and a receiver without the simulator. What the figures mean exactly stands
//! in `docs/metrics.md`, the keys of scenario files in `docs/scenarios.md`.

mod access_point;
mod ahead;
mod bins;
mod build;
mod census;
pub mod choose;
mod digest;
mod ends;
mod error;
mod gateway;
mod host;
mod interactive;
pub mod metrics;
mod names;
mod nodes;
mod outcome;
mod parts;
mod recorder;
mod routes;
mod run;
pub mod runs;
pub mod scenario;
mod timetable;
mod transport;
mod world;

pub use bins::LinkBins;
pub use census::Census;
pub use error::BuildError;
pub use gateway::{FlowEnd, Gateway};
pub use interactive::{ChangeError, FlowState, Interactive, LinkCounts, LinkState};
pub use names::{Names, ReadTransport, Transports};
pub use outcome::{
    ArrivalsOutcome, FlowOutcome, FlowSeries, FlowSums, FramesOutcome, LinkOutcome, LinkSeries,
    MediumOutcome, Outcome, PooledDelays, SenderCounters, StationOutcome,
};
pub use parts::{Transmitter, mean_rate, queue_stream, transmitter};
pub use run::{Simulation, run, run_with};
pub use transport::{CustomTransport, MakeTransport, TransportEnd, TransportEnds, TransportSetup};
pub use world::World;

/// Units, packets, controllers: what a scheme of one's own is made with.
pub use paceline_cc as cc;
/// Workloads: what flows send.
pub use paceline_flow as flow;
/// Queues, buffers, loss, jitter: what links are made of.
pub use paceline_path as path;
/// The built-in schemes and their registry, to which users add schemes of their own.
pub use paceline_schemes as schemes;
/// Traces of links whose capacity varies.
pub use paceline_trace as trace;
/// Shared media of 802.11.
pub use paceline_wifi as wifi;
