//! The current state of flows and links in an interactive run.

use paceline_cc::{Ecn, Rate, Span};
use paceline_path::{EventKind, LinkEvent};

/// Current state of a flow. Counters start at the flow's last start.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FlowState {
    /// True if it has data to send: it was started, and not stopped since.
    pub on: bool,
    /// Number of times it was started.
    pub starts: u32,
    /// Bytes in flight, by its sender's count.
    pub in_flight_bytes: u64,
    /// cwnd in bytes; `u64::MAX` for schemes without one.
    pub cwnd_bytes: u64,
    /// The pacing rate, if the scheme paces.
    pub pacing: Option<Rate>,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Span,
    /// Latest RTT sample; zero before the first one.
    pub latest_rtt: Span,
    /// Packets sent.
    pub sent: u64,
    /// Of these, packets that retransmitted lost data.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Bytes that have arrived at the receiver for the first time, with headers.
    pub goodput_bytes: u64,
    /// Counters of links for its data packets.
    pub at_links: LinkCounts,
}

/// Counters of links for the packets of one flow.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounts {
    /// Packets that the flow's first link transmitted or dropped: each packet once, however many
    /// links it passes.
    pub entered: u64,
    /// Packets transmitted.
    pub departed: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked CE.
    pub marked: u64,
    /// ABC: packets that left with an accelerate mark.
    pub accelerated: u64,
    /// ABC: packets whose accelerate mark was turned into a brake.
    pub braked: u64,
    /// Sum of the sojourn times, in queues and in transmission.
    pub sojourn: Span,
}

impl LinkCounts {
    /// Counts an event at a link, which is the flow's first one if `is_first`.
    pub(super) fn count(&mut self, event: &LinkEvent, is_abc: bool, is_first: bool) {
        self.entered += u64::from(is_first && event.kind != EventKind::Arrival);
        let brake = event.marked && event.after == Ecn::Ect0;
        self.marked += u64::from(event.marked && event.after == Ecn::Ce);
        self.braked += u64::from(brake);
        match event.kind {
            EventKind::Arrival => {}
            EventKind::Departure { sojourn } => {
                self.departed += 1;
                self.sojourn += sojourn;
                self.accelerated += u64::from(is_abc && event.after == Ecn::Ect1);
            }
            EventKind::Drop { .. } => self.dropped += 1,
        }
    }
}

/// An event of a packet at a link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PacketEvent {
    /// Number of the link.
    pub link: usize,
    /// Number of the packet's flow; `None` if the flow was started anew since.
    pub flow: Option<usize>,
    /// The event.
    pub event: LinkEvent,
}

/// Current state of a link. Counters start with the run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkState {
    /// Packets in the queue and in transmission.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Packets transmitted.
    pub delivered_packets: u64,
    /// Bytes transmitted, with the link's overhead per packet.
    pub delivered_bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked CE, or turned from accelerate to brake.
    pub marks: u64,
}
