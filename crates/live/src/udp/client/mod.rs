//! The sending end.

mod carrying;
mod connecting;
mod earlier;
mod failure;
mod observer;
mod transfer_progress;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use paceline_cc::{Ecn, Rate, Span, Time};
use paceline_flow::{SenderStats, VideoStats};
use paceline_wire::key::Key;
use paceline_wire::{Limits, Offer};

use self::earlier::Earlier;
use self::failure::Failure;
use self::observer::Rtts;
use super::arrivals::{Arrivals, Delays, RttSamples, Summary};
use super::bulk::StartGate;
use super::clock::Clock;
use super::course::SentSeries;
use super::outbound::{Outbound, SentFile, Source, TransferBytes};
use super::outbox::Outbox;
use super::progress::Progress;
use super::qlog::{Qlog, Vantage};
use super::retry::Retry;
use crate::linux::udp::{Inbox, Socket};
use crate::{Interrupts, LiveError};

/// What a client shall do.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The addresses of the server, of which one after the other is tried.
    pub to: Vec<SocketAddr>,
    /// Its key.
    pub key: Key,
    /// What the server is asked for.
    pub offer: Offer,
    /// What the connection may use.
    pub limits: Limits,
    /// What is sent.
    pub source: Source,
    /// Where to write a log in qlog's format.
    pub qlog: Option<PathBuf>,
    /// True if the course over time is to be kept, for a page.
    pub series: bool,
    /// True if a server that is not there yet is waited for, as long as for one that is silent.
    pub waits_for_server: bool,
    /// True if it goes at once when sending stops, without asking what has arrived: what waits in
    /// queues stays there.
    pub abandons: bool,
    /// Largest rate at which data leaves, IP and UDP headers included; of a server that sends, too.
    pub limit: Option<Rate>,
    /// Counters for a display on another thread.
    pub progress: Option<Arc<Progress>>,
    /// Longest time without progress in which files go on over new connections if one is cut off; zero: never.
    pub retry: Span,
    /// Name of the server, which is looked up again before each further connection; `None` keeps to `to`.
    pub name: Option<String>,
    /// Where it is told, in words, that a connection was cut off and that another one stands.
    pub events: Option<mpsc::Sender<String>>,
    /// Where this client waits, once connected, until others are, too.
    pub gate: Option<Arc<StartGate>>,
}

/// What has come of a client's work.
#[derive(Clone, Debug)]
pub struct TransferResult {
    /// From the first packet until all has arrived, or until sending stopped.
    pub duration: Span,
    /// What has become of each file; none of a workload.
    pub files: Vec<SentFile>,
    /// What the sending end counted: this one, or the server if it was asked to send.
    pub sent: SenderStats,
    /// What the receiving end measured.
    pub summary: Summary,
    /// Round-trip times of acknowledgements.
    pub rtt_ms: Delays,
    /// The shortest of them.
    pub least_rtt: Span,
    /// The largest packets.
    pub mtu: u16,
    /// The address of the server.
    pub address: SocketAddr,
    /// How long the handshake took.
    pub handshake: Span,
    /// Bytes on the wire that were acknowledged, each piece of data once.
    pub acknowledged: u64,
    /// The frames of a video workload.
    pub video: Option<VideoStats>,
    /// Number of connections, one after the other.
    pub connections: u32,
    /// Bytes that the receiver had before, and that were sent twice.
    pub transfer_bytes: TransferBytes,
    /// Entries within folders that were not sent, or that the receiver did not keep, each with the reason.
    pub problems: Vec<(PathBuf, String)>,
    /// What this end saw over time, if that was wanted.
    pub series: Option<SentSeries>,
    /// Why the log in qlog's format is not whole, if one was wanted.
    pub unlogged: Option<String>,
}

struct Client {
    clock: Clock,
    socket: Socket,
    inbox: Inbox,
    outbox: Outbox,
    interrupts: Interrupts,
    rtts: Rtts,
}

/// Connects, sends, and returns when the server says that all has arrived.
///
/// # Errors
/// There is no connection, it breaks, or the server could not keep the file.
pub fn send(options: &ClientOptions) -> Result<TransferResult, LiveError> {
    // Before anything is sent: the file must be there.
    let mut outbound = Outbound::open(&options.source)?;
    if let (Some(display), Some(outbound)) = (&options.progress, &outbound) {
        display.set_total(outbound.total().unwrap_or(0), outbound.files.len() as u64);
    }
    let qlog = options.qlog.as_ref();
    let qlog = qlog.map(|path| Qlog::create(path, Vantage::Client, Time::ZERO)).transpose()?;
    let sends_back = !options.offer.back.is_empty();
    let mut client = Client {
        clock: Clock::start(),
        socket: Socket::for_any_of(&options.to)?,
        inbox: Inbox::default(),
        outbox: Outbox::new(),
        interrupts: Interrupts::watch()?,
        rtts: Rtts {
            rtts: RttSamples::new(),
            arrivals: sends_back.then(|| Arrivals::new(Time::ZERO, false)),
            arrived: 0,
            qlog,
            course: None,
            now: Time::ZERO,
        },
    };
    if let Some(qlog) = &mut client.rtts.qlog {
        qlog.on_scheme(Time::ZERO, &options.offer.scheme);
    }
    // Before a connection has stood, a wrong address or key is likelier than an outage.
    let mut connection = client.connect(options, &options.to).map_err(Failure::error)?;
    if options.gate.as_ref().is_some_and(|gate| !gate.pass()) {
        return Err(LiveError::Message("another connection of this measurement has failed".into()));
    }
    let mut earlier = Earlier { start: client.clock.now(), ..Earlier::default() };
    let repeatable = outbound.as_ref().is_some_and(Outbound::is_repeatable);
    let patience = if repeatable { options.retry } else { Span::ZERO };
    let mut retry = Retry::new(patience, earlier.start);
    loop {
        let carried =
            client.carry(options, connection, outbound.as_mut(), &mut earlier, &mut retry);
        match carried {
            Ok(result) => return Ok(result),
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::CutOff(error)) if !repeatable && outbound.is_some() => {
                let text = "standard input and pipes cannot be read again: nothing goes on";
                return Err(LiveError::Message(format!("{error}; {text}")));
            }
            Err(Failure::CutOff(error)) => {
                connection = client.connect_again(options, &mut retry, error)?;
            }
        }
    }
}

/// The ECN field of two bits.
pub(crate) fn mark(bits: u8) -> Ecn {
    match bits & 3 {
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}
