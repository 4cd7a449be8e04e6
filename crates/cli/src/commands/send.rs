//! `paceline send`: sends a file, a pipe or bulk data over UDP, under any scheme.

mod row;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use paceline_cc::{Halves, Rate, Span};
use paceline_os::{Interrupts, RealTimeError};
use paceline_report::TransferView;
use paceline_requests::written;
use paceline_sim::scenario::Workload;
use paceline_transfer::udp::{
    ClientOptions, ListenOptions, Measured, Peer, Progress, SentRow, SentRows, Source,
    TransferRequest, TransferResult, Work, addresses, send,
};

use self::row::{missing, words};
use super::bulk::{BulkOptions, table};
use super::transfer;
use super::transfer_end::{
    PLAINTEXT, address, give_up_capabilities, patience, print_events, run_ahead,
};
use crate::args;
use crate::keys::ClientKey;
use crate::output::{self, Error};
use crate::progress::{ProgressDisplay, ProgressMode, WhileWaiting};
use crate::registries;
use crate::results;

/// Send files, folders, a pipe or bulk data over UDP to `paceline recv`, with any scheme
///
/// Sends lost data again, and the receiver checks the hash of each whole file. If the connection
/// breaks off, another one continues the transfer; after a kill or a restart of either end the same
/// command continues it. The exit status is 0 only if the receiver has kept everything.
#[derive(Args)]
#[command(override_usage = "\
paceline send [OPTIONS] <PATH>... <HOST:PORT>
       paceline send [OPTIONS] - <HOST:PORT>
       paceline send [OPTIONS] --listen <ADDR:PORT> <PATH>...
       paceline send [OPTIONS] --duration <TIME> <HOST:PORT>")]
#[command(after_help = "\
Examples:
  paceline send FILE 192.0.2.1:5311 --key-file client.key --scheme bbr
  paceline send *.jpg folder 192.0.2.1:5311 --key-file client.key
  pg_dump base | paceline send - 192.0.2.1:5311 --key-file client.key
  paceline send folder --listen 0.0.0.0:5311 --key-file server.key    # for recv --from
  paceline send --duration 10s localhost:5311 -P 4 -R
  paceline send 192.0.2.1:5311 --key-file client.key --duration 30s --scheme sprout --json -o out
  paceline send HOST:5311 --key-file FILE --duration 30s --workload 'video = { max = \"4Mbps\" }'")]
