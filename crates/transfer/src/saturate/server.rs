//! The end in the Internet.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_os::Interrupts;
use paceline_os::LiveError;
use paceline_os::udp::{Inbox, Socket};
use paceline_wire::key::Identity;
use paceline_wire::saturator::{
    Arrivals, Body, Channel, Codec, Cookies, Message, NONCE, SessionCodec, addressed, new_nonce,
};

use super::window::{Rule, Window};
use super::{BURST, data, micros, rtt};
use crate::udp::clock::{Clock, wait};
use crate::udp::outbox::Outbox;

/// The most measurements at once.
const SESSIONS: usize = 8;
/// After so long without a message a measurement is over.
const PATIENCE: Span = Span::from_millis(15_000);
/// The largest payload of data.
const LARGEST: u16 = 8972;

/// What a server shall do.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its keys.
    pub identity: Identity,
    /// True if it ends with its first measurement.
    pub once: bool,
}

/// Something that a server has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is ready, at this address.
    Listening(SocketAddr),
    /// A measurement begins: the link's address, and that of acknowledgements.
    Began(SocketAddr, SocketAddr),
    /// A measurement is over; false if the client has fallen silent.
    Ended(SocketAddr, bool),
}

/// Where a hello came from, and the address of this machine that it came to.
type Ends = (SocketAddr, Option<IpAddr>);

struct Session {
    /// Of the link and of acknowledgements, once the client has shown that it receives there.
    ways: [Option<SocketAddr>; 2],
    /// The addresses of this machine at which the client asked, by which answers leave.
    locals: [Option<IpAddr>; 2],
    /// What this end has drawn at random, and the codes that follow from it.
    nonce: [u8; NONCE],
    codec: SessionCodec,
    /// True once a message under these codes has come: before, a hello may be one that is played again.
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
    /// How long nothing may come.
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

/// Serves until it is interrupted, or, with `once`, until its first measurement is over. `tell` is told
/// what happens. Returns false if a client has fallen silent.
///
/// # Errors
/// The address is taken, or the system refuses something.
pub fn server(options: &ServerOptions, tell: &mut dyn FnMut(Event)) -> Result<bool, LiveError> {
    let fail = |error: paceline_wire::key::KeyError| LiveError::Message(error.to_string());
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
    /// Sends the data that may leave; until when there is nothing more to do.
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

    /// Forgets measurements of which nothing is heard any more. If one was, true unless it had ended.
    fn forget(&mut self, now: Time) -> Option<bool> {
        let is_over = |session: &Session| now.since(session.heard) >= session.patience();
        let over: Vec<u64> =
            self.sessions.iter().filter(|(_, it)| is_over(it)).map(|(id, _)| *id).collect();
        let mut quiet = None;
        for session in over.into_iter().filter_map(|id| self.sessions.remove(&id)) {
            // One that has never begun is nobody's.
            if let [Some(link), Some(_)] = session.ways {
                quiet = Some(quiet == Some(true) || !session.ended);
                self.events.push(Event::Ended(link, session.ended));
            }
        }
        quiet
    }

    fn receive(&mut self, clock: &mut Clock, inbox: &mut Inbox) -> Result<(), LiveError> {
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
                // A way has the address at which the client said hello.
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

    /// Sends a message of a measurement on its way of acknowledgements.
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

    /// Takes in an authentic message of a measurement, from the address of its way.
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

    /// Notes the address of a way of a measurement, which may be a new one. Returns what this end has drawn at
    /// random for it.
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
        // Addresses stay as they were at first.
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

/// Which of the two ways has which place in [`Session::ways`].
const _: () = assert!(Channel::Link as usize == 0 && Channel::Feedback as usize == 1);
