//! An end that has one connection at a time: it sends, or it fetches from a sender that listens.

mod carrying;
mod connecting;
mod earlier;
mod failure;
mod line;
mod listener;
mod observer;
mod receiving;
mod sending;
mod transfer_progress;
mod waiting;
mod work;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use paceline_cc::{Ecn, Rate, Span, Time};
use paceline_flow::{SenderStats, VideoStats};
use paceline_os::udp::{Inbox, Socket};
use paceline_os::{Interrupts, LiveError};
use paceline_wire::key::Key;
use paceline_wire::{Limits, Offer, ServerLimits};

use self::failure::Failure;
use self::line::Line;
pub use self::listener::ListenOptions;
use self::listener::Listener;
use self::receiving::ReceiveWork;
use self::sending::SendWork;
use self::work::Work;
use super::arrivals::{Delays, Summary};
use super::bulk::StartGate;
use super::clock::Clock;
use super::course::SentSeries;
use super::outbound::{Outbound, SentFile, Source, TransferBytes};
use super::outbox::Outbox;
use super::progress::Progress;
use super::qlog::{LogTarget, Qlog, Vantage};
use super::retry::Retry;
use super::server::{AskAtEnd, Event, Events, tell_all, tell_room};
use super::server_loop::StopSignal;
use super::store::{DiskLimits, Store, Target};

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
    pub rtt_ms: Delays,
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

impl ClientOptions {
    /// Returns true if the other end sends the packets of a measurement.
    fn sends_back(&self) -> bool {
        !self.offer.back.is_empty()
    }

    /// Reports `text`, if `events` is set.
    fn tell(&self, text: String) {
        if let Some(events) = &self.events {
            // The receiver is gone: the message is not needed.
            let _ = events.send(text);
        }
    }
}

struct Client {
    clock: Clock,
    socket: Socket,
    inbox: Inbox,
    outbox: Outbox,
    interrupts: Interrupts,
}

