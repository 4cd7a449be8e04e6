//! Options and setup that all emulations share.

mod condition;
mod ending;
pub(crate) mod link;
pub(crate) mod mahimahi;
mod observers;
pub(crate) mod preset;
mod run;
pub(crate) mod scenario;
mod shared;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use paceline_cc::Span;
use paceline_emulator::shell::ServerPort;
use paceline_emulator::shell::addresses::Network;
use paceline_emulator::{Element, Trigger};
use paceline_path::Service;

use crate::args;
use crate::output::Error;
use crate::results::check_file_name;

pub(crate) use condition::Condition;

/// Seed if the user names none.
pub(crate) const DEFAULT_SEED: u64 = 1;

/// Options of every emulation.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Emulation {
    /// The seed of all random numbers
    #[arg(long, value_parser = args::seed, help_heading = "Real time")]
    pub(crate) seed: Option<u64>,
    /// Bind the emulator to this processor
    #[arg(long, value_name = "N", help_heading = "Real time")]
    pub(crate) cpu: Option<usize>,
    /// Give the emulator priority over all ordinary programs, and lock its memory (SCHED_FIFO,
    /// mlockall)
    #[arg(long, help_heading = "Real time")]
    pub(crate) realtime: bool,
    /// Show rate, queue and delay meanwhile
    #[arg(long, help_heading = "Outputs")]
    pub(crate) meter: bool,
    /// Write a summary as JSON to this file, with `up` and `down` in the fields of `compare`;
    /// standard output belongs to the program inside
    #[arg(long, value_name = "FILE", alias = "json", help_heading = "Outputs")]
    pub(crate) summary: Option<PathBuf>,
    /// Leave this time at the beginning out of the summary and the page
    #[arg(long, value_name = "TIME", value_parser = args::length, help_heading = "Outputs")]
    pub(crate) warmup: Option<Span>,
    /// Begin traces, schedules, logs, --warmup and all figures with an event: data (the first packet of 200 bytes or
    /// more), data/udp, data/tcp, or file:PATH (this file appears). Until then packets pass an equal path and are not
    /// counted
    #[arg(long, value_name = "EVENT", help_heading = "Real time")]
    pub(crate) start_on: Option<Trigger>,
    /// Record every packet before and behind the link in this file (pcapng)
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    pub(crate) pcap: Option<PathBuf>,
    /// Record at most this many bytes of each packet
    #[arg(long, value_name = "BYTES", requires = "pcap", help_heading = "Outputs")]
    pub(crate) snaplen: Option<u32>,
    /// Write the times at which each packet was due and was released to this file
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    pub(crate) releases: Option<PathBuf>,
    /// Write a page, plots and the summary into this folder
    #[arg(short, long, value_name = "DIR", alias = "report", help_heading = "Outputs")]
    pub(crate) output: Option<PathBuf>,
    /// Exit with 1 if packets were late or something else went wrong in the emulator
    #[arg(long, help_heading = "Outputs")]
    pub(crate) strict: bool,
    /// Exit with 1 if a figure of the link is beyond a bound: p50, p95, p99, mean or max of the
    /// queueing delay, throughput, used, loss; with up. or down. before it for one direction alone.
    /// For example p95>100ms, up.loss>1% or down.throughput<5Mbps; may be repeated
    #[arg(long, value_name = "CONDITION", help_heading = "Outputs")]
    pub(crate) fail_if: Vec<Condition>,
    /// Write the conditions of --fail-if as test cases into this file (JUnit), for CI systems; with
    /// --strict, one more case for the emulator itself
    #[arg(long, value_name = "FILE", requires = "fail_if", help_heading = "Outputs")]
    pub(crate) junit: Option<PathBuf>,
    /// Run this command in the network outside for as long as the program inside; $PACELINE_BASE is
    /// the outer address
    #[arg(long, value_name = "COMMAND", help_heading = "Program and network")]
    pub(crate) outside: Option<String>,
    /// Start the program inside when a server listens at this port outside: 5201, or 4433/udp. Fails if none does within
    /// 30 s, or if the command of --outside fails
    #[arg(long, value_name = "PORT", help_heading = "Program and network")]
    pub(crate) wait_for: Option<ServerPort>,
    /// Take the addresses of both ends from this network; needed if 100.64.0.0/10 is in use or
    /// filtered. $PACELINE_NETWORK does the same, also for Mahimahi's commands
    #[arg(long, value_name = "NETWORK", value_parser = network, help_heading = "Program and network")]
    pub(crate) base: Option<Network>,
    /// Keep the network for this time after the program has ended, so that packets on their way
    /// still arrive
    #[arg(long, value_name = "TIME", value_parser = args::rtt, help_heading = "Program and network")]
    pub(crate) grace: Option<Span>,
    /// Show no notes at the start, and no packet counts at the end
    #[arg(short, long, help_heading = "Outputs")]
    pub(crate) quiet: bool,
    /// True for Mahimahi's commands, which print no packet counts at the end.
    #[arg(skip)]
    pub(crate) ends_mute: bool,
    /// The program to run inside, with its arguments; by default your shell. Put `--` before it to
    /// separate it from the options
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

