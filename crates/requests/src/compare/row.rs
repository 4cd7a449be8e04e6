//! Rows of comparisons: one run of one scheme on one link.

use paceline_sim::LinkSeries;
use paceline_sim::metrics::{P95, Quantiles};
use serde::Serialize;

/// What the row of the omniscient protocol has in place of a scheme.
pub const OMNISCIENT: &str = "omniscient";

/// A row of the table of `paceline compare`, and of its JSON. The first link is the one measured;
/// delays of several flows are pooled.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CompareRow {
    /// The name of the trace.
    pub trace: String,
    /// The scheme as written.
    pub scheme: String,
    /// Number of the run, from 1 on.
    pub run: u32,
    /// How much later than in run 1 the recordings (or the first flow) began: see [`start`](paceline_sim::runs::Run::start).
    pub start_ms: f64,
    /// Seed of the run.
    pub seed: u64,
    /// Flows.
    pub flows: u32,
    /// The measured time in seconds.
    pub duration_s: f64,
    /// The bytes that the link offered, as a rate.
    pub capacity_mbps: f64,
    /// The bytes that the link delivered, as a rate.
    pub throughput_mbps: f64,
    /// Delivered bytes over offered bytes.
    pub utilization: f64,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: f64,
    /// Per packet, from its arrival at the queue until it has left the link.
    pub queue_delay_ms: Quantiles,
    /// Per packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
    /// Per acknowledgement.
    pub rtt_ms: Quantiles,
    /// The thesis' end-to-end delay: the age of the newest delivered packet, over time; `None` if
    /// nothing arrived.
    pub end_to_end_delay_ms: Option<P95>,
    /// The same, less the omniscient protocol's.
    pub self_inflicted_delay_ms: Option<P95>,
    /// Goodput over the end-to-end delay, in Mbit/s per second.
    pub power: Option<f64>,
    /// Packets dropped by the link's queue.
    pub drops: u64,
    /// Packets marked CE, or turned from accelerate to brake, at the link.
    pub marks: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Jain's index of the flows' goodputs.
    pub jain: f64,
    /// The mean of Jain's index over windows of a second in which at least two flows were active;
    /// `None` for one flow.
    pub jain_1s: Option<f64>,
    /// Data packets delivered, warm-up included.
    pub packets: u64,
    /// The digest of the run; empty for the omniscient protocol, which has no run.
    pub digest: String,
    /// How `all` has set the scheme, or, where a bare name uses less than [`WELL_USED`](super::WELL_USED) of the link, what
    /// the registry knows of the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The link over time, if recorded; not part of the JSON.
    #[serde(skip)]
    pub series: Option<LinkSeries>,
}
