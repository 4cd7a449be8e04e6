//! What congestion control decides, without input or output: units, packets, the three halves of
//! a scheme, the schemes themselves and their registry.

pub mod control;
pub mod filter;
pub mod header;
pub mod packet;
pub mod params;
pub mod registry;
pub mod report;
pub mod rng;
pub mod route;
pub mod scheme;
pub mod schemes;
pub mod spec;
pub mod stage;
pub mod units;
pub mod wire;

pub use control::{Congestion, Controller, Fate, Feedback, Outgoing, Plan, RateSample, Signals};
pub use header::{Forecast, Header, Load, RcpHeader, Report, SproutHeader, XcpHeader};
pub use packet::{ACK_BLOCKS, Ack, Body, Data, Ecn, Packet, TrafficClass};
pub use params::{ParamInfo, ParamValue, Params};
pub use registry::{NameTaken, Registry, SCHEMES, SchemeEntry};
pub use report::{AckPolicy, EcnFeedback, Reporter, Verdict};
pub use rng::Stream;
pub use route::{Batch, Capacity, LinkView, Router};
pub use scheme::{Halves, MakeController, MakeReporter, MakeRouter, Scheme, Setup};
pub use spec::{SchemeSpec, Spec, SpecError};
pub use stage::Stage;
pub use units::{Rate, Span, Time};
