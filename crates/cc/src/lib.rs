//! Congestion control as decisions, without input or output.
//!
//! This crate defines what a congestion-control scheme is; the schemes themselves are in the crate
//! `paceline-schemes`. A scheme sends nothing and has no clock: a driver (the simulator, the
//! emulator, a socket) passes it events and the current time, and does what the scheme decides. A
//! scheme depends on no clock, no platform and no global state.
//!
//! # The three halves of a scheme
//! - A [`Controller`] decides at the sender. It gets acknowledgements and losses as [`Feedback`],
//!   and answers with a [`Plan`]: the congestion window, the pacing rate, the ECN code point, a
//!   timer.
//! - A [`Reporter`] decides at the receiver: when to acknowledge, which mark to echo, which reports
//!   to send. Most schemes have none and use TCP's acknowledgements ([`AckPolicy`]).
//! - A [`Router`] decides in the network: it marks packets or rewrites their congestion [`Header`],
//!   depending on the state of its link ([`LinkView`]). It never holds or drops a packet.
//!
//! [`Halves`] makes the halves of a scheme as often as a driver needs them, and [`Setup`] is what a
//! driver passes to a new controller. A scheme declares the [`Signals`] that it cannot work
//! without.
//!
//! # A controller of one's own
//! A controller that sends at a fixed rate, and halves the rate for good when packets are lost:
//!
//! ```
//! use paceline_cc::{Congestion, Controller, Feedback, Plan, Rate, Span, Time};
//!
//! struct Halving {
//!     rate: Rate,
//!     srtt: Span,
//! }
//!
//! impl Controller for Halving {
//!     fn on_feedback(&mut self, feedback: &Feedback<'_>) {
//!         self.srtt = feedback.srtt;
//!         if feedback.congestion == Some(Congestion::Loss) {
//!             self.rate = self.rate.mul_f64(0.5);
//!         }
//!     }
//!
//!     fn plan(&self) -> Plan {
//!         // Two round trips' worth of the rate may be in flight, and at least ten packets.
//!         let cwnd = self.rate.bytes_in(self.srtt * 2).max(15_000);
//!         Plan::window(cwnd).paced(self.rate, 0).without_prr()
//!     }
//! }
//!
//! let mut controller = Halving { rate: Rate::from_mbps(12.0), srtt: Span::ZERO };
//!
//! // What a driver does with it: ten packets are acknowledged, and one is lost.
//! let mut feedback = Feedback::new(Time::from_millis(100), 1500);
//! (feedback.acked, feedback.acked_packets) = (15_000, 10);
//! (feedback.lost, feedback.lost_packets) = (1500, 1);
//! feedback.srtt = Span::from_millis(40);
//! feedback.congestion = Some(Congestion::Loss);
//! controller.on_feedback(&feedback);
//!
//! let plan = controller.plan();
//! assert_eq!(plan.pacing, Some(Rate::from_mbps(6.0)));
//! assert_eq!(plan.cwnd, 60_000); // 6 Mbit/s for 80 ms
//! ```
//!
//! # Where things are
//! All types that a scheme or a driver needs are here at the root. The module [`spec`] defines how
//! users write schemes with parameters, [`mod@params`] the tables of parameters, [`registry`]
//! tables of entries that users call by name, [`ArgumentError`] an invalid argument of a request,
//! and [`wire`] the bytes of congestion headers and
//! reports.

mod argument;
mod control;
mod feedback;
mod header;
mod packet;
pub mod params;
pub mod registry;
mod report;
mod rng;
mod route;
mod scheme;
pub mod spec;
mod stage;
mod units;
pub mod wire;
pub mod xcp_feedback;

pub use argument::ArgumentError;
pub use control::{Controller, Established, Outgoing, Plan};
pub use feedback::{Congestion, Fate, Feedback, Provided, RateSample, SignalInfo, Signals};
pub use header::{
    FORECAST_TICKS, Forecast, Header, Load, OpenHeader, OpenReport, RcpHeader, Report,
    SproutHeader, XcpHeader,
};
pub use packet::{
    ACK_BLOCKS, ACK_RANGES, Ack, Body, Data, Ecn, Handshake, NO_SEGMENT, Packet, TrafficClass,
};
pub use params::{ParamInfo, ParamValue, Params, Variant, number_and_unit};
pub use report::{AckPolicy, EcnFeedback, Reporter, Verdict};
pub use rng::{Stream, draws, without_counting};
pub use route::{Batch, Capacity, LinkView, Router};
pub use scheme::{Halves, MakeController, MakeReporter, MakeRouter, RouterSetup, Setup};
pub use spec::{SchemeSpec, Spec, SpecError};
pub use stage::Stage;
pub use units::{Rate, Span, Time};
