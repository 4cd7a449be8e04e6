//! Rows of comparisons: one run of one scheme on one link.

use paceline_sim::LinkSeries;
use paceline_sim::metrics::{P95, Quantiles};
use serde::Serialize;

/// Name of the omniscient protocol in place of a scheme.
pub const OMNISCIENT: &str = "omniscient";

/// A row of the table of `paceline compare`, and of its JSON. The first link is measured; delays of
/// several flows are pooled.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CompareRow {
    /// The name of the trace.
    pub trace: String,
    /// The scheme as written.
    pub scheme: String,
    /// Number of the run, from 1 on.
    pub run: u32,
    /// Time by which the recordings (or the first flow) began later than in run 1: see
    /// [`start`](paceline_sim::runs::Run::start).
    pub start_ms: f64,
    /// Seed of the run.
    pub seed: u64,
    /// Number of flows.
    pub flows: u32,
    /// Measured time in seconds.
    pub duration_s: f64,
    /// Bytes that the link could deliver, as a rate.
    pub capacity_mbps: f64,
    /// Bytes that the link delivered, as a rate.
    pub throughput_mbps: f64,
    /// Delivered bytes divided by deliverable bytes.
    pub utilization: f64,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: f64,
    /// Delay of a packet from its arrival at the queue until it has left the link.
    pub queue_delay_ms: Quantiles,
    /// Delay of a packet from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
    /// RTT samples, one per acknowledgement.
    pub rtt_ms: Quantiles,
    /// The thesis' end-to-end delay: the age of the newest delivered packet, over time; `None` if
    /// no packet arrived.
    pub end_to_end_delay_ms: Option<P95>,
    /// End-to-end delay minus the omniscient protocol's.
    pub self_inflicted_delay_ms: Option<P95>,
    /// Goodput divided by the end-to-end delay, in Mbit/s per second.
    pub power: Option<f64>,
    /// Packets dropped by the link's queue.
    pub drops: u64,
    /// Packets marked CE, or turned from accelerate to brake, at the link.
    pub marks: u64,
    /// Packets retransmitted.
    pub retransmits: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Jain's index of the flows' goodputs.
    pub jain: f64,
    /// Mean of Jain's index over windows of a second in which at least two flows were active;
    /// `None` for one flow.
    pub jain_1s: Option<f64>,
    /// Data packets delivered, including those in the warm-up.
    pub packets: u64,
    /// Digest of the run; empty for the omniscient protocol, which has no run.
    pub digest: String,
    /// The parameters that `all` gave to the scheme; or, if a bare name uses less than
    /// [`WELL_USED`](super::WELL_USED) of the link, the registry's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The link over time, if recorded; not part of the JSON.
    #[serde(skip)]
    pub series: Option<LinkSeries>,
}