pub(crate) struct Send {
    /// The files and folders to send, or - for standard input, and last the address of the
    /// receiver, whose default port is 5311. With --duration only the address, and with --listen no
    /// address
    #[arg(value_name = "PATH|-|HOST:PORT", required = true, num_args = 1..)]
    words: Vec<String>,
    #[command(flatten)]
    key: ClientKey,
    /// Wait here until a receiver connects (`paceline recv --from`); the receiver then needs no
    /// address that others can reach. Serves one receiver at a time, and ends when one has
    /// everything. --key-file has a server's keys
    #[arg(long, value_name = "ADDR:PORT", value_parser = address, conflicts_with_all = ["duration", "scheme"], help_heading = "Connection")]
    listen: Option<SocketAddr>,
    /// With --listen: admit only the clients that this file lists, as `recv --clients`; at SIGHUP
    /// it is read again
    #[arg(long, value_name = "FILE", requires = "listen", help_heading = "Keys")]
    clients: Option<PathBuf>,
    /// The scheme that decides how fast to send; with --listen the receiver names it
    #[arg(long, value_name = "NAME", default_value = TransferRequest::SCHEME, help_heading = "Sender")]
    scheme: String,
    /// Send meaningless data for this time, to measure
    #[arg(long, alias = "bulk", value_name = "TIME", value_parser = args::length, help_heading = "Measurements")]
    duration: Option<Span>,
    /// With --duration: what the application sends, as in scenario files: `video = { fps = 30 }`,
    /// `on_off = { on = "5s", off = "3s" }`, `limited = { rate = "1Mbps" }`, `bytes = 1000000`
    #[arg(long, value_name = "KEY = VALUE", value_parser = written::workload, requires = "duration", help_heading = "Measurements")]
    workload: Option<Workload>,
    #[command(flatten)]
    measurement: BulkOptions,
    /// Send at no more than this rate, headers included, whatever the scheme; with --reverse this
    /// limits the receiver
    #[arg(long, value_name = "RATE", value_parser = args::rate, help_heading = "Sender")]
    limit: Option<Rate>,
    /// How to show the progress of a transfer on standard error
    #[arg(long, value_name = "HOW", default_value = "auto", help_heading = "Outputs")]
    progress: ProgressMode,
    /// The largest packet in bytes, IP and UDP headers included; on a path that does not carry it,
    /// smaller ones are used
    #[arg(long, value_name = "BYTES", default_value_t = TransferRequest::MTU,
        value_parser = clap::value_parser!(u16).range(1280..), help_heading = "Connection")]
    mtu: u16,
    /// Do not encrypt. Only for measurements in a laboratory; `paceline recv` needs this option, too
    #[arg(long, help_heading = "Keys")]
    plaintext: bool,
    /// End if nothing arrives from the receiver for this time [default: 60s, and 20s while
    /// connecting]. Both ends have such a time and the longer one counts, the receiver's up to 10
    /// minutes
    #[arg(long, value_name = "TIME", value_parser = args::length, help_heading = "Connection")]
    timeout: Option<Span>,
    /// If the connection breaks off, connect again and continue, until nothing has arrived for this
    /// time; 0 for never. Standard input and pipes cannot be continued
    #[arg(long, value_name = "TIME", value_parser = patience, default_value_t = TransferRequest::RETRY, help_heading = "Connection")]
    retry: Span,
    /// The seed of the schemes' random numbers
    #[arg(long, value_name = "N", value_parser = args::seed, default_value_t = 1, help_heading = "Sender")]
    seed: u64,
    /// Run ahead of all ordinary programs (SCHED_FIFO, mlockall), where the system allows it
    #[arg(long, help_heading = "Connection")]
    realtime: bool,
    /// Write packets, losses, acknowledgements and windows as qlog (JSON text sequences), for qvis,
    /// which needs a name that ends with .sqlog
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    qlog: Option<PathBuf>,
    /// Write a page, a plot and JSON, time series included, into this folder
    #[arg(short, long, value_name = "DIR", alias = "report", help_heading = "Outputs")]
    output: Option<PathBuf>,
    /// Do not show the names of written files
    #[arg(short, long, help_heading = "Outputs")]
    quiet: bool,
    /// Print the run as JSON, in the fields of `paceline compare`
    #[arg(long, help_heading = "Outputs")]
    json: bool,
}

/// Returns a note about a scheme that has a router half, since most paths have no router for it.
fn router_note(scheme: &str, halves: &Halves) -> Option<String> {
    halves.router.as_ref()?;
    let name = scheme.split(['[', '+']).next().unwrap_or(scheme);
    Some(format!(
        "note: `{name}` follows what its routers write into packets; on a path without one its queues are not \
         short. Routers are `paceline router DEVICE --queue {name}` and `paceline link --up-queue {name}`; \
         copa, the default scheme, needs none"
    ))
}

