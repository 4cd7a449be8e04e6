//! The messages of the Saturator (Winstein's thesis, section 2.3.1): a measurement of cellular links in
//! both directions, with feedback by another way. docs/saturator.md has the format.
//!
//! Every byte of a message is authenticated and nothing is encrypted: what is carried is padding. Hellos and
//! their answers have codes under the secret of the server's key string ([`Codec`]). All other messages have codes
//! under keys of the measurement, which random bytes of both ends go into, and a number that is good once
//! ([`SessionCodec`]). A server sends nothing but a cookie to an address that has not shown that it receives there.

use core::net::{IpAddr, SocketAddr};

use paceline_cc::{Span, Time};
use ring::hmac;

use crate::FormatError;
use crate::bytes::{Reader, Writer};
use crate::cipher::ReplayWindow;
use crate::key::{Key, KeyError, code, random};

const MAGIC: u8 = 0xa1;
/// From this kind on, messages are numbered and belong to a measurement that stands.
const COUNTED: u8 = 3;
const VERSION: u8 = 2;
/// Bytes of the code at a message's end.
const CODE: usize = 32;
/// Bytes that each end draws at random for a measurement.
pub const NONCE: usize = 16;
/// Bytes of a cookie.
pub const COOKIE: usize = 40;
/// The most arrivals of an acknowledgement.
pub const ARRIVALS: usize = 16;
/// Bytes that a hello is padded to, so that its answer is shorter.
pub const HELLO: usize = 400;
/// How long a cookie is good for.
const COOKIE_LIFE: Span = Span::from_millis(10_000);

/// A way between the two ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// The link that is measured.
    Link,
    /// The way of acknowledgements.
    Feedback,
}

/// The newest arrivals at an end: numbers and times in microseconds on its clock, the newest first.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    list: [(u32, u64); ARRIVALS],
    count: usize,
}

impl Arrivals {
    /// Notes an arrival; the oldest one is forgotten if there are too many.
    pub fn push(&mut self, number: u32, at: u64) {
        self.list.rotate_right(1);
        self.list[0] = (number, at);
        self.count = (self.count + 1).min(ARRIVALS);
    }
    /// The arrivals, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.list.iter().take(self.count).copied()
    }
}

/// What a server has measured of what it sent.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct SentStats {
    /// Packets sent.
    pub sent: u32,
    /// How much of the time the round-trip time was in its band, in millionths; from the first time on
    /// that it reached the band.
    pub in_band: u32,
    /// The 50th, 95th and 99th percentile of the round-trip time and the largest, in microseconds.
    pub rtt: [u32; 4],
}

/// What a message says.
#[expect(clippy::large_enum_variant, reason = "messages are read and answered one at a time")]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A client wants to use this way; without a cookie it is told one.
    Hello {
        /// Which way.
        channel: Channel,
        /// Whether the client, and the server, shall saturate the link.
        up: bool,
        /// The server's turn.
        down: bool,
        /// Bytes of the payload of data.
        size: u16,
        /// The most packets in flight.
        window: u32,
        /// Whether the window follows the authors' rule.
        thesis: bool,
        /// What the client has drawn at random for this measurement.
        nonce: [u8; NONCE],
        /// The cookie, all zeros if there is none.
        cookie: [u8; COOKIE],
    },
    /// The cookie for this way.
    Retry {
        /// Which way.
        channel: Channel,
        /// The cookie.
        cookie: [u8; COOKIE],
    },
    /// This way is known now.
    Ready {
        /// Which way.
        channel: Channel,
        /// What the server has drawn at random for this measurement.
        nonce: [u8; NONCE],
    },
    /// A packet that fills the link.
    Data {
        /// Counts up by one.
        number: u32,
        /// When it was sent, in microseconds on the sender's clock.
        sent: u64,
        /// True once the round-trip time has reached its band: the link is saturated.
        steady: bool,
    },
    /// Data has arrived.
    Ack {
        /// When the newest packet was sent, as it says.
        echo: u64,
        /// The newest arrivals.
        arrivals: Arrivals,
    },
    /// The client ends the measurement.
    End,
    /// The answer to it.
    Stats(SentStats),
    /// The client has both answers: the server may send data.
    Begin,
}

impl Body {
    /// Returns the way that a message of a measurement takes; `None` for a hello and its answers.
    pub fn channel(&self) -> Option<Channel> {
        match self {
            Body::Hello { .. } | Body::Retry { .. } | Body::Ready { .. } => None,
            Body::Data { .. } => Some(Channel::Link),
            Body::Ack { .. } | Body::End | Body::Stats(_) | Body::Begin => Some(Channel::Feedback),
        }
    }
}

