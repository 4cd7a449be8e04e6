//! The end in the Internet.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;

use paceline_cc::{Span, Time};
use paceline_wire::key::Identity;
use paceline_wire::saturator::{Arrivals, Body, Channel, Codec, Cookies, Message};

use super::window::{Rule, Window};
use super::{BURST, data, micros, rtt};
use crate::Interrupts;
use crate::LiveError;
use crate::linux::udp::{Inbox, Socket};
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

struct Session {
    /// Of the link and of acknowledgements, once the client has shown that it receives there.
    ways: [Option<SocketAddr>; 2],
    down: bool,
    size: usize,
    window: Window,
    newest: Arrivals,
    heard: Time,
    ended: bool,
    told: bool,
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
        let Server { codec, socket, outbox, sessions, .. } = self;
        let mut until = Time::NEVER;
        for (id, session) in sessions.iter_mut() {
            until = until.min(session.heard + PATIENCE);
            let ([Some(to), Some(_)], true, false) = (session.ways, session.down, session.ended)
            else {
                continue;
            };
            let to = (*id, to, session.size);
            let window = &mut session.window;
            let sent = outbox.send(socket, BURST, |place| data(codec, window, now, to, place));
            until = until.min(if sent == BURST { Time::ZERO } else { window.wake() });
        }
        until
    }

    /// Forgets measurements of which nothing is heard any more. If one was, true unless it had ended.
    fn forget(&mut self, now: Time) -> Option<bool> {
        let is_over = |session: &Session| {
            let patience = if session.ended { PATIENCE / 5 } else { PATIENCE };
            now.since(session.heard) >= patience
        };
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
        let mut came = Vec::new();
        let Server { socket, codec, .. } = self;
        socket.receive(inbox, |group| {
            let at = clock.of_stamp(group.stamp, ahead, Time::ZERO, now);
            let messages = group.bytes.chunks(group.size).filter_map(|it| codec.read(it).ok());
            came.extend(messages.map(|message| (at, group.from, message)));
        })?;
        came.into_iter().for_each(|(at, from, message)| self.take(at, from, &message));
        Ok(())
    }

    fn say(&mut self, to: SocketAddr, session: u64, body: Body) {
        let mut place = [0; 1024];
        let Ok(length) = self.codec.write(&Message { session, body }, 0, &mut place) else {
            return;
        };
        let bytes = place.get(..length).unwrap_or(&[]);
        self.outbox.send_one(&mut self.socket, to, bytes);
    }

    fn take(&mut self, at: Time, from: SocketAddr, message: &Message) {
        let id = message.session;
        if let Body::Hello { channel, cookie, .. } = message.body {
            if !self.cookies.is_good(at, from, id, channel, &cookie) {
                let cookie = self.cookies.issue(at, from, id, channel);
                self.say(from, id, Body::Retry { channel, cookie });
                return;
            }
            if self.sessions.contains_key(&id) || self.sessions.len() < SESSIONS {
                self.meet(at, from, message);
                self.say(from, id, Body::Ready { channel });
            }
            return;
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.heard = session.heard.max(at);
        match message.body {
            Body::Data { number, sent, .. } => {
                session.newest.push(number, micros(at));
                let arrivals = session.newest;
                if let Some(to) = session.ways[1] {
                    self.say(to, id, Body::Ack { echo: sent, arrivals });
                }
            }
            Body::Ack { echo, arrivals } => {
                if let Some((number, _)) = arrivals.iter().next() {
                    session.window.on_ack(at, number, rtt(at, echo));
                }
            }
            Body::End => {
                session.ended = true;
                let stats = session.window.stats();
                self.say(from, id, Body::Stats(stats));
            }
            _ => {}
        }
    }

    /// Notes the address of a way of a measurement, which may be a new one.
    fn meet(&mut self, at: Time, from: SocketAddr, message: &Message) {
        let Body::Hello { channel, down, size, window, thesis, .. } = message.body else { return };
        let rule = if thesis { Rule::Thesis } else { Rule::Delivery };
        let session = self.sessions.entry(message.session).or_insert_with(|| Session {
            ways: [None; 2],
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
        session.ways[channel as usize].get_or_insert(from);
        if let ([Some(link), Some(feedback)], false) = (session.ways, session.told) {
            session.told = true;
            self.events.push(Event::Began(link, feedback));
        }
    }
}

/// Which of the two ways has which place in [`Session::ways`].
const _: () = assert!(Channel::Link as usize == 0 && Channel::Feedback as usize == 1);
