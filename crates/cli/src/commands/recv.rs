//! `paceline recv`: receives files and measurements from `paceline send`.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use paceline_cc::Span;
use paceline_os::Interrupts;
use paceline_requests::numbers::fixed;
use paceline_transfer::udp::{
    ConnectionResult, DiskLimits, Event, LogTarget, Progress, ReceiveOptions, SentSummary,
    ServerOptions, Summary, Target, addresses, any_address, receive, serve,
};
use paceline_wire::ServerLimits;
use serde::Serialize;

use super::fetch::FetchOptions;
use super::transfer;
use super::transfer_end::{
    PLAINTEXT, address, give_up_capabilities, loops, print_events, processors, run_ahead,
};
use crate::args;
use crate::connection_logs::is_folder;
use crate::keys::ServerKeys;
use crate::output::{self, Error};
use crate::progress::{ProgressDisplay, ProgressMode, WhileWaiting};
use crate::registries;
use crate::results;
use crate::table::counted;

/// Receive files over UDP from `paceline send`
///
/// Writes files into this folder, or where -o says. Prints a line `key STRING` if it has made new
/// keys: whoever has this string may send. A file appears under its name when it has arrived
/// completely and its hash is right.
#[derive(Args)]
#[command(after_help = "\
Examples:
  (umask 077; paceline key new -o server.key > client.key)
  paceline recv --listen 0.0.0.0:5311 --key-file server.key -o incoming/
  paceline recv --listen [::]:5311 -o FILE --once
  paceline recv --quota 20GB --keep-free 5GB -o incoming/
  paceline recv --measure --listen 127.0.0.1:5311
  paceline recv --listen 0.0.0.0:5311 -o - --once | tar x
  paceline recv --from 192.0.2.1:5311 --key-file client.key -o incoming/   # from send --listen")]
