//! The sending end.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use paceline_cc::{Ack, Ecn, Rate, Span, Time};
use paceline_flow::{SenderStats, VideoStats};
use paceline_wire::key::Key;
use paceline_wire::{Arrival, ConnectError, Connection, End, Limits, Offer, Sink, printable};

use super::addresses::Name;
use super::arrivals::{Arrivals, Delays, RttSamples, SentSummary, Summary};
use super::bulk::StartGate;
use super::clock::{Clock, wait};
use super::course::{SentCourse, SentSeries};
use super::note::{Note, TAKEN_OVER};
use super::outbound::{Outbound, SentFile, Source, TransferBytes};
use super::outbox::Outbox;
use super::progress::Progress;
use super::qlog::{Qlog, Vantage};
use super::race::{Race, Winner};
use super::retry::Retry;
use crate::linux::udp::{Inbox, Socket};
use crate::{Interrupts, LiveError, Waker};

/// How many packets leave before arrivals are looked at again.
const BURST: usize = 256;
/// In so many round-trip times at least, the server says what it has received: the question may be lost
/// twice, and the queue on the way may be the longest when it is asked.
const ROUND_TRIPS: u64 = 4;

/// A server that is started together with its client may need so long: only a refusal after it is believed.
const REFUSAL_GRACE: Span = Span::from_secs(1);

/// What is said of an interrupt.
const GOES_ON: &str =
    "interrupted; the receiver keeps what has arrived, and the same command goes on from there";

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

/// Longest time until a client that is asked to end by its [`Progress`] notices.
const LOOK: Span = Span::from_millis(100);

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

/// Round-trip times, and the log and the course over time if they are wanted.
struct Rtts {
    rtts: RttSamples,
    /// What the server sends, if it is asked to.
    arrivals: Option<Arrivals>,
    /// Its bytes, IP and UDP headers included.
    arrived: u64,
    qlog: Option<Qlog>,
    course: Option<SentCourse>,
    /// The latest time that an acknowledgement came.
    now: Time,
}

impl Sink for Rtts {
    fn on_ack(&mut self, _connection: u32, now: Time, packet: (u64, u32), ack: &Ack) {
        self.now = now;
        if let Some(qlog) = &mut self.qlog {
            qlog.on_ack(now, packet, ack, true);
        }
    }
    fn on_packet(&mut self, _connection: u32, now: Time, arrival: &Arrival) {
        self.arrived += u64::from(arrival.size);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.on_packet(now, arrival.sent, arrival.size);
        }
    }
    fn on_rtt(&mut self, _connection: u32, rtt: Span) {
        self.rtts.push(rtt);
        if let Some(course) = &mut self.course {
            course.on_rtt(self.now, rtt);
        }
    }
}

impl Rtts {
    /// Data has left in a datagram of so many bytes.
    fn on_sent(&mut self, now: Time, number: u64, length: usize, ip_udp: usize) {
        if let Some(qlog) = &mut self.qlog {
            qlog.on_data(now, number, length as u32, false);
        }
        if let Some(course) = &mut self.course {
            course.on_sent(now, (length + ip_udp) as u64);
        }
    }

    /// Something has happened to the connection until `now`.
    fn on_change(&mut self, now: Time, connection: &mut Connection) {
        if let Some(qlog) = &mut self.qlog {
            connection.drain_losses().for_each(|loss| qlog.on_loss(now, &loss));
        }
        let Some(sender) = connection.sender() else { return };
        if let Some(qlog) = &mut self.qlog {
            qlog.on_state(now, sender);
        }
        if let Some(course) = &mut self.course {
            course.on_state(now, sender);
        }
    }

    /// True if somebody wants to know of each packet.
    fn is_watching(&self) -> bool {
        self.qlog.is_some() || self.course.is_some()
    }
}

struct Client {
    clock: Clock,
    socket: Socket,
    inbox: Inbox,
    outbox: Outbox,
    interrupts: Interrupts,
    rtts: Rtts,
}

/// Why a connection has ended before all was sent.
enum Failure {
    /// Another connection would end alike.
    Final(LiveError),
    /// Another connection may go on.
    CutOff(LiveError),
}

