//! The messages of the Saturator (Winstein's thesis, section 2.3.1), which measures cellular links
//! in both directions, with feedback over a separate path. docs/saturator.md describes the format.
//!
//! Every byte of a message is authenticated, and nothing is encrypted, since the content is
//! padding. Hellos and their answers have codes under the secret of the server's key string
//! ([`Codec`]). All other messages have codes under the measurement's keys, which are made from
//! random bytes of both ends, and numbers that are accepted only once ([`SessionCodec`]). To an
//! address that has not proved that it receives there, a server sends only a cookie.

use core::net::{IpAddr, SocketAddr};

use paceline_cc::{Span, Time};
use ring::hmac;

use crate::FormatError;
use crate::bytes::{Reader, Writer};
use crate::cipher::ReplayWindow;
use crate::key::{Key, KeyError, code, random};

const MAGIC: u8 = 0xa1;
/// Messages of this kind and above are numbered and belong to an established measurement.
const COUNTED: u8 = 3;
const VERSION: u8 = 2;
/// Length in bytes of the code at the end of a message.
const CODE: usize = 32;
/// Number of random bytes that each end draws for a measurement.
pub const NONCE: usize = 16;
/// Length of a cookie in bytes.
pub const COOKIE: usize = 40;
/// Largest number of arrivals in an acknowledgement.
pub const ARRIVALS: usize = 16;
/// Length in bytes to which a hello is padded, so that its answer is shorter.
pub const HELLO: usize = 400;
/// Time for which a cookie is valid.
const COOKIE_LIFE: Span = Span::from_millis(10_000);

/// A path between the two ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// The measured link.
    Link,
    /// The path of acknowledgements.
    Feedback,
}

/// The newest arrivals at an end, newest first: numbers, and times in microseconds on its clock.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    list: [(u32, u64); ARRIVALS],
    count: usize,
}

impl Arrivals {
    /// Notes an arrival. Forgets the oldest if there are too many.
    pub fn push(&mut self, number: u32, at: u64) {
        self.list.rotate_right(1);
        self.list[0] = (number, at);
        self.count = (self.count + 1).min(ARRIVALS);
    }
    /// Returns the arrivals, newest first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.list.iter().take(self.count).copied()
    }
}

/// A server's statistics of the data that it sent.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct SentStats {
    /// Packets sent.
    pub sent: u32,
    /// Share of the time, in millionths, during which the round-trip time was in its band, counted
    /// from when it first reached the band.
    pub in_band: u32,
    /// The 50th, 95th and 99th percentile of the round-trip time and the largest, in microseconds.
    pub rtt: [u32; 4],
}

/// Content of a message.
#[expect(clippy::large_enum_variant, reason = "messages are read and answered one at a time")]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A client wants to use this path. Without a valid cookie it gets one.
    Hello {
        /// The path.
        channel: Channel,
        /// True if the client is to saturate the link.
        up: bool,
        /// True if the server is to saturate the link.
        down: bool,
        /// Payload size of data, in bytes.
        size: u16,
        /// Largest number of packets in flight.
        window: u32,
        /// True if the window follows the authors' rule.
        thesis: bool,
        /// The client's random bytes for this measurement.
        nonce: [u8; NONCE],
        /// The cookie; all zeros if the client has none.
        cookie: [u8; COOKIE],
    },
    /// The cookie for this path.
    Retry {
        /// The path.
        channel: Channel,
        /// The cookie.
        cookie: [u8; COOKIE],
    },
    /// The server has registered the client's address on this path.
    Ready {
        /// The path.
        channel: Channel,
        /// The server's random bytes for this measurement.
        nonce: [u8; NONCE],
    },
    /// A packet that fills the link.
    Data {
        /// Number of the packet.
        number: u32,
        /// When it was sent, in microseconds on the sender's clock.
        sent: u64,
        /// True once the round-trip time has reached its band, so that the link is saturated.
        steady: bool,
    },
    /// Acknowledges data.
    Ack {
        /// When the newest packet was sent, copied from it.
        echo: u64,
        /// The newest arrivals.
        arrivals: Arrivals,
    },
    /// The client ends the measurement.
    End,
    /// Answers [`Body::End`].
    Stats(SentStats),
    /// The client has both answers: the server may send data.
    Begin,
}

