//! Stage numbers of a scenario's parts.

use std::sync::Arc;

use paceline_cc::Time;

/// The stage numbers of a scenario's parts.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Stage of each link.
    pub(crate) links: Vec<usize>,
    /// Stage of each medium.
    pub(crate) media: Vec<usize>,
    /// The scenario's flows, in order.
    pub(crate) flows: Vec<FlowPlace>,
    /// The flows of random arrivals.
    pub(crate) arrivals: Vec<FlowPlace>,
}

/// The stages of one flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlace {
    pub(crate) name: Box<str>,
    /// Its scheme; flows of one specification share it.
    pub(crate) scheme: Arc<str>,
    /// Start and stop; the stop may be [`Time::NEVER`].
    pub(crate) start: Time,
    pub(crate) stop: Time,
    pub(crate) sender: usize,
    pub(crate) receiver: usize,
}
