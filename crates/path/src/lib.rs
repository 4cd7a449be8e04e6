//! The parts of a path that carry packets: links with queues and services, and pipes with delay,
//! jitter, loss, reordering and duplication.
//!
//! - A [`Port`] holds packets in a [`Queue`] and lets a [`Router`](paceline_cc::Router) rewrite their
//!   headers. It belongs to a link, or to a station at a shared medium
//!   (`paceline_wifi`).
//! - A [`Link`] is a port and a [`Service`], which transmits: at a constant rate, by a schedule of
//!   rates, or at the opportunities of a recorded trace. A [`LookAheadLink`] replaces a link, and
//!   the delay after it, if each packet's departure can be computed when the packet enters.
//! - A [`Pipe`] carries packets to the other end of a path: propagation delay and [`Impairments`].
//! - [`queue`] has the queues, from droptail to DualPI2, as types and by name, and the table to
//!   which you can add your own.
//!
//! Links and pipes are [`Stage`](paceline_cc::Stage)s. They have no clock and do no input or
//! output: their driver, the simulator or the emulator, passes the time, and asks
//! [`wake`](paceline_cc::Stage::wake) when the next packet comes out. All random numbers come from
//! [`Stream`](paceline_cc::Stream)s that the driver supplies, so that runs repeat.
//!
//! # A link with CoDel, driven by hand
//!
//! Packets arrive at 15 Mbit/s for two seconds at a link of 12 Mbit/s, and are collected at the
//! times that the link names:
//!
//! ```
//! use paceline_cc::{Packet, Rate, Span, Spec, Stage, Stream, Time};
//! use paceline_path::{Limit, Link, Service, queue};
//!
//! let codel = Spec::parse("codel[target=5ms]")?;
//! let stream = Stream::new(1, "queue of link cell");
//! let queue = queue::build(&codel, Limit::packets(1000), stream)?;
//! let mut link = Link::new(queue, Service::constant(Rate::from_mbps(12.0)));
//!
//! let mut delivered = 0;
//! let mut arrival = Time::ZERO;
//! while arrival < Time::from_secs(2) {
//!     // A packet of 1500 bytes every 0.8 ms.
//!     link.push(arrival, &Packet::opaque(1500));
//!     arrival += Span::from_micros(800);
//!     while link.wake() <= arrival {
//!         let now = link.wake();
//!         delivered += usize::from(link.pop(now).is_some());
//!     }
//! }
//!
//! // Each packet takes the link 1 ms.
//! assert!((1990..=2000).contains(&delivered));
//! // Nothing here reacts to drops, so the queue still grows; but CoDel has begun to drop.
//! let counters = link.counters();
//! assert!(counters.dropped_aqm > 10 && counters.dropped_full == 0);
//! # Ok::<(), paceline_cc::SpecError>(())
//! ```

mod link;
mod look_ahead;
mod pipe;
mod port;
pub mod queue;
mod ring;
mod service;

pub use link::Link;
pub use look_ahead::LookAheadLink;
pub use pipe::{
    GilbertElliott, Impairments, Jitter, JitterShape, Loss, Pipe, PipeCounters, PipeError, Reorder,
};
pub use port::{Counters, Departure, EventKind, LinkEvent, Port, PortLog, TakenPacket};
pub use queue::interface::{DropReason, DroppedPacket, DroptailLimit, Queue};
pub use queue::limit::{BufferSize, Limit};
pub use service::{
    Constant, MAHIMAHI_OPPORTUNITY, Opportunities, OpportunityOptions, Schedule, Service,
    ServiceError,
};
