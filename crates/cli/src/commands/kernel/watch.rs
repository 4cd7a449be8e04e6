//! `paceline kernel watch`: shows the sockets of Paceline's programs, live.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, stdout};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use paceline_cc::Span;
use paceline_kernel::{self as kernel, PROGRAMS, Program, Totals};
use paceline_os::diag::{TcpSocket, tcp_sockets};
use paceline_report::SCHEMA_VERSION;
use serde::Serialize;

use super::{fail, find, next};
use crate::args;
use crate::output::{self, Error};
use crate::table::Grid;

#[derive(Args)]
#[command(after_help = "\
Examples:
  sudo paceline kernel watch
  sudo paceline kernel watch abc --interval 200ms --duration 10s --json")]
pub(crate) struct Watch {
    /// Show only the sockets of this congestion control
    name: Option<String>,
    /// End after this time; by default Ctrl-C ends it
    #[arg(long = "duration", alias = "for", value_name = "TIME", value_parser = args::length, allow_hyphen_values = true)]
    length: Option<Span>,
    /// Time between two tables
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval, allow_hyphen_values = true)]
    interval: Span,
    /// Print one line of JSON instead of each table
    #[arg(long)]
    json: bool,
}

fn interval(text: &str) -> Result<Span, String> {
    let span = args::length(text)?;
    if span < Span::from_millis(10) { Err("expected 10ms or more".into()) } else { Ok(span) }
}

/// A socket at one time. Rates and shares are over the time since the row before.
#[derive(Clone, Debug, Serialize)]
struct SocketRow {
    scheme: &'static str,
    local: String,
    remote: String,
    cwnd: u32,
    in_flight: u32,
    rtt_ms: f64,
    min_rtt_ms: f64,
    /// Rate of acknowledged bytes; `None` in a socket's first row.
    rate_mbps: Option<f64>,
    /// `None` if the socket has no limit.
    pacing_mbps: Option<f64>,
    retransmits: u32,
    #[serde(flatten)]
    totals: Totals,
    /// Share of accelerates among the bytes marked since the row before.
    accelerated_share: Option<f64>,
}

#[derive(Serialize)]
struct WatchSample<'a> {
    schema_version: u32,
    time_s: f64,
    sockets: &'a [SocketRow],
}

/// For each socket, the time, bytes and totals of its last row.
type SocketHistory = BTreeMap<u64, (Instant, u64, Totals)>;

