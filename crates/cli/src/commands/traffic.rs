//! `paceline traffic`: what `gap` runs inside and outside its emulation.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Subcommand;
use paceline_cc::Span;
use paceline_transfer::traffic;
use paceline_transfer::udp::{self, ClientOptions, Source};
use paceline_wire::{Limits, Offer, Service};
use serde::{Deserialize, Serialize};

use crate::args;
use crate::keys::KeyText;
use crate::output::{self, Error};
use crate::registries;

/// The port of `paceline recv` in emulations.
pub(super) const UDP_PORT: u16 = 5311;

/// What a sender over UDP has counted.
#[derive(Serialize, Deserialize)]
pub(super) struct UdpCounts {
    pub(super) retransmits: u64,
    pub(super) timeouts: u64,
    /// Bytes on the wire that were acknowledged, each piece of data once.
    pub(super) acknowledged: u64,
    /// How long the handshake took.
    pub(super) handshake_s: f64,
}

#[derive(Subcommand)]
pub(crate) enum Traffic {
    /// Send to $PACELINE_BASE, with a flow per scheme
    Send {
        /// Schemes as the kernel names them
        #[arg(required = true)]
        schemes: Vec<String>,
        /// How long
        #[arg(long, value_parser = args::length)]
        duration: Span,
        /// Ask for explicit congestion notification
        #[arg(long)]
        ecn: bool,
        /// Let the kernel pace the flows, as the fq qdisc does
        #[arg(long)]
        paced: bool,
        /// Leave the buffers of sockets as the system has them, so that they limit the window
        #[arg(long, conflicts_with = "ecn")]
        system_buffers: bool,
        /// Let packets of this program's sockets leave as accelerates, at every device
        #[arg(long, value_name = "NAME")]
        accelerate: Option<String>,
        /// Where to write what the kernel has counted (JSON)
        #[arg(long, value_name = "FILE")]
        counts: PathBuf,
    },
    /// Send to `paceline recv` at $PACELINE_BASE over UDP
    SendUdp {
        /// The scheme
        scheme: String,
        /// How long
        #[arg(long, value_parser = args::length)]
        duration: Span,
        /// The keys of the receiver
        #[arg(long, value_name = "FILE")]
        identity: PathBuf,
        /// The seed of what the scheme draws at random
        #[arg(long)]
        seed: u64,
        /// Run ahead of all ordinary programs
        #[arg(long)]
        realtime: bool,
        /// Where to write what was counted (JSON)
        #[arg(long, value_name = "FILE")]
        counts: PathBuf,
    },
    /// Receive at $PACELINE_BASE until ended
    Receive {
        /// The scheme of the listening socket, as the kernel names it
        #[arg(long)]
        scheme: Option<String>,
        /// Where to keep the number of bytes
        #[arg(long, value_name = "FILE")]
        bytes: PathBuf,
    },
}

impl Traffic {
    pub(crate) fn run(self) -> Result<(), Error> {
        let base = base()?;
        let fail = |error: paceline_os::LiveError| Error::Message(error.to_string());
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
                    super::recv::run_ahead();
                }
                let key = KeyText::read(&identity)?.key().clone();
                let (halves, scheme) = crate::args::sender(&scheme).map_err(Error::Message)?;
                let mut limits = Limits { stop: duration, seed, ..registries::limits() };
                limits.halves = Some(halves);
                // A link may be silent for longer than a user would wait.
                (limits.idle, limits.silence) = (duration, duration);
                let offer = Offer {
                    service: Service::Filler,
                    scheme,
                    mtu: 1500,
                    window: limits.window,
                    ..Offer::default()
                };
                let options = ClientOptions {
                    to: vec![SocketAddr::new(base, UDP_PORT)],
                    key,
                    offer,
                    limits,
                    source: Source::Packets,
                    retry: Span::ZERO,
                    name: None,
                    events: None,
                    qlog: None,
                    series: false,
                    // The receiver is started at the same time.
                    waits_for_server: true,
                    abandons: true,
                    limit: None,
                    progress: None,
                    listen: None,
                    gate: None,
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
