//! The JSON of `paceline send`: the row of a sender, in the fields of `paceline compare`.

use std::net::SocketAddr;
use std::path::PathBuf;

use paceline_measure::{P95, Quantiles};
use serde::Serialize;

use super::client::TransferResult;
use super::course::SentSeries;
use super::measured::Measured;
use super::outbound::SentFile;

/// The JSON of `paceline send`.
#[derive(Clone, Debug, Serialize)]
pub struct SentRows<'a> {
    /// The only run.
    pub runs: [&'a SentRow; 1],
}

/// A file that was to be sent.
#[derive(Clone, Debug, Serialize)]
pub struct FileRow {
    /// `null` for standard input.
    pub path: Option<String>,
    /// Its bytes.
    pub bytes: u64,
    /// Its path at the receiver, once all of it is kept.
    pub kept: Option<String>,
    /// Why it is not kept.
    pub problem: Option<String>,
}

/// An entry of a folder that is left out or not kept.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemRow {
    /// Its path.
    pub path: String,
    /// Why.
    pub problem: String,
}

/// Frames of a video.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct FrameCounts {
    /// Frames that the encoder made.
    pub made: u64,
    /// Frames that were skipped because too much data waited.
    pub skipped: u64,
}

/// A run, in the fields of a row of `paceline compare`; fields that a sender cannot know are
/// `null`.
#[derive(Clone, Debug, Serialize)]
pub struct SentRow {
    /// Always `null`: the link is not known.
    pub trace: Option<String>,
    /// The receiver's address.
    pub to: SocketAddr,
    /// The scheme as written.
    pub scheme: String,
    /// Number of connections.
    pub flows: u32,
    /// From the first packet until all data has arrived, or until sending stopped.
    pub duration_s: f64,
    /// Always `null`.
    pub capacity_mbps: Option<f64>,
    /// Rate at which packets arrived, repetitions included.
    pub throughput_mbps: f64,
    /// Always `null`.
    pub utilization: Option<f64>,
    /// Rate at which data arrived for the first time.
    pub goodput_mbps: f64,
    /// One-way delays minus the shortest one.
    pub queue_delay_ms: Quantiles,
    /// These delays plus half of the shortest round-trip time, as if both directions took equally
    /// long.
    pub one_way_delay_ms: Quantiles,
    /// Round-trip times of acknowledgements.
    pub rtt_ms: Quantiles,
    /// 95th percentile of the age of the newest data at the receiver.
    pub end_to_end_delay_ms: P95,
    /// Always without a value: in JSON `p95` is `null`.
    pub self_inflicted_delay_ms: P95,
    /// Goodput divided by the end-to-end delay, in Mbit/s per second.
    pub power: Option<f64>,
    /// Always `null`.
    pub drops: Option<u64>,
    /// Packets that arrived with the mark CE.
    pub marks: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Expiries of the timer.
    pub timeouts: u64,
    /// Jain's index of the connections' goodputs.
    pub jain: f64,
    /// Always `null`.
    pub jain_1s: Option<f64>,
    /// Packets that arrived.
    pub packets: u64,
    /// Always `null`.
    pub digest: Option<String>,
    /// Packets sent.
    pub sent: u64,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Path at the receiver, for a single file.
    pub kept: Option<String>,
    /// Files and folders as the user named them.
    pub files: Vec<FileRow>,
    /// Entries within folders that were not sent, or that the receiver did not keep.
    pub problems: Vec<ProblemRow>,
    /// Number of connections, one after the other.
    pub connections: u32,
    /// Bytes of files that the receiver had before this transfer.
    pub resumed_bytes: u64,
    /// Bytes that were sent over more than one connection.
    pub repeated_bytes: u64,
    /// True if the receiver had everything before this transfer.
    pub skipped: bool,
    /// Frames of a video workload.
    #[serde(rename = "frames", skip_serializing_if = "Option::is_none")]
    pub video: Option<FrameCounts>,
    /// Maximum packet size in bytes.
    pub mtu: u16,
    /// False with `--plaintext`.
    pub encrypted: bool,
    /// Of a measurement: true if the receiver was the sender; `each` has the connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse: Option<bool>,
    /// Of a measurement: each connection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<FlowRow>,
    /// Series over time, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SentSeries>,
}

