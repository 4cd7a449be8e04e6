//! What a run was like: counters of directions and elements, lateness, simulated flows.

use std::time::SystemTime;

use paceline_cc::Span;
use paceline_measure::Quantiles;
use paceline_path::Counters;
use serde::Serialize;

use super::flows::FlowNames;

/// The direction of packets.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the program inside to the network outside.
    Up,
    /// From the network outside to the program inside.
    Down,
}

/// The kind of an element of a chain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// A queue, perhaps a router, and a service.
    Link,
    /// Delay, jitter, loss.
    Pipe,
    /// A line that goes on and off.
    OnOff,
    /// A path that both directions share with simulated flows.
    Shared,
    /// Packets pass at once, and observers hear of them.
    Meter,
}

/// Release errors: how long after its scheduled time each packet was written.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LatenessSummary {
    /// Packets released.
    pub count: u64,
    /// The median.
    pub p50: Span,
    /// The 99th percentile.
    pub p99: Span,
    /// The largest.
    pub max: Span,
}

/// Why a run ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It was asked to stop.
    Stopped,
    /// A device was closed or has vanished: the one that packets of this direction come from.
    Closed(Direction),
    /// Its time was over.
    Over,
}

/// What a run was like.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Time zero by the wall clock.
    pub started: SystemTime,
    /// How long it ran.
    pub duration: Span,
    /// How long the emulator waited for its trigger before time zero; `None` without a trigger.
    pub waited: Option<Span>,
    /// True if the trigger never came: nothing was counted.
    pub never_began: bool,
    /// Why it ended.
    pub ended: EndReason,
    /// Release errors of both directions.
    pub lateness: LatenessSummary,
    /// The release error above which a packet counts as late.
    pub bound: Span,
    /// True if of the packets of either direction more than 1 %, and more than five or than half, were released later
    /// than the bound: the results are not those of the link.
    pub late: bool,
    /// Processor time of the emulator's thread.
    pub cpu: Span,
    /// The way up.
    pub up: DirectionSummary,
    /// The way down.
    pub down: DirectionSummary,
    /// Flows that were simulated beside the program's packets.
    pub simulated: Vec<SimulatedFlow>,
    /// What observers could not do, each with its name; also what else went wrong without ending
    /// the run.
    pub errors: Vec<String>,
}

/// A flow that is simulated beside the program's packets.
#[derive(Clone, Debug, Serialize)]
pub struct SimulatedFlow {
    /// Its name.
    pub name: String,
    /// Its scheme, as written.
    pub scheme: String,
    /// Bytes of packets that arrived for the first time, as a rate.
    pub goodput_mbps: f64,
    /// Per packet, from its sending to its arrival.
    pub one_way_delay_ms: Quantiles,
}

/// What happened in one direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionSummary {
    /// Packets read from the device, segments of large ones counted singly.
    pub received_packets: u64,
    /// Their bytes, IP headers included.
    pub received_bytes: u64,
    /// Received packets that are IP fragments; queues and links count each as a packet.
    pub received_fragments: u64,
    /// Packets written to the device, segments of large ones counted singly.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets read that were no IP packets, or whose lengths contradict each other; dropped.
    pub malformed: u64,
    /// Packets dropped because the emulator's memory for packets was used up.
    pub no_memory: u64,
    /// Packets that the device would not take.
    pub refused: u64,
    /// The identities of the first flows, if an observer wanted events.
    pub flows: FlowNames,
    /// Release errors.
    pub lateness: LatenessSummary,
    /// Packets that were released later than the bound of the run.
    pub late_packets: u64,
    /// The elements, in the order in which packets pass.
    pub stages: Vec<StageSummary>,
}

/// What happened at one element.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StageSummary {
    /// What the element is.
    pub element: ElementKind,
    /// Links: what they counted. Others: arrivals, and losses as `dropped_full`.
    pub counters: Counters,
    /// Links: bytes that the service offered from the start to the end.
    pub offered_bytes: u64,
    /// Packets held at the end.
    pub backlog_packets: usize,
    /// Links: bytes held at the end.
    pub backlog_bytes: u64,
}
