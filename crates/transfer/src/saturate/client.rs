//! The client of the Saturator: the end at the link that is measured.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_os::Interrupts;
use paceline_os::RealTimeError;
use paceline_os::udp::{Group, Inbox, Socket};
use paceline_wire::key::Key;
use paceline_wire::saturator::{
    Arrivals, Body, COOKIE, Channel, Codec, HELLO, Message, NONCE, SentStats, SessionCodec,
    new_nonce, new_session,
};

use super::record::{ArrivalRecord, RecordedTrace};
use super::window::{Rule, Window};
use super::{BURST, data, micros, rtt};
use crate::udp::clock::{Clock, wait};
use crate::udp::outbox::Outbox;
use crate::udp::race::HEAD_START;

/// Interval between two hello messages, and between two end messages.
const AGAIN: Span = Span::from_millis(300);
/// Maximum number of end messages.
const ENDS: u32 = 20;
/// Minimum interval between two calls of `flush`.
const FLUSH: Span = Span::from_secs(10);
/// Minimum interval between two calls of `flush`, in multiples of the duration of the last call.
const FLUSH_SHARE: u64 = 50;

/// Options of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The addresses of the server, tried in this order. The client measures to the first that
    /// answers.
    pub to: Vec<SocketAddr>,
    /// The server's key.
    pub key: Key,
    /// The interface of the measured link; `None` follows the routes.
    pub link: Option<String>,
    /// The interface for acknowledgements; `None` follows the routes.
    pub feedback: Option<String>,
    /// True if the direction to the server is saturated.
    pub up: bool,
    /// True if the direction from the server is saturated.
    pub down: bool,
    /// Duration of the measurement.
    pub duration: Span,
    /// Size of data packets in bytes, with IP and UDP headers.
    pub size: u16,
    /// Maximum number of packets in flight.
    pub window: u32,
    /// How the window follows the RTT.
    pub rule: Rule,
    /// How long the server may stay silent before the measurement ends.
    pub patience: Span,
}

/// Results of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionResult {
    /// The arrivals since the link was saturated.
    pub recorded: RecordedTrace,
    /// Share of the packets that were lost since the first packet, 0 to 1.
    pub lost_share: f64,
    /// Counters of the sending end.
    pub sent: SentStats,
}

/// Results of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaturationResult {
    /// Direction to the server.
    pub up: Option<DirectionResult>,
    /// Direction from the server.
    pub down: Option<DirectionResult>,
    /// Why the measurement ended early, or which part of it is missing.
    pub problem: Option<String>,
}

struct Client<'a> {
    options: &'a ClientOptions,
    /// The addresses to which hellos go: all candidates at first, only the server's address after
    /// its answer.
    to: Vec<SocketAddr>,
    answered: bool,
    codec: Codec,
    session: u64,
    nonce: [u8; NONCE],
    /// The codes of this measurement, once the server has answered.
    session_codec: Option<SessionCodec>,
    clock: Clock,
    inbox: Inbox,
    outbox: Outbox,
    interrupts: Interrupts,
    link: Socket,
    feedback: Socket,
    /// True for each of the link and the feedback way once the server knows it; then the cookies
    /// for both.
    ready: [bool; 2],
    cookies: [[u8; COOKIE]; 2],
    window: Window,
    /// Arrivals at this end, the newest of them, and the number of the first packet sent on the
    /// saturated link.
    down: ArrivalRecord,
    newest: Arrivals,
    down_steady: Option<u32>,
    /// Arrivals at the server, as the server reports them.
    up: ArrivalRecord,
    stats: Option<SentStats>,
    heard: Time,
    stopped: bool,
}

/// Measures and returns the results. An interrupt ends the measurement early. If the server falls
/// silent, the results so far are returned with the problem. `flush` receives the results so far,
/// at intervals of 10 s or more.
///
/// # Errors
/// No address answers, or an interface does not exist.
pub fn client(
    options: &ClientOptions,
    flush: &mut dyn FnMut(&SaturationResult),
) -> Result<SaturationResult, RealTimeError> {
    let bind = |device: &Option<String>| {
        let socket = Socket::for_any_of(&options.to)?;
        device.as_deref().map_or(Ok(()), |device| socket.bind_to_device(device))?;
        Ok::<Socket, RealTimeError>(socket)
    };
    let fail = |error: paceline_wire::key::KeyError| RealTimeError::Message(error.to_string());
    let (session, nonce) = (new_session().map_err(fail)?, new_nonce().map_err(fail)?);
    let mut clock = Clock::start();
    let now = clock.now();
    let mut client = Client {
        options,
        to: Vec::new(),
        answered: false,
        codec: Codec::new(&options.key, true),
        session,
        nonce,
        session_codec: None,
        clock,
        inbox: Inbox::default(),
        outbox: Outbox::new(),
        interrupts: Interrupts::watch()?,
        link: bind(&options.link)?,
        feedback: bind(&options.feedback)?,
        ready: [false; 2],
        cookies: [[0; COOKIE]; 2],
        window: Window::new(now, options.rule, options.window),
        down: ArrivalRecord::default(),
        newest: Arrivals::default(),
        down_steady: None,
        up: ArrivalRecord::default(),
        stats: None,
        heard: now,
        stopped: false,
    };
    client.connect()?;
    let ended = client.measure(flush).and_then(|()| client.end());
    let mut measured = client.measured();
    measured.problem = ended.err().map(|error| error.to_string());
    Ok(measured)
}