/// A message of a measurement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The measurement.
    pub session: u64,
    /// Counts the messages that an end sends on a way; 0 in a hello and its answers.
    pub counter: u64,
    /// What is said.
    pub body: Body,
}

fn flag(reader: &mut Reader<'_>, field: &'static str) -> Result<bool, FormatError> {
    match reader.u8(field)? {
        value @ (0 | 1) => Ok(value == 1),
        value => Err(FormatError::Value { field, value: u64::from(value) }),
    }
}

fn channel(reader: &mut Reader<'_>) -> Result<Channel, FormatError> {
    flag(reader, "the way").map(|is| if is { Channel::Feedback } else { Channel::Link })
}

impl Message {
    /// Reads a message, and returns its length without code and padding. Nobody has looked at the code
    /// yet: see [`Codec::read`].
    ///
    /// # Errors
    /// The bytes are none.
    pub fn read(bytes: &[u8]) -> Result<(Message, usize), FormatError> {
        let mut reader = Reader::new(bytes);
        match reader.u8("the kind of packet")? {
            MAGIC => {}
            value => {
                let field = "the kind of packet";
                return Err(FormatError::Value { field, value: u64::from(value) });
            }
        }
        match reader.u8("the version")? {
            VERSION => {}
            version => return Err(FormatError::Version(version)),
        }
        let kind = reader.u8("the kind of message")?;
        let session = reader.u64("the session")?;
        let counter = if kind < COUNTED { 0 } else { reader.u64("the message's number")? };
        let body = match kind {
            0 => Body::Hello {
                channel: channel(&mut reader)?,
                up: flag(&mut reader, "a direction")?,
                down: flag(&mut reader, "a direction")?,
                size: reader.u16("the size")?,
                window: reader.u32("the window")?,
                thesis: flag(&mut reader, "the rule")?,
                nonce: reader.array("the random bytes")?,
                cookie: reader.array("the cookie")?,
            },
            1 => {
                Body::Retry { channel: channel(&mut reader)?, cookie: reader.array("the cookie")? }
            }
            2 => {
                let channel = channel(&mut reader)?;
                Body::Ready { channel, nonce: reader.array("the random bytes")? }
            }
            3 => Body::Data {
                number: reader.u32("a number")?,
                sent: reader.u64("a time")?,
                steady: flag(&mut reader, "flags")?,
            },
            4 => {
                let echo = reader.u64("a time")?;
                let count = usize::from(reader.u8("a count")?);
                if count > ARRIVALS {
                    return Err(FormatError::Value { field: "a count", value: count as u64 });
                }
                let mut arrivals = Arrivals { count, ..Arrivals::default() };
                for arrival in arrivals.list.iter_mut().take(count) {
                    *arrival = (reader.u32("a number")?, reader.u64("a time")?);
                }
                Body::Ack { echo, arrivals }
            }
            5 => Body::End,
            6 => {
                let mut stats = SentStats {
                    sent: reader.u32("a count")?,
                    in_band: reader.u32("a share")?,
                    rtt: [0; 4],
                };
                for rtt in &mut stats.rtt {
                    *rtt = reader.u32("a time")?;
                }
                Body::Stats(stats)
            }
            7 => Body::Begin,
            value => {
                let field = "the kind of message";
                return Err(FormatError::Value { field, value: u64::from(value) });
            }
        };
        Ok((Message { session, counter, body }, bytes.len() - reader.rest().len()))
    }

