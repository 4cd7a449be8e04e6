//! Results of real runs beside simulated ones: the JSON of `paceline gap`.

use std::collections::BTreeMap;

use paceline_sim::metrics::Quantiles;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Inside;
use crate::compare::CompareRow;
use crate::summary::SummaryRow;

/// The JSON of `paceline gap`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GapRows<'a> {
    /// A row for each scheme on each path.
    pub rows: &'a [GapRow],
}

/// Real and simulated results of one scheme on one path.
#[derive(Clone, Debug, Serialize)]
pub struct GapRow {
    /// Name of the measured link's capacity.
    pub trace: String,
    /// The scheme as the simulator names it.
    pub scheme: String,
    /// The simulated run that starts when the real one does.
    pub simulated: CompareRow,
    /// All simulated runs.
    pub simulated_runs: SummaryRow,
    /// The real run.
    pub emulated: RealRun,
    /// Whether the real figures lie inside the range of the simulated ones; `None` with a single
    /// simulated run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<Inside>,
}

/// A real run, with the field names of the rows of `paceline compare`.
#[derive(Clone, Debug, Serialize)]
pub struct RealRun {
    /// Measurements at the link.
    #[serde(flatten)]
    pub link: RealLink,
    /// The scheme as the kernel names it.
    pub kernel_scheme: String,
    /// Number of flows.
    pub flows: u32,
    /// Goodput in Mbit/s: bytes that reached the receiving program, over time.
    pub goodput_mbps: f64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Counters of the program of `paceline kernel` in this run, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<BTreeMap<&'static str, u64>>,
    /// True if packets were released so late that the results are not those of the link.
    pub late: bool,
    /// How late packets were released, as in the emulator's summary.
    pub lateness_ms: Value,
    /// Time from the first packet to the first with data in seconds, for flows over UDP; 0 for TCP,
    /// whose handshake has no data.
    pub handshake_s: f64,
}

/// Fields of an emulation's summary about the first link up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RealLink {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Rate that the link offered in Mbit/s.
    pub capacity_mbps: f64,
    /// Rate that the link delivered in Mbit/s.
    pub throughput_mbps: f64,
    /// Delivered bytes divided by offered bytes.
    pub utilization: f64,
    /// Time from a packet's arrival at the queue until it has left the link.
    pub queue_delay_ms: Quantiles,
    /// Packets that the queue dropped.
    pub drops: u64,
    /// Packets that the queue marked.
    pub marks: u64,
    /// Packets that the link delivered.
    pub packets: u64,
    /// Time at which the first data arrived at the link, in seconds.
    pub first_data_s: Option<f64>,
    /// Time at which the first packet of a SYN's size arrived at the link, in seconds.
    pub first_syn_s: Option<f64>,
}
