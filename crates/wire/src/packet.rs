//! The outer form of datagrams: a long header during the handshake, a short one afterwards.

use paceline_cc::Header;
use paceline_cc::wire::{HEADER_AT, TRANSPORT, decode_header, encode_header};

use crate::FormatError;
use crate::bytes::{Reader, Writer};

/// Version of the format.
pub const VERSION: u8 = 4;
/// Number of bytes of a short header before the congestion header: kind, connection identifier,
/// number.
pub const SHORT: usize = HEADER_AT;
/// Length of the longest congestion header in bytes.
pub const LONGEST_HEADER: usize = 21;
/// Minimum length of an initiation in bytes. Every answer to it is shorter.
pub const LEAST_INITIATION: usize = 1200;
/// Length of a cookie in bytes.
pub const COOKIE: usize = 40;
/// Length in bytes of the code that authenticates a long header.
pub const MAC: usize = 32;
/// Maximum length in bytes of the Noise message of an initiation or response. With the fields
/// around it, it is shorter than [`LEAST_INITIATION`].
pub const LONGEST_NOISE: usize = 1024;

const INITIATION: u8 = 0x91;
const RESPONSE: u8 = 0x92;
const RETRY: u8 = 0x93;
/// First byte of a client's question whether its server was restarted. The receiver's identifier
/// follows, as in transport packets.
pub const QUESTION: u8 = 0x42;

/// Position of the server's number in a transport packet: the second byte of the receiver's
/// identifier.
pub const SERVER_NUMBER_AT: usize = 2;

/// Returns which of several servers that share an address (`Server::numbered`) a datagram is for.
/// `None` if it is neither a packet of a connection nor a [`QUESTION`], so that each of them may take it.
#[inline]
pub fn server_number(datagram: &[u8]) -> Option<u8> {
    if !matches!(datagram.first(), Some(&(TRANSPORT | QUESTION))) {
        return None;
    }
    datagram.get(SERVER_NUMBER_AT).copied()
}

/// Returns a packet number without the epoch of its keys, which is in the first of its eight bytes.
#[inline]
pub fn count(number: u64) -> u64 {
    number & ((1 << 56) - 1)
}

/// A packet, as far as it is readable without a key.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Packet<'a> {
    /// A client asks for a connection.
    Initiation(Initiation<'a>),
    /// A server accepts or refuses a connection.
    Response(Response<'a>),
    /// A server asks the client to prove its address before the server does any work.
    Retry(Retry<'a>),
    /// A packet of a connection.
    Transport(Transport<'a>),
}

/// The first packet of a connection.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Initiation<'a> {
    /// Identifier by which the initiator wants to be addressed.
    pub sender: u32,
    /// Cookie of a retry, if one was received.
    pub cookie: Option<&'a [u8; COOKIE]>,
    /// First Noise message.
    pub noise: &'a [u8],
    /// All bytes that `mac` covers.
    pub covered: &'a [u8],
    /// Code that only owners of the server's key string can make.
    pub mac: &'a [u8; MAC],
}

impl Initiation<'_> {
    /// Returns the length of the whole datagram in bytes, without IP and UDP headers: the path has
    /// carried this length.
    pub fn length(&self) -> usize {
        self.covered.len() + MAC
    }
}

/// The answer to an initiation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// Identifier of the initiator.
    pub receiver: u32,
    /// Identifier by which the responder wants to be addressed.
    pub sender: u32,
    /// The second Noise message.
    pub noise: &'a [u8],
}

/// A server's request to repeat the initiation with a cookie.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Retry<'a> {
    /// Identifier of the initiator.
    pub receiver: u32,
    /// The cookie.
    pub cookie: &'a [u8; COOKIE],
    /// All bytes that `mac` covers.
    pub covered: &'a [u8],
    /// Code that only owners of the server's key string can make.
    pub mac: &'a [u8; MAC],
}

