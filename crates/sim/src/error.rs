//! Why a scenario cannot run.

use paceline_cc::SpecError;
use paceline_flow::MissingSignals;
use paceline_path::{PipeError, ServiceError};
use thiserror::Error;

/// Why a scenario cannot run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A scheme or queue does not exist or has invalid parameters.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A scheme needs signals that the simulator does not have.
    #[error("flow `{flow}`: {source}")]
    Signals {
        /// Name of the flow.
        flow: String,
        /// The missing signals.
        source: MissingSignals,
    },
    /// A flow without selective acknowledgements has a scheme that sends nothing again.
    #[error(
        "flow `{flow}`: {scheme} sends no data again, so that recovery = \"newreno\" or \"reno\" does not suit it; leave recovery out"
    )]
    Recovery {
        /// Name of the flow.
        flow: String,
        /// The scheme.
        scheme: String,
    },
    /// A flow with a receive window has a scheme whose receiver waits for no data.
    #[error(
        "flow `{flow}`: {scheme} sends no data again, so that its receiver has no window; leave receive_window out"
    )]
    ReceiveWindow {
        /// Name of the flow.
        flow: String,
        /// The scheme.
        scheme: String,
    },
    /// The ends of a transport cannot be built.
    #[error("flow `{flow}`: {problem}")]
    Transport {
        /// Name of the flow.
        flow: String,
        /// The error.
        problem: String,
    },
    /// The capacity of a link is invalid.
    #[error("link `{link}`: {source}")]
    Service {
        /// Name of the link.
        link: String,
        /// The error.
        source: ServiceError,
    },
    /// The delay or the impairments of a stretch are invalid.
    #[error("{place}: {source}")]
    Pipe {
        /// Name of the flow or link.
        place: String,
        /// The error.
        source: PipeError,
    },
    /// A path names a link that does not exist.
    #[error("flow `{flow}`: there is no link `{link}`")]
    NoSuchLink {
        /// Name of the flow.
        flow: String,
        /// Name of the missing link.
        link: String,
    },
    /// A path names a link more than once.
    #[error("flow `{flow}` passes link `{link}` twice")]
    Twice {
        /// Name of the flow.
        flow: String,
        /// Name of the link.
        link: String,
    },
    /// A flow names a station that no medium has.
    #[error("flow `{flow}`: there is no station `{station}`")]
    NoSuchStation {
        /// Name of the flow.
        flow: String,
        /// Name of the missing station.
        station: String,
    },
    /// Packets could circulate without any time passing.
    #[error("flow `{flow}` has neither a round-trip delay nor a link; give it rtt = \"100ms\"")]
    NoDelay {
        /// Name of the flow.
        flow: String,
    },
    /// A link leaves its queue to flows whose schemes name different queues.
    #[error(
        "link `{link}`: flow `{}` names the queue `{}`, flow `{}` names `{}`; name one on the link: \
         queue = \"{}\"",
        .flows[0], .queues[0], .flows[1], .queues[1], .queues[0]
    )]
    Queues {
        /// Name of the link.
        link: String,
        /// Names of two of the flows.
        flows: [String; 2],
        /// The queues that their schemes name.
        queues: [String; 2],
    },
    /// A link leaves its router to flows whose schemes have different routers.
    #[error(
        "link `{link}`: flow `{}` brings the router of `{}`, flow `{}` that of `{}`; name one on \
         the link, as router = \"{}\", or none: router = \"none\"",
        .flows[0], .schemes[0], .flows[1], .schemes[1], .schemes[0]
    )]
    Routers {
        /// Name of the link.
        link: String,
        /// Names of two of the flows.
        flows: [String; 2],
        /// Their schemes.
        schemes: [String; 2],
    },
    /// A buffer is a number of bandwidth-delay products, and the RTT to use is not defined.
    #[error(
        "link `{link}`: its buffer is a bandwidth-delay product, and {problem}; write rtt = \
         \"100ms\" on the link, or its buffer in bytes, packets or time"
    )]
    Rtt {
        /// Name of the link.
        link: String,
        /// Why the flows do not define the RTT.
        problem: String,
    },
}

impl BuildError {
    /// Returns a function that makes an error of a service an error of the link or medium with this
    /// name.
    pub(crate) fn service(link: &str) -> impl FnOnce(ServiceError) -> BuildError {
        |source| BuildError::Service { link: link.to_string(), source }
    }
}
