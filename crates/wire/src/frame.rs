//! The frames in the payload of a transport packet.

use paceline_cc::wire::{LONGEST, decode_report, encode_report};
use paceline_cc::{ACK_BLOCKS, ACK_RANGES, Ack, Ecn, NO_SEGMENT, Report, Time};

use crate::FormatError;
use crate::bytes::{Reader, Writer};

/// Number of bytes of a data frame before its data.
pub const DATA: usize = 21;
/// Number of bytes, before its data, of a frame with a part of a segment.
pub const PART: usize = DATA + 4;
/// Number of bytes, before its data, of a frame with a part of a datagram.
pub const DATAGRAM_PART: usize = DATA + 2;
/// Largest number of parts of a datagram.
pub const MOST_DATAGRAM_PARTS: u8 = 64;
/// Largest length of a message or reason in bytes.
pub const LONGEST_MESSAGE: usize = 1024;

const PADDING: u8 = 0;
const STREAM: u8 = 1;
const FILLER: u8 = 2;
const DATAGRAM: u8 = 3;
const ACK: u8 = 4;
const REPORT: u8 = 5;
const MESSAGE: u8 = 6;
const MESSAGE_ACK: u8 = 7;
const PING: u8 = 8;
const PONG: u8 = 9;
const CHALLENGE: u8 = 10;
const ANSWER: u8 = 11;
const CLOSE: u8 = 12;
const PART_OF: u8 = 13;
const PART_OF_DATAGRAM: u8 = 14;
const CREDIT: u8 = 15;
const CREDIT_SPENT: u8 = 16;
const NEW_KEYS: u8 = 17;
const NEW_KEYS_ANSWER: u8 = 18;

const NUMBER_LIMIT: u64 = 1 << 48;
const SEGMENT_LIMIT: u64 = 1 << 56;

/// The content of a data frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of the stream; segments are in the stream's order.
    Stream,
    /// No data: the sender only needs a packet.
    Filler,
    /// A whole datagram of the application.
    Datagram,
    /// A part of a datagram that is longer than a packet. The parts of one datagram are consecutive
    /// segments.
    DatagramPart {
        /// Number of parts before this one, below `count`.
        index: u8,
        /// Number of parts of the datagram: 2 to [`MOST_DATAGRAM_PARTS`].
        count: u8,
    },
}

/// A data frame: the last frame of its packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Kind of the data.
    pub kind: Kind,
    /// Transmission number (see [`paceline_cc::Data::number`]), below 2⁴⁸.
    pub number: u64,
    /// Segment, below 2⁵⁶ − 1, or [`NO_SEGMENT`].
    pub segment: u64,
    /// Classic ECN's CWR flag.
    pub cwr: bool,
    /// When it was sent, on the sender's clock, in microseconds modulo 2⁴⁸.
    pub sent: u64,
    /// The data.
    pub bytes: &'a [u8],
}

/// A part of a segment of the stream that is longer than the path's packets have become: the last
/// frame of its packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Fields of all data frames, with the bytes of this part; the kind is [`Kind::Stream`].
    pub data: Data<'a>,
    /// Position of the part in the segment, in bytes.
    pub offset: u16,
    /// Length of the whole segment in bytes.
    pub total: u16,
}

/// Largest number of bytes of older ranges: each takes up to 16, for a gap and a length.
pub const OLDER_RANGES: usize = (ACK_RANGES - ACK_BLOCKS) * 16;

/// The ranges of numbers below the blocks of an acknowledgement, newest first: an iterator over the
/// first and the last number of each. It ends before a range that would begin below number 0.
#[derive(Copy, Clone, Debug)]
pub struct OlderRanges<'a> {
    /// For each range, the gap above it and its length.
    bytes: &'a [u8],
    count: u8,
    /// First number of the range before.
    above: u64,
}

