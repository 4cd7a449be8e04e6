//! Emulation: what all its commands have in common.

pub(crate) mod link;
pub(crate) mod mahimahi;
mod observers;
mod run;
pub(crate) mod scenario;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use paceline_cc::Span;
use paceline_live::emulator::Element;
use paceline_live::shell::addresses::Network;

use crate::args;
use crate::output::Error;

/// The seed unless the user names one.
pub(crate) const DEFAULT_SEED: u64 = 1;

/// Options of every emulation.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Emulation {
    /// The seed of all random streams
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Bind the emulator to this processor
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<usize>,
    /// Run the emulator ahead of all ordinary programs, its memory locked (SCHED_FIFO, mlockall)
    #[arg(long)]
    pub(crate) realtime: bool,
    /// Show rate, queue and delay while it runs
    #[arg(long)]
    pub(crate) meter: bool,
    /// Write a summary as JSON to this file, with `up` and `down` in the fields of `compare`;
    /// standard output belongs to the program inside
    #[arg(long, value_name = "FILE", alias = "json")]
    pub(crate) summary: Option<PathBuf>,
    /// In the summary and on the page, count what happens at links only from this time on
    #[arg(long, value_name = "TIME", value_parser = args::length)]
    pub(crate) warmup: Option<Span>,
    /// Write every packet at both sides of the link (pcapng)
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Of each packet, write at most so many bytes into the capture
    #[arg(long, value_name = "BYTES", requires = "pcap")]
    pub(crate) snaplen: Option<u32>,
    /// Write when each packet was to be released and when it was
    #[arg(long, value_name = "FILE")]
    pub(crate) releases: Option<PathBuf>,
    /// Write a page, plots and the summary into this folder
    #[arg(short, long, value_name = "DIR", alias = "report")]
    pub(crate) output: Option<PathBuf>,
    /// End with 1 if the program ended well, but its packets were late or something else went wrong
    #[arg(long)]
    pub(crate) strict: bool,
    /// Run this in the network outside meanwhile; $PACELINE_BASE is its address
    #[arg(long, value_name = "COMMAND")]
    pub(crate) outside: Option<String>,
    /// Where the addresses of both ends come from, if 100.64.0.0/10 is in use or filtered; also
    /// $PACELINE_NETWORK, which programs called by Mahimahi's names follow, too
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub(crate) base: Option<Network>,
    /// Keep the network inside for so long after the program has ended, for packets on their way
    #[arg(long, value_name = "TIME", value_parser = args::rtt)]
    pub(crate) grace: Option<Span>,
    /// Do not say what does not work
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The program to run inside, with its arguments; your shell if none is given. What follows its
    /// name is its own, so that `--` before it is needed only where its name begins with `-`
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

fn network(text: &str) -> Result<Network, String> {
    text.parse()
}

impl Emulation {
    /// Where addresses come from: as asked for, as the environment says, or as usual.
    pub(crate) fn network(&self) -> Result<Network, Error> {
        match (self.base, std::env::var_os("PACELINE_NETWORK")) {
            (Some(network), _) => Ok(network),
            (None, Some(text)) if !text.is_empty() => network(&text.to_string_lossy())
                .map_err(|problem| Error::Message(format!("$PACELINE_NETWORK: {problem}"))),
            (None, _) => Ok(Network::default()),
        }
    }
}

/// One direction.
#[derive(Default)]
pub(crate) struct Side {
    /// What packets pass, in order.
    pub(crate) hops: Vec<Element>,
    /// What its capacity is called: a trace, a file, a rate.
    pub(crate) name: Option<String>,
    /// What its queue is called in logs.
    pub(crate) queue: Option<String>,
    /// Where to write Mahimahi's log.
    pub(crate) log: Option<PathBuf>,
    /// Whether the live meter shows its rate, and its delay.
    pub(crate) meter: (bool, bool),
    /// When its trace is over and the program inside is ended; else it goes on without.
    pub(crate) over: Option<Span>,
}

/// A whole emulation.
pub(crate) struct Plan {
    /// One word: the outer device is called after it.
    pub(crate) kind: &'static str,
    /// What stands before the prompt.
    pub(crate) prompt: String,
    /// From inside to outside.
    pub(crate) up: Side,
    /// From outside to inside.
    pub(crate) down: Side,
    /// The common options.
    pub(crate) options: Emulation,
}
