//! Output of `paceline send`: a row of JSON, or words.

use std::net::SocketAddr;
use std::path::PathBuf;

use paceline_sim::metrics::P95;
use paceline_transfer::udp::{Delays, SentFile, SentSeries};
use serde::Serialize;

use crate::commands::bulk::FlowRow;
use crate::output::{self, Error};

/// A file that was to be sent.
#[derive(Serialize)]
pub(super) struct FileRow {
    /// `null` for standard input.
    pub(super) path: Option<String>,
    pub(super) bytes: u64,
    pub(super) kept: Option<String>,
    pub(super) problem: Option<String>,
}

/// An entry of a folder that is left out or not kept.
#[derive(Serialize)]
pub(super) struct ProblemRow {
    pub(super) path: String,
    pub(super) problem: String,
}

/// Frames of a video.
#[derive(Serialize)]
pub(super) struct Frames {
    pub(super) made: u64,
    /// Frames that were skipped because too much data waited.
    pub(super) skipped: u64,
}

/// A run, in the fields of a row of `paceline compare`; fields that a sender cannot know are
/// `null`.
#[derive(Serialize)]
pub(super) struct SentRow {
    pub(super) trace: Option<String>,
    pub(super) to: SocketAddr,
    pub(super) scheme: String,
    pub(super) flows: u32,
    pub(super) duration_s: f64,
    pub(super) capacity_mbps: Option<f64>,
    pub(super) throughput_mbps: f64,
    pub(super) utilization: Option<f64>,
    pub(super) goodput_mbps: f64,
    /// One-way delays minus the shortest one.
    pub(super) queue_delay_ms: Delays,
    /// These delays plus half of the shortest round-trip time, as if both directions took equally
    /// long.
    pub(super) one_way_delay_ms: Delays,
    pub(super) rtt_ms: Delays,
    pub(super) end_to_end_delay_ms: Option<P95>,
    pub(super) self_inflicted_delay_ms: Option<P95>,
    pub(super) power: Option<f64>,
    pub(super) drops: Option<u64>,
    pub(super) marks: u64,
    pub(super) retransmits: u64,
    pub(super) timeouts: u64,
    pub(super) jain: f64,
    pub(super) jain_1s: Option<f64>,
    pub(super) packets: u64,
    pub(super) digest: Option<String>,
    /// Packets sent, and how many of them were declared lost.
    pub(super) sent: u64,
    pub(super) lost: u64,
    pub(super) file_bytes: u64,
    /// Path at the receiver, for a single file.
    pub(super) kept: Option<String>,
    pub(super) files: Vec<FileRow>,
    /// Entries within folders that were not sent, or that the receiver did not keep.
    pub(super) problems: Vec<ProblemRow>,
    /// Number of connections, one after the other.
    pub(super) connections: u32,
    /// Bytes of files that the receiver had before this transfer.
    pub(super) resumed_bytes: u64,
    /// Bytes that were sent over more than one connection.
    pub(super) repeated_bytes: u64,
    /// True if the receiver had everything before this transfer.
    pub(super) skipped: bool,
    /// Frames of a video workload.
    #[serde(rename = "frames", skip_serializing_if = "Option::is_none")]
    pub(super) video: Option<Frames>,
    pub(super) mtu: u16,
    pub(super) encrypted: bool,
    /// With `--bulk`: true if the receiver was the sender; `each` has the connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reverse: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) each: Vec<FlowRow>,
    /// Series over time; with `-o`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) series: Option<SentSeries>,
}

#[derive(Serialize)]
pub(super) struct Runs<'a> {
    pub(super) runs: [&'a SentRow; 1],
}

pub(super) fn file_row(file: &SentFile) -> FileRow {
    let SentFile { path, bytes, kept, problem } = file;
    let path = path.as_ref().map(|path| path.display().to_string());
    FileRow { path, bytes: *bytes, kept: kept.clone(), problem: problem.clone() }
}

pub(super) fn problem_row((path, problem): &(PathBuf, String)) -> ProblemRow {
    ProblemRow { path: path.display().to_string(), problem: problem.clone() }
}

/// Most problems that standard error names.
const MOST_NAMED: usize = 20;

/// Returns an error that names the entries that the receiver did not keep, if there are any.
pub(super) fn missing(row: &SentRow) -> Result<(), Error> {
    let name = |file: &FileRow| file.path.clone().unwrap_or_else(|| "standard input".into());
    let files = row.files.iter().filter_map(|file| {
        Some(format!("{}: did not arrive: {}", name(file), file.problem.as_ref()?))
    });
    let within = row.problems.iter().map(|one| format!("{}: {}", one.path, one.problem));
    let mut problems: Vec<String> = files.chain(within).collect();
    if problems.len() > MOST_NAMED {
        let more = problems.split_off(MOST_NAMED).len();
        problems.push(format!("and {more} more (--json names all)"));
    }
    output::all_of(&problems)
}

pub(super) fn words(row: &SentRow) -> String {
    let several = row.files.len() > 1;
    let mut files = String::new();
    for FileRow { path, bytes, kept, .. } in &row.files {
        let name = match path {
            Some(path) if several => format!("{path}: "),
            _ => String::new(),
        };
        if let Some(kept) = kept {
            files += &format!("{name}{bytes} bytes are whole at the receiver ({kept})\n");
        }
    }
    if row.skipped {
        return format!("{files}everything was there before: nothing was sent\n");
    }
    if row.resumed_bytes > 0 {
        files += &format!("{} bytes of this were there before\n", row.resumed_bytes);
    }
    if row.connections > 1 {
        let (count, repeated) = (row.connections, row.repeated_bytes);
        files += &format!("{count} connections, {repeated} bytes sent twice\n");
    }
    format!(
        "{files}{}: {:.2} Mbit/s in {:.2} s; round trip {:.1} ms, 95% {:.1} ms; queues 95% {:.1} ms; \
         {} packets sent, {} lost, {} marked\n",
        row.scheme,
        row.goodput_mbps,
        row.duration_s,
        row.rtt_ms.p50,
        row.rtt_ms.p95,
        row.queue_delay_ms.p95,
        row.sent,
        row.lost,
        row.marks,
    )
}