impl<'a> OlderRanges<'a> {
    /// Writes the `ranges` below the blocks of `ack` into `place`.
    pub fn new(
        ack: &Ack,
        ranges: impl Iterator<Item = (u64, u64)>,
        place: &'a mut [u8; OLDER_RANGES],
    ) -> OlderRanges<'a> {
        let lowest = ack.blocks().last().map_or(0, |(first, _)| first);
        let (mut above, mut count) = (lowest, 0);
        let mut writer = Writer::new(place);
        for (first, last) in ranges.take(ACK_RANGES - ACK_BLOCKS) {
            let (gap, length) = (above.saturating_sub(last + 1), last - first + 1);
            if writer.varint(gap).and_then(|()| writer.varint(length)).is_err() {
                break;
            }
            above = first;
            count += 1;
        }
        let length = writer.len();
        OlderRanges { bytes: place.get(..length).unwrap_or(&[]), count, above: lowest }
    }
}

impl Iterator for OlderRanges<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        self.count = self.count.checked_sub(1)?;
        let mut reader = Reader::new(self.bytes);
        let (gap, length) = (reader.varint("a gap").ok()?, reader.varint("a length").ok()?);
        self.bytes = reader.rest();
        let end = self.above.checked_sub(gap)?;
        self.above = end.checked_sub(length)?;
        (length > 0).then(|| (self.above, end - 1))
    }
}

