//! The messages of the Saturator (Winstein's thesis, section 2.3.1): a measurement of cellular links in
//! both directions, with feedback by another way. docs/wire.md has the format.
//!
//! Everything is authenticated by the secret of the server's key string and nothing is encrypted: what
//! is carried is padding. A server sends nothing but a cookie to an address that has not shown that it
//! receives there.

use core::net::{IpAddr, SocketAddr};

use paceline_cc::{Span, Time};
use ring::hmac;

use crate::FormatError;
use crate::bytes::{Reader, Writer};
use crate::key::{Key, KeyError, code, random};

const MAGIC: u8 = 0xa1;
const VERSION: u8 = 1;
/// Bytes of the code at a message's end, before padding.
const CODE: usize = 32;
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
}

/// A message of a measurement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The measurement.
    pub session: u64,
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
        let body = match kind {
            0 => Body::Hello {
                channel: channel(&mut reader)?,
                up: flag(&mut reader, "a direction")?,
                down: flag(&mut reader, "a direction")?,
                size: reader.u16("the size")?,
                window: reader.u32("the window")?,
                thesis: flag(&mut reader, "the rule")?,
                cookie: reader.array("the cookie")?,
            },
            1 => {
                Body::Retry { channel: channel(&mut reader)?, cookie: reader.array("the cookie")? }
            }
            2 => Body::Ready { channel: channel(&mut reader)? },
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
            value => {
                let field = "the kind of message";
                return Err(FormatError::Value { field, value: u64::from(value) });
            }
        };
        Ok((Message { session, body }, bytes.len() - reader.rest().len()))
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
        })?;
        writer.u64(self.session)?;
        match &self.body {
            Body::Hello { channel, up, down, size, window, thesis, cookie } => {
                writer.u8(*channel as u8)?;
                writer.u8(u8::from(*up))?;
                writer.u8(u8::from(*down))?;
                writer.u16(*size)?;
                writer.u32(*window)?;
                writer.u8(u8::from(*thesis))?;
                writer.put(cookie)?;
            }
            Body::Retry { channel, cookie } => {
                writer.u8(*channel as u8)?;
                writer.put(cookie)?;
            }
            Body::Ready { channel } => writer.u8(*channel as u8)?,
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
            Body::End => {}
            Body::Stats(SentStats { sent, in_band, rtt }) => {
                writer.u32(*sent)?;
                writer.u32(*in_band)?;
                rtt.iter().try_for_each(|rtt| writer.u32(*rtt))?;
            }
        }
        Ok(writer.len())
    }
}

/// Writes messages with their codes, and reads those of the other end.
#[derive(Debug)]
pub struct Codec {
    seal: hmac::Key,
    open: hmac::Key,
}

impl Codec {
    /// The codes of a client (or of a server) that has this key. What goes one way means nothing on the
    /// other.
    pub fn new(key: &Key, client: bool) -> Codec {
        let (up, down) = (key.mac(b"paceline saturate up"), key.mac(b"paceline saturate down"));
        if client { Codec { seal: up, open: down } } else { Codec { seal: down, open: up } }
    }

    /// Writes a message, padded to `length` bytes if it is shorter; its length.
    ///
    /// # Errors
    /// There is no room.
    pub fn write(
        &self,
        message: &Message,
        length: usize,
        bytes: &mut [u8],
    ) -> Result<usize, FormatError> {
        let at = message.write(bytes)?;
        let (covered, rest) = bytes.split_at_mut(at);
        let code = code(&self.seal, covered);
        rest.get_mut(..CODE).ok_or(FormatError::Room("the code"))?.copy_from_slice(&code);
        let end = length.max(at + CODE);
        bytes.get_mut(at + CODE..end).ok_or(FormatError::Room("padding"))?.fill(0);
        Ok(end)
    }