fn network(text: &str) -> Result<Network, String> {
    text.parse()
}

impl Emulation {
    /// Checks that the ending of each output file's name fits the format that is written into the file.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        let check = |path: &Option<PathBuf>, option, what, endings| {
            path.as_deref().map_or(Ok(()), |path| check_file_name(path, option, what, endings))
        };
        check(&self.summary, "--summary", "JSON", &["json"])?;
        check(&self.junit, "--junit", "XML (JUnit)", &["xml"])?;
        check(&self.pcap, "--pcap", "packets", &["pcapng"])
    }

    /// Returns the network of the addresses: from the option, the environment, or the default.
    pub(crate) fn network(&self) -> Result<Network, Error> {
        match (self.base, std::env::var_os("PACELINE_NETWORK")) {
            (Some(network), _) => Ok(network),
            (None, Some(text)) if !text.is_empty() => network(&text.to_string_lossy())
                .map_err(|problem| Error::Usage(format!("$PACELINE_NETWORK: {problem}"))),
            (None, _) => Ok(Network::default()),
        }
    }
}

/// Setup of one direction.
#[derive(Default)]
pub(crate) struct DirectionSetup {
    /// Elements that packets pass, in order.
    pub(crate) hops: Vec<Element>,
    /// Name of the capacity: a trace, a file, a rate.
    pub(crate) name: Option<String>,
    /// Name of the queue in logs.
    pub(crate) queue: Option<String>,
    /// Names and queues of all links, in the order in which packets pass, if there may be several.
    pub(crate) links: Vec<(String, String)>,
    /// File for Mahimahi's log.
    pub(crate) log: Option<PathBuf>,
    /// True if the live meter shows the rate; true if it shows the delay.
    pub(crate) meter: (bool, bool),
    /// Copies of the direction's elements, for the packets before the event of `--start-on`.
    pub(crate) prelude: Vec<Element>,
    /// End of the trace, at which the program inside is ended; `None` if the emulation goes on.
    pub(crate) over: Option<Span>,
}

impl DirectionSetup {
    /// Returns the position of the first link or access point, and its capacity.
    pub(crate) fn first_link(&self) -> Option<(usize, &Service)> {
        self.hops.iter().enumerate().find_map(|(stage, hop)| Some((stage, hop.capacity()?)))
    }

    /// Returns true if the direction has a link or an access point.
    pub(crate) fn has_link(&self) -> bool {
        self.first_link().is_some()
    }
}

/// Setup of a whole emulation.
pub(crate) struct Plan {
    /// One word, from which the outer device gets its name.
    pub(crate) kind: &'static str,
    /// Text before the shell's prompt.
    pub(crate) prompt: String,
    /// From inside to outside.
    pub(crate) up: DirectionSetup,
    /// From outside to inside.
    pub(crate) down: DirectionSetup,
    /// The common options.
    pub(crate) options: Emulation,
}

impl Plan {
    /// Adds the path of the packets before the event of `--start-on`, if there is one: that of an equal plan, which
    /// `build` makes.
    pub(crate) fn with_prelude(
        mut self,
        build: impl FnOnce() -> Result<Plan, Error>,
    ) -> Result<Plan, Error> {
        let Some(trigger) = &self.options.start_on else { return Ok(self) };
        if let Trigger::File(path) = trigger
            && path.exists()
        {
            return Err(Error::Usage(format!(
                "--start-on {trigger}: the file exists already; remove it, or name another one"
            )));
        }
        let equal = build()?;
        (self.up.prelude, self.down.prelude) = (equal.up.hops, equal.down.hops);
        Ok(self)
    }
}