impl Client<'_> {
    /// Returns the bytes of payload of a data packet to `to`.
    fn payload(&self, to: &SocketAddr) -> usize {
        let headers = if to.ip().to_canonical().is_ipv4() { 28 } else { 48 };
        usize::from(self.options.size).saturating_sub(headers)
    }

    /// Returns the server's address, once it has answered.
    fn server(&self) -> Option<SocketAddr> {
        self.to.first().copied()
    }

    fn say(&mut self, channel: Channel, body: Body, length: usize) {
        if let Some(to) = self.server() {
            self.say_to(to, channel, body, length);
        }
    }

    fn say_to(&mut self, to: SocketAddr, channel: Channel, body: Body, length: usize) {
        let mut place = [0; 1024];
        let Client { codec, session, session_codec, .. } = self;
        let written = match (body.channel(), session_codec) {
            (None, _) => codec.write(*session, body, length, &mut place),
            (Some(_), Some(codec)) => codec.write(body, length, &mut place),
            (Some(_), None) => return,
        };
        let Ok(length) = written else { return };
        let socket = match channel {
            Channel::Link => &mut self.link,
            Channel::Feedback => &mut self.feedback,
        };
        let bytes = place.get(..length).unwrap_or(&[]);
        self.outbox.send_one(socket, to, bytes);
    }

    /// Sends a hello to each address that is being tried.
    fn hello(&mut self, channel: Channel) {
        let ClientOptions { up, down, window, .. } = *self.options;
        let (nonce, cookie) = (self.nonce, self.cookies[channel as usize]);
        let thesis = self.options.rule == Rule::Thesis;
        for to in self.to.clone() {
            let size = self.payload(&to) as u16;
            let hello = Body::Hello { channel, up, down, size, window, thesis, nonce, cookie };
            self.say_to(to, channel, hello, HELLO);
        }
    }

    /// Keeps only `from`, the address that answered first.
    fn on_answer(&mut self, from: SocketAddr) {
        let canonical = |at: &SocketAddr| (at.ip().to_canonical(), at.port());
        if !self.answered
            && let Some(to) = self.to.iter().find(|to| canonical(to) == canonical(&from))
        {
            self.to = vec![*to];
            self.answered = true;
        }
    }

    /// Sends hellos over both ways until the server knows both.
    fn connect(&mut self) -> Result<(), RealTimeError> {
        let end = self.clock.now() + self.options.patience;
        let mut untried = self.options.to.iter().copied();
        while self.ready != [true; 2] {
            let now = self.clock.now();
            let another = if self.answered { None } else { untried.next() };
            self.to.extend(another);
            if now >= end {
                let way = if self.ready[0] { "feedback" } else { "link" };
                let to: Vec<String> = self.to.iter().map(SocketAddr::to_string).collect();
                return Err(RealTimeError::Message(format!(
                    "no answer from {} on the {way} path: is the address right, does \
                     `paceline saturate server` run there, is the key the one that it printed, and \
                     does the interface have a route?",
                    to.join(", ")
                )));
            }
            for channel in [Channel::Link, Channel::Feedback] {
                if !self.ready[channel as usize] {
                    self.hello(channel);
                }
            }
            let next = now + if another.is_some() { HEAD_START } else { AGAIN };
            while self.clock.now() < next && self.ready != [true; 2] {
                if self.wait(next)? {
                    return Err(RealTimeError::Message(
                        "interrupted before the measurement".into(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Saturates the link and records arrivals for the requested duration.
    fn measure(&mut self, flush: &mut dyn FnMut(&SaturationResult)) -> Result<(), RealTimeError> {
        let Some(to) = self.server() else { return Ok(()) };
        let end = self.clock.now() + self.options.duration;
        let mut next_flush = self.clock.now() + FLUSH;
        let mut interrupted = false;
        let mut begin = Time::ZERO;
        loop {
            let now = self.clock.now();
            // Repeat it, because the server sends no data before it has received one, and each may
            // be lost.
            if begin <= now {
                self.say(Channel::Feedback, Body::Begin, 0);
                begin = now + AGAIN;
            }
            if now >= end || interrupted {
                return Ok(());
            }
            if now >= next_flush {
                flush(&self.measured());
                let after = self.clock.now();
                next_flush = after + FLUSH.max(after.since(now) * FLUSH_SHARE);
            }
            if now.since(self.heard) > self.options.patience {
                return Err(RealTimeError::Message(format!(
                    "no packet from {to} for {}: the server has ended, or a path is down",
                    now.since(self.heard)
                )));
            }
            let mut until = end.min(now + AGAIN);
            if self.options.up {
                let to = (to, self.payload(&to));
                let Client { outbox, link, session_codec, window, .. } = self;
                let sent = outbox.send(link, BURST, |place| {
                    data(session_codec.as_mut()?, window, now, to, place)
                });
                until = if sent == BURST { Time::ZERO } else { until.min(window.wake()) };
            }
            interrupted = self.wait(until)?;
        }
    }

    /// Sends end messages until the server has sent its results.
    fn end(&mut self) -> Result<(), RealTimeError> {
        self.stopped = true;
        for _ in 0..ENDS {
            self.say(Channel::Feedback, Body::End, 0);
            let next = self.clock.now() + AGAIN;
            while self.stats.is_none() && self.clock.now() < next {
                self.wait(next)?;
            }
            if self.stats.is_some() {
                return Ok(());
            }
        }
        Err(RealTimeError::Message("the server has not sent its results".into()))
    }

    /// Waits for packets and handles them. Returns true if the wait was interrupted.
    fn wait(&mut self, until: Time) -> Result<bool, RealTimeError> {
        let feedback = Some(self.feedback.as_fd());
        let found = wait(&mut self.clock, until, self.link.as_fd(), feedback, &self.interrupts)?;
        let (ahead, now) = (self.clock.ahead(), self.clock.now());
        let mut came = Vec::new();
        let Client { link, feedback, inbox, clock, codec, session, session_codec, nonce, .. } =
            self;
        let mut read = |group: Group<'_>| {
            // A kernel time stamp may lie before the time of the last call.
            let at = clock.of_stamp(group.stamp, ahead, Time::ZERO, now);
            for bytes in group.bytes.chunks(group.size) {
                // Try messages of the measurement first: almost all packets are such messages.
                if let Some(body) = session_codec.as_mut().and_then(|it| it.read(bytes).ok()) {
                    came.push((at, group.from, body));
                    continue;
                }
                let Ok(Message { session: of, body, .. }) = codec.read(bytes) else { continue };
                if of != *session {
                    continue;
                }
                if let (Body::Ready { nonce: its, .. }, None) = (&body, &session_codec) {
                    *session_codec = Some(codec.session(of, nonce, its));
                }
                came.push((at, group.from, body));
            }
        };
        if found.socket {
            link.receive(inbox, &mut read)?;
        }
        if found.input {
            feedback.receive(inbox, &mut read)?;
        }
        for (at, from, body) in came {
            self.on_answer(from);
            self.take(at, body);
        }
        Ok(found.interrupted)
    }

    fn take(&mut self, at: Time, body: Body) {
        self.heard = self.heard.max(at);
        match body {
            Body::Retry { channel, cookie } => {
                self.cookies[channel as usize] = cookie;
                self.hello(channel);
            }
            Body::Ready { channel, .. } => self.ready[channel as usize] = true,
            Body::Data { number, sent, steady } => {
                // Ignore data after the end: by then the link was no longer kept full.
                if self.stopped {
                    return;
                }
                if steady {
                    self.down_steady = Some(self.down_steady.map_or(number, |it| it.min(number)));
                }
                self.down.push(number, micros(at));
                self.newest.push(number, micros(at));
                let arrivals = self.newest;
                self.say(Channel::Feedback, Body::Ack { echo: sent, arrivals }, 0);
            }
            Body::Ack { echo, arrivals } => {
                for (number, at) in arrivals.iter() {
                    self.up.push(number, at);
                }
                if let Some((number, _)) = arrivals.iter().next() {
                    self.window.on_ack(at, number, rtt(at, echo));
                }
            }
            Body::Stats(stats) => self.stats = Some(stats),
            Body::Hello { .. } | Body::End | Body::Begin => {}
        }
    }

    fn measured(&self) -> SaturationResult {
        let size = u64::from(self.options.size);
        let direction = |record: &ArrivalRecord, steady: Option<u32>, sent: SentStats| {
            let recorded = steady.map(|first| record.recorded(first, size)).unwrap_or_default();
            DirectionResult { recorded, lost_share: record.lost_share(), sent }
        };
        let ClientOptions { up, down, .. } = *self.options;
        SaturationResult {
            problem: None,
            up: up.then(|| direction(&self.up, self.window.steady(), self.window.stats())),
            down: down
                .then(|| direction(&self.down, self.down_steady, self.stats.unwrap_or_default())),
        }
    }
}
