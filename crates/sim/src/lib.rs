//! Simulates congestion control: senders, receivers, links with queues and routers, delay and loss,
//! in virtual time with a resolution of one nanosecond.
//!
//! A [`Scenario`](scenario::Scenario) has links, the flows that use them, and a duration; it is
//! written in Rust or in a file ([`scenario::load`]). [`run()`] runs it to its end and returns an
//! [`Outcome`]: rates, delays, drops, fairness, and time series if requested. [`Simulation`] is a
//! run that can be inspected in between, [`Interactive`] one that can be changed in between. Equal
//! scenarios with equal seeds give equal results on any machine.
//!
//! A scheme is given by name (`paceline schemes` lists the built-in ones; [`Names`] can contain
//! further ones) or as a value: any [`Controller`](cc::Controller), with a receiver's and a
//! router's half if it has them. Here is a scheme that always keeps 60 packets in flight, next to
//! Cubic:
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
//! `examples/own_controller.rs` has a controller that reacts; `examples/by_hand.rs` drives a
//! sender, a link and a receiver without the simulator. `docs/metrics.md` defines the results,
//! `docs/scenarios.md` the keys of scenario files.

mod access_point;
mod ahead;
mod arrivals;
mod bins;
mod build;
mod call;
mod census;
pub mod choose;
mod digest;
mod ends;
mod error;
mod gateway;
mod host;
mod interactive;
pub mod metrics;
mod nodes;
mod outcome;
mod parts;
mod places;
mod recorder;
mod routes;
mod run;
mod stream_names;
mod timetable;
mod transport;
mod world;

pub use bins::LinkBins;
pub use call::{AudioOutcome, FramesOutcome};
pub use census::Census;
pub use error::BuildError;
pub use gateway::{FlowEnd, Gateway};
pub use interactive::{ChangeError, FlowState, Interactive, LinkCounts, LinkState, PacketEvent};
pub use outcome::{
    ArrivalsOutcome, FlowOutcome, FlowSeries, FlowSums, LinkOutcome, LinkSeries, MediumOutcome,
    Outcome, PooledDelays, StationOutcome,
};
pub use paceline_scenario::{
    Capture, CapturedFrame, ConnectionEvent, ConnectionEventKind, ConnectionLog,
    ConnectionObserver, CustomTransport, FrameObserver, MakeHosts, MakeTransport, Media, Names,
    ProgramOutcome, ReadTransport, TcpEvent, TcpEventKind, TcpObserver, TcpProbe, TcpValues,
    TransportEnd, TransportEnds, TransportSetup, Transports, runs, scenario,
};
pub use parts::{Transmitter, mean_rate, queue_stream, router_setup, transmitter};
pub use run::{Simulation, run, run_with};
pub use stream_names::StreamNames;
pub use world::World;

/// Units, packets and controllers, for writing schemes.
pub use paceline_cc as cc;
/// Workloads: what flows send.
pub use paceline_flow as flow;
/// Queues, buffers, loss and jitter, the parts of links.
pub use paceline_path as path;
/// The built-in schemes and their registry, to which users can add schemes.
pub use paceline_schemes as schemes;
/// Traces of links whose capacity varies.
pub use paceline_trace as trace;
/// Shared media of 802.11.
pub use paceline_wifi as wifi;
