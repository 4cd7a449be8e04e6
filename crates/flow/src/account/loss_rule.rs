//! The rule by which packets are declared lost.

use paceline_cc::Span;

/// Rule by which a packet is lost that was sent before an acknowledged one.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LossRule {
    /// The packet is lost if one sent this many numbers later is acknowledged.
    pub(crate) distance: u64,
    /// The packet is also lost if this much time has passed since it was sent.
    pub(crate) age: Span,
    /// `None` if the timer is set for the first packet to become lost. Otherwise it is set for the
    /// last one, plus this margin.
    pub(crate) together: Option<Span>,
}
