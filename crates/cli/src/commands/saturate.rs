//! `paceline saturate`: records the capacity of a link.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use paceline_cc::Span;
use paceline_trace::Trace;
use paceline_transfer::saturate::window::Rule;
use paceline_transfer::saturate::{
    ClientOptions, DirectionResult, Event, SaturationResult, ServerOptions, client, server,
};
use paceline_transfer::udp::{addresses, any_address, connect_to};
use serde::Serialize;

use super::transfer_end::give_up_capabilities;
use crate::args;
use crate::keys::{ClientKey, ServerKeys};
use crate::output::{self, Error};

/// Record what a cellular link can carry in both directions, as traces
///
/// Keeps the queues of the link full, so that the round-trip time of each direction stays between
/// 750 and 3000 ms. Other traffic on the link is delayed as much meanwhile. See docs/saturator.md.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline saturate server --key-file server.key
  paceline saturate client 192.0.2.1:5313 --key-file FILE --only down -o drive")]
pub(crate) enum Saturate {
    Server(Server),
    Client(Client),
}

/// Wait for measurements
///
/// Prints a line `key STRING`, which the client needs, if it has made new keys.
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline saturate server --listen 0.0.0.0:5313
  paceline saturate server --key-file /etc/paceline/server.key")]
pub(crate) struct Server {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", value_parser = address,
        help = "Where to listen; port 0 takes a free one [default: [::]:5313, for IPv6 and IPv4; 0.0.0.0:5313 without IPv6]")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    keys: ServerKeys,
    /// End after the first measurement
    #[arg(long)]
    once: bool,
    /// Print only errors, not even the key string of new keys
    #[arg(short, long)]
    quiet: bool,
}

/// Measure a link
#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline saturate client 192.0.2.1:5313 --key-file FILE --link wwan0 --feedback wwan1 -o drive
  paceline saturate client 192.0.2.1:5313 --key-file FILE --only down --duration 2min -o drive")]
pub(crate) struct Client {
    /// The server. All addresses of its name are tried, one after the other
    #[arg(value_name = "HOST:PORT", value_parser = args::host_and_port)]
    to: String,
    #[command(flatten)]
    key: ClientKey,
    /// Write the traces to FILE.up and FILE.down
    #[arg(short, long, value_name = "FILE", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// The interface of the measured link; by default the routes decide
    #[arg(long, value_name = "INTERFACE", help_heading = "Measurement")]
    link: Option<String>,
    /// The interface of another link, for acknowledgements; needed for both directions at once
    #[arg(long, value_name = "INTERFACE", help_heading = "Measurement")]
    feedback: Option<String>,
    /// Measure one direction only. Without --feedback this is needed, since acknowledgements would
    /// wait in the other direction's queue
    #[arg(
        long,
        value_name = "DIRECTION",
        required_unless_present = "feedback",
        help_heading = "Measurement"
    )]
    only: Option<OnlyDirection>,
    /// How long to measure
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = args::length, help_heading = "Measurement")]
    duration: Span,
    /// Size of the packets in bytes, IP and UDP headers included. An opportunity of a trace is 1500
    /// bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
        value_parser = clap::value_parser!(u16).range(200..), help_heading = "Measurement")]
    size: u16,
    /// The most packets in flight: 10000 keep 750 ms full at up to 160 Mbit/s (the thesis' program
    /// has 1500)
    #[arg(long, value_name = "PACKETS", default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(20..=1_000_000), help_heading = "Measurement")]
    window: u32,
    /// Change the number of packets in flight as the thesis' program does, only when the round-trip
    /// time has left its band; without this option it is the number that the link delivers within
    /// 1100 ms
    #[arg(long, help_heading = "Measurement")]
    thesis: bool,
    /// End if nothing arrives from the server for this time
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = args::length, help_heading = "Measurement")]
    timeout: Span,
    /// Print the measurements as JSON
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    /// Print nothing but errors; with --json, nothing but JSON
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// Shortest recording that is written as a trace, in seconds.
const SHORTEST: f64 = 0.001;
/// Share of lost packets from which on a link's queue counts as too short for a measurement. A radio's own losses are
/// fewer, and a window that grows in front of a full queue loses more.
const FULL_QUEUE_LOSS: f64 = 0.05;