/// Connects, or waits for the receiver to connect, and sends. Returns when the receiver reports
/// that all data has arrived.
///
/// # Errors
/// No connection is established, it breaks, or the receiver could not keep the file.
pub fn send(options: &ClientOptions) -> Result<TransferResult, LiveError> {
    // Open the file first, so that a missing file is an error before anything is sent.
    let outbound = Outbound::open(&options.source, options.listen.is_some())?;
    if let (Some(display), Some(outbound)) = (&options.progress, &outbound) {
        display.set_total(outbound.total().unwrap_or(0), outbound.files.len() as u64);
    }
    let qlog = options.qlog.as_ref();
    let mut qlog = qlog.map(|path| Qlog::create(path, Vantage::Client, Time::ZERO)).transpose()?;
    if let Some(qlog) = &mut qlog {
        qlog.on_scheme(Time::ZERO, &options.offer.scheme);
    }
    let mut client = Client::start(options)?;
    let mut work = SendWork::new(options, outbound, qlog);
    let line = client.open(options, &mut work)?;
    if options.gate.as_ref().is_some_and(|gate| !gate.pass()) {
        return Err(LiveError::Message("another connection of this measurement has failed".into()));
    }
    let start = client.clock.now();
    work.on_first(start);
    let patience = if work.is_repeatable() { options.retry } else { Span::ZERO };
    client.run(options, line, &mut work, Retry::new(patience, start))?;
    work.result.ok_or_else(|| LiveError::Message("nothing was sent".into()))
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

/// Connects to a sender that listens (`options.source` is [`Source::Packets`]) and returns when all
/// of its files have arrived. Calls `tell` on the calling thread: entries that were not kept are
/// [`Event::Failed`], the results of each connection are [`Event::Ended`].
///
/// # Errors
/// No connection is established, it breaks, or no file can be kept here.
pub fn receive(
    options: &ClientOptions,
    into: &ReceiveOptions,
    tell: &mut dyn FnMut(Event),
) -> Result<(), LiveError> {
    into.qlog.as_ref().map_or(Ok(()), LogTarget::check)?;
    // Before any thread starts, so that every thread inherits the blocked signals.
    let mut client = Client::start(options)?;
    let stop = StopSignal::new().map_err(LiveError::system("making a pipe"))?;
    let asked = stop.asked().try_clone_to_owned();
    let asked = asked.map_err(LiveError::system("watching for the end"))?;
    let store = Store::new(into.target.clone(), into.outside_links, asked);
    let store = store.counting(into.progress.as_ref()).limited(into.disk);
    let store = Arc::new(store);
    tell_room(&store, tell)?;
    match store.unfinished() {
        Ok(found) if found.transfers > 0 => tell(Event::Unfinished(found)),
        // Errors of the folder are reported when files arrive.
        Ok(_) | Err(_) => {}
    }
    let (events, told) = Events::new();
    thread::scope(|scope| {
        let stop = &stop;
        let run = move || {
            let _asks = AskAtEnd(stop);
            let mut work = ReceiveWork::new((options, into), store, events)?;
            let line = client.open(options, &mut work)?;
            let retry = Retry::new(options.retry, client.clock.now());
            client.run(options, line, &mut work, retry)
        };
        let running = [scope.spawn(run)];
        tell_all(&told, &running, tell);
        let [running] = running;
        running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Client {
    fn start(options: &ClientOptions) -> Result<Client, LiveError> {
        let lists_clients = options.listen.as_ref().is_some_and(|listen| listen.clients.is_some());
        Ok(Client {
            clock: Clock::start(),
            socket: match &options.listen {
                Some(listen) => Socket::bind(listen.at)?,
                None => Socket::for_any_of(&options.to)?,
            },
            inbox: Inbox::default(),
            outbox: Outbox::new(),
            interrupts: match lists_clients {
                true => Interrupts::watch_with_reload()?,
                false => Interrupts::watch()?,
            },
        })
    }

    /// Returns the line to the other end, once a connection is established.
    fn open(&mut self, options: &ClientOptions, work: &mut dyn Work) -> Result<Line, LiveError> {
        let Some(listen) = &options.listen else {
            // Fail at once if the first connection cannot be established: a wrong address or key is
            // more likely than an outage.
            let connection = self.connect(options, &options.to, work).map_err(Failure::error)?;
            return Ok(Line::Initiated(Box::new(connection)));
        };
        let limits = ServerLimits {
            gives_files: true,
            plaintext: options.offer.plaintext,
            mtu: options.offer.mtu,
            each: options.limits.clone(),
            ..ServerLimits::default()
        };
        let mut listener = Listener::new(listen, limits)?;
        options.tell(format!("listening at {}", self.socket.local()?));
        self.await_first(options, &mut listener)?;
        if let Some(connection) = listener.connection() {
            options.tell(format!("{}: connected", connection.remote().0));
        }
        Ok(Line::Listening(Box::new(listener)))
    }

    /// Does the work over successive connections.
    ///
    /// # Errors
    /// The work cannot be completed.
    fn run(
        &mut self,
        options: &ClientOptions,
        mut line: Line,
        work: &mut dyn Work,
        mut retry: Retry,
    ) -> Result<(), LiveError> {
        loop {
            let error = match self.carry(options, &mut line, work, &mut retry) {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::CutOff(error)) => error,
            };
            if let Some(why) = work.why_not_again() {
                return Err(LiveError::Message(format!("{error}; {why}")));
            }
            match &mut line {
                Line::Initiated(connection) => {
                    **connection = self.connect_again(options, work, &mut retry, error)?;
                }
                Line::Listening(listener) => self.await_again(options, listener, &retry, error)?,
            }
        }
    }
}

/// Returns the ECN codepoint for a field of two bits.
pub(crate) fn mark(bits: u8) -> Ecn {
    match bits & 3 {
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}
