//! Why a scenario cannot run.

use paceline_cc::SpecError;
use paceline_flow::MissingSignals;
use paceline_path::{PipeError, ServiceError};
use thiserror::Error;

/// Why a scenario cannot run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A scheme or queue cannot be had.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A scheme needs signals that the simulator does not have.
    #[error("flow `{flow}`: {source}")]
    Signals {
        /// The flow.
        flow: String,
        /// What is missing.
        source: MissingSignals,
    },
    /// The ends of a transport cannot be made.
    #[error("flow `{flow}`: {problem}")]
    Transport {
        /// The flow.
        flow: String,
        /// Why.
        problem: String,
    },
    /// A link cannot transmit as it should.
    #[error("link `{link}`: {source}")]
    Service {
        /// The link.
        link: String,
        /// Why.
        source: ServiceError,
    },
    /// A stretch of a path cannot delay or damage packets as it should.
    #[error("{place}: {source}")]
    Pipe {
        /// The flow or link.
        place: String,
        /// Why.
        source: PipeError,
    },
    /// A path names a link that does not exist.
    #[error("flow `{flow}`: there is no link `{link}`")]
    NoSuchLink {
        /// The flow.
        flow: String,
        /// The name.
        link: String,
    },
    /// A path names a link more than once.
    #[error("flow `{flow}` passes link `{link}` twice")]
    Twice {
        /// The flow.
        flow: String,
        /// The name.
        link: String,
    },
    /// A flow names a station that no medium has.
    #[error("flow `{flow}`: there is no station `{station}`")]
    NoSuchStation {
        /// The flow.
        flow: String,
        /// The name.
        station: String,
    },
    /// Packets could go round without any time passing.
    #[error("flow `{flow}` has neither a round-trip delay nor a link; give it rtt = \"100ms\"")]
    NoDelay {
        /// The flow.
        flow: String,
    },
    /// A link leaves its queue to flows whose schemes name different ones.
    #[error(
        "link `{link}`: flow `{}` names the queue `{}`, flow `{}` names `{}`; name one on the link: \
         queue = \"{}\"",
        .flows[0], .queues[0], .flows[1], .queues[1], .queues[0]
    )]
    Queues {
        /// The link.
        link: String,
        /// Two of the flows.
        flows: [String; 2],
        /// What their schemes name.
        queues: [String; 2],
    },
    /// A link leaves its router to flows whose schemes bring different ones.
    #[error(
        "link `{link}`: flow `{}` brings the router of `{}`, flow `{}` that of `{}`; name one on \
         the link, as router = \"{}\", or none: router = \"none\"",
        .flows[0], .schemes[0], .flows[1], .schemes[1], .schemes[0]
    )]
    Routers {
        /// The link.
        link: String,
        /// Two of the flows.
        flows: [String; 2],
        /// Their schemes.
        schemes: [String; 2],
    },
    /// A buffer is given in bandwidth-delay products, and nobody knows of which delay.
    #[error(
        "link `{link}`: its buffer is a bandwidth-delay product, and {problem}; write rtt = \
         \"100ms\" on the link, or its buffer in bytes, packets or time"
    )]
    Rtt {
        /// The link.
        link: String,
        /// Why the flows do not tell.
        problem: String,
    },
}

impl BuildError {
    /// Makes the error of a link or medium of this name from that of its service.
    pub(crate) fn service(link: &str) -> impl FnOnce(ServiceError) -> BuildError {
        |source| BuildError::Service { link: link.to_string(), source }
    }
}