impl Failure {
    fn error(self) -> LiveError {
        match self {
            Failure::Final(error) | Failure::CutOff(error) => error,
        }
    }
    fn text(text: impl Into<String>) -> Failure {
        Failure::Final(LiveError::Message(text.into()))
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Failure {
        Failure::Final(error)
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Failure {
        let message = LiveError::Message(error.to_string());
        match error {
            ConnectError::Silence { .. } => Failure::CutOff(message),
            _ => Failure::Final(message),
        }
    }
}

/// Counters of connections that were cut off, by this end's view, and when the first one stood.
#[derive(Default)]
struct Earlier {
    start: Time,
    connections: u32,
    sent: SenderStats,
    acknowledged: u64,
    goodput: u64,
}

impl Earlier {
    /// Adds a connection that was cut off.
    fn add(&mut self, connection: &Connection, mtu: u16) {
        self.sent = sum(self.sent, connection.sent().unwrap_or_default());
        self.acknowledged += acknowledged(connection, mtu);
        self.goodput += connection.stream_acknowledged();
    }
}

/// Adds counters of two connections.
fn sum(one: SenderStats, other: SenderStats) -> SenderStats {
    let mut sum = one;
    sum.sent += other.sent;
    sum.retransmits += other.retransmits;
    sum.lost += other.lost;
    sum.late += other.late;
    sum.timeouts += other.timeouts;
    sum.probes += other.probes;
    sum.acks += other.acks;
    sum.reports += other.reports;
    sum
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

impl Client {
    /// Connects again after a connection was cut off, with growing pauses.
    ///
    /// # Errors
    /// There was no progress for too long, another attempt would fail alike, or this program is asked to end.
    fn connect_again(
        &mut self,
        options: &ClientOptions,
        retry: &mut Retry,
        cut_off: LiveError,
    ) -> Result<(Connection, u16), LiveError> {
        let tell = |text: String| options.events.as_ref().map(|events| events.send(text));
        let mut name = options.name.as_deref().map(Name::new);
        let mut last = cut_off;
        let mut is_first = true;
        loop {
            let now = self.clock.now();
            let Some(at) = retry.next(now) else { return Err(last) };
            if std::mem::take(&mut is_first) {
                let pause = at.since(now).as_millis_f64() / 1000.0;
                tell(match at > now {
                    true => format!("{last}; connecting again in {pause:.1} s"),
                    false => format!("{last}; connecting again"),
                });
            }
            if let Some(name) = &mut name {
                name.look_up()?;
            }
            while self.clock.now() < at {
                let socket = self.socket.as_fd();
                let found = wait(&mut self.clock, at, socket, None, &self.interrupts)?;
                if found.interrupted || options.progress.as_ref().is_some_and(|it| it.is_stopped())
                {
                    return Err(LiveError::Message(GOES_ON.into()));
                }
                // What still comes belongs to the connection that has ended.
                self.socket.receive(&mut self.inbox, |_| {})?;
            }
            if let Some(name) = &mut name {
                name.take();
            }
            let found = name.as_ref().and_then(|name| name.addresses().ok());
            let to = found.map_or_else(|| options.to.clone(), <[SocketAddr]>::to_vec);
            let connected = match Socket::for_any_of(&to) {
                Ok(socket) => {
                    self.socket = socket;
                    self.connect(options, &to)
                }
                Err(error) => Err(Failure::CutOff(error)),
            };
            match connected {
                Ok((connection, mtu)) => {
                    tell(format!("connected again to {}", connection.remote().0));
                    return Ok((connection, mtu));
                }
                Err(Failure::CutOff(error)) => last = error,
                Err(Failure::Final(error)) => return Err(error),
            }
        }
    }

    fn connect(
        &mut self,
        options: &ClientOptions,
        to: &[SocketAddr],
    ) -> Result<(Connection, u16), Failure> {
        // Only until there is a connection: later, nothing but authentic packets may end it.
        self.socket.watch_refusals(true);
        let connected = self.shake_hands(options, to);
        self.socket.watch_refusals(false);
        connected
    }

    fn shake_hands(
        &mut self,
        options: &ClientOptions,
        to: &[SocketAddr],
    ) -> Result<(Connection, u16), Failure> {
        let (offer, limits) = (options.offer.clone(), options.limits.clone());
        let now = self.clock.now();
        let mut refused = Vec::new();
        let mut race = Race::new(now, &options.key, to, offer, limits);
        loop {
            let now = self.clock.now();
            race.transmit(now, &mut self.socket, &mut self.outbox)?;
            let socket = self.socket.as_fd();
            let ready = wait(&mut self.clock, race.wake(), socket, None, &self.interrupts)?;
            if ready.interrupted {
                return Err(Failure::text("interrupted before a connection stood"));
            }
            let now = self.clock.now();
            let mut made = None;
            let Client { socket, inbox, rtts, .. } = self;
            socket.receive(inbox, |group| {
                for bytes in group.bytes.chunks_mut(group.size) {
                    match &mut made {
                        // A server that sends begins right after its answer.
                        Some(Ok(Winner { connection, .. })) => {
                            connection.on_datagram(now, group.from, mark(group.ecn), bytes, rtts);
                        }
                        Some(Err(_)) => {}
                        None => made = race.on_datagram(now, bytes).transpose(),
                    }
                }
            })?;
            refused.extend(self.socket.take_refused());
            let all = to
                .iter()
                .all(|to| refused.contains(&SocketAddr::new(to.ip().to_canonical(), to.port())));
            let is_late = now.since(Time::ZERO) >= REFUSAL_GRACE;
            if made.is_none() && all && !options.waits_for_server && is_late {
                let to: Vec<String> = to.iter().map(SocketAddr::to_string).collect();
                return Err(Failure::CutOff(LiveError::Message(format!(
                    "{}: refused: nothing listens there at this port (ICMP port unreachable): is `paceline recv` \
                     running, and is this its port?",
                    to.join(", ")
                ))));
            }
            if let Some(made) = made {
                let Winner { connection, mtu } = made?;
                return Ok((connection, mtu));
            }
        }
    }

    fn carry(
        &mut self,
        options: &ClientOptions,
        (mut connection, mtu): (Connection, u16),
        mut outbound: Option<&mut Outbound>,
        earlier: &mut Earlier,
        retry: &mut Retry,
    ) -> Result<TransferResult, Failure> {
        earlier.connections += 1;
        let start = self.clock.now();
        let waker = self.interrupts.waker();
        if let Some(outbound) = &mut outbound {
            outbound.on_connected(waker.clone())?;
        }
        let mut from = 0;
        let stop = match outbound {
            Some(_) => Time::NEVER,
            None => start + options.limits.stop,
        };
        let mut progress = TransferProgress {
            abandons: options.abandons,
            idle: connection.idle(),
            ..TransferProgress::default()
        };
        let (mut due, mut told) = (Time::NEVER, start);
        let mut postponed = false;
        if self.rtts.qlog.is_some() {
            connection.log_losses();
        }
        if options.series && self.rtts.course.is_none() {
            self.rtts.course = Some(SentCourse::new(start));
        }
        if let Some(limit) = options.limit {
            connection.set_limit(Some(limit));
            if !options.offer.back.is_empty() {
                connection.send_message(Note::Limit { bps: limit.as_bps() }.to_bytes());
            }
        }
        let display = options.progress.as_deref();
        if let Some(display) = display {
            display.on_connected(0);
        }
        let ip_udp = options.limits.ip_udp(&connection.remote().0);
        loop {
            // What was due happens at its time, so that a wait that ends late costs no rate.
            let now = self.clock.on_time(due, told);
            if let Some(outbound) = &mut outbound
                && connection.ended().is_none()
            {
                outbound.pump(&mut connection);
                if outbound.reaches(connection.stream_acknowledged()) {
                    retry.on_progress(now);
                }
            }
            let files = outbound.as_deref_mut().map(|outbound| (outbound, &waker));
            progress.step(now, stop, &mut connection, files, &self.rtts)?;
            if let Some(display) = display {
                if std::mem::take(&mut progress.has_news)
                    && let Some(outbound) = &outbound
                {
                    let settled = outbound.files.iter().filter(|file| file.is_settled()).count();
                    display.set_files_done(settled as u64);
                }
                if let Some(outbound) = &outbound
                    && outbound.from() != from
                {
                    from = outbound.from();
                    display.on_connected(from);
                }
                display.update(&connection, self.rtts.arrived);
                if display.is_stopped() && !progress.interrupted {
                    progress.interrupted = true;
                    connection.close(1, "the sender was interrupted");
                }
            }
            let Client { socket, outbox, rtts, .. } = self;
            let watching = rtts.is_watching();
            let count = outbox.send(socket, BURST, |place| {
                let out = connection.transmit(now, place)?;
                if let (true, Some(number)) = (watching, out.data) {
                    rtts.on_sent(now, number, out.length, ip_udp);
                }
                Some(out)
            });
            if outbox.was_too_large() {
                connection.on_too_large(now);
            }
            if watching {
                rtts.on_change(now, &mut connection);
            }
            if let Some(end) = connection.ended() {
                if *end == End::Reset {
                    retry.on_restart();
                }
                if let Err(failure) = progress.check(end, outbound.as_deref()) {
                    earlier.add(&connection, mtu);
                    if let Some(outbound) = &mut outbound {
                        outbound.on_lost(connection.stream_sent());
                    }
                    return Err(failure);
                }
                break;
            }
            if progress.asked && progress.abandons {
                break;
            }
            let full = count == BURST;
            told = now;
            due = connection.wake();
            let next = due.min(progress.deadline).min(stop.max(progress.stopped));
            let next = if display.is_some() { next.min(now + LOOK) } else { next };
            let until = if full { Time::ZERO } else { next };
            let found = wait(&mut self.clock, until, self.socket.as_fd(), None, &self.interrupts)?;
            if found.interrupted {
                progress.interrupted = true;
                connection.close(1, "the sender was interrupted");
            }
            // What was due before this is done first, once.
            postponed = found.socket && !postponed && due <= self.clock.now();
            if found.socket && !postponed {
                told = self.receive(&mut connection, told)?;
                due = Time::NEVER;
                if watching {
                    self.rtts.on_change(told, &mut connection);
                }
            }
        }
        let qlog = self.rtts.qlog.take();
        let logged = qlog.map(|qlog| qlog.finish(self.clock.now(), connection.ended()));
        let rtts = &self.rtts;
        let series = rtts.course.as_ref().map(|course| course.series(mtu));
        let ReportedFigures { sent, mut summary, rtt_ms, least_rtt } =
            progress.figures(&connection, rtts);
        // Of connections that were cut off, the receiver's figures are not known.
        summary.packets += earlier.sent.sent.saturating_sub(earlier.sent.lost);
        summary.bytes += earlier.acknowledged;
        summary.goodput += earlier.goodput;
        Ok(TransferResult {
            duration: progress.finished.since(earlier.start),
            files: outbound.as_ref().map_or_else(Vec::new, |outbound| outbound.files.clone()),
            sent: sum(earlier.sent, sent),
            summary,
            rtt_ms,
            least_rtt,
            mtu: connection.mtu(),
            address: connection.remote().0,
            handshake: earlier.start.since(Time::ZERO),
            acknowledged: earlier.acknowledged + acknowledged(&connection, mtu),
            connections: earlier.connections,
            transfer_bytes: outbound.as_ref().map(|outbound| outbound.bytes).unwrap_or_default(),
            problems: outbound.as_ref().map_or_else(Vec::new, |outbound| outbound.problems()),
            video: connection.sender().and_then(|sender| sender.video()).map(|(_, stats)| stats),
            series,
            unlogged: logged.and_then(Result::err).map(|error| error.to_string()),
        })
    }

    /// Takes in what has come. Returns the latest time that the connection was told.
    fn receive(&mut self, connection: &mut Connection, told: Time) -> Result<Time, LiveError> {
        let ahead = self.clock.ahead();
        let now = self.clock.now();
        let Client { socket, inbox, clock, rtts, .. } = self;
        let mut last = told;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, last, now);
            last = at;
            for bytes in group.bytes.chunks_mut(group.size) {
                let ecn = mark(group.ecn);
                connection.on_datagram(at, group.from, ecn, bytes, rtts);
            }
        })?;
        Ok(last)
    }
}

