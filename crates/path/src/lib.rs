//! What carries packets: links, services, queues, delay, loss and reordering.
//!
//! A [`Link`] holds packets in a [`Queue`], lets a [`Router`](paceline_cc::Router) rewrite their
//! headers, and transmits them as its [`Service`] allows. A [`Pipe`] carries them to the other
//! end: propagation delay, jitter, loss, reordering, duplication. Both are
//! [`Stage`](paceline_cc::Stage)s: without a clock of their own, driven by whoever owns the time.

pub mod link;
pub mod pipe;
pub mod queue;
mod ring;
pub mod service;

pub use link::{Counters, EventKind, Link, LinkEvent};
pub use pipe::{
    GilbertElliott, Impairments, Jitter, JitterShape, Loss, Pipe, PipeCounters, PipeError, Reorder,
};
pub use queue::{BufferSize, DropReason, Dropped, Limit, QUEUES, Queue, QueueInfo};
pub use service::{Opportunities, OpportunityOptions, Service, ServiceError};