pub(crate) struct Recv {
    /// The address and port to listen at; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", value_parser = address,
        help = "The address and port to listen at; port 0 takes a free one [default: [::]:5311, for IPv6 and IPv4; 0.0.0.0:5311 without IPv6]", help_heading = "Connections")]
    listen: Option<SocketAddr>,
    /// Connect to a `paceline send --listen` and fetch its files, from behind a firewall or an
    /// address translator, and end when they have arrived. After a kill, the same command continues
    /// the transfer. --key-file has a client's key
    #[arg(long, value_name = "HOST:PORT", value_parser = args::host_and_port,
        conflicts_with_all = ["listen", "once", "measure", "clients", "loops"], help_heading = "Connections")]
    from: Option<String>,
    #[command(flatten)]
    fetch: FetchOptions,
    /// Where to write received files: a file, a folder (it exists, or its name ends with a slash),
    /// or - for standard output, which takes one sender at a time. /dev/null checks files and
    /// discards them
    #[arg(short, long, value_name = "FILE|DIR/|-", default_value = ".", help_heading = "Files")]
    output: PathBuf,
    /// End when the first connection ends, or all connections of the first measurement. A
    /// connection that breaks off within a transfer does not count, since the sender connects again
    #[arg(long, help_heading = "Connections")]
    once: bool,
    /// Accept symbolic links that lead out of the sent folder: absolute ones, and relative ones
    /// whose .. leave it
    #[arg(long, help_heading = "Files")]
    outside_links: bool,
    /// Keep at most this much in the folder of -o (`20GB`, `500MiB`), whatever its files' origin,
    /// and refuse a transfer that would need more. A file counts with its bytes, and each file,
    /// folder and link with 4 KiB. Entries that you remove from the folder no longer count
    #[arg(long, value_name = "SIZE", value_parser = args::size, conflicts_with = "measure", help_heading = "Files")]
    quota: Option<u64>,
    /// With --clients: keep at most this much of each client, in the client's own folder DIR/NAME/
    #[arg(long, value_name = "SIZE", value_parser = args::size, requires = "clients", conflicts_with = "measure", help_heading = "Files")]
    client_quota: Option<u64>,
    /// Refuse transfers that would leave less than this of the file system free
    #[arg(long, value_name = "SIZE", value_parser = args::size, conflicts_with = "measure", help_heading = "Files")]
    keep_free: Option<u64>,
    /// Accept only measurements (`paceline send --duration`), also those in which this end sends
    /// (`--reverse`), and no files. At a loopback address this needs no keys
    #[arg(long, conflicts_with = "output", help_heading = "Measurements")]
    measure: bool,
    /// At the end, print all connections as JSON
    #[arg(long, help_heading = "Outputs")]
    json: bool,
    #[command(flatten)]
    keys: ServerKeys,
    /// Admit only the clients that this file lists, each by a line `NAME plc-KEY`; # begins a
    /// comment. `paceline key new --for SERVER.key -o CLIENT.key` makes a client's key. At SIGHUP
    /// the server reads the file again, and ends the connections of clients that are no longer
    /// listed
    #[arg(long, value_name = "FILE", help_heading = "Keys")]
    clients: Option<PathBuf>,
    /// Accept unencrypted packets. Only for measurements in a laboratory; `paceline send` needs this
    /// option, too
    #[arg(long, help_heading = "Keys")]
    plaintext: bool,
    /// End a connection if nothing arrives from its sender for this time. Both ends have such a
    /// time and the longer one counts, the sender's up to 10 minutes
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = args::length, help_heading = "Connections")]
    timeout: Span,
    /// How many event loops, each on its own thread, share the connections [default: one for each
    /// processor]
    #[arg(long, value_name = "N", value_parser = loops, help_heading = "Connections")]
    loops: Option<NonZeroUsize>,
    /// Run ahead of all ordinary programs (SCHED_FIFO, mlockall), where the system allows it
    #[arg(long, help_heading = "Connections")]
    realtime: bool,
    /// Write packets and acknowledgements as qlog (JSON text sequences), for qvis, which needs a
    /// name that ends with .sqlog. Each further connection has its own file: FILE-2 and so on; or
    /// each connection has one in a folder (it exists, or its name ends with a slash)
    #[arg(long, value_name = "FILE|DIR/", help_heading = "Outputs")]
    qlog: Option<PathBuf>,
    /// At the end, write a page, plots and JSON of all connections, time series included, into this
    /// folder
    #[arg(long, value_name = "DIR", help_heading = "Outputs")]
    report: Option<PathBuf>,
    /// How to show the progress of transfers on standard error
    #[arg(long, value_name = "HOW", default_value = "auto", help_heading = "Outputs")]
    progress: ProgressMode,
    /// Print nothing, not even the key string of new keys
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
}

/// A connection that has ended, in `recv.json`.
#[derive(Serialize)]
struct ReceivedRow {
    from: String,
    scheme: String,
    /// Why it ended, if not as it should.
    problem: Option<String>,
    #[serde(flatten)]
    summary: Summary,
    /// `None` if all packets arrived at one time.
    throughput_mbps: Option<f64>,
    goodput_mbps: Option<f64>,
    /// True if this end was the sender.
    reverse: bool,
    /// Counts and measurements of a measurement's sender.
    sender: Option<SentSummary>,
    /// Series over time; only with `--report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<paceline_transfer::udp::ReceivedSeries>,
}

#[derive(Serialize)]
struct Rows<'a> {
    connections: &'a [ReceivedRow],
    /// Number of connections that are not listed.
    more: u64,
}

/// Connections for the page.
#[derive(Default)]
struct ReceivedDocument {
    rows: Vec<ReceivedRow>,
    views: Vec<paceline_report::TransferView>,
    more: u64,
}

impl ReceivedDocument {
    fn add(&mut self, from: SocketAddr, problem: &str, received: &ConnectionResult) {
        // Leaves out handshakes without data: a sender may begin several, and goes on with one.
        if received.summary.packets == 0 && !received.is_reverse {
            return;
        }
        if self.rows.len() >= transfer::MOST {
            self.more += 1;
            return;
        }
        let view = transfer::received(from.to_string(), problem, received);
        self.rows.push(ReceivedRow {
            from: from.to_string(),
            scheme: received.scheme.clone(),
            problem: view.problem.clone(),
            summary: received.summary,
            throughput_mbps: view.throughput_mbps,
            goodput_mbps: view.goodput_mbps,
            reverse: received.is_reverse,
            sender: received.sent,
            series: (!received.series.throughput_mbps.is_empty()).then(|| received.series.clone()),
        });
        self.views.push(view);
    }

