//! An end that has one connection at a time: it sends, or it fetches from a sender that listens.

mod carrying;
mod connecting;
mod earlier;
mod failure;
mod line;
mod listener;
mod observer;
mod options;
mod receiving;
mod sending;
mod transfer_progress;
mod waiting;
mod work;

use std::thread;

use paceline_cc::{Span, Time};
use paceline_os::udp::{Inbox, Socket};
use paceline_os::{Interrupts, RealTimeError};
use paceline_wire::ServerLimits;

use self::failure::Failure;
use self::line::Line;
pub use self::listener::ListenOptions;
use self::listener::Listener;
pub use self::options::{ClientOptions, ReceiveOptions, TransferResult};
use self::receiving::ReceiveWork;
use self::sending::SendWork;
use self::work::Work;
use super::clock::Clock;
use super::events::{Event, Events, tell_all};
use super::opening::open_store;
use super::outbound::Outbound;
use super::outbox::Outbox;
use super::qlog::{LogTarget, Qlog, Vantage};
use super::retry::Retry;
use super::stop_signal::{AskAtEnd, StopSignal};

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
pub fn send(options: &ClientOptions) -> Result<TransferResult, RealTimeError> {
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
        return Err(RealTimeError::Message(
            "another connection of this measurement has failed".into(),
        ));
    }
    let start = client.clock.now();
    work.on_first(start);
    let patience = if work.is_repeatable() { options.retry } else { Span::ZERO };
    client.run(options, line, &mut work, Retry::new(patience, start))?;
    work.result.ok_or_else(|| RealTimeError::Message("nothing was sent".into()))
}

/// Connects to a sender that listens (`options.source` is `Source::Packets`) and returns when all
/// of its files have arrived. Calls `tell` on the calling thread: entries that were not kept are
/// [`Event::Failed`], the results of each connection are [`Event::Ended`].
///
/// # Errors
/// No connection is established, it breaks, or no file can be kept here.
pub fn receive(
    options: &ClientOptions,
    into: &ReceiveOptions,
    tell: &mut dyn FnMut(Event),
) -> Result<(), RealTimeError> {
    into.qlog.as_ref().map_or(Ok(()), LogTarget::check)?;
    // Before any thread starts, so that every thread inherits the blocked signals.
    let mut client = Client::start(options)?;
    let stop = StopSignal::new().map_err(RealTimeError::system("making a pipe"))?;
    let place = (&into.target, into.outside_links, into.disk);
    let store = open_store(place, into.progress.as_ref(), &stop, None, tell)?;
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
    fn start(options: &ClientOptions) -> Result<Client, RealTimeError> {
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
    fn open(
        &mut self,
        options: &ClientOptions,
        work: &mut dyn Work,
    ) -> Result<Line, RealTimeError> {
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
    ) -> Result<(), RealTimeError> {
        loop {
            let error = match self.carry(options, &mut line, work, &mut retry) {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::CutOff(error)) => error,
            };
            if let Some(why) = work.why_not_again() {
                return Err(RealTimeError::Message(format!("{error}; {why}")));
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