impl Send {
    pub(crate) fn run(self) -> Result<(), Error> {
        give_up_capabilities(self.realtime, self.listen);
        let (source, to) = self.ends()?;
        let sender = args::sender(&self.scheme)
            .map_err(|error| Error::Usage(format!("--scheme {}: {error}", self.scheme)))?;
        if let Some(note) = router_note(&self.scheme, &sender.0).filter(|_| !self.quiet) {
            output::note(&note);
        }
        let request = TransferRequest {
            limit: self.limit,
            mtu: self.mtu,
            plaintext: self.plaintext,
            timeout: self.timeout,
            retry: self.retry,
            seed: self.seed,
            ..TransferRequest::new(&self.scheme, sender, self.work(source))
        };
        request.check()?;
        self.measurement.check(self.output.is_some() || self.qlog.is_some())?;
        if let Some(path) = &self.qlog {
            results::check_file_name(path, "--qlog", "a log", &["sqlog"])?;
        }
        if let Some(folder) = &self.output {
            output::make_folder(folder)?;
        }
        if self.plaintext {
            output::note(PLAINTEXT);
        }
        if self.realtime {
            run_ahead();
        }
        let fail = |error: paceline_os::RealTimeError| Error::Message(error.to_string());
        let (to, name, key, listen) = match (self.listen, to) {
            (Some(at), _) => {
                let keys = self.key.find_for_server(self.quiet)?;
                match keys.line(self.quiet) {
                    Some(line) if self.json => output::note(line.trim_end()),
                    Some(line) => output::print(&line)?,
                    None => {}
                }
                let (key, clients) = (keys.identity.key().clone(), self.clients.clone());
                let listen = ListenOptions { at, identity: keys.identity, clients };
                (Vec::new(), None, key, Some(listen))
            }
            (None, name) => {
                let to = addresses(&name).map_err(fail)?;
                let key = match self.duration {
                    Some(_) => self.key.find_for_measurement(&to)?,
                    None => self.key.find()?,
                };
                (to, Some(name), key, None)
            }
        };
        // Blocks signals in all threads that start from here on, so that only the loop handles
        // them.
        let _signals = match self.clients {
            Some(_) => Interrupts::watch_with_reload().map_err(fail)?,
            None => Interrupts::watch().map_err(fail)?,
        };
        let options = ClientOptions {
            qlog: self.qlog.clone(),
            series: self.output.is_some(),
            events: (!self.quiet).then(print_events),
            listen,
            ..request.options(registries::limits(), Peer { to, name, key })?
        };
        if self.duration.is_some() {
            return self.measure(&options);
        }
        let finished = self.transfer(options).map_err(fail)?;
        let row = SentRow::of(&finished, &self.scheme, !self.plaintext);
        let runs = SentRows { runs: [&row] };
        let written = match (&self.output, &row.series) {
            (Some(folder), Some(series)) => {
                let view = transfer::sent(&self.scheme, &finished, series);
                self.write(folder, &finished, &[view], &runs)
            }
            _ => Ok(()),
        };
        let printed = match self.json {
            true => output::print_json(&runs),
            false => output::print(&words(&row)),
        };
        let logged = finished.unlogged.map_or(Ok(()), |error| Err(Error::Message(error)));
        printed.and(written).and(logged).and(missing(&row))
    }

    /// Returns what the connection carries, and which end sends.
    fn work(&self, source: Source) -> Work {
        match self.duration {
            None => Work::Send(source),
            Some(time) => Work::Measure {
                time,
                workload: self.workload.clone().unwrap_or(Workload::Bulk),
                reverse: self.measurement.reverse,
            },
        }
    }

    /// Sends files, and shows the progress.
    fn transfer(&self, mut options: ClientOptions) -> Result<TransferResult, RealTimeError> {
        let progress = Arc::new(Progress::default());
        options.progress = Some(Arc::clone(&progress));
        let mode = if self.quiet { ProgressMode::None } else { self.progress };
        let display = ProgressDisplay::start(mode, &progress, WhileWaiting::Says);
        let finished = send(&options);
        drop(display);
        finished
    }

    fn measure(&self, options: &ClientOptions) -> Result<(), Error> {
        let measured = self.measurement.run(options, !self.quiet && !self.json)?;
        let reverse = self.measurement.reverse;
        let row = SentRow::of_measurement(&measured, &self.scheme, !self.plaintext, reverse);
        let runs = SentRows { runs: [&row] };
        let written = match &self.output {
            Some(folder) => self.write(folder, &measured.sum, &self.views(&measured), &runs),
            None => Ok(()),
        };
        let printed = match self.json {
            true => output::print_json(&runs),
            false => {
                let table = table(&measured, &self.scheme, reverse);
                output::print(&(words(&row) + "\n" + &table))
            }
        };
        let unlogged = measured.all.iter().filter_map(|one| one.unlogged.clone());
        printed.and(written).and(output::all_of(&unlogged.collect::<Vec<String>>()))
    }

    /// Returns the series of each connection of a measurement, for the page.
    fn views(&self, measured: &Measured) -> Vec<TransferView> {
        let views = measured.all.iter().zip(1..).filter_map(|(one, number)| {
            let mut view = transfer::sent(&self.scheme, one, one.series.as_ref()?);
            if measured.all.len() > 1 {
                view.name = format!("{} flow {number}", view.name);
            }
            Some(view)
        });
        views.collect()
    }