    /// Adds a connection that has ended.
    fn add_ended(&mut self, event: &Event) {
        if let Event::Ended { from, reason, received } = event {
            self.add(*from, reason, received);
        }
    }

    fn print(&self) -> Result<(), Error> {
        output::print_json(&Rows { connections: &self.rows, more: self.more })
    }

    /// Writes the page, the plots and the JSON into a folder; `ends` says which end this is.
    /// Returns a line that names the written files.
    fn write(&self, folder: &Path, ends: &str) -> Result<String, Error> {
        let count = self.rows.len() + self.more as usize;
        let mut explanation = format!("{}, measured in real time.", counted(count, "connection"));
        if self.more > 0 {
            explanation += &format!(" The first {} are shown.", self.rows.len());
        }
        let title = format!("paceline recv{ends}");
        let rows = Rows { connections: &self.rows, more: self.more };
        transfer::write(folder, "recv", (title, explanation), None, &self.views, &rows)
    }
}

impl Recv {
    pub(crate) fn run(self) -> Result<(), Error> {
        if let Some(path) = self.qlog.as_deref().filter(|path| !is_folder(path)) {
            results::check_file_name(path, "--qlog", "a log", &["sqlog"])?;
        }
        if let Some(from) = &self.from {
            return self.fetch(from);
        }
        let listen = self.listen.unwrap_or_else(|| any_address(5311));
        give_up_capabilities(self.realtime, Some(listen));
        let target = if self.measure { Target::Nowhere } else { target(&self.output) };
        place(&target)?;
        self.check_output(&target)?;
        let disk = self.disk(&target)?;
        let keys = match self.measure {
            true => self.keys.find_for_measurement(self.quiet, listen)?,
            false => self.keys.find(self.quiet)?,
        };
        let key = keys.line(self.quiet);
        if let Some(folder) = &self.report {
            output::make_folder(folder)?;
        }
        let (plaintext, each) = (self.plaintext, registries::limits());
        let mut limits = ServerLimits { plaintext, each, ..ServerLimits::default() };
        limits.each.idle = self.timeout;
        limits.measures = self.measure;
        if self.plaintext {
            output::note(PLAINTEXT);
        }
        let to_output = target == Target::Output;
        let progress = Arc::new(Progress::default());
        let options = ServerOptions {
            listen,
            identity: keys.identity,
            clients: self.clients.clone(),
            // At a terminal SIGHUP means that the terminal was closed.
            outlives_hangup: !std::io::stdin().is_terminal(),
            limits,
            loops: self.loops.unwrap_or_else(processors),
            realtime: self.realtime,
            target,
            outside_links: self.outside_links,
            disk,
            once: self.once,
            qlog: self.qlog.as_deref().map(log_target),
            series: self.report.is_some(),
            progress: Some(Arc::clone(&progress)),
        };
        // Blocks signals in all threads that start from here on, so that only the loops handle
        // them.
        let signals = match options.clients.is_some() || options.outlives_hangup {
            true => Interrupts::watch_with_reload(),
            false => Interrupts::watch(),
        };
        let _signals = signals.map_err(|error| Error::Message(error.to_string()))?;
        let display = ProgressDisplay::start(self.progress_mode(), &progress, WhileWaiting::Silent);
        let mut printed = Ok(());
        let (mut report, mut listening) = (ReceivedDocument::default(), None);
        let good = serve(&options, &mut |event| match event {
            Event::Listening(at) => {
                listening = Some(at);
                self.say(&format!("listening at {at}"));
                // Standard output may be taken by the file or the JSON.
                match &key {
                    Some(key) if to_output || self.json => output::note(key.trim_end()),
                    Some(key) => printed = output::print(key),
                    None => {}
                }
            }
            event => {
                self.say(&words(&event));
                if options.series || self.json {
                    report.add_ended(&event);
                }
            }
        });
        drop(display);
        printed?;
        if self.json {
            report.print()?;
        }
        if let Some(folder) = &self.report {
            let ends = listening.map_or_else(String::new, |at| format!(" at {at}"));
            self.say(&report.write(folder, &ends)?);
        }
        match good.map_err(|error| Error::Message(error.to_string()))? {
            false if self.once => Err(Error::Message("the connection ended badly".into())),
            _ => Ok(()),
        }
    }

