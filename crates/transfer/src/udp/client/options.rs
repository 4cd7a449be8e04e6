//! Options of a client, and its results.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use paceline_cc::{Rate, Span};
use paceline_flow::{SenderStats, VideoStats};
use paceline_measure::Quantiles;
use paceline_wire::key::Key;
use paceline_wire::{Limits, Offer};

use super::listener::ListenOptions;
use crate::udp::arrivals::Summary;
use crate::udp::course::SentSeries;
use crate::udp::outbound::{SentFile, Source, TransferBytes};
use crate::udp::progress::Progress;
use crate::udp::qlog::LogTarget;
use crate::udp::start_gate::StartGate;
use crate::udp::store::{DiskLimits, Target};

/// Options of an end that has one connection at a time.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Addresses of the server, tried in this order.
    pub to: Vec<SocketAddr>,
    /// The server's key.
    pub key: Key,
    /// What this end requests of the server.
    pub offer: Offer,
    /// Limits of the connection.
    pub limits: Limits,
    /// The data to send.
    pub source: Source,
    /// File for a log in qlog's format.
    pub qlog: Option<PathBuf>,
    /// True if time series are kept, for a page.
    pub series: bool,
    /// True if the client waits for a server that has not started, as long as for a silent one.
    pub waits_for_server: bool,
    /// True if the client leaves at once when sending stops, without asking what has arrived: data
    /// in queues is abandoned.
    pub abandons: bool,
    /// Maximum rate of data, with IP and UDP headers. It also limits a server that sends.
    pub limit: Option<Rate>,
    /// Counters for a display on another thread.
    pub progress: Option<Arc<Progress>>,
    /// Maximum time without progress during which a transfer continues over new connections; zero
    /// never reconnects.
    pub retry: Span,
    /// Name of the server, looked up again before each reconnection; `None` keeps the addresses of
    /// `to`.
    pub name: Option<String>,
    /// Receives messages for people when a connection was cut off and when another is established.
    pub events: Option<mpsc::Sender<String>>,
    /// Where this end waits for the other end to connect; then `to` is not used.
    pub listen: Option<ListenOptions>,
    /// The gate at which this client waits, once connected, for the other clients.
    pub gate: Option<Arc<StartGate>>,
}

impl ClientOptions {
    /// Returns the options of a client that continues over no new connection, keeps no logs and
    /// shows nothing.
    pub fn new(
        to: Vec<SocketAddr>,
        key: Key,
        offer: Offer,
        limits: Limits,
        source: Source,
    ) -> ClientOptions {
        ClientOptions {
            to,
            key,
            offer,
            limits,
            source,
            qlog: None,
            series: false,
            waits_for_server: false,
            abandons: false,
            limit: None,
            progress: None,
            retry: Span::ZERO,
            name: None,
            events: None,
            listen: None,
            gate: None,
        }
    }

    /// Returns true if the other end sends the packets of a measurement.
    pub(super) fn sends_back(&self) -> bool {
        !self.offer.back.is_empty()
    }

    /// Reports `text`, if `events` is set.
    pub(super) fn tell(&self, text: String) {
        if let Some(events) = &self.events {
            // The receiver is gone: the message is not needed.
            let _ = events.send(text);
        }
    }
}

/// Where and how an end that fetches files keeps them.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// The target file or folder.
    pub target: Target,
    /// True if it creates top-level links that point outside of their folder.
    pub outside_links: bool,
    /// Limits on the disk space of the files. There is one client.
    pub disk: DiskLimits,
    /// Where to write a log of each connection in qlog's format.
    pub qlog: Option<LogTarget>,
    /// True if the time series of each connection are kept, for a page.
    pub series: bool,
    /// Counters for a display on another thread.
    pub progress: Option<Arc<Progress>>,
}

/// Results of a client.
#[derive(Clone, Debug)]
pub struct TransferResult {
    /// From the first packet until all data has arrived, or until sending stopped.
    pub duration: Span,
    /// Each file and whether it was kept; empty for a measurement.
    pub files: Vec<SentFile>,
    /// Counters of the sending end, which is this one, or the server if it was asked to send.
    pub sent: SenderStats,
    /// Measurements of the receiving end.
    pub summary: Summary,
    /// RTTs of acknowledgements.
    pub rtt_ms: Quantiles,
    /// The minimum RTT.
    pub least_rtt: Span,
    /// Maximum packet size in bytes.
    pub mtu: u16,
    /// The address of the server.
    pub address: SocketAddr,
    /// Duration of the handshake.
    pub handshake: Span,
    /// Acknowledged bytes on the wire, each piece of data once.
    pub acknowledged: u64,
    /// Results of a video workload's frames.
    pub video: Option<VideoStats>,
    /// Number of successive connections.
    pub connections: u32,
    /// Bytes that the receiver already had, and bytes that were sent twice.
    pub transfer_bytes: TransferBytes,
    /// Entries in folders that were not sent or not kept, each with the reason.
    pub problems: Vec<(PathBuf, String)>,
    /// Time series of this end, if requested.
    pub series: Option<SentSeries>,
    /// Why the log in qlog's format is incomplete, if one was requested.
    pub unlogged: Option<String>,
}
