//! The figures of an emulation: those of the simulator's tables.

use paceline_cc::{Span, Time};
use paceline_measure::{Histogram, Quantiles};
use paceline_path::{EventKind, LinkEvent, Service};
use paceline_report::{SCHEMA_VERSION, TimeSeries};
use serde::Serialize;

use super::flow_rows::{FlowFigures, FlowRow, FlowTable};
use super::series::LinkBins;
use super::watched::WatchedElement;
use crate::prelude::DATA_SIZE;
use crate::{
    Direction, DirectionSummary, FlowNames, LatenessSummary, LiveEvent, SimulatedFlow, Summary,
};

/// The figures of an emulation; the fields of links are those of `paceline compare`.
#[derive(Clone, Debug, Serialize)]
pub struct EmulationReport {
    /// The version of the fields' names and meanings: [`paceline_report::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// True when the run has ended in good order. Until then, and if the emulator is killed, a file has `false` and no
    /// figures.
    pub complete: bool,
    /// How long it ran, in seconds.
    pub duration_s: f64,
    /// Events at links before this time are not counted, in seconds since the start.
    pub warmup_s: f64,
    /// The time from the emulator's start to the trigger, with which the run began, in seconds; left out if there was no
    /// trigger to wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// True if packets were released so late that the results are not those of the link.
    pub late: bool,
    /// How late packets were released.
    pub lateness_ms: Lateness,
    /// Processor time of the emulator, in seconds.
    pub cpu_s: f64,
    /// From inside to outside.
    pub up: DirectionReport,
    /// From outside to inside.
    pub down: DirectionReport,
    /// Flows that were simulated beside the program's packets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub simulated_flows: Vec<SimulatedFlow>,
    /// What went wrong without ending the run.
    pub errors: Vec<String>,
}

/// How long after its time a packet was released, in milliseconds.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct Lateness {
    /// Packets.
    pub packets: u64,
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// The release error above which a packet is late; for the whole run only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
}

/// One direction.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    /// Its first link, if it has one.
    #[serde(flatten)]
    pub link: Option<LinkRow>,
    /// Its other links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_links: Vec<LinkRow>,
    /// IP packets that came in.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Received packets that are IP fragments; queues and links count each as a packet.
    pub received_fragments: u64,
    /// IP packets that came out.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that were not carried: they were no IP packets, there was no memory for them, or the device refused
    /// them.
    pub failed_packets: u64,
    /// How late packets were released.
    pub lateness_ms: Lateness,
    /// Packets released later than the run's `lateness_ms.bound`.
    pub late_packets: u64,
    /// Packets after the warm-up; not part of the JSON.
    #[serde(skip)]
    pub measured: MeasuredPackets,
}

/// Packets of one direction after the warm-up. In reports, both counters have the packets of the whole run for which
/// the emulator had no memory.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredPackets {
    /// Packets that came to the first element.
    pub arrived: u64,
    /// Packets that any element has dropped.
    pub dropped: u64,
}

impl MeasuredPackets {
    #[inline]
    pub(super) fn event(&mut self, event: &LiveEvent<'_>) {
        match event.event.kind {
            EventKind::Arrival => self.arrived += u64::from(event.stage == 0),
            EventKind::Drop { .. } => self.dropped += 1,
            EventKind::Departure { .. } => {}
        }
    }
}

/// A link, with the names of the rows of `paceline compare`.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRow {
    /// The trace, or another name of the capacity.
    pub trace: String,
    /// The queue as written.
    pub queue: String,
    /// The measured time in seconds: the run's without the warm-up.
    pub duration_s: f64,
    /// The bytes that the link offered, as a rate.
    pub capacity_mbps: f64,
    /// The bytes that the link delivered, as a rate; on traces with 4 bytes per packet more.
    pub throughput_mbps: f64,
    /// Delivered bytes over offered bytes; NaN if nothing was offered.
    pub utilization: f64,
    /// Per packet, from its arrival at the queue until it has left the link.
    pub queue_delay_ms: Quantiles,
    /// Packets dropped by the link's queue.
    pub drops: u64,
    /// Packets marked CE, or turned from accelerate to brake, at the link.
    pub marks: u64,
    /// Packets delivered.
    pub packets: u64,
    /// When the first packet came that is larger than those of a handshake (200 bytes), in seconds;
    /// left out if none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_data_s: Option<f64>,
    /// When the first packet of a SYN's size (60 bytes) came, in seconds; left out if none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_syn_s: Option<f64>,
    /// Flows by protocol, addresses and ports, the one with the most bytes first; at most [`crate::MAX_FLOWS`].
    pub flows: Vec<FlowRow>,
    /// All other flows together; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_flows: Option<FlowFigures>,
    /// The link over time; not part of the JSON.
    #[serde(skip)]
    pub series: TimeSeries,
}