    /// Fetches files from a sender that listens at `from`.
    fn fetch(&self, from: &str) -> Result<(), Error> {
        give_up_capabilities(self.realtime, None);
        let target = target(&self.output);
        place(&target)?;
        self.check_output(&target)?;
        let disk = self.disk(&target)?;
        if let Some(folder) = &self.report {
            output::make_folder(folder)?;
        }
        if self.plaintext {
            output::note(PLAINTEXT);
        }
        if self.realtime {
            run_ahead();
        }
        let fail = |error: paceline_os::RealTimeError| Error::Message(error.to_string());
        // Blocks signals in all threads that start from here on, so that only the loop handles
        // them.
        let _signals = Interrupts::watch().map_err(fail)?;
        let key = self.keys.find_for_client()?;
        let to = addresses(from).map_err(fail)?;
        let events = (!self.quiet).then(print_events);
        let options =
            self.fetch.options(from, (to, key), (self.timeout, self.plaintext), events)?;
        let mut failures = 0;
        let progress = Arc::new(Progress::default());
        let display = ProgressDisplay::start(self.progress_mode(), &progress, WhileWaiting::Silent);
        let into = ReceiveOptions {
            target,
            outside_links: self.outside_links,
            disk,
            qlog: self.qlog.as_deref().map(log_target),
            series: self.report.is_some(),
            progress: Some(progress),
        };
        let mut report = ReceivedDocument::default();
        let received = receive(&options, &into, &mut |event| match event {
            // The reason why the connection ended is printed once, at the end or before the next
            // connection.
            Event::Ended { .. } => report.add_ended(&event),
            event => {
                failures += usize::from(matches!(event, Event::Failed(_)));
                self.say(&words(&event));
            }
        });
        drop(display);
        if self.json {
            report.print()?;
        }
        if let Some(folder) = &self.report {
            self.say(&report.write(folder, &format!(" --from {from}"))?);
        }
        received.map_err(fail)?;
        match failures {
            0 => Ok(()),
            _ => Err(Error::Message("not everything has arrived".into())),
        }
    }

    /// Checks that files and JSON do not both go to standard output.
    fn check_output(&self, target: &Target) -> Result<(), Error> {
        match self.json && *target == Target::Output {
            true => Err(Error::Usage("--json and -o -: both go to standard output".into())),
            false => Ok(()),
        }
    }

    /// Returns limits on the disk space that files may take.
    fn disk(&self, target: &Target) -> Result<DiskLimits, Error> {
        let Recv { quota, client_quota, keep_free, .. } = *self;
        let limits = DiskLimits { quota, client_quota, keep_free };
        match target {
            Target::Output | Target::Nowhere if limits != DiskLimits::default() => {
                Err(Error::Usage(format!(
                    "-o {}: nothing is kept there: --quota, --client-quota and --keep-free need a folder or a file",
                    self.output.display()
                )))
            }
            Target::File(_) if client_quota.is_some() => Err(Error::Usage(format!(
                "-o {}: with --client-quota each client has a folder of its own: name a folder, -o {0}/",
                self.output.display()
            ))),
            _ => Ok(limits),
        }
    }

    fn progress_mode(&self) -> ProgressMode {
        if self.quiet { ProgressMode::None } else { self.progress }
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            output::note(text);
        }
    }
}

/// Output path with which files are checked and not kept.
const NOWHERE: &str = "/dev/null";

fn target(path: &Path) -> Target {
    if path == Path::new(NOWHERE) {
        Target::Nowhere
    } else if path == Path::new("-") {
        Target::Output
    } else if path.is_dir() || path.to_string_lossy().ends_with('/') {
        Target::Folder(path.to_path_buf())
    } else {
        Target::File(path.to_path_buf())
    }
}

