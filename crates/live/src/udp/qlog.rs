//! A log of a sender's connection in qlog's main schema (draft-ietf-quic-qlog-main-schema, version
//! 0.3, JSON text sequences), which qvis shows: packets sent, acknowledgements, windows and RTTs.
//!
//! Packet numbers are the transmission numbers of data, which acknowledgements name; packets without
//! data have none and are not logged. Times are milliseconds since the handshake began.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use paceline_cc::{Ack, Span, Time};
use paceline_flow::Sender;
use serde_json::{Value, json};

use crate::LiveError;

/// Metrics are written no more often than this, but for changes of losses.
const BETWEEN: Span = Span::from_millis(1);

/// A log that is being written. What cannot be written is told at the end.
pub(super) struct Qlog {
    out: BufWriter<File>,
    path: PathBuf,
    failed: Option<std::io::Error>,
    metrics: Option<Metrics>,
    told: Time,
}

/// What has been told last.
#[derive(Copy, Clone, PartialEq)]
struct Metrics {
    cwnd: u64,
    in_flight: u64,
    smoothed: Span,
    lost: u64,
}

fn millis(time: Time) -> f64 {
    time.since(Time::ZERO).as_millis_f64()
}

impl Qlog {
    /// Begins a log of a connection under this scheme.
    pub(super) fn create(path: &Path, scheme: &str) -> Result<Qlog, LiveError> {
        let file = File::create(path).map_err(LiveError::system(path.display().to_string()))?;
        let (out, path) = (BufWriter::new(file), path.to_path_buf());
        let mut log = Qlog { out, path, failed: None, metrics: None, told: Time::ZERO };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        log.record(&json!({
            "qlog_format": "JSON-SEQ",
            "qlog_version": "0.3",
            "title": format!("paceline send --scheme {scheme}"),
            "trace": {
                "vantage_point": { "type": "client", "name": "paceline send" },
                "common_fields": {
                    "time_format": "relative",
                    "reference_time": since.as_secs_f64() * 1e3,
                    "protocol_type": ["PACELINE"],
                },
            },
        }));
        log.event(Time::ZERO, "recovery:parameters_set", &json!({ "congestion_control": scheme }));
        Ok(log)
    }

    /// Writes a record of a JSON text sequence (RFC 7464).
    fn record(&mut self, value: &Value) {
        let written = writeln!(self.out, "\u{1e}{value}");
        self.failed = self.failed.take().or(written.err());
    }

    fn event(&mut self, now: Time, name: &str, data: &Value) {
        self.record(&json!({ "time": millis(now), "name": name, "data": data }));
    }

    /// A packet of so many bytes (of UDP's payload) has left with this transmission number.
    pub(super) fn on_sent(&mut self, now: Time, number: u64, length: usize) {
        self.event(
            now,
            "transport:packet_sent",
            &json!({
                "header": { "packet_type": "1RTT", "packet_number": number },
                "raw": { "length": length },
                "frames": [{ "frame_type": "stream", "stream_id": 0, "length": length }],
            }),
        );
    }

    /// An acknowledgement has come.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack) {
        let mut ranges: Vec<_> = ack.blocks().map(|(first, last)| json!([first, last])).collect();
        ranges.reverse();
        self.event(
            now,
            "transport:packet_received",
            &json!({
                "header": { "packet_type": "1RTT" },
                "frames": [{
                    "frame_type": "ack",
                    "acked_ranges": ranges,
                    "ce": ack.ce_packets,
                }],
            }),
        );
    }

    /// The sender's account, after something has happened.
    pub(super) fn on_state(&mut self, now: Time, sender: &Sender) {
        let rtt = sender.rtt();
        let metrics = Metrics {
            cwnd: sender.plan().cwnd,
            in_flight: sender.in_flight(),
            smoothed: rtt.smoothed(),
            lost: sender.stats().lost,
        };
        let lost = self.metrics.map_or(0, |before| before.lost);
        let early = now.since(self.told) < BETWEEN && metrics.lost == lost;
        if self.metrics == Some(metrics) || (early && self.metrics.is_some()) {
            return;
        }
        (self.metrics, self.told) = (Some(metrics), now);
        let mut data = json!({
            "smoothed_rtt": rtt.smoothed().as_millis_f64(),
            "min_rtt": rtt.min().as_millis_f64(),
            "latest_rtt": rtt.latest().as_millis_f64(),
            "bytes_in_flight": metrics.in_flight,
            "lost_packets": metrics.lost,
        });
        if let Some(object) = data.as_object_mut() {
            // Schemes without a window have the largest number there is.
            if metrics.cwnd < 1 << 40 {
                object.insert("congestion_window".into(), metrics.cwnd.into());
            }
            if let Some(rate) = sender.plan().pacing.filter(|rate| rate.as_bps() < 1 << 50) {
                object.insert("pacing_rate".into(), rate.as_bps().into());
            }
        }
        self.event(now, "recovery:metrics_updated", &data);
    }

    /// Ends the log.
    pub(super) fn finish(mut self) -> Result<(), LiveError> {
        let flushed = self.out.flush();
        match self.failed.take().or(flushed.err()) {
            Some(error) => Err(LiveError::system(self.path.display().to_string())(error)),
            None => Ok(()),
        }
    }
}