/// A frame.
#[derive(Copy, Clone, Debug)]
pub enum Frame<'a> {
    /// Data.
    Data(Data<'a>),
    /// A part of a segment.
    Part(Part<'a>),
    /// An acknowledgement of data frames, and the ranges of numbers below its blocks.
    Ack(Ack, OlderRanges<'a>),
    /// A report of the receiver's half of the scheme.
    Report(Report),
    /// A message: delivered in order and exactly once.
    Message {
        /// Its number, one more than that of the message before.
        number: u32,
        /// Its content.
        bytes: &'a [u8],
    },
    /// Acknowledges all messages below this number.
    MessageAck(u32),
    /// Asks for a [`Frame::Pong`] with this number.
    Ping(u32),
    /// Answers the [`Frame::Ping`] with this number.
    Pong(u32),
    /// Asks the host at an address to show that it receives there.
    Challenge([u8; 8]),
    /// Answers a challenge with its bytes.
    Answer([u8; 8]),
    /// Ends the connection.
    Close {
        /// 0 for a normal end.
        code: u16,
        /// Reason in words.
        reason: &'a str,
    },
    /// Grants the bytes of the stream below this offset (RFC 9000's MAX_DATA).
    Credit(u64),
    /// Asks for [`Frame::Credit`]: data waits beyond this offset, up to which the other end has
    /// granted (RFC 9000's DATA_BLOCKED).
    CreditSpent(u64),
    /// Starts a change of keys.
    NewKeys {
        /// Epoch of the new keys: the one after this packet's.
        epoch: u8,
        /// Public half of a fresh X25519 key.
        public: [u8; 32],
    },
    /// Answers [`Frame::NewKeys`].
    NewKeysAnswer {
        /// Epoch of the new keys.
        epoch: u8,
        /// Public half of a fresh X25519 key.
        public: [u8; 32],
    },
}

/// Reads the frames of a payload one after the other. The reader must stop at the first error.
pub struct Frames<'a> {
    reader: Reader<'a>,
}

impl<'a> Frames<'a> {
    /// Returns the frames of a decrypted payload.
    pub fn new(payload: &'a [u8]) -> Frames<'a> {
        Frames { reader: Reader::new(payload) }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.reader.rest().first() == Some(&PADDING) {
            let padding = self.reader.rest().iter().take_while(|byte| **byte == PADDING).count();
            let _ = self.reader.take(padding, "padding");
        }
        if self.reader.is_empty() {
            return None;
        }
        let frame = read(&mut self.reader);
        if frame.is_err() {
            self.reader = Reader::new(&[]);
        }
        Some(frame)
    }
}

fn read<'a>(reader: &mut Reader<'a>) -> Result<Frame<'a>, FormatError> {
    let kind = reader.u8("the kind of frame")?;
    Ok(match kind {
        STREAM => Frame::Data(data(Kind::Stream, reader)?),
        FILLER => Frame::Data(data(Kind::Filler, reader)?),
        DATAGRAM => Frame::Data(data(Kind::Datagram, reader)?),
        PART_OF_DATAGRAM => {
            let head = data_head(Kind::Datagram, reader)?;
            let (index, count) = (reader.u8("a part")?, reader.u8("the number of parts")?);
            if !(2..=MOST_DATAGRAM_PARTS).contains(&count) || index >= count {
                return Err(FormatError::Value { field: "a part", value: u64::from(index) });
            }
            let rest = reader.rest().len();
            let bytes = reader.take(rest, "data")?;
            Frame::Data(Data { kind: Kind::DatagramPart { index, count }, bytes, ..head })
        }
        PART_OF => {
            let Data { kind, number, segment, cwr, sent, .. } = data_head(Kind::Stream, reader)?;
            let (offset, total) = (reader.u16("an offset")?, reader.u16("a length")?);
            let rest = reader.rest().len();
            let bytes = reader.take(rest, "data")?;
            Frame::Part(Part {
                data: Data { kind, number, segment, cwr, sent, bytes },
                offset,
                total,
            })
        }
        ACK => {
            let (ack, older) = ack(reader)?;
            Frame::Ack(ack, older)
        }
        REPORT => {
            let (report, length) = decode_report(reader.rest())
                .map_err(|_| FormatError::Value { field: "a report", value: 0 })?;
            reader.take(length, "a report")?;
            Frame::Report(report)
        }
        MESSAGE => {
            let number = reader.u32("the number of a message")?;
            let length = usize::from(reader.u16("the length of a message")?);
            if length > LONGEST_MESSAGE {
                let field = "the length of a message";
                return Err(FormatError::Value { field, value: length as u64 });
            }
            Frame::Message { number, bytes: reader.take(length, "a message")? }
        }
        MESSAGE_ACK => Frame::MessageAck(reader.u32("the number of a message")?),
        PING => Frame::Ping(reader.u32("a ping")?),
        PONG => Frame::Pong(reader.u32("a pong")?),
        CHALLENGE => Frame::Challenge(reader.array("a challenge")?),
        ANSWER => Frame::Answer(reader.array("an answer")?),
        CLOSE => {
            let code = reader.u16("the code")?;
            Frame::Close { code, reason: reader.text(LONGEST_MESSAGE, "the reason")? }
        }
        CREDIT => Frame::Credit(reader.u64("a credit")?),
        CREDIT_SPENT => Frame::CreditSpent(reader.u64("a credit")?),
        NEW_KEYS => {
            let epoch = reader.u8("an epoch")?;
            Frame::NewKeys { epoch, public: reader.array("a public key")? }
        }
        NEW_KEYS_ANSWER => {
            let epoch = reader.u8("an epoch")?;
            Frame::NewKeysAnswer { epoch, public: reader.array("a public key")? }
        }
        other => {
            return Err(FormatError::Value { field: "the kind of frame", value: u64::from(other) });
        }
    })
}

fn data<'a>(kind: Kind, reader: &mut Reader<'a>) -> Result<Data<'a>, FormatError> {
    let head = data_head(kind, reader)?;
    let rest = reader.rest().len();
    Ok(Data { bytes: reader.take(rest, "data")?, ..head })
}

fn data_head<'a>(kind: Kind, reader: &mut Reader<'a>) -> Result<Data<'a>, FormatError> {
    let number = reader.number::<6>("a number")?;
    let segment = match reader.number::<7>("a segment")? {
        none if none == SEGMENT_LIMIT - 1 => NO_SEGMENT,
        segment => segment,
    };
    let cwr = match reader.u8("flags")? {
        flags @ (0 | 1) => flags == 1,
        other => return Err(FormatError::Value { field: "flags", value: u64::from(other) }),
    };
    let sent = reader.number::<6>("a time")?;
    Ok(Data { kind, number, segment, cwr, sent, bytes: &[] })
}