/// Checks or creates the folder for received files, before any arrives.
fn place(target: &Target) -> Result<(), Error> {
    match target {
        Target::Output | Target::Nowhere => Ok(()),
        Target::Folder(folder) => output::make_folder(folder),
        Target::File(path) => {
            // A received file replaces an existing one of its name, which must not be a device.
            if path.metadata().is_ok_and(|about| !about.is_file()) {
                return Err(Error::Usage(format!(
                    "-o {}: this is no file, and would be replaced by one; to write into a device or \
                     a pipe, say `-o - > {0}`",
                    path.display()
                )));
            }
            output::has_folder(path)
        }
    }
}

fn log_target(path: &Path) -> LogTarget {
    match is_folder(path) {
        true => LogTarget::Folder(path.to_path_buf()),
        false => LogTarget::File(path.to_path_buf()),
    }
}

/// Returns both ends' measurements of a connection without files in words; `None` if it had no
/// packets.
fn measured_words(received: &ConnectionResult) -> Option<String> {
    let ConnectionResult { scheme, summary, sent, is_measurement, is_reverse, .. } = received;
    if !is_measurement || summary.packets == 0 {
        return None;
    }
    let way = if *is_reverse { "sent there" } else { "arrived" };
    let rate = match transfer::arrival_rate(summary.goodput, summary) {
        Some(mbps) => format!("{mbps:.2} Mbit/s {way} in {:.2} s", summary.duration_s),
        None => "no rate, as all arrived at one time".into(),
    };
    let mut text = format!("{scheme}: {rate}; {} packets arrived", summary.packets);
    if let Some(sent) = sent {
        text += &format!(
            " of {}, {} lost, {} sent again; round trip {} ms, 95% {} ms",
            sent.sent,
            sent.lost,
            sent.retransmits,
            fixed(sent.rtt_ms.p50, 1),
            fixed(sent.rtt_ms.p95, 1)
        );
    }
    Some(text + &format!("; queues 95% {} ms", fixed(summary.queue_delay_ms.p95, 1)))
}

fn words(event: &Event) -> String {
    match event {
        Event::Listening(at) => format!("listening at {at}"),
        Event::Connected(from) => format!("{from}: connected"),
        Event::Listed(count) => format!("the list of clients was read: {count} admitted"),
        Event::NoList => "SIGHUP: there is no list of clients (--clients) to read again".into(),
        Event::NotListed(why) => format!("{why}; the list of clients that was read before stays"),
        Event::Room { used, quota } => {
            format!("{used} bytes of the quota of {quota} are in use")
        }
        Event::Unfinished(found) => format!(
            "{} here {} not finished, with {} bytes of files: the same `paceline send` goes on with it; without \
             interest, remove its folder in .paceline",
            counted(found.transfers, "transfer"),
            if found.transfers == 1 { "is" } else { "are" },
            found.bytes
        ),
        Event::GoesOn { entry, entries, bytes } => {
            format!(
                "a transfer goes on at entry {entry} of {entries}, of which up to {bytes} bytes are here"
            )
        }
        Event::Skipped(places) => format!(
            "a transfer was received before, and is in its place: {}",
            places.first().map_or("", String::as_str)
        ),
        Event::LeftOut(count) => {
            format!(
                "{} left out, because standard error was not read",
                counted(*count as usize, "message")
            )
        }
        Event::Kept { name, bytes } => format!("{name}: {bytes} bytes, whole"),
        Event::Failed(why) => format!("a file has not arrived: {why}"),
        Event::Ended { from, reason, received } => {
            let measured = measured_words(received);
            match (reason.is_empty(), &measured) {
                (true, Some(measured)) => format!("{from}: {measured}"),
                (true, None) => format!("{from}: done"),
                (false, Some(measured)) => format!("{from}: ended: {reason}; {measured}"),
                (false, None) => format!("{from}: ended: {reason}"),
            }
        }
        Event::NoLog(why) => format!("a log is not written: {why}"),
        Event::Ordinary(why) => format!("{why}; it goes on as an ordinary program"),
        Event::Stopping(stats) => format!(
            "interrupted: {} connections since the start, {} refused; {} datagrams ignored",
            stats.accepted, stats.refused, stats.ignored
        ),
    }
}
