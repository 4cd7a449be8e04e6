//! Logs of what the ends of QUIC flows do, in qlog's format: the option `--qlog` of commands that
//! simulate.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use paceline_cc::{Ecn, Time};
use paceline_qlog::{LogHead, LogWriter};
use paceline_sim::{ConnectionEvent, ConnectionEventKind, ConnectionLog, ConnectionObserver};
use serde_json::{Value, json};

use crate::names::file_names;
use crate::output::Error;
use crate::results;

/// Option for the logs of one run.
#[derive(Args)]
#[command(next_help_heading = "Outputs")]
pub(crate) struct LogArgs {
    /// Write datagrams, losses, windows and RTTs of QUIC flows as qlog (JSON text sequences), with simulated times:
    /// FILE has the sending end of the only such flow; a folder, which exists or whose name ends with /, has both ends of
    /// each, as FLOW.sender.sqlog and FLOW.receiver.sqlog
    #[arg(long, value_name = "FILE|DIR")]
    qlog: Option<PathBuf>,
}

impl LogArgs {
    /// Returns the file or the folder that the option names.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.qlog.as_deref()
    }

    /// Creates the logs; `None` without the option.
    ///
    /// # Errors
    /// The file or the folder cannot be made.
    pub(crate) fn open(&self) -> Result<Option<LogFiles>, Error> {
        let Some(path) = &self.qlog else { return Ok(None) };
        if !is_folder(path) {
            results::check_file_name(path, "--qlog", "a log", &["sqlog"])?;
        }
        LogFiles::create(path).map(Some)
    }
}

/// Returns true if a path names a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// The logs of one run.
pub(crate) struct LogFiles(Arc<Writers>);

struct Writers(Mutex<State>);

struct State {
    path: PathBuf,
    /// The log of each flow's sending (true) and receiving end.
    logs: BTreeMap<(String, bool), LogWriter<BufWriter<File>>>,
    /// Names of files in the folder, without ends.
    names: Vec<String>,
    /// Whether the path is a folder.
    is_folder: bool,
    error: Option<Error>,
}

impl LogFiles {
    fn create(path: &Path) -> Result<LogFiles, Error> {
        let is_folder = is_folder(path);
        let made = match is_folder {
            true => fs::create_dir_all(path),
            false => File::create(path).map(|_| ()),
        };
        made.map_err(|source| Error::Io { path: Some(path.into()), source })?;
        let (logs, names) = (BTreeMap::new(), Vec::new());
        let state = State { path: path.into(), logs, names, is_folder, error: None };
        Ok(LogFiles(Arc::new(Writers(Mutex::new(state)))))
    }

    /// Returns the log for a scenario.
    pub(crate) fn log(&self) -> ConnectionLog {
        let writers: Arc<Writers> = Arc::clone(&self.0);
        ConnectionLog::new(writers)
    }

    /// Writes the rest of the logs. Call it after the run, also if that has failed.
    ///
    /// # Errors
    /// A write has failed.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let mut state = self.0.state();
        let path = state.path.clone();
        for log in std::mem::take(&mut state.logs).into_values() {
            if let Err(source) = log.finish() {
                let failed = || Error::Io { path: Some(path.clone()), source };
                state.error.get_or_insert_with(failed);
            }
        }
        state.error.take().map_or(Ok(()), Err)
    }
}

impl State {
    /// Returns the log of an end, which it creates at the first event; `None` if the end has none.
    fn log(
        &mut self,
        flow: &str,
        is_sender: bool,
    ) -> Result<Option<&mut LogWriter<BufWriter<File>>>, Error> {
        let key = (flow.to_string(), is_sender);
        if !self.logs.contains_key(&key) {
            if !self.is_folder && !is_sender {
                return Ok(None);
            }
            let (end, vantage) =
                if is_sender { ("sender", "client") } else { ("receiver", "server") };
            let path = self.file(flow, end);
            let file = File::create(&path)
                .map_err(|source: io::Error| Error::Io { path: Some(path), source })?;
            let head = LogHead {
                title: "paceline run",
                vantage,
                name: flow,
                protocol: "QUIC",
                reference_ms: 0.0,
            };
            let log = LogWriter::begin(BufWriter::new(file), Time::ZERO, &head);
            self.logs.insert(key.clone(), log);
        }
        Ok(self.logs.get_mut(&key))
    }

    /// Returns the file of an end. Flows whose names differ only in characters that file names
    /// cannot have get numbers.
    fn file(&mut self, flow: &str, end: &str) -> PathBuf {
        if !self.is_folder {
            return self.path.clone();
        }
        if !self.names.iter().any(|known| known == flow) {
            self.names.push(flow.to_string());
        }
        let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let at = known.iter().position(|known| *known == flow).unwrap_or_default();
        self.path.join(format!("{}.{end}.sqlog", file_names(&known)[at]))
    }
}

impl Writers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionObserver for Writers {
    fn on_event(&self, event: ConnectionEvent<'_>) {
        let mut state = self.state();
        let log = match state.log(event.flow, event.is_sender) {
            Ok(Some(log)) => log,
            Ok(None) => return,
            Err(error) => {
                state.error.get_or_insert(error);
                return;
            }
        };
        match event.kind {
            ConnectionEventKind::Sent { bytes, ecn } => {
                log.event(event.time, "transport:datagrams_sent", &datagram(bytes, ecn));
                log.event(event.time, "transport:packet_sent", &packet(bytes));
            }
            ConnectionEventKind::Received { bytes, ecn } => {
                log.event(event.time, "transport:datagrams_received", &datagram(bytes, ecn));
                log.event(event.time, "transport:packet_received", &packet(bytes));
            }
            ConnectionEventKind::State { cwnd, srtt, pacing_bps } => {
                let mut data = json!({
                    "congestion_window": cwnd,
                    "smoothed_rtt": srtt.as_millis_f64(),
                });
                if let Some(bps) = pacing_bps {
                    data["pacing_rate"] = bps.into();
                }
                log.event(event.time, "recovery:metrics_updated", &data);
            }
            ConnectionEventKind::Lost { packets } => {
                // The stack counts lost packets without their numbers.
                for _ in 0..packets {
                    log.event(event.time, "recovery:packet_lost", &json!({}));
                }
            }
            ConnectionEventKind::Ended { reason } => {
                let data = json!({ "trigger": "error", "reason": reason });
                log.event(event.time, "connectivity:connection_closed", &data);
            }
            _ => {}
        }
    }
}

/// Returns a datagram as one packet of QUIC, without a number: only the stack can read its header. qvis draws nothing
/// without packets.
fn packet(bytes: u32) -> Value {
    json!({ "header": { "packet_type": "unknown" }, "raw": { "length": bytes } })
}

fn datagram(bytes: u32, ecn: Ecn) -> Value {
    let ecn = match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    };
    json!({ "count": 1, "raw": [{ "payload_length": bytes }], "ecn": [ecn] })
}