/// The counters of one link.
#[derive(Debug, Default)]
pub(super) struct LinkTotals {
    delays: Histogram,
    bytes: u64,
    drops: u64,
    marks: u64,
    first_data: Option<Time>,
    first_syn: Option<Time>,
    flows: FlowTable,
    bins: LinkBins,
}

/// The size of Linux' SYN over IPv4: two headers of 20 bytes and 20 bytes of options.
const SYN_SIZE: u32 = 60;

impl LinkTotals {
    #[inline]
    pub(super) fn event(&mut self, event: &LinkEvent, bytes: u64, warmup: Time) {
        let counts = event.time >= warmup;
        if counts {
            self.flows.event(event, bytes);
        }
        match event.kind {
            EventKind::Departure { sojourn } => {
                if counts {
                    self.delays.push(sojourn);
                    self.bytes += bytes;
                }
                // Plots show the whole run.
                self.bins.push(event.time, bytes, sojourn);
            }
            EventKind::Drop { .. } => self.drops += u64::from(counts),
            EventKind::Arrival if self.first_data.is_none() && event.size >= DATA_SIZE => {
                self.first_data = Some(event.time);
            }
            EventKind::Arrival if self.first_syn.is_none() && event.size == SYN_SIZE => {
                self.first_syn = Some(event.time);
            }
            EventKind::Arrival => {}
        }
        self.marks += u64::from(event.marked && counts);
    }

    /// Returns the row of the link. `names` are those of its direction's flows.
    fn row(
        &self,
        element: &WatchedElement,
        service: &Service,
        names: &FlowNames,
        (warmup, end): (Time, Time),
    ) -> LinkRow {
        let begin = warmup.min(end);
        let seconds = end.since(begin).as_secs_f64();
        let mbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 };
        let offered = service.offered_in(begin..end);
        let (flows, other_flows) = self.flows.rows(names, seconds);
        LinkRow {
            trace: element.name.clone(),
            queue: element.queue.clone(),
            duration_s: seconds,
            capacity_mbps: mbps(offered),
            throughput_mbps: mbps(self.bytes),
            utilization: if offered > 0 { self.bytes as f64 / offered as f64 } else { f64::NAN },
            queue_delay_ms: self.delays.quantiles(),
            drops: self.drops,
            marks: self.marks,
            packets: self.delays.len(),
            first_data_s: self.first_data.map(Time::as_secs_f64),
            first_syn_s: self.first_syn.map(Time::as_secs_f64),
            flows,
            other_flows,
            series: self.bins.series(service, end),
        }
    }
}

impl EmulationReport {
    /// Creates the report of a run; the links' counters leave out what happened before `warmup`. `measured` has the
    /// packets of the ways up and down after it.
    pub(super) fn new(
        summary: &Summary,
        links: &[(WatchedElement, LinkTotals)],
        measured: [MeasuredPackets; 2],
        warmup: Time,
    ) -> EmulationReport {
        let end = Time::ZERO + summary.duration;
        let [up, down] = measured;
        let way = |direction: Direction, told: &DirectionSummary, measured: MeasuredPackets| {
            let mut rows = links
                .iter()
                .filter(|(element, _)| element.direction == direction)
                .filter_map(|(watched, tally)| {
                    let service = watched.service.as_ref()?;
                    Some(tally.row(watched, service, &told.flows, (warmup, end)))
                });
            DirectionReport {
                link: rows.next(),
                more_links: rows.collect(),
                received_packets: told.received_packets,
                received_bytes: told.received_bytes,
                received_fragments: told.received_fragments,
                sent_packets: told.sent_packets,
                sent_bytes: told.sent_bytes,
                failed_packets: told.malformed + told.no_memory + told.refused,
                lateness_ms: told.lateness.into(),
                late_packets: told.late_packets,
                measured: MeasuredPackets {
                    arrived: measured.arrived + told.no_memory,
                    dropped: measured.dropped + told.no_memory,
                },
            }
        };
        let bound = Some(summary.bound.as_millis_f64());
        EmulationReport {
            schema_version: SCHEMA_VERSION,
            complete: true,
            warmup_s: warmup.since(Time::ZERO).as_secs_f64(),
            duration_s: summary.duration.as_secs_f64(),
            waited_s: summary.waited.map(Span::as_secs_f64),
            late: summary.late,
            lateness_ms: Lateness { bound, ..summary.lateness.into() },
            cpu_s: summary.cpu.as_secs_f64(),
            up: way(Direction::Up, &summary.up, up),
            down: way(Direction::Down, &summary.down, down),
            simulated_flows: summary.simulated.clone(),
            errors: summary.errors.clone(),
        }
    }
}

impl From<LatenessSummary> for Lateness {
    fn from(told: LatenessSummary) -> Lateness {
        let LatenessSummary { count, p50, p99, max } = told;
        let [p50, p99, max] = [p50, p99, max].map(Span::as_millis_f64);
        Lateness { packets: count, p50, p99, max, bound: None }
    }
}
