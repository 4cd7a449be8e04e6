//! Logs of connections in qlog's main schema (draft-ietf-quic-qlog-main-schema, version 0.3, JSON
//! text sequences), which qvis shows. Callers choose the events
//! (draft-ietf-quic-qlog-quic-events).

use std::io::{self, Write};

use paceline_cc::Time;
use serde_json::{Value, json};

/// What the head of a log says.
#[derive(Clone, Copy, Debug)]
pub struct LogHead<'a> {
    /// Title of the log.
    pub title: &'a str,
    /// End that the events are seen from: `client` or `server`.
    pub vantage: &'a str,
    /// Name of that end.
    pub name: &'a str,
    /// Protocol of the connection, such as `QUIC`.
    pub protocol: &'a str,
    /// Time zero of the log, in milliseconds since 1970.
    pub reference_ms: f64,
}

/// A log that is being written. [`LogWriter::finish`] reports a write error.
#[derive(Debug)]
pub struct LogWriter<W: Write> {
    out: W,
    /// The time from which the times in the log count.
    zero: Time,
    failed: Option<io::Error>,
}

impl<W: Write> LogWriter<W> {
    /// Starts a log whose times count from `zero`.
    pub fn begin(out: W, zero: Time, head: &LogHead<'_>) -> LogWriter<W> {
        let mut log = LogWriter { out, zero, failed: None };
        log.record(&json!({
            "qlog_format": "JSON-SEQ",
            "qlog_version": "0.3",
            "title": head.title,
            "trace": {
                "vantage_point": { "type": head.vantage, "name": head.name },
                "common_fields": {
                    "time_format": "relative",
                    "reference_time": head.reference_ms,
                    "protocol_type": [head.protocol],
                },
            },
        }));
        log
    }

    /// Writes an event: `name` is `CATEGORY:EVENT`.
    pub fn event(&mut self, now: Time, name: &str, data: &Value) {
        let time = now.since(self.zero).as_millis_f64();
        self.record(&json!({ "time": time, "name": name, "data": data }));
    }

    /// Writes a record of a JSON text sequence (RFC 7464).
    fn record(&mut self, value: &Value) {
        let written = writeln!(self.out, "\u{1e}{value}");
        self.failed = self.failed.take().or(written.err());
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// A write has failed, now or before.
    pub fn finish(mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.failed.map_or(flushed, Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Span;

    const HEAD: LogHead<'_> =
        LogHead { title: "t", vantage: "client", name: "n", protocol: "QUIC", reference_ms: 0.0 };

    #[test]
    fn each_record_is_json_after_a_separator() {
        let zero = Time::ZERO + Span::from_secs(1);
        let mut bytes = Vec::new();
        let mut log = LogWriter::begin(&mut bytes, zero, &HEAD);
        log.event(zero + Span::from_micros(1500), "recovery:packet_lost", &json!({}));
        log.finish().expect("written");
        let text = String::from_utf8(bytes).expect("text");
        let records: Vec<Value> = text
            .split('\u{1e}')
            .skip(1)
            .map(|record| serde_json::from_str(record).expect("JSON"))
            .collect();
        assert_eq!(records[0]["trace"]["vantage_point"]["type"], "client");
        assert_eq!(records[1], json!({ "time": 1.5, "name": "recovery:packet_lost", "data": {} }));
    }

    #[test]
    fn a_write_error_is_reported_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut log = LogWriter::begin(Full, Time::ZERO, &HEAD);
        log.event(Time::ZERO, "a:b", &json!({}));
        assert_eq!(log.finish().expect_err("full").kind(), io::ErrorKind::StorageFull);
    }
}