fn ack<'a>(reader: &mut Reader<'a>) -> Result<(Ack, OlderRanges<'a>), FormatError> {
    let flags = reader.u8("flags")?;
    if flags > 7 {
        return Err(FormatError::Value { field: "flags", value: u64::from(flags) });
    }
    let count = usize::from(reader.u8("the number of blocks")?);
    if count > ACK_RANGES {
        let field = "the number of blocks";
        return Err(FormatError::Value { field, value: count as u64 });
    }
    let mut ack = Ack { echo: Ecn::of_bits(flags), ece: flags & 4 != 0, ..Ack::default() };
    ack.largest = reader.number::<6>("the largest number")?;
    ack.cumulative = reader.number::<7>("the cumulative segment")?;
    ack.received = Time::from_nanos(reader.u64("a time")?);
    ack.ce_packets = reader.u32("the count of marks")?;
    ack.explicit = reader.u32("the explicit feedback")?;
    let blocks = count.min(ACK_BLOCKS);
    for i in 0..blocks {
        if i > 0 {
            ack.gaps[i - 1] = small(reader, "a gap")?;
        }
        ack.lengths[i] = length(reader)?;
    }
    let start = reader.rest();
    for _ in blocks..count {
        small(reader, "a gap")?;
        length(reader)?;
    }
    let bytes = start.get(..start.len() - reader.rest().len()).unwrap_or(&[]);
    let above = ack.blocks().last().map_or(0, |(first, _)| first);
    Ok((ack, OlderRanges { bytes, count: (count - blocks) as u8, above }))
}