impl Body {
    /// Returns the path that a message of a measurement takes; `None` for a hello and its answers.
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
    /// Number of the measurement.
    pub session: u64,
    /// Number of the message among those that an end sends on a path; 0 in a hello and its answers.
    pub counter: u64,
    /// The content.
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
    /// Reads a message and returns its length without code and padding. Does not check the code:
    /// see [`Codec::read`].
    ///
    /// # Errors
    /// If the bytes are not a message.
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

    /// Writes a message without its code; returns its length in bytes.
    ///
    /// # Errors
    /// If `bytes` is too short.
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

/// Writes a message, padded to at least `length` bytes, that ends with a code of all bytes before
/// it.
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

/// Reads a message and checks its code.
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
    /// Returns the codec of a client, or of a server, with this key. Each direction has its own
    /// codes, so that a message cannot be sent back.
    pub fn new(key: &Key, client: bool) -> Codec {
        let (up, down) = (key.mac(b"paceline saturate up 2"), key.mac(b"paceline saturate down 2"));
        if client { Codec { seal: up, open: down } } else { Codec { seal: down, open: up } }
    }

    /// Writes a hello or an answer, padded to at least `length` bytes; returns its length.
    ///
    /// # Errors
    /// If `bytes` is too short, or the message belongs to an established measurement.
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
    /// If the bytes are not such a message, or its sender does not have the key.
    pub fn read(&self, bytes: &[u8]) -> Result<Message, FormatError> {
        let message = open(&self.open, bytes)?;
        match message.body.channel() {
            None => Ok(message),
            Some(_) => Err(FormatError::Value { field: "the kind of message", value: 3 }),
        }
    }

    /// Returns the codec of a measurement. Its keys are made from the random bytes of client and
    /// server, so that no message is valid in another measurement.
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

/// Writes the messages of one measurement, and reads those of the other end, accepting each only
/// once.
#[derive(Debug)]
pub struct SessionCodec {
    session: u64,
    seal: hmac::Key,
    open: hmac::Key,
    /// For each path, the number of messages sent, and the numbers received.
    sent: [u64; 2],
    seen: [ReplayWindow; 2],
}

impl SessionCodec {
    /// Writes a message, padded to at least `length` bytes; returns its length.
    ///
    /// # Errors
    /// If `bytes` is too short, or the message is a hello or an answer to one.
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

    /// Reads a message of the other end. Each is accepted only once.
    ///
    /// # Errors
    /// If the bytes are not a message, belong to another measurement, are not authentic, or were
    /// received before.
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

/// Returns the measurement and the path of a message, unless it is a hello or an answer to one.
/// Does not check its code.
pub fn addressed(bytes: &[u8]) -> Option<(u64, Channel)> {
    let (message, _) = Message::read(bytes).ok()?;
    Some((message.session, message.body.channel()?))
}

/// Returns the random bytes of an end for a measurement.
///
/// # Errors
/// If the system gives no random numbers.
pub fn new_nonce() -> Result<[u8; NONCE], KeyError> {
    random()
}

/// Returns the number of a new measurement.
///
/// # Errors
/// If the system gives no random numbers.
pub fn new_session() -> Result<u64, KeyError> {
    random().map(u64::from_be_bytes)
}

/// A server's cookies, which prove that a client receives at its address.
#[derive(Debug)]
pub struct Cookies(hmac::Key);

impl Cookies {
    /// Returns cookies under a fresh secret.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new() -> Result<Cookies, KeyError> {
        Ok(Cookies(hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?)))
    }

    /// Returns the cookie for the present time.
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

    /// Returns true if this cookie was issued for these arguments a short time ago.
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
        // Compares in constant time, by codes of both under a secret key.
        let same = hmac::verify(&self.0, cookie, &code(&self.0, &expected)).is_ok();
        same && issued <= now && now.since(issued) <= COOKIE_LIFE
    }
}

#[cfg(test)]
#[path = "saturator_tests.rs"]
mod tests;