    /// Writes a message without its code; its length.
    ///
    /// # Errors
    /// There is no room.
    pub fn write(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        let mut writer = Writer::new(bytes);
        writer.u8(MAGIC)?;
        writer.u8(VERSION)?;
        writer.u8(match self.body {
            Body::Hello { .. } => 0,
            Body::Retry { .. } => 1,
            Body::Ready { .. } => 2,
            Body::Data { .. } => 3,
            Body::Ack { .. } => 4,
            Body::End => 5,
            Body::Stats(_) => 6,
            Body::Begin => 7,
        })?;
        writer.u64(self.session)?;
        if self.body.channel().is_some() {
            writer.u64(self.counter)?;
        }
        match &self.body {
            Body::Hello { channel, up, down, size, window, thesis, nonce, cookie } => {
                writer.u8(*channel as u8)?;
                writer.u8(u8::from(*up))?;
                writer.u8(u8::from(*down))?;
                writer.u16(*size)?;
                writer.u32(*window)?;
                writer.u8(u8::from(*thesis))?;
                writer.put(nonce)?;
                writer.put(cookie)?;
            }
            Body::Retry { channel, cookie } => {
                writer.u8(*channel as u8)?;
                writer.put(cookie)?;
            }
            Body::Ready { channel, nonce } => {
                writer.u8(*channel as u8)?;
                writer.put(nonce)?;
            }
            Body::Data { number, sent, steady } => {
                writer.u32(*number)?;
                writer.u64(*sent)?;
                writer.u8(u8::from(*steady))?;
            }
            Body::Ack { echo, arrivals } => {
                writer.u64(*echo)?;
                writer.u8(arrivals.count as u8)?;
                for (number, at) in arrivals.iter() {
                    writer.u32(number)?;
                    writer.u64(at)?;
                }
            }
            Body::End | Body::Begin => {}
            Body::Stats(SentStats { sent, in_band, rtt }) => {
                writer.u32(*sent)?;
                writer.u32(*in_band)?;
                rtt.iter().try_for_each(|rtt| writer.u32(*rtt))?;
            }
        }
        Ok(writer.len())
    }
}

/// Writes a message, padded to `length` bytes if it is shorter, with a code of all bytes before it at the end.
fn seal(
    key: &hmac::Key,
    message: &Message,
    length: usize,
    bytes: &mut [u8],
) -> Result<usize, FormatError> {
    let at = message.write(bytes)?;
    let end = length.max(at + CODE);
    let place = bytes.get_mut(..end).ok_or(FormatError::Room("the code"))?;
    let (covered, room) = place.split_last_chunk_mut().ok_or(FormatError::Room("the code"))?;
    covered.get_mut(at..).unwrap_or(&mut []).fill(0);
    *room = code(key, covered);
    Ok(end)
}

/// Reads a message whose code is good.
fn open(key: &hmac::Key, bytes: &[u8]) -> Result<Message, FormatError> {
    let field = "the code";
    let (covered, code) = bytes.split_last_chunk::<CODE>().ok_or(FormatError::Truncated(field))?;
    let (message, _) = Message::read(covered)?;
    hmac::verify(key, covered, code).map_err(|_| FormatError::Value { field, value: 0 })?;
    Ok(message)
}

/// Writes hellos and their answers with their codes, and reads those of the other end.
#[derive(Debug)]
pub struct Codec {
    seal: hmac::Key,
    open: hmac::Key,
}

impl Codec {
    /// The codes of a client (or of a server) that has this key. What goes one way means nothing on the
    /// other.
    pub fn new(key: &Key, client: bool) -> Codec {
        let (up, down) = (key.mac(b"paceline saturate up 2"), key.mac(b"paceline saturate down 2"));
        if client { Codec { seal: up, open: down } } else { Codec { seal: down, open: up } }
    }

    /// Writes a hello or an answer, padded to `length` bytes if it is shorter; its length.
    ///
    /// # Errors
    /// There is no room, or the message belongs to a measurement that stands.
    pub fn write(
        &self,
        session: u64,
        body: Body,
        length: usize,
        bytes: &mut [u8],
    ) -> Result<usize, FormatError> {
        match body.channel() {
            None => seal(&self.seal, &Message { session, counter: 0, body }, length, bytes),
            Some(_) => Err(FormatError::Room("a message of a measurement")),
        }
    }

    /// Reads a hello or an answer of the other end.
    ///
    /// # Errors
    /// The bytes are none, or of somebody who does not have the key.
    pub fn read(&self, bytes: &[u8]) -> Result<Message, FormatError> {
        let message = open(&self.open, bytes)?;
        match message.body.channel() {
            None => Ok(message),
            Some(_) => Err(FormatError::Value { field: "the kind of message", value: 3 }),
        }
    }

    /// Returns the codec of a measurement. Its keys are made of what the client and the server have drawn at
    /// random, so that no message is good in another measurement.
    pub fn session(
        &self,
        session: u64,
        client: &[u8; NONCE],
        server: &[u8; NONCE],
    ) -> SessionCodec {
        let derive = |key: &hmac::Key| {
            let mut context = hmac::Context::with_key(key);
            context.update(b"paceline saturate session");
            context.update(&session.to_be_bytes());
            context.update(client);
            context.update(server);
            hmac::Key::new(hmac::HMAC_SHA256, context.sign().as_ref())
        };
        SessionCodec {
            session,
            seal: derive(&self.seal),
            open: derive(&self.open),
            sent: [0; 2],
            seen: [ReplayWindow::new(), ReplayWindow::new()],
        }
    }
}

