//! What can be read of a run while somebody plays with it.

use paceline_cc::{Ecn, Rate, Span};
use paceline_path::{EventKind, LinkEvent};

/// A flow as it is now. Counts are since the flow was last started.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FlowState {
    /// True if it has something to send: it was started, and not stopped since.
    pub on: bool,
    /// How often it was started.
    pub starts: u32,
    /// Bytes in flight, as its sender counts them.
    pub in_flight_bytes: u64,
    /// The congestion window in bytes; `u64::MAX` for schemes without one.
    pub cwnd_bytes: u64,
    /// The pacing rate, if the scheme paces.
    pub pacing: Option<Rate>,
    /// The smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Packets sent.
    pub sent: u64,
    /// Of these, packets that repeated lost data.
    pub retransmits: u64,
    /// Packets taken for lost.
    pub lost: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Bytes that have reached the receiver for the first time, headers included.
    pub goodput_bytes: u64,
    /// What links have done to its data packets.
    pub at_links: LinkCounts,
}

/// What links have done to the packets of one flow.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounts {
    /// Packets transmitted.
    pub departed: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked CE.
    pub marked: u64,
    /// ABC: packets that left with an accelerate.
    pub accelerated: u64,
    /// ABC: packets whose accelerate was turned into a brake.
    pub braked: u64,
    /// The times in queues and in transmission, added up.
    pub sojourn: Span,
}

impl LinkCounts {
    pub(super) fn count(&mut self, event: &LinkEvent, is_abc: bool) {
        let brake = event.marked && event.after == Ecn::BRAKE;
        self.marked += u64::from(event.marked && event.after == Ecn::Ce);
        self.braked += u64::from(brake);
        match event.kind {
            EventKind::Arrival => {}
            EventKind::Departure { sojourn } => {
                self.departed += 1;
                self.sojourn += sojourn;
                self.accelerated += u64::from(is_abc && event.after == Ecn::ACCELERATE);
            }
            EventKind::Drop { .. } => self.dropped += 1,
        }
    }
}

/// A link as it is now. Counts are since the start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkState {
    /// Packets in the queue and in transmission.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Packets transmitted.
    pub delivered_packets: u64,
    /// Bytes transmitted, with the link's overhead.
    pub delivered_bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked CE, or turned from accelerate to brake.
    pub marks: u64,
}