/// A packet of a connection.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Transport<'a> {
    /// Identifier of the connection at the receiving end.
    pub receiver: u32,
    /// Epoch of its keys in the first byte, then the packet's number, which is unique in this
    /// direction ([`count`]).
    pub number: u64,
    /// Congestion header, which routers may have changed.
    pub header: Header,
    /// Bytes that are authenticated besides the payload.
    pub covered: &'a [u8],
    /// Position of the encrypted frames.
    pub payload_at: usize,
}

impl<'a> Packet<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// If it is not a packet of this version.
    pub fn read(bytes: &'a [u8]) -> Result<Packet<'a>, FormatError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8("the kind")?;
        if kind == TRANSPORT {
            return Transport::read(bytes, reader).map(Packet::Transport);
        }
        if !matches!(kind, INITIATION | RESPONSE | RETRY) {
            return Err(FormatError::Value { field: "the kind", value: u64::from(kind) });
        }
        match reader.u8("the version")? {
            VERSION => {}
            other => return Err(FormatError::Version(other)),
        }
        match kind {
            INITIATION => Initiation::read(bytes, reader).map(Packet::Initiation),
            RETRY => Retry::read(bytes, reader).map(Packet::Retry),
            _ => {
                let receiver = reader.u32("the receiver")?;
                let sender = reader.u32("the sender")?;
                let noise = noise(&mut reader)?;
                Ok(Packet::Response(Response { receiver, sender, noise }))
            }
        }
    }
}

/// Reads a Noise message with its length before it.
fn noise<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], FormatError> {
    let length = usize::from(reader.u16("the length of the handshake")?);
    if length > LONGEST_NOISE {
        let field = "the length of the handshake";
        return Err(FormatError::Value { field, value: length as u64 });
    }
    reader.take(length, "the handshake")
}

/// Returns the bytes before those left to read.
fn before<'a>(bytes: &'a [u8], reader: &Reader<'_>) -> &'a [u8] {
    bytes.get(..bytes.len() - reader.rest().len()).unwrap_or(bytes)
}

fn fixed<'a, const N: usize>(
    reader: &mut Reader<'a>,
    field: &'static str,
) -> Result<&'a [u8; N], FormatError> {
    reader.take(N, field)?.first_chunk::<N>().ok_or(FormatError::Truncated(field))
}

impl<'a> Initiation<'a> {
    fn read(bytes: &'a [u8], mut reader: Reader<'a>) -> Result<Initiation<'a>, FormatError> {
        if bytes.len() < LEAST_INITIATION {
            return Err(FormatError::Truncated("an initiation"));
        }
        let sender = reader.u32("the sender")?;
        let cookie = match reader.u8("the length of the cookie")? {
            0 => None,
            length if usize::from(length) == COOKIE => Some(fixed(&mut reader, "the cookie")?),
            other => {
                let field = "the length of the cookie";
                return Err(FormatError::Value { field, value: u64::from(other) });
            }
        };
        let noise = noise(&mut reader)?;
        // Padding, up to the code at the end.
        let padding = reader.rest().len().checked_sub(MAC);
        reader.take(padding.ok_or(FormatError::Truncated("the code"))?, "padding")?;
        let covered = before(bytes, &reader);
        let mac = fixed(&mut reader, "the code")?;
        Ok(Initiation { sender, cookie, noise, covered, mac })
    }

    /// Writes an initiation, padded to `length` bytes; `mac` makes the code of the bytes that it
    /// gets.
    ///
    /// # Errors
    /// If `bytes` is too short, or the message is too long.
    pub fn write(
        sender: u32,
        cookie: Option<&[u8; COOKIE]>,
        noise: &[u8],
        mac: impl FnOnce(&[u8]) -> [u8; MAC],
        length: usize,
        bytes: &mut [u8],
    ) -> Result<usize, FormatError> {
        let length = length.max(LEAST_INITIATION);
        let place = bytes.get_mut(..length).ok_or(FormatError::Room("an initiation"))?;
        place.fill(0);
        let mut writer = Writer::new(place);
        writer.put(&[INITIATION, VERSION])?;
        writer.u32(sender)?;
        writer.u8(if cookie.is_some() { COOKIE as u8 } else { 0 })?;
        writer.put(cookie.map_or(&[], |cookie| &cookie[..]))?;
        write_noise(&mut writer, noise)?;
        let written = writer.len();
        let (covered, room) = place.split_last_chunk_mut::<MAC>().ok_or(FormatError::Room("it"))?;
        if written > covered.len() {
            return Err(FormatError::Room("the code"));
        }
        *room = mac(covered);
        Ok(length)
    }
}

