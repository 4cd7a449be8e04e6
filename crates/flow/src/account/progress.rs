//! What one acknowledgement, or one deadline, has changed.

use paceline_cc::Span;

use super::acked::Acked;

/// Input of proportional rate reduction from one acknowledgement.
#[derive(Copy, Clone, Debug)]
pub(super) struct Reduction {
    /// Bytes newly acknowledged.
    pub(super) delivered: u64,
    /// True if the acknowledgement repaired something and revealed no loss.
    pub(super) safe: bool,
}

/// Sums of packets that were just declared lost.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Losses {
    pub(super) bytes: u64,
    pub(super) packets: u32,
    /// `None` if no packet with data was lost.
    pub(super) smallest_segment: Option<u64>,
    pub(super) largest_segment: u64,
    pub(super) largest_number: u64,
    /// The end of the segments that have arrived, if the last of them was lost and the last probe
    /// has repeated it.
    pub(super) probed_end: Option<u64>,
}

/// Changes of the account by one acknowledgement.
pub(super) struct Progress {
    /// Bytes in flight before the acknowledgement.
    pub(super) prior: u64,
    pub(super) acked: Acked,
    /// True if the acknowledgement advanced the cumulative point.
    pub(super) advanced: bool,
    /// RTT sample of the acknowledgement, if it gives one.
    pub(super) rtt: Option<Span>,
}
