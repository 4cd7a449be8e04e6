//! Events of the TCP sockets of Linux hosts as a table: the option `--probe` of `run`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use paceline_sim::{TcpEvent, TcpEventKind, TcpObserver, TcpProbe, TcpValues};
use paceline_sweep::{Column, Table, Values};

use crate::output::{self, Error};
use crate::results;
use crate::sheet::Sheet;

/// Option for the events of one run.
#[derive(Args)]
#[command(next_help_heading = "Outputs")]
pub(crate) struct ProbeArgs {
    /// Write the events of TCP of Linux hosts into this CSV or Parquet file: a row for each segment that arrives,
    /// each retransmission and each change of state, with window, threshold, RTT and sequence numbers; - for standard
    /// output, instead of tables
    #[arg(long, value_name = "FILE")]
    probe: Option<PathBuf>,
}

impl ProbeArgs {
    /// Returns the file that the option names.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.probe.as_deref()
    }

    /// Returns a place for the events; `None` without the option.
    ///
    /// # Errors
    /// The file has no folder.
    pub(crate) fn open(&self) -> Result<Option<ProbeTable>, Error> {
        results::prepare_table("--probe", self.path())?;
        let table = |path: &Path| ProbeTable { path: path.into(), events: Arc::default() };
        Ok(self.path().map(table))
    }
}

/// The events of one run.
pub(crate) struct ProbeTable {
    path: PathBuf,
    events: Arc<Events>,
}

#[derive(Default)]
struct Events(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    rows: Vec<Row>,
    flows: Vec<String>,
    /// Hosts that have lost events, and the number of these.
    lost: Vec<(String, u64)>,
}

struct Row {
    time_ns: u64,
    /// Index in `flows`.
    flow: usize,
    is_sender: bool,
    ports: [u16; 2],
    ca_state: Option<u8>,
    kind: TcpEventKind,
}

impl Row {
    fn event(&self) -> &'static str {
        match self.kind {
            TcpEventKind::Received(_) => "received",
            TcpEventKind::Retransmit => "retransmit",
            TcpEventKind::State => "state",
            _ => "other",
        }
    }

    fn values(&self) -> Option<TcpValues> {
        match self.kind {
            TcpEventKind::Received(values) => Some(values),
            _ => None,
        }
    }
}

impl TcpObserver for Events {
    fn on_event(&self, event: TcpEvent<'_>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.flows.iter().position(|flow| flow == event.flow);
        let flow = known.unwrap_or_else(|| {
            kept.flows.push(event.flow.into());
            kept.flows.len() - 1
        });
        kept.rows.push(Row {
            time_ns: event.time.as_nanos(),
            flow,
            is_sender: event.is_sender,
            ports: [event.local_port, event.remote_port],
            ca_state: event.ca_state,
            kind: event.kind,
        });
    }

    fn on_lost(&self, host: &str, events: u64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.lost.iter_mut().find(|(known, _)| known == host) {
            Some((_, number)) => *number += events,
            None => kept.lost.push((host.into(), events)),
        }
    }
}

impl ProbeTable {
    /// Returns the probe for a scenario.
    pub(crate) fn probe(&self) -> TcpProbe {
        let events: Arc<Events> = Arc::clone(&self.events);
        TcpProbe::new(events)
    }

    /// Writes the table. Call it after the run, also if that has failed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(&self, quiet: bool) -> Result<(), Error> {
        let mut kept = self.events.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Hosts report their events by turns. Those of one host are in order, also within a microsecond.
        kept.rows.sort_by_key(|row| row.time_ns);
        for (host, events) in &kept.lost {
            output::note(&format!(
                "{}: {events} events of {host} are missing, since the host had no room for them",
                self.path.display()
            ));
        }
        results::write_sheet(&self.path, &Sheet::of_table(kept.table()), quiet)
    }
}

impl Kept {
    fn table(&self) -> Table {
        let text = |name: &str, of: &dyn Fn(&Row) -> String| Column {
            name: name.into(),
            values: Values::Text(self.rows.iter().map(|row| Some(of(row))).collect()),
        };
        let whole = |name: &str, of: &dyn Fn(&Row) -> Option<u64>| Column {
            name: name.into(),
            values: Values::Whole(
                self.rows.iter().map(|row| of(row).map(u64::cast_signed)).collect(),
            ),
        };
        let number = |name: &str, of: &dyn Fn(&Row) -> Option<f64>| Column {
            name: name.into(),
            values: Values::Number(self.rows.iter().map(of).collect()),
        };
        let value = |name: &str, of: fn(&TcpValues) -> Option<u64>| {
            whole(name, &|row| row.values().as_ref().and_then(of))
        };
        Table {
            columns: vec![
                number("time_s", &|row| Some(row.time_ns as f64 / 1e9)),
                text("flow", &|row| self.flows[row.flow].clone()),
                text("host", &|row| if row.is_sender { "sender" } else { "receiver" }.into()),
                text("event", &|row| row.event().into()),
                whole("local_port", &|row| Some(row.ports[0].into())),
                whole("remote_port", &|row| Some(row.ports[1].into())),
                whole("ca_state", &|row| row.ca_state.map(u64::from)),
                value("cwnd", |it| Some(it.cwnd.into())),
                value("ssthresh", |it| it.ssthresh.map(u64::from)),
                number("srtt_ms", &|row| row.values().map(|it| it.srtt.as_millis_f64())),
                value("snd_una", |it| Some(it.snd_una)),
                value("snd_nxt", |it| Some(it.snd_nxt)),
                value("snd_wnd", |it| Some(it.snd_wnd.into())),
                value("rcv_wnd", |it| Some(it.rcv_wnd.into())),
                value("data_bytes", |it| Some(it.data_bytes.into())),
            ],
        }
    }
}
