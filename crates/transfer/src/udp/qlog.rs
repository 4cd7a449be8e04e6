//! A log of one end of a connection in qlog's format: packets sent, received and lost,
//! acknowledgements, windows and RTTs.
//!
//! A data packet's number is its transmission number, which acknowledgements name. An
//! acknowledgement's number is its packet number on the wire. Other packets are not logged.

use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use paceline_cc::{Ack, Span, Time};
use paceline_flow::{Loss, LossTrigger, Sender};
use paceline_os::RealTimeError;
use paceline_qlog::{LogHead, LogWriter};
use paceline_wire::End;
use serde_json::json;

/// Minimum interval between two records of metrics, except when losses change.
const BETWEEN: Span = Span::from_millis(1);

/// Which end writes the log.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Vantage {
    /// `paceline send`.
    Client,
    /// `paceline recv`.
    Server,
}

/// A log that is being written. [`Qlog::finish`] reports a write error.
pub(super) struct Qlog {
    log: LogWriter<BufWriter<File>>,
    path: PathBuf,
    metrics: Option<Metrics>,
    told: Time,
}

/// The metrics of the last record.
#[derive(Copy, Clone, PartialEq)]
struct Metrics {
    cwnd: u64,
    in_flight: u64,
    smoothed: Span,
    /// Packets declared lost so far; not written, but a record comes at once when this changes.
    lost: u64,
}

impl Qlog {
    /// Creates a log of a connection. Its times count from `now`.
    pub(super) fn create(path: &Path, vantage: Vantage, now: Time) -> Result<Qlog, RealTimeError> {
        let file = File::create(path).map_err(RealTimeError::system(path.display().to_string()))?;
        Ok(Qlog::begin(file, path.to_path_buf(), vantage, now))
    }

    /// Starts the log in an empty file.
    fn begin(file: File, path: PathBuf, vantage: Vantage, now: Time) -> Qlog {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (vantage, name) = match vantage {
            Vantage::Client => ("client", "paceline send"),
            Vantage::Server => ("server", "paceline recv"),
        };
        let reference_ms = since.as_secs_f64() * 1e3;
        let head = LogHead { title: name, vantage, name, protocol: "PACELINE", reference_ms };
        let log = LogWriter::begin(BufWriter::new(file), now, &head);
        Qlog { log, path, metrics: None, told: now }
    }

    /// Logs that data is sent with this scheme.
    pub(super) fn on_scheme(&mut self, now: Time, scheme: &str) {
        self.log.event(now, "recovery:parameters_set", &json!({ "congestion_control": scheme }));
    }

    /// Logs a data packet with `length` bytes of UDP payload, sent or, with `received`, received.
    pub(super) fn on_data(&mut self, now: Time, number: u64, length: u32, received: bool) {
        self.log.event(
            now,
            if received { "transport:packet_received" } else { "transport:packet_sent" },
            &json!({
                "header": { "packet_type": "1RTT", "packet_number": number },
                "raw": { "length": length },
                "frames": [{ "frame_type": "stream", "stream_id": 0, "length": length }],
            }),
        );
    }

    /// Logs an acknowledgement in a packet with this number and length, sent or, with `received`,
    /// received.
    pub(super) fn on_ack(&mut self, now: Time, packet: (u64, u32), ack: &Ack, received: bool) {
        let mut ranges: Vec<_> = ack.blocks().map(|(first, last)| json!([first, last])).collect();
        ranges.reverse();
        self.log.event(
            now,
            if received { "transport:packet_received" } else { "transport:packet_sent" },
            &json!({
                "header": { "packet_type": "1RTT", "packet_number": packet.0 },
                "raw": { "length": packet.1 },
                "frames": [{ "frame_type": "ack", "acked_ranges": ranges, "ce": ack.ce_packets }],
            }),
        );
    }

    /// Logs that a data packet was declared lost.
    pub(super) fn on_loss(&mut self, now: Time, loss: &Loss) {
        let trigger = match loss.trigger {
            LossTrigger::ReorderingThreshold => "reordering_threshold",
            LossTrigger::TimeThreshold => "time_threshold",
            // qlog's name for an expired retransmission timer.
            _ => "pto_expired",
        };
        self.log.event(
            now,
            "recovery:packet_lost",
            &json!({
                "header": { "packet_type": "1RTT", "packet_number": loss.number },
                "trigger": trigger,
            }),
        );
    }

    /// Logs the sender's counters after an event.
    pub(super) fn on_state(&mut self, now: Time, sender: &Sender) {
        let rtt = sender.rtt();
        let metrics = Metrics {
            cwnd: sender.plan().cwnd,
            in_flight: sender.in_flight(),
            smoothed: rtt.smoothed(),
            lost: sender.stats().lost,
        };
        if !self.is_due(now, metrics) {
            return;
        }
        let mut data = json!({
            "smoothed_rtt": rtt.smoothed().as_millis_f64(),
            "min_rtt": rtt.min().as_millis_f64(),
            "latest_rtt": rtt.latest().as_millis_f64(),
            "bytes_in_flight": metrics.in_flight,
        });
        if let Some(object) = data.as_object_mut() {
            // A scheme without a window has a cwnd of at least 2^40.
            if metrics.cwnd < 1 << 40 {
                object.insert("congestion_window".into(), metrics.cwnd.into());
            }
            if let Some(rate) = sender.plan().pacing.filter(|rate| rate.as_bps() < 1 << 50) {
                object.insert("pacing_rate".into(), rate.as_bps().into());
            }
        }
        self.log.event(now, "recovery:metrics_updated", &data);
    }