/// Writes the messages of one measurement, and reads those of the other end, each of them once.
#[derive(Debug)]
pub struct SessionCodec {
    session: u64,
    seal: hmac::Key,
    open: hmac::Key,
    /// Of each way: how many messages were sent, and which have come.
    sent: [u64; 2],
    seen: [ReplayWindow; 2],
}

impl SessionCodec {
    /// Writes a message, padded to `length` bytes if it is shorter; its length.
    ///
    /// # Errors
    /// There is no room, or it is a hello or an answer to one.
    pub fn write(
        &mut self,
        body: Body,
        length: usize,
        bytes: &mut [u8],
    ) -> Result<usize, FormatError> {
        let channel = body.channel().ok_or(FormatError::Room("a hello"))?;
        let counter = self.sent[channel as usize];
        let message = Message { session: self.session, counter, body };
        let length = seal(&self.seal, &message, length, bytes)?;
        self.sent[channel as usize] += 1;
        Ok(length)
    }

    /// Reads a message of the other end. Each is good once.
    ///
    /// # Errors
    /// The bytes are none, of another measurement, of somebody else, or have come before.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Body, FormatError> {
        let Message { session, counter, body } = open(&self.open, bytes)?;
        let field = "the message's number";
        let channel = body.channel().ok_or(FormatError::Value { field, value: 0 })?;
        let seen = &mut self.seen[channel as usize];
        if session != self.session || !seen.is_new(counter) {
            return Err(FormatError::Value { field, value: counter });
        }
        seen.insert(counter);
        Ok(body)
    }
}

/// Returns the measurement that a message belongs to and the way that it takes, unless it is a hello or an
/// answer to one. Nobody has looked at its code.
pub fn addressed(bytes: &[u8]) -> Option<(u64, Channel)> {
    let (message, _) = Message::read(bytes).ok()?;
    Some((message.session, message.body.channel()?))
}

/// What an end draws at random for a measurement.
///
/// # Errors
/// The system gives no random numbers.
pub fn new_nonce() -> Result<[u8; NONCE], KeyError> {
    random()
}

/// The number of a new measurement.
///
/// # Errors
/// The system gives no random numbers.
pub fn new_session() -> Result<u64, KeyError> {
    random().map(u64::from_be_bytes)
}

/// A server's cookies, which show that somebody receives at an address.
#[derive(Debug)]
pub struct Cookies(hmac::Key);

impl Cookies {
    /// Cookies under a fresh secret.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new() -> Result<Cookies, KeyError> {
        Ok(Cookies(hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?)))
    }

    /// The cookie of this moment.
    pub fn issue(
        &self,
        now: Time,
        from: SocketAddr,
        session: u64,
        channel: Channel,
    ) -> [u8; COOKIE] {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(&now.as_nanos().to_be_bytes());
        match from.ip() {
            IpAddr::V4(ip) => context.update(&ip.octets()),
            IpAddr::V6(ip) => context.update(&ip.octets()),
        }
        context.update(&from.port().to_be_bytes());
        context.update(&session.to_be_bytes());
        context.update(&[channel as u8]);
        let mut cookie = [0; COOKIE];
        cookie[..8].copy_from_slice(&now.as_nanos().to_be_bytes());
        cookie[8..].copy_from_slice(context.sign().as_ref().get(..32).unwrap_or(&[0; 32]));
        cookie
    }

    /// True if this cookie was issued for the same a short time ago.
    pub fn is_good(
        &self,
        now: Time,
        from: SocketAddr,
        session: u64,
        channel: Channel,
        cookie: &[u8; COOKIE],
    ) -> bool {
        let issued = cookie.first_chunk::<8>().map_or(0, |issued| u64::from_be_bytes(*issued));
        let issued = Time::from_nanos(issued);
        let expected = self.issue(issued, from, session, channel);
        // Compared in constant time: by the codes of both under a key that nobody knows.
        let same = hmac::verify(&self.0, cookie, &code(&self.0, &expected)).is_ok();
        same && issued <= now && now.since(issued) <= COOKIE_LIFE
    }
}

#[cfg(test)]
#[path = "saturator_tests.rs"]
mod tests;
