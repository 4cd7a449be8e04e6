//! An end that has one connection at a time: one that sends, or one that fetches from a sender.

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

/// What an end shall do that has one connection at a time.
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
    /// Where this end waits for the other one to connect; then `to` is not used.
    pub listen: Option<ListenOptions>,
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

impl ClientOptions {
    /// Returns true if the other end sends the packets of a measurement.
    fn sends_back(&self) -> bool {
        !self.offer.back.is_empty()
    }

    /// Tells what has happened, if somebody wants to know.
    fn tell(&self, text: String) {
        if let Some(events) = &self.events {
            // Nobody listens any more: nobody wants to know.
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

/// Connects, or waits for the receiver to connect, sends, and returns when the receiver says that all has arrived.
///
/// # Errors
/// There is no connection, it breaks, or the receiver could not keep the file.
pub fn send(options: &ClientOptions) -> Result<TransferResult, LiveError> {
    // Before anything is sent: the file must be there.
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

/// Where an end that fetches files keeps them.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// The file or folder.
    pub target: Target,
    /// True if links are made that lead out of their folder at the top level.
    pub outside_links: bool,
    /// How much of the disk they may take. There is one client.
    pub disk: DiskLimits,
    /// Where to write a log of each connection in qlog's format.
    pub qlog: Option<LogTarget>,
    /// True if the course of each connection over time is to be kept, for a page.
    pub series: bool,
    /// Counters for a display on another thread.
    pub progress: Option<Arc<Progress>>,
}

/// Connects to a sender that waits for that (`options.source` is [`Source::Packets`]), and returns when all of its files
/// have arrived. `tell` is told what happens, on the thread that calls this; entries that are not kept are told as
/// [`Event::Failed`], and what was measured of each connection as [`Event::Ended`].
///
/// # Errors
/// There is no connection, it breaks, or nothing can be kept here.
pub fn receive(
    options: &ClientOptions,
    into: &ReceiveOptions,
    tell: &mut dyn FnMut(Event),
) -> Result<(), LiveError> {
    into.qlog.as_ref().map_or(Ok(()), LogTarget::check)?;
    // Before there are threads, so that signals are blocked in all of them.
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
        // What is wrong with the folder is told when files come.
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

    /// Returns the way to the other end, once a connection stands.
    fn open(&mut self, options: &ClientOptions, work: &mut dyn Work) -> Result<Line, LiveError> {
        let Some(listen) = &options.listen else {
            // Before a connection has stood, a wrong address or key is likelier than an outage.
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

    /// Does the work over one connection after the other.
    ///
    /// # Errors
    /// It cannot be done.
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

/// The ECN field of two bits.
pub(crate) fn mark(bits: u8) -> Ecn {
    match bits & 3 {
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        3 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}