#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OnlyDirection {
    /// To the server
    Up,
    /// From the server
    Down,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    connect_to(text).map_err(|error| error.to_string())
}

fn fail(error: paceline_os::RealTimeError) -> Error {
    Error::Message(error.to_string())
}

/// Measurements of one direction.
#[derive(Serialize)]
struct DirectionRow {
    direction: &'static str,
    /// The trace's file.
    file: Option<PathBuf>,
    /// Time since the link was saturated, in seconds.
    duration_s: f64,
    opportunities: usize,
    mean_mbps: f64,
    /// Number of the first packet that counts. The two fields below count packets from it on that
    /// arrived and that were lost.
    first_packet: u32,
    packets: u64,
    lost: u64,
    /// Share of lost packets since the first packet of all.
    #[serde(skip)]
    lost_share: f64,
    /// Share of the time since the link was saturated in which the round-trip time was in its band.
    rtt_in_band: f64,
    rtt_ms: Rtt,
    /// All packets sent.
    sent: u32,
}

#[derive(Serialize)]
struct Rtt {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

#[derive(Serialize)]
struct Rows<'a> {
    rows: &'a [DirectionRow],
}

impl Saturate {
    pub(crate) fn run(self) -> Result<(), Error> {
        match self {
            Saturate::Server(server) => server.run(),
            Saturate::Client(client) => client.run(),
        }
    }
}

impl Server {
    fn run(&self) -> Result<(), Error> {
        let listen = self.listen.unwrap_or_else(|| any_address(5313));
        give_up_capabilities(false, Some(listen));
        let keys = self.keys.find(self.quiet)?;
        let key = keys.line(self.quiet);
        let identity = keys.identity;
        let options = ServerOptions { listen, identity, once: self.once };
        let mut printed = Ok(());
        let note = |text: String| {
            if !self.quiet {
                output::note(&text);
            }
        };
        let good = server(&options, &mut |event| match event {
            Event::Listening(at) => {
                note(format!("listening at {at}"));
                if let Some(key) = &key {
                    printed = output::print(key);
                }
            }
            Event::Began(link, feedback) => {
                note(format!("{link}: measuring; acknowledgements go to {feedback}"));
            }
            Event::Ended(link, true) => note(format!("{link}: done")),
            Event::Ended(link, false) => {
                note(format!("{link}: ended: the client has fallen silent"));
            }
        });
        printed?;
        match good.map_err(fail)? {
            false if self.once => Err(Error::Message("the measurement ended badly".into())),
            _ => Ok(()),
        }
    }
}

impl Client {
    fn run(&self) -> Result<(), Error> {
        let options = ClientOptions {
            to: addresses(&self.to).map_err(fail)?,
            key: self.key.find()?,
            link: self.link.clone(),
            feedback: self.feedback.clone(),
            up: self.only != Some(OnlyDirection::Down),
            down: self.only != Some(OnlyDirection::Up),
            duration: self.duration,
            size: self.size,
            window: self.window,
            rule: if self.thesis { Rule::Thesis } else { Rule::Delivery },
            patience: self.timeout,
        };
        // Fails now rather than after the measurement.
        self.output.as_deref().map_or(Ok(()), output::has_folder)?;
        // Writes the traces so far, so that they remain if this program or the machine fails before the end.
        let mut flush = |so_far: &SaturationResult| {
            for (name, direction) in [("up", &so_far.up), ("down", &so_far.down)] {
                let Some(direction) = direction else { continue };
                if direction.recorded.duration_s >= SHORTEST
                    && let Err(problem) = self.save(name, direction)
                {
                    output::note(&format!("warning: not written yet: {problem}"));
                }
            }
        };
        let measured = client(&options, &mut flush).map_err(fail)?;
        // Prints and writes as many measurements as possible, also if some cannot be written.
        let (mut rows, mut unwritten) = (Vec::new(), Vec::new());
        for (name, direction) in [("up", &measured.up), ("down", &measured.down)] {
            let Some(direction) = direction else { continue };
            let file = match self.save(name, direction) {
                Ok(file) => file,
                Err(problem) => {
                    unwritten.push(problem);
                    None
                }
            };
            if self.output.is_none()
                && !self.quiet
                && let Some(problem) = unrecorded(name, direction)
            {
                output::note(&problem);
            }
            rows.push(Client::row(name, direction, file));
        }
        let printed = if self.json {
            output::print_json(&Rows { rows: &rows })
        } else if self.quiet {
            Ok(())
        } else {
            output::print(&rows.iter().map(words).collect::<String>())
        };
        let whole = match measured.problem {
            Some(problem) => {
                Err(Error::Message(format!("{problem}; the measurements until then are kept")))
            }
            None => Ok(()),
        };
        whole.and(output::all_of(&unwritten)).and(printed)
    }

