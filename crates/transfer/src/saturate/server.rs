//! The server of the Saturator: the end in the Internet.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_os::Interrupts;
use paceline_os::RealTimeError;
use paceline_os::udp::{Inbox, Socket};
use paceline_wire::key::Identity;
use paceline_wire::saturator::{
    Arrivals, Body, Channel, Codec, Cookies, Message, NONCE, SessionCodec, addressed, new_nonce,
};

use super::window::{Rule, Window};
use super::{BURST, data, micros, rtt};
use crate::udp::clock::{Clock, wait};
use crate::udp::outbox::Outbox;

/// Maximum number of concurrent measurements.
const SESSIONS: usize = 8;
/// A measurement without a message for this long is over.
const PATIENCE: Span = Span::from_millis(15_000);
/// Maximum payload of a data packet in bytes.
const LARGEST: u16 = 8972;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address at which it listens.
    pub listen: SocketAddr,
    /// The server's keys.
    pub identity: Identity,
    /// True if the server exits after its first measurement.
    pub once: bool,
}

/// An event that a server reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server listens at this address.
    Listening(SocketAddr),
    /// A measurement has begun: the link's address, and the address for acknowledgements.
    Began(SocketAddr, SocketAddr),
    /// A measurement has ended; false if the client has fallen silent.
    Ended(SocketAddr, bool),
}

/// Source address of a hello, and the local address at which it arrived.
type Ends = (SocketAddr, Option<IpAddr>);

struct Session {
    /// Addresses of the link and of the feedback way, each set once the client has shown that it
    /// receives there.
    ways: [Option<SocketAddr>; 2],
    /// Local addresses at which the client's hellos arrived. Answers leave from them.
    locals: [Option<IpAddr>; 2],
    /// This end's random nonce, and the codes derived from it.
    nonce: [u8; NONCE],
    codec: SessionCodec,
    /// True once a message under these codes has arrived. Until then the hello may be a replay.
    stands: bool,
    down: bool,
    size: usize,
    window: Window,
    newest: Arrivals,
    heard: Time,
    ended: bool,
    told: bool,
}

impl Session {
    /// Maximum time without a message.
    fn patience(&self) -> Span {
        if self.ended { PATIENCE / 5 } else { PATIENCE }
    }
}

struct Server {
    codec: Codec,
    cookies: Cookies,
    socket: Socket,
    outbox: Outbox,
    sessions: BTreeMap<u64, Session>,
    events: Vec<Event>,
}