    fn write(
        &self,
        folder: &Path,
        finished: &TransferResult,
        views: &[TransferView],
        runs: &SentRows<'_>,
    ) -> Result<(), Error> {
        let bytes: u64 = finished.files.iter().map(|file| file.bytes).sum();
        let what = match finished.files.len() {
            0 => "Data of a workload".into(),
            1 => format!("{bytes} bytes of a file"),
            count => format!("{bytes} bytes of {count} files"),
        };
        let explanation = format!(
            "{what} sent over UDP under {}, measured in real time. Acknowledged is what \
             this end knows to have arrived.",
            self.scheme
        );
        let title = format!("paceline send to {}", finished.address);
        let seed = Some(self.seed);
        let note = transfer::write(folder, "send", (title, explanation), seed, views, runs)?;
        if !self.quiet {
            output::note(&note);
        }
        Ok(())
    }

    /// Returns the source of the data and the receiver's address.
    fn ends(&self) -> Result<(Source, String), Error> {
        let (to, paths) = match self.listen {
            Some(_) => (const { &String::new() }, &self.words[..]),
            None => self.words.split_last().unwrap_or((const { &String::new() }, &[])),
        };
        let is_input = |path: &String| path == "-";
        match (paths, self.duration) {
            ([], Some(_)) => Ok((Source::Packets, self.whole(to)?)),
            ([], None) => Err(Error::Usage(
                "what is to be sent, and where to? `paceline send PATH... HOST:PORT`, or `paceline \
                 send HOST:PORT --duration 30s`"
                    .into(),
            )),
            ([path, ..], Some(_)) => {
                Err(Error::Usage(format!("--duration is for measurements, which send no file: leave `{path}` out, or --duration")))
            }
            ([path], None) if is_input(path) => match self.key.uses_standard_input() {
                true => Err(Error::Usage(
                    "standard input can be the key (--key-file -) or the data (-), not both".into(),
                )),
                false => Ok((Source::Input, self.whole(to)?)),
            },
            (paths, None) if paths.iter().any(is_input) => {
                Err(Error::Usage("- (standard input) is sent alone, without files".into()))
            }
            (paths, None) => {
                // The first word may be the host, and the last one a file.
                let is_reversed = |name: &String| {
                    let is_first = paths.first().is_some_and(|first| std::ptr::eq(first, name));
                    is_first && self.listen.is_none() && !Path::new(name).exists() && !to.contains(':')
                };
                let path = |name| match file(name) {
                    Err(Error::Usage(text)) if is_reversed(name) => {
                        Err(Error::Usage(format!("{text}; files first, the host last")))
                    }
                    path => path,
                };
                let paths: Result<Vec<PathBuf>, Error> = paths.iter().map(path).collect();
                Ok((Source::Files(paths?), self.whole(to)?))
            }
        }
    }

    /// Returns the receiver's address with a port; nothing if receivers connect to this end.
    fn whole(&self, to: &str) -> Result<String, Error> {
        match self.listen {
            Some(_) => Ok(String::new()),
            None => args::host_and_port(&args::with_port(to)).map_err(Error::Usage),
        }
    }
}

/// Returns the path of a file or folder that exists and can be read. Does not open pipes: their
/// writers would notice.
fn file(name: &String) -> Result<PathBuf, Error> {
    let path = PathBuf::from(name);
    let problem = match path.metadata() {
        Ok(about) if about.is_dir() => match (path.read_dir(), path.canonicalize()) {
            (Ok(_), Ok(whole)) if whole.file_name().is_none() => {
                "has no name; name its entries instead".into()
            }
            (Ok(_), Ok(_)) => return Ok(path),
            (Err(error), _) | (_, Err(error)) => format!("cannot be read: {error}"),
        },
        Ok(about) if !about.is_file() => return Ok(path),
        Ok(_) => match std::fs::File::open(&path) {
            Ok(_) => return Ok(path),
            Err(error) => format!("cannot be read: {error}"),
        },
        Err(error) => format!("cannot be read: {error}"),
    };
    Err(Error::Usage(format!("{}: {problem}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_with_routers_are_noted() {
        for scheme in ["abc", "abc[dt=60ms]", "xcp", "xcpb", "xcpw", "rcp", "vcp"] {
            let (halves, _) = args::sender(scheme).expect("a scheme");
            let note = router_note(scheme, &halves).expect(scheme);
            assert!(note.contains("paceline router DEVICE --queue "), "{note}");
        }
        for scheme in ["copa", "cubic", "sprout", "remy"] {
            let (halves, _) = args::sender(scheme).expect("a scheme");
            assert_eq!(router_note(scheme, &halves), None);
        }
    }
}