/// Reads a number below 2³² in RFC 9000's form.
fn small(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, FormatError> {
    let value = reader.varint(field)?;
    u32::try_from(value).map_err(|_| FormatError::Value { field, value })
}

/// Reads the length of a block, which is not zero.
fn length(reader: &mut Reader<'_>) -> Result<u32, FormatError> {
    match small(reader, "a length")? {
        0 => Err(FormatError::Value { field: "a length", value: 0 }),
        length => Ok(length),
    }
}

/// Writes a frame and returns its length in bytes.
///
/// # Errors
/// If `bytes` is too short, or a field is out of the format's range.
pub fn write(frame: &Frame<'_>, bytes: &mut [u8]) -> Result<usize, FormatError> {
    let mut writer = Writer::new(bytes);
    match frame {
        Frame::Data(data) => {
            let length = write_data_header(data, bytes)?;
            let end = length + data.bytes.len();
            let room = bytes.get_mut(length..end).ok_or(FormatError::Room("data"))?;
            room.copy_from_slice(data.bytes);
            return Ok(end);
        }
        Frame::Part(part) => {
            let length = write_part_header(part, bytes)?;
            let end = length + part.data.bytes.len();
            let room = bytes.get_mut(length..end).ok_or(FormatError::Room("data"))?;
            room.copy_from_slice(part.data.bytes);
            return Ok(end);
        }
        Frame::Ack(ack, older) => write_ack(ack, older, &mut writer)?,
        Frame::Report(report) => {
            let mut place = [0; LONGEST];
            let length =
                encode_report(report, &mut place).map_err(|_| FormatError::Room("a report"))?;
            writer.u8(REPORT)?;
            writer.put(place.get(..length).unwrap_or(&[]))?;
        }
        Frame::Message { number, bytes } => {
            if bytes.len() > LONGEST_MESSAGE {
                return Err(FormatError::Room("a message"));
            }
            writer.u8(MESSAGE)?;
            writer.u32(*number)?;
            writer.u16(bytes.len() as u16)?;
            writer.put(bytes)?;
        }
        Frame::MessageAck(number) => {
            writer.u8(MESSAGE_ACK)?;
            writer.u32(*number)?;
        }
        Frame::Ping(number) => {
            writer.u8(PING)?;
            writer.u32(*number)?;
        }
        Frame::Pong(number) => {
            writer.u8(PONG)?;
            writer.u32(*number)?;
        }
        Frame::Challenge(token) => {
            writer.u8(CHALLENGE)?;
            writer.put(token)?;
        }
        Frame::Answer(token) => {
            writer.u8(ANSWER)?;
            writer.put(token)?;
        }
        Frame::Close { code, reason } => {
            writer.u8(CLOSE)?;
            writer.u16(*code)?;
            writer.text(reason)?;
        }
        Frame::Credit(limit) => {
            writer.u8(CREDIT)?;
            writer.u64(*limit)?;
        }
        Frame::CreditSpent(limit) => {
            writer.u8(CREDIT_SPENT)?;
            writer.u64(*limit)?;
        }
        Frame::NewKeys { epoch, public } => {
            writer.put(&[NEW_KEYS, *epoch])?;
            writer.put(public)?;
        }
        Frame::NewKeysAnswer { epoch, public } => {
            writer.put(&[NEW_KEYS_ANSWER, *epoch])?;
            writer.put(public)?;
        }
    }
    Ok(writer.len())
}

/// Writes all of a data frame except its data, so that the caller can put the data in place itself.
///
/// # Errors
/// If `bytes` is too short, or a number is out of the format's range.
pub fn write_data_header(data: &Data<'_>, bytes: &mut [u8]) -> Result<usize, FormatError> {
    let kind = match data.kind {
        Kind::Stream => STREAM,
        Kind::Filler => FILLER,
        Kind::Datagram => DATAGRAM,
        Kind::DatagramPart { .. } => PART_OF_DATAGRAM,
    };
    let mut writer = Writer::new(bytes);
    write_data_head(kind, data, &mut writer)?;
    if let Kind::DatagramPart { index, count } = data.kind {
        writer.u8(index)?;
        writer.u8(count)?;
    }
    Ok(writer.len())
}

/// Writes all of a frame with a part of a segment except its data.
///
/// # Errors
/// If `bytes` is too short, or a number is out of the format's range.
pub fn write_part_header(part: &Part<'_>, bytes: &mut [u8]) -> Result<usize, FormatError> {
    let mut writer = Writer::new(bytes);
    write_data_head(PART_OF, &part.data, &mut writer)?;
    writer.u16(part.offset)?;
    writer.u16(part.total)?;
    Ok(writer.len())
}

fn write_data_head(kind: u8, data: &Data<'_>, writer: &mut Writer<'_>) -> Result<(), FormatError> {
    let segment = match data.segment {
        NO_SEGMENT => SEGMENT_LIMIT - 1,
        segment if segment < SEGMENT_LIMIT - 1 => segment,
        _ => return Err(FormatError::Room("a segment")),
    };
    if data.number >= NUMBER_LIMIT {
        return Err(FormatError::Room("a number"));
    }
    writer.u8(kind)?;
    writer.number::<6>(data.number)?;
    writer.number::<7>(segment)?;
    writer.u8(u8::from(data.cwr))?;
    writer.number::<6>(data.sent)
}

fn write_ack(
    ack: &Ack,
    older: &OlderRanges<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), FormatError> {
    if ack.largest >= NUMBER_LIMIT || ack.cumulative >= SEGMENT_LIMIT {
        return Err(FormatError::Room("an acknowledgement's numbers"));
    }
    let blocks = ack.lengths.iter().take_while(|length| **length > 0).count();
    // Only an acknowledgement whose blocks are all used can have older ranges.
    let older = if blocks == ACK_BLOCKS { (older.count, older.bytes) } else { (0, &[][..]) };
    writer.u8(ACK)?;
    writer.u8(u8::from(ack.ece) << 2 | ack.echo as u8)?;
    writer.u8(blocks as u8 + older.0)?;
    writer.number::<6>(ack.largest)?;
    writer.number::<7>(ack.cumulative)?;
    writer.u64(ack.received.as_nanos())?;
    writer.u32(ack.ce_packets)?;
    writer.u32(ack.explicit)?;
    for i in 0..blocks {
        if i > 0 {
            writer.varint(u64::from(ack.gaps[i - 1]))?;
        }
        writer.varint(u64::from(ack.lengths[i]))?;
    }
    writer.put(older.1)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