    /// Reads a message of the other end.
    ///
    /// # Errors
    /// The bytes are none, or of somebody who does not have the key.
    pub fn read(&self, bytes: &[u8]) -> Result<Message, FormatError> {
        let (message, at) = Message::read(bytes)?;
        let field = "the code";
        let code = bytes.get(at..at + CODE).ok_or(FormatError::Truncated(field))?;
        let covered = bytes.get(..at).unwrap_or(&[]);
        hmac::verify(&self.open, covered, code)
            .map_err(|_| FormatError::Value { field, value: 0 })?;
        Ok(message)
    }
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
mod tests {
    use super::*;
    use crate::key::Identity;

    fn all() -> Vec<Body> {
        let mut arrivals = Arrivals::default();
        (0..20).for_each(|i| arrivals.push(i, 1000 + u64::from(i)));
        let channel = Channel::Feedback;
        let cookie = [7; COOKIE];
        vec![
            Body::Hello {
                channel,
                up: true,
                down: false,
                size: 1472,
                window: 1500,
                thesis: true,
                cookie,
            },
            Body::Retry { channel: Channel::Link, cookie },
            Body::Ready { channel },
            Body::Data { number: 9, sent: 1 << 40, steady: true },
            Body::Ack { echo: 77, arrivals },
            Body::End,
            Body::Stats(SentStats { sent: 1, in_band: 950_000, rtt: [1, 2, 3, 4] }),
        ]
    }

    #[test]
    fn messages_come_back_and_only_from_the_other_end() {
        let key = Identity::generate().expect("random numbers").key().clone();
        let other = Identity::generate().expect("random numbers").key().clone();
        let (client, server) = (Codec::new(&key, true), Codec::new(&key, false));
        for body in all() {
            let message = Message { session: 5, body };
            let mut bytes = vec![1; 1472];
            let length = client.write(&message, HELLO, &mut bytes).expect("room");
            assert!(length >= HELLO);
            assert_eq!(server.read(&bytes[..length]), Ok(message));
            assert!(client.read(&bytes[..length]).is_err(), "a reflected message");
            assert!(Codec::new(&other, false).read(&bytes[..length]).is_err());
            let (_, at) = Message::read(&bytes).expect("a message");
            (0..at + CODE).for_each(|short| assert!(server.read(&bytes[..short]).is_err()));
            (0..at + CODE).for_each(|at| {
                bytes[at] ^= 1;
                assert!(server.read(&bytes[..length]).is_err(), "{message:?}, byte {at}");
                bytes[at] ^= 1;
            });
        }
    }

    #[test]
    fn answers_are_shorter_than_questions() {
        let key = Identity::generate().expect("random numbers").key().clone();
        let server = Codec::new(&key, false);
        for body in [all()[1], all()[2]] {
            let length = server.write(&Message { session: 5, body }, 0, &mut [0; 600]);
            assert!(length.is_ok_and(|length| length < HELLO));
        }
    }

    #[test]
    fn arrivals_are_the_newest() {
        let Body::Ack { arrivals, .. } = all()[4] else { panic!("an acknowledgement") };
        let numbers: Vec<u32> = arrivals.iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, (4..20).rev().collect::<Vec<_>>());
    }

    #[test]
    fn cookies_are_for_one_address_and_some_seconds() {
        let cookies = Cookies::new().expect("random numbers");
        let from = SocketAddr::from(([192, 0, 2, 1], 4000));
        let now = Time::from_secs(100);
        let cookie = cookies.issue(now, from, 5, Channel::Link);
        let good =
            |now, from, session, channel| cookies.is_good(now, from, session, channel, &cookie);
        assert!(good(Time::from_secs(110), from, 5, Channel::Link));
        assert!(!good(Time::from_secs(111), from, 5, Channel::Link));
        assert!(!good(Time::from_secs(99), from, 5, Channel::Link));
        assert!(!good(now, SocketAddr::from(([192, 0, 2, 1], 4001)), 5, Channel::Link));
        assert!(!good(now, from, 6, Channel::Link) && !good(now, from, 5, Channel::Feedback));
    }
}