fn write_noise(writer: &mut Writer<'_>, noise: &[u8]) -> Result<(), FormatError> {
    if noise.len() > LONGEST_NOISE {
        return Err(FormatError::Room("the handshake"));
    }
    writer.u16(noise.len() as u16)?;
    writer.put(noise)
}

impl<'a> Retry<'a> {
    fn read(bytes: &'a [u8], mut reader: Reader<'a>) -> Result<Retry<'a>, FormatError> {
        let receiver = reader.u32("the receiver")?;
        let cookie = fixed(&mut reader, "the cookie")?;
        let covered = before(bytes, &reader);
        let mac = fixed(&mut reader, "the code")?;
        Ok(Retry { receiver, cookie, covered, mac })
    }

    /// Writes a retry; `mac` makes the code of the bytes that it gets.
    ///
    /// # Errors
    /// If `bytes` is too short.
    pub fn write(
        receiver: u32,
        cookie: &[u8; COOKIE],
        mac: impl FnOnce(&[u8]) -> [u8; MAC],
        bytes: &mut [u8],
    ) -> Result<usize, FormatError> {
        let mut writer = Writer::new(bytes);
        writer.put(&[RETRY, VERSION])?;
        writer.u32(receiver)?;
        writer.put(cookie)?;
        let end = writer.len();
        let code = mac(bytes.get(..end).unwrap_or(&[]));
        let room = bytes.get_mut(end..end + MAC).ok_or(FormatError::Room("the code"))?;
        room.copy_from_slice(&code);
        Ok(end + MAC)
    }
}

impl Response<'_> {
    /// Writes a response.
    ///
    /// # Errors
    /// If `bytes` is too short, or the message is too long.
    pub fn write(&self, bytes: &mut [u8]) -> Result<usize, FormatError> {
        let mut writer = Writer::new(bytes);
        writer.put(&[RESPONSE, VERSION])?;
        writer.u32(self.receiver)?;
        writer.u32(self.sender)?;
        write_noise(&mut writer, self.noise)?;
        Ok(writer.len())
    }
}

impl<'a> Transport<'a> {
    fn read(bytes: &'a [u8], mut reader: Reader<'a>) -> Result<Transport<'a>, FormatError> {
        let receiver = reader.u32("the receiver")?;
        let number = reader.u64("the number")?;
        let (header, length) = decode_header(reader.rest()).map_err(|_| FormatError::Value {
            field: "the congestion header",
            value: u64::from(reader.rest().first().copied().unwrap_or(0)),
        })?;
        let covered = bytes.get(..SHORT).unwrap_or(bytes);
        Ok(Transport { receiver, number, header, covered, payload_at: SHORT + length })
    }

    /// Writes a header and returns the position of the payload.
    ///
    /// # Errors
    /// If `bytes` is too short.
    pub fn write(
        receiver: u32,
        number: u64,
        header: &Header,
        bytes: &mut [u8],
    ) -> Result<usize, FormatError> {
        let mut writer = Writer::new(bytes);
        writer.u8(TRANSPORT)?;
        writer.u32(receiver)?;
        writer.u64(number)?;
        let rest = bytes.get_mut(SHORT..).unwrap_or(&mut []);
        let length =
            encode_header(header, rest).map_err(|_| FormatError::Room("the congestion header"))?;
        Ok(SHORT + length)
    }
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