/// Serves until an interrupt or, with `once`, until the first measurement is over. Reports events
/// to `tell`. Returns false if a client has fallen silent.
///
/// # Errors
/// The address is in use, or the system refuses something.
pub fn server(options: &ServerOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, RealTimeError> {
    let fail = |error: paceline_wire::key::KeyError| RealTimeError::Message(error.to_string());
    let mut clock = Clock::start();
    let interrupts = Interrupts::watch()?;
    let mut inbox = Inbox::default();
    let mut server = Server {
        codec: Codec::new(options.identity.key(), false),
        cookies: Cookies::new().map_err(fail)?,
        socket: Socket::bind(options.listen)?,
        outbox: Outbox::new(),
        sessions: BTreeMap::new(),
        events: Vec::new(),
    };
    tell(Event::Listening(server.socket.local()?));
    let mut good = true;
    loop {
        let now = clock.now();
        let until = server.transmit(now);
        if let Some(quiet) = server.forget(now) {
            good &= !quiet;
            if options.once {
                server.events.drain(..).for_each(&mut *tell);
                return Ok(good);
            }
        }
        server.events.drain(..).for_each(&mut *tell);
        let found = wait(&mut clock, until, server.socket.as_fd(), None, &interrupts)?;
        if found.interrupted {
            return Ok(good);
        }
        if found.socket {
            server.receive(&mut clock, &mut inbox)?;
        }
    }
}

impl Server {
    /// Sends the data that the windows allow. Returns when to call it next.
    fn transmit(&mut self, now: Time) -> Time {
        let Server { socket, outbox, sessions, .. } = self;
        let mut until = Time::NEVER;
        for session in sessions.values_mut() {
            until = until.min(session.heard + session.patience());
            let sends = session.down && session.stands && !session.ended;
            let ([Some(to), Some(_)], true) = (session.ways, sends) else {
                continue;
            };
            outbox.leave_from(session.locals[Channel::Link as usize]);
            let to = (to, session.size);
            let Session { window, codec, .. } = session;
            let sent = outbox.send(socket, BURST, |place| data(codec, window, now, to, place));
            until = until.min(if sent == BURST { Time::ZERO } else { window.wake() });
        }
        until
    }

    /// Removes measurements whose client is silent. Returns `None` if there was none, else true if
    /// one of them had not ended properly.
    fn forget(&mut self, now: Time) -> Option<bool> {
        let is_over = |session: &Session| now.since(session.heard) >= session.patience();
        let over: Vec<u64> =
            self.sessions.iter().filter(|(_, it)| is_over(it)).map(|(id, _)| *id).collect();
        let mut quiet = None;
        for session in over.into_iter().filter_map(|id| self.sessions.remove(&id)) {
            // Report only measurements that have begun.
            if let [Some(link), Some(_)] = session.ways {
                quiet = Some(quiet == Some(true) || !session.ended);
                self.events.push(Event::Ended(link, session.ended));
            }
        }
        quiet
    }

    fn receive(&mut self, clock: &mut Clock, inbox: &mut Inbox) -> Result<(), RealTimeError> {
        let (ahead, now) = (clock.ahead(), clock.now());
        let (mut hellos, mut came) = (Vec::new(), Vec::new());
        let Server { socket, codec, sessions, .. } = self;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, Time::ZERO, now);
            for bytes in group.bytes.chunks(group.size) {
                let Some((id, channel)) = addressed(bytes) else {
                    let ends = (group.from, group.local);
                    hellos.extend(codec.read(bytes).ok().map(|hello| (at, ends, hello)));
                    continue;
                };
                // Accept messages only from the address at which the client said hello on this way.
                let Some(session) = sessions.get_mut(&id) else { continue };
                if session.ways[channel as usize] != Some(group.from) {
                    continue;
                }
                if let Ok(body) = session.codec.read(bytes) {
                    came.push((at, id, body));
                }
            }
        })?;
        hellos.into_iter().for_each(|(at, ends, hello)| self.welcome(at, ends, &hello));
        came.into_iter().for_each(|(at, id, body)| self.take(at, id, body));
        Ok(())
    }

    /// Answers a hello.
    fn answer(&mut self, (to, local): Ends, session: u64, body: Body) {
        let mut place = [0; 1024];
        let Ok(length) = self.codec.write(session, body, 0, &mut place) else { return };
        let bytes = place.get(..length).unwrap_or(&[]);
        self.outbox.leave_from(local);
        self.outbox.send_one(&mut self.socket, to, bytes);
    }

    /// Sends a message of a measurement over its feedback way.
    fn say(&mut self, id: u64, body: Body) {
        let mut place = [0; 1024];
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(to) = session.ways[Channel::Feedback as usize] else { return };
        let Ok(length) = session.codec.write(body, 0, &mut place) else { return };
        let bytes = place.get(..length).unwrap_or(&[]);
        self.outbox.leave_from(session.locals[Channel::Feedback as usize]);
        self.outbox.send_one(&mut self.socket, to, bytes);
    }

    fn welcome(&mut self, at: Time, ends: Ends, message: &Message) {
        let from = ends.0;
        let id = message.session;
        let Body::Hello { channel, cookie, .. } = message.body else { return };
        if !self.cookies.is_good(at, from, id, channel, &cookie) {
            let cookie = self.cookies.issue(at, from, id, channel);
            self.answer(ends, id, Body::Retry { channel, cookie });
            return;
        }
        if (self.sessions.contains_key(&id) || self.sessions.len() < SESSIONS)
            && let Some(nonce) = self.meet(at, ends, message)
        {
            self.answer(ends, id, Body::Ready { channel, nonce });
        }
    }

    /// Handles an authentic message of a measurement, which came from the address of its way.
    fn take(&mut self, at: Time, id: u64, body: Body) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.heard = session.heard.max(at);
        session.stands = true;
        match body {
            Body::Data { number, sent, .. } => {
                session.newest.push(number, micros(at));
                let arrivals = session.newest;
                self.say(id, Body::Ack { echo: sent, arrivals });
            }
            Body::Ack { echo, arrivals } => {
                if let Some((number, _)) = arrivals.iter().next() {
                    session.window.on_ack(at, number, rtt(at, echo));
                }
            }
            Body::End => {
                session.ended = true;
                let stats = session.window.stats();
                self.say(id, Body::Stats(stats));
            }
            _ => {}
        }
    }

    /// Notes the address of one way of a measurement, and creates the measurement if it is new.
    /// Returns this end's nonce for it.
    fn meet(&mut self, at: Time, (from, local): Ends, message: &Message) -> Option<[u8; NONCE]> {
        let Body::Hello { channel, down, size, window, thesis, nonce: its, .. } = message.body
        else {
            return None;
        };
        let rule = if thesis { Rule::Thesis } else { Rule::Delivery };
        let nonce = new_nonce().ok()?;
        let codec = &self.codec;
        let session = self.sessions.entry(message.session).or_insert_with(|| Session {
            ways: [None; 2],
            locals: [None; 2],
            nonce,
            codec: codec.session(message.session, &its, &nonce),
            stands: false,
            down,
            size: usize::from(size.min(LARGEST)),
            window: Window::new(at, rule, window),
            newest: Arrivals::default(),
            heard: at,
            ended: false,
            told: false,
        });
        session.heard = session.heard.max(at);
        // Keep the first address: a later hello does not change it.
        if session.ways[channel as usize].is_none() {
            session.ways[channel as usize] = Some(from);
            session.locals[channel as usize] = local;
        }
        if let ([Some(link), Some(feedback)], false) = (session.ways, session.told) {
            session.told = true;
            self.events.push(Event::Began(link, feedback));
        }
        Some(session.nonce)
    }
}

/// The index of each way in [`Session::ways`].
const _: () = assert!(Channel::Link as usize == 0 && Channel::Feedback as usize == 1);
