//! Schemes, queues and routers of a scenario: by name, or as values of the calling program.

use std::fmt;
use std::sync::Arc;

use paceline_cc::MakeRouter;
use paceline_cc::{Halves, Router, RouterSetup, SchemeSpec, Spec, Stream};
use paceline_path::{Limit, Queue};

use crate::transport::CustomTransport;

/// Builds a queue with this limit. Its random numbers come from the stream, whose key is the run's
/// seed and the link's name.
pub type MakeQueue = Arc<dyn Fn(Limit, Stream) -> Box<dyn Queue> + Send + Sync>;

macro_rules! custom {
    ($name:ident, $what:literal) => {
        impl $name {
            /// Returns its name in outcomes and errors.
            pub fn label(&self) -> &str {
                &self.label
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($what, " made elsewhere: {}"), self.label)
            }
        }
    };
}

/// A scheme that is given as a value, not by name.
#[derive(Clone)]
pub struct CustomScheme {
    label: String,
    halves: Halves,
    queue: Option<Spec>,
}
custom!(CustomScheme, "scheme");

impl CustomScheme {
    /// Creates a scheme from its halves, which are factories: several flows may have the scheme,
    /// and a flow may be restarted.
    pub fn new(label: impl Into<String>, halves: Halves) -> CustomScheme {
        CustomScheme { label: label.into(), halves, queue: None }
    }

    /// Returns this scheme with `queue` as the queue of links that name none.
    #[must_use]
    pub fn with_queue(mut self, queue: Option<Spec>) -> CustomScheme {
        self.queue = queue;
        self
    }

    /// Returns its halves.
    pub fn halves(&self) -> &Halves {
        &self.halves
    }
}

/// A queue that is given as a value, not by name.
#[derive(Clone)]
pub struct CustomQueue {
    label: String,
    make: MakeQueue,
}
custom!(CustomQueue, "queue");

impl CustomQueue {
    /// Creates a queue that `make` builds, once for each link and run.
    pub fn new(
        label: impl Into<String>,
        make: impl Fn(Limit, Stream) -> Box<dyn Queue> + Send + Sync + 'static,
    ) -> CustomQueue {
        CustomQueue { label: label.into(), make: Arc::new(make) }
    }

    /// Builds one such queue.
    pub fn make(&self, limit: Limit, stream: Stream) -> Box<dyn Queue> {
        (self.make)(limit, stream)
    }
}

/// A router that is given as a value, not by name.
#[derive(Clone)]
pub struct CustomRouter {
    label: String,
    make: MakeRouter,
}
custom!(CustomRouter, "router");

impl CustomRouter {
    /// Creates a router that `make` builds, once for each link and run.
    pub fn new(
        label: impl Into<String>,
        make: impl Fn(&RouterSetup) -> Box<dyn Router> + Send + Sync + 'static,
    ) -> CustomRouter {
        CustomRouter { label: label.into(), make: Arc::new(make) }
    }

    /// Returns the factory of these routers.
    pub fn maker(&self) -> MakeRouter {
        self.make.clone()
    }
}

impl PartialEq for CustomRouter {
    fn eq(&self, other: &CustomRouter) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

/// The scheme of a flow.
#[derive(Clone, Debug)]
pub enum SchemeChoice {
    /// A scheme by name, with parameters, and the queue that it prefers at the bottleneck.
    Named(SchemeSpec),
    /// A scheme given as a value.
    Custom(CustomScheme),
    /// A complete transport with its own congestion control.
    Transport(CustomTransport),
}

/// Custom schemes are equal if they have the same factories.
impl PartialEq for SchemeChoice {
    fn eq(&self, other: &SchemeChoice) -> bool {
        match (self, other) {
            (SchemeChoice::Named(one), SchemeChoice::Named(other)) => one == other,
            (SchemeChoice::Custom(one), SchemeChoice::Custom(other)) => {
                Arc::ptr_eq(&one.halves.controller, &other.halves.controller)
            }
            (SchemeChoice::Transport(one), SchemeChoice::Transport(other)) => one.is(other),
            _ => false,
        }
    }
}

impl SchemeChoice {
    /// Returns its name without parameters, or its label.
    pub fn name(&self) -> &str {
        match self {
            SchemeChoice::Named(spec) => &spec.sender.name,
            SchemeChoice::Custom(made) => &made.label,
            SchemeChoice::Transport(made) => made.label(),
        }
    }

    /// Returns its notation, if it has a name.
    pub fn named(&self) -> Option<&SchemeSpec> {
        match self {
            SchemeChoice::Named(spec) => Some(spec),
            SchemeChoice::Custom(_) | SchemeChoice::Transport(_) => None,
        }
    }

    /// Returns the queue that it names for the bottleneck.
    pub fn queue(&self) -> Option<&Spec> {
        match self {
            SchemeChoice::Named(spec) => spec.queue.as_ref(),
            SchemeChoice::Custom(made) => made.queue.as_ref(),
            SchemeChoice::Transport(made) => made.queue(),
        }
    }
}

impl fmt::Display for SchemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemeChoice::Named(spec) => spec.fmt(f),
            SchemeChoice::Custom(made) => f.write_str(&made.label),
            SchemeChoice::Transport(made) => f.write_str(made.label()),
        }
    }
}

impl From<SchemeSpec> for SchemeChoice {
    fn from(spec: SchemeSpec) -> SchemeChoice {
        SchemeChoice::Named(spec)
    }
}

impl From<CustomScheme> for SchemeChoice {
    fn from(made: CustomScheme) -> SchemeChoice {
        SchemeChoice::Custom(made)
    }
}

impl From<CustomTransport> for SchemeChoice {
    fn from(made: CustomTransport) -> SchemeChoice {
        SchemeChoice::Transport(made)
    }
}

/// The queue of a link.
#[derive(Clone, Debug)]
pub enum QueueChoice {
    /// The queue that the schemes of the link's flows name; droptail if none does.
    Auto,
    /// A queue by name, with parameters.
    Named(Spec),
    /// A queue given as a value.
    Custom(CustomQueue),
}

impl QueueChoice {
    /// Returns a FIFO queue that drops packets which arrive when it is full.
    pub fn droptail() -> QueueChoice {
        QueueChoice::Named(Spec { name: "droptail".into(), args: Vec::new() })
    }
}

impl fmt::Display for QueueChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueChoice::Auto => f.write_str("auto"),
            QueueChoice::Named(spec) => spec.fmt(f),
            QueueChoice::Custom(made) => f.write_str(&made.label),
        }
    }
}

impl From<Spec> for QueueChoice {
    fn from(spec: Spec) -> QueueChoice {
        QueueChoice::Named(spec)
    }
}

impl From<CustomQueue> for QueueChoice {
    fn from(made: CustomQueue) -> QueueChoice {
        QueueChoice::Custom(made)
    }
}

/// The network's half of a scheme at a link.
#[derive(Clone, Debug, PartialEq)]
pub enum RouterChoice {
    /// The router of the link's flows' schemes, if any of them has one.
    Auto,
    /// No router.
    None,
    /// The router of this scheme.
    Scheme(Spec),
    /// A router given as a value.
    Custom(CustomRouter),
}