    /// Writes the trace of a direction, if the user wants files. Returns its file, or why it cannot
    /// be written.
    fn save(&self, direction: &str, measured: &DirectionResult) -> Result<Option<PathBuf>, String> {
        let Some(output) = &self.output else { return Ok(None) };
        if let Some(problem) = unrecorded(direction, measured) {
            return Err(problem);
        }
        let named = |end: &str| {
            let mut name = output.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        let path = named(&format!(".{direction}"));
        // Writes another file and renames it, so that FILE is always a complete trace, also
        // meanwhile and after a kill.
        let part = named(&format!(".part.{direction}"));
        let text = part.to_string_lossy().into_owned();
        let trace = Trace::new(&text, measured.recorded.opportunities.clone());
        let saved = trace.and_then(|trace| paceline_trace::file::save(&trace, &text));
        saved.map_err(|error| error.to_string())?;
        std::fs::rename(&part, &path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Some(path))
    }

    fn row(
        direction: &'static str,
        measured: &DirectionResult,
        file: Option<PathBuf>,
    ) -> DirectionRow {
        let DirectionResult { recorded, sent, lost_share } = measured;
        let count = recorded.opportunities.len();
        let millis = |at: usize| f64::from(sent.rtt[at]) / 1e3;
        DirectionRow {
            direction,
            file,
            duration_s: recorded.duration_s,
            opportunities: count,
            mean_mbps: count as f64 * 1500.0 * 8e-6 / recorded.duration_s.max(1e-9),
            first_packet: recorded.first,
            packets: recorded.packets,
            lost: recorded.lost,
            lost_share: *lost_share,
            rtt_in_band: f64::from(sent.in_band) / 1e6,
            rtt_ms: Rtt { p50: millis(0), p95: millis(1), p99: millis(2), max: millis(3) },
            sent: sent.sent,
        }
    }
}

/// Returns why a direction has no trace, with the remedy; `None` if it has one.
fn unrecorded(direction: &str, measured: &DirectionResult) -> Option<String> {
    if measured.recorded.duration_s >= SHORTEST {
        return None;
    }
    Some(match measured.lost_share {
        share if share >= FULL_QUEUE_LOSS => format!(
            "{direction}: the link's queue drops packets before the round-trip time reaches 750 ms ({:.1} % lost): no \
             trace can be recorded this way",
            share * 100.0
        ),
        _ => format!(
            "{direction}: the round-trip time has not reached 750 ms, so that nothing was recorded: measure for \
             longer, or with a larger --window"
        ),
    })
}

fn words(row: &DirectionRow) -> String {
    if row.duration_s < SHORTEST {
        return format!(
            "{}: nothing was recorded; {:.1} % of {} packets lost\n",
            row.direction,
            row.lost_share * 100.0,
            row.sent
        );
    }
    let file = row.file.as_ref().map_or(String::new(), |file| format!("{}: ", file.display()));
    format!(
        "{file}{}: {:.2} Mbit/s, {} opportunities in {:.1} s, {} packets lost; round trip {:.0} ms, \
         95% {:.0} ms, {:.1} % of the time between 750 and 3000 ms\n",
        row.direction,
        row.mean_mbps,
        row.opportunities,
        row.duration_s,
        row.lost,
        row.rtt_ms.p50,
        row.rtt_ms.p95,
        row.rtt_in_band * 100.0,
    )
}
