//! `paceline traffic`: the senders and receivers that `gap` runs inside and outside its emulation.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Subcommand;
use paceline_cc::Span;
use paceline_sim::scenario::Workload;
use paceline_transfer::traffic;
use paceline_transfer::udp::{self, ClientOptions, Peer, TransferRequest, Work};
use serde::{Deserialize, Serialize};

use crate::args;
use crate::keys::KeyText;
use crate::output::{self, Error};
use crate::registries;

/// Port of `paceline recv` in emulations.
pub(super) const UDP_PORT: u16 = 5311;

/// Counts of a sender over UDP.
#[derive(Serialize, Deserialize)]
pub(super) struct UdpCounts {
    pub(super) retransmits: u64,
    pub(super) timeouts: u64,
    /// Acknowledged bytes on the wire, each piece of data counted once.
    pub(super) acknowledged: u64,
    /// Duration of the handshake in seconds.
    pub(super) handshake_s: f64,
}

#[derive(Subcommand)]
pub(crate) enum Traffic {
    /// Send to $PACELINE_BASE, one flow for each scheme
    Send {
        /// Schemes as the kernel names them
        #[arg(required = true)]
        schemes: Vec<String>,
        /// How long to send
        #[arg(long, value_parser = args::length)]
        duration: Span,
        /// Ask for explicit congestion notification
        #[arg(long)]
        ecn: bool,
        /// Let the kernel pace the flows, as the fq qdisc does
        #[arg(long)]
        paced: bool,
        /// Keep the system's socket buffers, which then limit the window
        #[arg(long, conflicts_with = "ecn")]
        system_buffers: bool,
        /// Mark this program's packets as accelerates, at every device
        #[arg(long, value_name = "NAME")]
        accelerate: Option<String>,
        /// Write the kernel's counts to this file (JSON)
        #[arg(long, value_name = "FILE")]
        counts: PathBuf,
    },
    /// Send to `paceline recv` at $PACELINE_BASE over UDP
    SendUdp {
        /// The scheme
        scheme: String,
        /// How long to send
        #[arg(long, value_parser = args::length)]
        duration: Span,
        /// The keys of the receiver
        #[arg(long, value_name = "FILE")]
        identity: PathBuf,
        /// The seed of the scheme's random numbers
        #[arg(long)]
        seed: u64,
        /// Run ahead of all ordinary programs
        #[arg(long)]
        realtime: bool,
        /// Write the sender's counts to this file (JSON)
        #[arg(long, value_name = "FILE")]
        counts: PathBuf,
    },
    /// Receive at $PACELINE_BASE until a signal ends the program
    Receive {
        /// The scheme of the listening socket, as the kernel names it
        #[arg(long)]
        scheme: Option<String>,
        /// Write the number of received bytes to this file
        #[arg(long, value_name = "FILE")]
        bytes: PathBuf,
    },
}

impl Traffic {
    pub(crate) fn run(self) -> Result<(), Error> {
        let base = base()?;
        let fail = |error: paceline_os::RealTimeError| Error::Message(error.to_string());
        match self {
            Traffic::Send { schemes, duration, ecn, paced, system_buffers, accelerate, counts } => {
                if let Some(name) = accelerate {
                    super::kernel::accelerate_everywhere(&name)?;
                }
                if !system_buffers {
                    traffic::prepare(ecn).map_err(fail)?;
                }
                let length = args::wall(duration.as_secs_f64());
                let counted = traffic::send(base, &schemes, paced, length).map_err(fail)?;
                let text = output::to_json(&counted)?;
                std::fs::write(&counts, text)
                    .map_err(|source| Error::Io { path: Some(counts), source })
            }
            Traffic::SendUdp { scheme, duration, identity, seed, realtime, counts } => {
                if realtime {
                    super::transfer_end::run_ahead();
                }
                let key = KeyText::read(&identity)?.key().clone();
                let sender = crate::args::sender(&scheme).map_err(Error::Message)?;
                let work =
                    Work::Measure { time: duration, workload: Workload::Bulk, reverse: false };
                let request = TransferRequest {
                    // The link may be silent for longer than a user would wait.
                    timeout: Some(duration),
                    retry: Span::ZERO,
                    seed,
                    ..TransferRequest::new(&scheme, sender, work)
                };
                let peer = Peer { to: vec![SocketAddr::new(base, UDP_PORT)], name: None, key };
                let options = ClientOptions {
                    // The receiver starts at the same time and may not listen yet.
                    waits_for_server: true,
                    abandons: true,
                    ..request.options(registries::limits(), peer)?
                };
                let finished = udp::send(&options).map_err(fail)?;
                let counted = UdpCounts {
                    retransmits: finished.sent.retransmits,
                    timeouts: finished.sent.timeouts,
                    acknowledged: finished.acknowledged,
                    handshake_s: finished.handshake.as_secs_f64(),
                };
                let text = output::to_json(&counted)?;
                std::fs::write(&counts, text)
                    .map_err(|source| Error::Io { path: Some(counts), source })
            }
            Traffic::Receive { scheme, bytes } => {
                traffic::receive(base, scheme.as_deref(), &bytes).map_err(fail)
            }
        }
    }
}

fn base() -> Result<IpAddr, Error> {
    let base = std::env::var("PACELINE_BASE").ok().and_then(|text| text.parse().ok());
    base.ok_or_else(|| {
        Error::Message("$PACELINE_BASE is no address: `paceline gap` runs this by itself".into())
    })
}