/// Bytes on the wire that were acknowledged, each piece of data once: what was sent, less what was
/// lost and what is still on its way. Packets that came late, and were repeated for nothing, count as
/// lost.
fn acknowledged(connection: &Connection, mtu: u16) -> u64 {
    let sent = connection.sent().unwrap_or_default();
    let in_flight = connection.sender().map_or(0, paceline_flow::Sender::in_flight);
    let gone = sent.sent.saturating_sub(sent.lost);
    gone.saturating_mul(u64::from(mtu)).saturating_sub(in_flight)
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

/// What the sending and the receiving end have counted and measured, whichever of them this one is.
struct ReportedFigures {
    sent: SenderStats,
    summary: Summary,
    rtt_ms: Delays,
    least_rtt: Span,
}

/// How far a client has come.
#[derive(Default)]
struct TransferProgress {
    /// All has been sent and has arrived, or sending has stopped: when.
    finished: Time,
    /// [`Time::NEVER`] once sending has stopped.
    stopped: Time,
    asked: bool,
    deadline: Time,
    /// The server has not said in time what it has received.
    unanswered: bool,
    summary: Option<Summary>,
    /// What the server has counted, if it sends.
    sent_there: Option<SentSummary>,
    interrupted: bool,
    /// It has become known what has become of a file.
    has_news: bool,
    abandons: bool,
    /// How long the server may be silent.
    idle: Span,
}

/// How long the server may take to say what it has received.
fn patience(idle: Span, rtt: Span) -> Span {
    idle.max(rtt * ROUND_TRIPS)
}

impl TransferProgress {
    /// Does what is next.
    fn step(
        &mut self,
        now: Time,
        stop: Time,
        connection: &mut Connection,
        mut files: Option<(&mut Outbound, &Waker)>,
        rtts: &Rtts,
    ) -> Result<(), LiveError> {
        while let Some(bytes) = connection.receive_message() {
            match Note::read(&bytes) {
                Some(Note::Summary(summary)) => self.summary = Some(summary),
                Some(Note::Sent(sent)) => self.sent_there = Some(sent),
                Some(Note::File { file, kept, text }) => {
                    let text = printable(&text);
                    self.has_news = true;
                    if let Some((outbound, _)) = &mut files {
                        outbound.on_note(file, if kept { Ok(text) } else { Err(text) });
                    }
                }
                Some(Note::Resume(resume)) => {
                    if let Some((outbound, waker)) = &mut files {
                        outbound.on_resume(resume, waker.clone())?;
                    }
                }
                Some(Note::Summarize | Note::Limit { .. } | Note::Progress { .. }) | None => {
                    continue;
                }
            }
            // Of many files each has an answer of its own, and answers wait for each other.
            if self.asked {
                self.deadline = now + patience(self.idle, connection.rtt());
            }
        }
        let outbound = files.map(|(outbound, _)| &*outbound);
        let sent = match outbound {
            Some(outbound) => outbound.is_done() && connection.is_drained(),
            None => now >= stop,
        };
        if !self.asked {
            self.deadline = Time::NEVER;
            if sent {
                self.asked = true;
                self.finished = now;
                self.stopped = Time::NEVER;
                if self.abandons {
                    connection.close(0, "");
                    return Ok(());
                }
                self.deadline = now + patience(self.idle, connection.rtt());
                connection.stop();
                connection.send_message(Note::Summarize.to_bytes());
                if outbound.is_none() {
                    let figures = match &rtts.arrivals {
                        Some(arrivals) => Note::Summary(
                            arrivals.summary(connection.received().unwrap_or_default()),
                        ),
                        None => Note::Sent(SentSummary::new(
                            &connection.sent().unwrap_or_default(),
                            &rtts.rtts,
                        )),
                    };
                    connection.send_message(figures.to_bytes());
                }
            }
        }
        // All messages of this end have arrived, too: the server shows them.
        let settled = outbound.map_or_else(|| connection.is_drained(), Outbound::is_settled);
        let answered = match rtts.arrivals {
            Some(_) => self.sent_there.is_some(),
            None => self.summary.is_some(),
        };
        let failed = outbound.is_some_and(Outbound::has_failed);
        if failed || settled && answered {
            connection.close(u16::from(failed), "");
            self.deadline = Time::NEVER;
        } else if now >= self.deadline {
            self.unanswered = true;
            connection.close(1, "no answer");
        }
        Ok(())
    }

    /// What both ends have counted and measured.
    fn figures(&self, connection: &Connection, rtts: &Rtts) -> ReportedFigures {
        if let Some(arrivals) = &rtts.arrivals {
            let there = self.sent_there.unwrap_or_default();
            let mut sent = SenderStats::default();
            (sent.sent, sent.retransmits) = (there.sent, there.retransmits);
            (sent.lost, sent.timeouts) = (there.lost, there.timeouts);
            let least_rtt = Span::from_nanos((there.least_rtt_ms.max(0.0) * 1e6) as u64);
            let summary = arrivals.summary(connection.received().unwrap_or_default());
            return ReportedFigures { sent, summary, rtt_ms: there.rtt_ms, least_rtt };
        }
        ReportedFigures {
            sent: connection.sent().unwrap_or_default(),
            summary: self.summary.unwrap_or_default(),
            rtt_ms: rtts.rtts.samples.quantiles().into(),
            least_rtt: rtts.rtts.least(),
        }
    }

    /// Whether an end is a good one.
    fn check(&self, end: &End, outbound: Option<&Outbound>) -> Result<(), Failure> {
        let files = outbound.map_or(&[][..], |outbound| &outbound.files);
        if let (true, Some(first)) = (outbound.is_some_and(Outbound::has_failed), files.first()) {
            let why = first.problem.as_deref().unwrap_or_default();
            return Err(Failure::text(match files.len() {
                1 => format!("the file did not arrive: {why}"),
                count => format!("none of {count} files arrived: {why}"),
            }));
        }
        let is_final =
            |end: &End| self.interrupted || matches!(end, End::There { code: TAKEN_OVER, .. });
        let text = match end {
            _ if self.unanswered => {
                "the receiver does not say what has arrived; --timeout gives it more time".into()
            }
            End::Here { code: 0, .. } => return Ok(()),
            End::Here { .. }
                if self.interrupted && outbound.is_some_and(Outbound::is_repeatable) =>
            {
                GOES_ON.into()
            }
            End::Here { reason, .. } => reason.clone(),
            End::There { code: TAKEN_OVER, .. } => {
                "a newer connection sends the same transfer: this one has ended for it".into()
            }
            End::There { reason, .. } if reason.is_empty() => {
                "the other end closed the connection before all had arrived".into()
            }
            End::There { reason, .. } => format!("the other end closed the connection: {reason}"),
            End::Reset => "the receiver was restarted".into(),
            End::Silence(span) => format!(
                "nothing has come from the other end for {span}: it has died, or the path is down"
            ),
        };
        let kept = files.iter().filter(|file| file.kept.is_some()).count();
        let error = LiveError::Message(match files.len() {
            0 | 1 => text,
            count => format!("{text}; {kept} of {count} files are whole there"),
        });
        Err(match is_final(end) || outbound.is_none() {
            true => Failure::Final(error),
            false => Failure::CutOff(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_may_take_as_long_as_a_full_queue_needs() {
        let idle = Span::from_secs(10);
        assert_eq!(patience(idle, Span::from_millis(100)), idle);
        assert_eq!(patience(idle, Span::from_secs(12)), Span::from_secs(48));
        assert_eq!(patience(Span::from_secs(60), Span::from_secs(12)), Span::from_secs(60));
    }
}