/// One of several connections, with the fields of the row that contains it.
#[derive(Clone, Debug, Serialize)]
pub struct FlowRow {
    /// From the first packet until sending stopped.
    pub duration_s: f64,
    /// Rate at which packets arrived, repetitions included.
    pub throughput_mbps: f64,
    /// Rate at which data arrived for the first time.
    pub goodput_mbps: f64,
    /// One-way delays minus the shortest one.
    pub queue_delay_ms: Quantiles,
    /// Round-trip times of acknowledgements.
    pub rtt_ms: Quantiles,
    /// Packets sent again.
    pub retransmits: u64,
    /// Expiries of the timer.
    pub timeouts: u64,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Packets that arrived with the mark CE.
    pub marks: u64,
    /// Series over time, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SentSeries>,
}

impl FlowRow {
    /// Returns the row of one connection of a measurement.
    pub fn of(finished: &TransferResult) -> FlowRow {
        let TransferResult { summary, sent, rtt_ms, series, .. } = finished;
        FlowRow {
            duration_s: seconds(finished),
            throughput_mbps: mbps(summary.bytes, finished),
            goodput_mbps: mbps(summary.goodput, finished),
            queue_delay_ms: summary.queue_delay_ms,
            rtt_ms: *rtt_ms,
            retransmits: sent.retransmits,
            timeouts: sent.timeouts,
            packets: summary.packets,
            sent: sent.sent,
            lost: sent.lost,
            marks: summary.ce_packets,
            series: series.clone(),
        }
    }
}

impl SentRow {
    /// Returns the row of a transfer under a scheme.
    pub fn of(finished: &TransferResult, scheme: &str, encrypted: bool) -> SentRow {
        let TransferResult { summary, .. } = finished;
        let flow = FlowRow::of(finished);
        let half = finished.least_rtt.as_millis_f64() / 2.0;
        let age = summary.age_p95_ms.map(|age| age + half);
        let FlowRow { goodput_mbps, queue_delay_ms, .. } = flow;
        SentRow {
            trace: None,
            to: finished.address,
            scheme: scheme.into(),
            flows: 1,
            duration_s: flow.duration_s,
            capacity_mbps: None,
            throughput_mbps: flow.throughput_mbps,
            utilization: None,
            goodput_mbps,
            queue_delay_ms,
            one_way_delay_ms: queue_delay_ms.later(half),
            rtt_ms: flow.rtt_ms,
            end_to_end_delay_ms: P95 { p95: age.unwrap_or(f64::NAN) },
            self_inflicted_delay_ms: P95::default(),
            power: age.filter(|age| *age > 0.0).map(|age| goodput_mbps / (age / 1000.0)),
            drops: None,
            marks: flow.marks,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            jain: 1.0,
            jain_1s: None,
            packets: flow.packets,
            digest: None,
            sent: flow.sent,
            lost: flow.lost,
            file_bytes: finished.files.iter().map(|file| file.bytes).sum(),
            kept: match &finished.files[..] {
                [file] => file.kept.clone(),
                _ => None,
            },
            files: finished.files.iter().map(file_row).collect(),
            problems: finished.problems.iter().map(problem_row).collect(),
            connections: finished.connections,
            resumed_bytes: finished.transfer_bytes.resumed,
            repeated_bytes: finished.transfer_bytes.repeated,
            skipped: finished.transfer_bytes.skipped,
            video: finished
                .video
                .map(|video| FrameCounts { made: video.made, skipped: video.skipped }),
            mtu: finished.mtu,
            encrypted,
            reverse: None,
            each: Vec::new(),
            series: flow.series,
        }
    }

    /// Returns the row of a measurement's connections together; `reverse` if the receiver sent.
    pub fn of_measurement(
        measured: &Measured,
        scheme: &str,
        encrypted: bool,
        reverse: bool,
    ) -> SentRow {
        SentRow {
            flows: measured.all.len() as u32,
            jain: measured.jain(),
            reverse: Some(reverse),
            each: measured.all.iter().map(FlowRow::of).collect(),
            ..SentRow::of(&measured.sum, scheme, encrypted)
        }
    }
}

fn seconds(finished: &TransferResult) -> f64 {
    finished.duration.as_secs_f64().max(1e-9)
}

fn mbps(bytes: u64, finished: &TransferResult) -> f64 {
    bytes as f64 * 8e-6 / seconds(finished)
}

fn file_row(file: &SentFile) -> FileRow {
    let SentFile { path, bytes, kept, problem } = file;
    let path = path.as_ref().map(|path| path.display().to_string());
    FileRow { path, bytes: *bytes, kept: kept.clone(), problem: problem.clone() }
}

fn problem_row((path, problem): &(PathBuf, String)) -> ProblemRow {
    ProblemRow { path: path.display().to_string(), problem: problem.clone() }
}