    /// Returns true, and keeps the metrics, if a record of them is due.
    fn is_due(&mut self, now: Time, metrics: Metrics) -> bool {
        let is_early = now.since(self.told) < BETWEEN;
        let differs = |last: Metrics| last != metrics && (!is_early || last.lost != metrics.lost);
        let is_due = self.metrics.is_none_or(differs);
        if is_due {
            (self.metrics, self.told) = (Some(metrics), now);
        }
        is_due
    }

    /// Closes the log, with the reason for which the connection ended.
    pub(super) fn finish(mut self, now: Time, end: Option<&End>) -> Result<(), RealTimeError> {
        if let Some(end) = end {
            let (owner, trigger, reason) = match end {
                End::Here { code: 0, reason } => ("local", "clean", reason.clone()),
                End::Here { reason, .. } => ("local", "application", reason.clone()),
                End::There { code: 0, reason } => ("remote", "clean", reason.clone()),
                End::There { reason, .. } => ("remote", "application", reason.clone()),
                End::Reset => ("remote", "stateless_reset", "the server was restarted".into()),
                End::Silence(span) => ("local", "idle_timeout", format!("nothing came for {span}")),
            };
            let data = json!({ "owner": owner, "trigger": trigger, "reason": reason });
            self.log.event(now, "connectivity:connection_closed", &data);
        }
        self.log.finish().map_err(RealTimeError::system(self.path.display().to_string()))
    }
}

/// Where a server writes the logs of its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// The first connection's log goes into this file, those of later ones beside it with `-2`,
    /// `-3` and so on in the name.
    File(PathBuf),
    /// Each log goes into this folder, named by the connection's identifier. Identifiers can
    /// repeat: later logs get `-2`, `-3` and so on in the name.
    Folder(PathBuf),
}

impl LogTarget {
    /// Returns the file for connection number `count`, counted from 1. In a folder, `count` numbers
    /// the logs with the identifier `connection`.
    fn path(&self, count: u64, connection: u32) -> PathBuf {
        let first = match self {
            LogTarget::Folder(folder) => folder.join(format!("recv-{connection:08x}.sqlog")),
            LogTarget::File(path) => path.clone(),
        };
        if count <= 1 {
            return first;
        }
        let stem = first.file_stem().unwrap_or_default().to_string_lossy();
        let name = match first.extension() {
            Some(end) => format!("{stem}-{count}.{}", end.to_string_lossy()),
            None => format!("{stem}-{count}"),
        };
        first.with_file_name(name)
    }

    /// Returns an error if no log can be written there. Call it before the first connection.
    pub(super) fn check(&self) -> Result<(), RealTimeError> {
        let name = |path: &Path| path.display().to_string();
        match self {
            LogTarget::Folder(folder) => {
                std::fs::create_dir_all(folder).map_err(RealTimeError::system(name(folder)))
            }
            LogTarget::File(path) => {
                File::create(path).map(|_| ()).map_err(RealTimeError::system(name(path)))
            }
        }
    }

    /// Creates the log of a connection.
    pub(super) fn begin(
        &self,
        count: u64,
        connection: u32,
        now: Time,
    ) -> Result<Qlog, RealTimeError> {
        if let LogTarget::File(_) = self {
            return Qlog::create(&self.path(count, connection), Vantage::Server, now);
        }
        let mut number = 1;
        loop {
            let path = self.path(number, connection);
            match File::create_new(&path) {
                Ok(file) => return Ok(Qlog::begin(file, path, Vantage::Server, now)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(RealTimeError::system(path.display().to_string())(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_a_log_of_its_own() {
        let file = LogTarget::File("a/log.sqlog".into());
        assert_eq!(file.path(1, 7), PathBuf::from("a/log.sqlog"));
        assert_eq!(file.path(3, 7), PathBuf::from("a/log-3.sqlog"));
        assert_eq!(LogTarget::File("log".into()).path(2, 7), PathBuf::from("log-2"));
        let folder = LogTarget::Folder("logs".into());
        assert_eq!(folder.path(1, 0xab), PathBuf::from("logs/recv-000000ab.sqlog"));
    }

    #[test]
    fn metrics_come_once_per_millisecond_and_at_each_loss() {
        let path = std::env::temp_dir().join(format!("paceline-metrics-{}", std::process::id()));
        let mut log = Qlog::create(&path, Vantage::Client, Time::ZERO).expect("a log");
        let at = |in_flight, lost| Metrics { cwnd: 9, in_flight, smoothed: Span::ZERO, lost };
        let us = |us: u64| Time::from_nanos(1000 * us);
        let due = [
            (us(10), at(1, 0), true),
            (us(20), at(2, 0), false),
            (us(30), at(2, 1), true),
            (us(1020), at(3, 1), false),
            (us(1030), at(3, 1), true),
            (us(9000), at(3, 1), false),
        ];
        for (now, metrics, wanted) in due {
            assert_eq!(log.is_due(now, metrics), wanted, "{now:?}");
        }
        log.finish(us(9000), None).expect("written");
        std::fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn connections_of_the_same_identifier_do_not_replace_each_others_logs() {
        let folder = std::env::temp_dir().join(format!("paceline-qlog-{}", std::process::id()));
        let target = LogTarget::Folder(folder.clone());
        target.check().expect("a folder");
        for count in 1..=3 {
            let log = target.begin(count, 0xab, Time::ZERO).expect("a log");
            log.finish(Time::ZERO, None).expect("written");
        }
        let names = std::fs::read_dir(&folder).expect("the folder");
        let mut names: Vec<_> = names.map(|entry| entry.expect("a file").file_name()).collect();
        names.sort();
        std::fs::remove_dir_all(&folder).expect("removed");
        let wanted = ["recv-000000ab-2.sqlog", "recv-000000ab-3.sqlog", "recv-000000ab.sqlog"];
        assert_eq!(names, wanted);
    }
}