impl Watch {
    pub(crate) fn run(self) -> Result<(), Error> {
        let programs: Vec<&Program> = match &self.name {
            Some(name) => vec![find(name)?],
            None => PROGRAMS.iter().collect(),
        };
        kernel::probe().check().map_err(fail)?;
        if !programs.iter().any(|program| kernel::loaded(program)) {
            let name = self.name.as_deref().unwrap_or("abc");
            return Err(Error::Message(format!(
                "nothing to watch is loaded: `sudo paceline kernel load {name}`"
            )));
        }
        let begun = Instant::now();
        let end = self.length.map(|length| begun + args::wall(length.as_secs_f64()));
        let screen = stdout().is_terminal() && !self.json;
        let mut seen = SocketHistory::new();
        let mut warned: Vec<String> = Vec::new();
        loop {
            let rows = rows(&programs, &mut seen)?;
            let warnings = fallbacks(&programs);
            if !screen {
                // A file gets a warning again only when its count has changed.
                let new = warnings.iter().filter(|warning| !warned.contains(warning));
                new.for_each(|warning| output::note(&format!("warning: {warning}")));
                warned.clone_from(&warnings);
            }
            let time_s = begun.elapsed().as_secs_f64();
            if self.json {
                let text = serde_json::to_string(&WatchSample {
                    schema_version: SCHEMA_VERSION,
                    time_s,
                    sockets: &rows,
                });
                let text = text.map_err(|error| Error::Message(error.to_string()))?;
                output::print(&format!("{text}\n"))?;
            } else if screen {
                // Moves the cursor to the top left and clears the screen below it.
                let warnings: String =
                    warnings.iter().map(|text| format!("warning: {text}\n")).collect();
                output::print(&format!("\x1b[H\x1b[J{}{warnings}", table(&rows)))?;
            } else {
                output::print(&lines(time_s, &rows))?;
            }
            let next = Instant::now() + args::wall(self.interval.as_secs_f64());
            if end.is_some_and(|end| next > end) {
                return Ok(());
            }
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }
}

/// Returns warnings about connections that use Cubic instead of one of these programs.
fn fallbacks(programs: &[&'static Program]) -> Vec<String> {
    let loaded = programs.iter().filter(|program| kernel::loaded(program));
    loaded.filter_map(|program| next::fallbacks(program, &kernel::stats(program).ok()?)).collect()
}

/// Returns the sockets of this network namespace that use these programs.
fn rows(programs: &[&'static Program], seen: &mut SocketHistory) -> Result<Vec<SocketRow>, Error> {
    let now = Instant::now();
    let mut rows = Vec::new();
    let mut still = SocketHistory::new();
    for program in programs.iter().filter(|program| kernel::loaded(program)) {
        let map = kernel::sockets(program).map_err(fail)?;
        let all = tcp_sockets(Some(map.as_fd()));
        let all = all.map_err(|error| Error::Message(error.to_string()))?;
        for socket in all.into_iter().filter(|socket| socket.scheme == program.name) {
            let totals = socket.storage.as_deref().and_then(Totals::read).unwrap_or_default();
            let before = seen.get(&socket.cookie);
            rows.push(row(program, &socket, totals, before, now));
            still.insert(socket.cookie, (now, socket.acked, totals));
        }
    }
    *seen = still;
    Ok(rows)
}

fn row(
    program: &'static Program,
    socket: &TcpSocket,
    totals: Totals,
    before: Option<&(Instant, u64, Totals)>,
    now: Instant,
) -> SocketRow {
    let mbps = |bytes: u64, time: Duration| bytes as f64 * 8e-6 / time.as_secs_f64().max(1e-9);
    let rate = before.map(|(then, acked, _)| {
        mbps(socket.acked.saturating_sub(*acked), now.saturating_duration_since(*then))
    });
    let marked = |all: &Totals| (all.accelerated_bytes, all.accelerated_bytes + all.braked_bytes);
    let share = before.and_then(|(_, _, then)| {
        let ((some, all), (some_then, all_then)) = (marked(&totals), marked(then));
        let all = all.saturating_sub(all_then);
        (all > 0).then(|| some.saturating_sub(some_then) as f64 / all as f64)
    });
    SocketRow {
        scheme: program.name,
        local: socket.local.to_string(),
        remote: socket.remote.to_string(),
        cwnd: socket.cwnd,
        in_flight: socket.in_flight,
        rtt_ms: socket.rtt.as_secs_f64() * 1e3,
        min_rtt_ms: socket.min_rtt.as_secs_f64() * 1e3,
        rate_mbps: rate,
        pacing_mbps: (socket.pacing < u64::MAX)
            .then(|| mbps(socket.pacing, Duration::from_secs(1))),
        retransmits: socket.retransmits,
        totals,
        accelerated_share: share,
    }
}

fn or_dash(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}

/// Returns a table for a terminal.
fn table(rows: &[SocketRow]) -> String {
    let mut grid = Grid::after(
        3,
        &[
            "scheme",
            "from",
            "to",
            "cwnd",
            "in flight",
            "RTT ms",
            "least",
            "Mbit/s",
            "paced at",
            "accelerates",
            "sent again",
            "back-offs",
        ],
    );
    for row in rows {
        let share = row.accelerated_share.map(|share| 100.0 * share);
        grid.row(vec![
            row.scheme.into(),
            row.local.clone(),
            row.remote.clone(),
            row.cwnd.to_string(),
            row.in_flight.to_string(),
            format!("{:.1}", row.rtt_ms),
            format!("{:.1}", row.min_rtt_ms),
            or_dash(row.rate_mbps, 2),
            or_dash(row.pacing_mbps, 1),
            share.map_or("-".into(), |share| format!("{share:.0} %")),
            row.retransmits.to_string(),
            row.totals.backoffs.to_string(),
        ]);
    }
    let sockets = rows.len();
    format!("{}{sockets} sockets; Ctrl-C ends\n", grid.text())
}

/// Returns a line for each socket, for a file or a pipe.
fn lines(time_s: f64, rows: &[SocketRow]) -> String {
    let line = |row: &SocketRow| {
        format!(
            "{time_s:.1} {} {} {} cwnd={} in_flight={} rtt_ms={:.1} min_rtt_ms={:.1} rate_mbps={} \
             pacing_mbps={} accelerated={} braked={} ce={} retransmits={} backoffs={}\n",
            row.scheme,
            row.local,
            row.remote,
            row.cwnd,
            row.in_flight,
            row.rtt_ms,
            row.min_rtt_ms,
            or_dash(row.rate_mbps, 3),
            or_dash(row.pacing_mbps, 3),
            row.totals.accelerated_bytes,
            row.totals.braked_bytes,
            row.totals.ce_bytes,
            row.retransmits,
            row.totals.backoffs,
        )
    };
    if rows.is_empty() {
        return format!("{time_s:.1} no sockets\n");
    }
    rows.iter().map(line).collect()
}
