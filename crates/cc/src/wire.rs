//! Wire encoding of congestion headers and of reports.
//!
//! A message begins with one byte: the version in its upper four bits, the kind in its lower four.
//! The fields that follow have a fixed length for each kind. Numbers are unsigned unless noted,
//! most significant byte first. Bytes after the message are ignored and left unchanged.
//!
//! | kind | message | bytes after the first | length |
//! | --- | --- | --- | --- |
//! | 0 | no header | | 1 |
//! | 1 | XCP | RTT in µs (4), interval in ns (4), feedback in 1/256 byte (4, signed) | 13 |
//! | 2 | RCP | RTT in µs (4), rate in 100 bit/s (4) | 9 |
//! | 3 | VCP | load: 0 unknown, 1 low, 2 high, 3 overload (1) | 2 |
//! | 4 | Sprout | connection (4), offset (8), throwaway (4), time to next in ms (4) | 21 |
//! | 5 | scheme outside of this tree | its number (4), two words (8 each) | 21 |
//! | 8 | forecast | total (8), first tick in ns (8), 8 counts (2 each) | 33 |
//! | 9 | estimate | rate in bit/s (8) | 9 |
//! | 10 | report of a scheme outside of this tree | its number (4), three words (8 each) | 29 |
//!
//! Kind 12 is not to be used again: earlier versions of this format had a message of this kind.
//!
//! RTTs are rounded to the nearest microsecond and rates down to 100 bit/s, but a value above zero
//! becomes at least 1, since zero means "none". An RCP rate too large for the format is written as
//! the largest number and read as [`u64::MAX`] bit/s: no limit. Other values out of the format's
//! range are clamped to it, and a feedback of NaN is written as 0. A decoded message is encoded
//! again as exactly the bytes that it came from.
//!
//! An XCP header without an RTT has neither an interval nor a feedback.
//!
//! In Paceline's own datagrams (`docs/wire.md`) the congestion header of a packet of a connection is not
//! encrypted, so that routers find it by [`congestion_header`].

use crate::header::{
    FORECAST_TICKS, Forecast, Header, Load, OpenHeader, OpenReport, RcpHeader, Report,
    SproutHeader, XcpHeader,
};
use crate::units::{Rate, Span, Time};
use crate::xcp_feedback as feedback;

/// Version of the format.
pub const VERSION: u8 = 1;
/// Length of the longest message in bytes.
pub const LONGEST: usize = 33;

/// First byte of a datagram that is a packet of a connection: a transport packet.
pub const TRANSPORT: u8 = 0x41;
/// Position of the congestion header in a transport packet.
pub const HEADER_AT: usize = 13;

/// Unit of RCP's rates, in bits per second.
const RATE_UNIT: u64 = 100;

const NONE: u8 = 0;
const XCP: u8 = 1;
const RCP: u8 = 2;
const VCP: u8 = 3;
const SPROUT: u8 = 4;
const OPEN: u8 = 5;
const FORECAST: u8 = 8;
const ESTIMATE: u8 = 9;
const OPEN_REPORT: u8 = 10;

/// Reason why a message cannot be written or read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end before the message does, or have no room for it.
    #[error("expected a message of {needed} bytes, found {found} bytes; pass the whole message")]
    Truncated {
        /// Length of the message in bytes, as far as it is known.
        needed: usize,
        /// Number of bytes.
        found: usize,
    },
    /// The message has another version of the format.
    #[error("found version {0} of the format, not {VERSION}; both ends must run the same version")]
    Version(u8),
    /// There is no such kind of message, or it is not expected here.
    #[error("unexpected message of kind {0}")]
    Kind(u8),
    /// A field has an invalid value.
    #[error("{field} cannot be {value}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
}

/// Reads fields one after the other.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks the first byte; returns the kind and a reader of the fields.
    fn open(bytes: &'a [u8]) -> Result<(u8, Reader<'a>), WireError> {
        let Some((&first, rest)) = bytes.split_first() else {
            return Err(WireError::Truncated { needed: 1, found: 0 });
        };
        if first >> 4 != VERSION {
            return Err(WireError::Version(first >> 4));
        }
        let kind = first & 0xf;
        let needed = length(kind).ok_or(WireError::Kind(kind))?;
        if bytes.len() < needed {
            return Err(WireError::Truncated { needed, found: bytes.len() });
        }
        Ok((kind, Reader { rest }))
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        // The length was checked before, so the fields are complete; zeros only satisfy the
        // compiler.
        match self.rest.split_first_chunk::<N>() {
            Some((field, rest)) => {
                self.rest = rest;
                *field
            }
            None => [0; N],
        }
    }
    fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }
    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }
    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }
    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }
    fn micros(&mut self) -> Span {
        Span::from_micros(u64::from(self.u32()))
    }
}

/// Writes fields one after the other.
struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Begins a message, if all of it fits.
    fn open(bytes: &'a mut [u8], kind: u8) -> Result<Writer<'a>, WireError> {
        let needed = length(kind).ok_or(WireError::Kind(kind))?;
        if bytes.len() < needed {
            return Err(WireError::Truncated { needed, found: bytes.len() });
        }
        let mut writer = Writer { bytes, at: 0 };
        writer.put([VERSION << 4 | kind]);
        Ok(writer)
    }

    fn put<const N: usize>(&mut self, field: [u8; N]) {
        if let Some(place) = self.bytes.get_mut(self.at..self.at + N) {
            place.copy_from_slice(&field);
        }
        self.at += N;
    }
    fn micros(&mut self, span: Span) {
        let nanos = span.as_nanos();
        self.put(narrow(nanos / 1000 + u64::from(nanos % 1000 >= 500), nanos).to_be_bytes());
    }
}

/// Returns `value` in 32 bits, clamped to the largest number; at least 1 if `exact` is not 0.
fn narrow(value: u64, exact: u64) -> u32 {
    let least = u64::from(exact != 0);
    value.clamp(least, u64::from(u32::MAX)) as u32
}

/// Returns the length of a message of this kind, first byte included.
fn length(kind: u8) -> Option<usize> {
    Some(match kind {
        NONE => 1,
        XCP => 13,
        RCP => 9,
        VCP => 2,
        SPROUT | OPEN => 21,
        FORECAST => LONGEST,
        ESTIMATE => 9,
        OPEN_REPORT => 29,
        _ => return None,
    })
}

/// Writes a congestion header and returns its length in bytes.
///
/// # Errors
/// [`WireError::Truncated`] if it does not fit into `bytes`; then nothing is written.
pub fn encode_header(header: &Header, bytes: &mut [u8]) -> Result<usize, WireError> {
    let writer = match header {
        Header::None => Writer::open(bytes, NONE)?,
        Header::Xcp(header) => {
            let mut writer = Writer::open(bytes, XCP)?;
            let known = !header.rtt.is_zero();
            let interval = if known { header.interval.as_nanos() } else { 0 };
            writer.micros(header.rtt);
            writer.put(narrow(interval, interval).to_be_bytes());
            writer.put(if known { feedback::encode(header.feedback) } else { 0 }.to_be_bytes());
            writer
        }
        Header::Rcp(header) => {
            let mut writer = Writer::open(bytes, RCP)?;
            let rate = header.rate.as_bps();
            writer.micros(header.rtt);
            writer.put(narrow(rate / RATE_UNIT, rate).to_be_bytes());
            writer
        }
        Header::Vcp(load) => {
            let mut writer = Writer::open(bytes, VCP)?;
            writer.put([*load as u8]);
            writer
        }
        Header::Sprout(header) => {
            let mut writer = Writer::open(bytes, SPROUT)?;
            writer.put(header.connection.to_be_bytes());
            writer.put(header.offset.to_be_bytes());
            writer.put(header.throwaway.to_be_bytes());
            writer.put(header.time_to_next.to_be_bytes());
            writer
        }
        Header::Open(header) => {
            let mut writer = Writer::open(bytes, OPEN)?;
            writer.put(header.scheme.to_be_bytes());
            for word in header.words {
                writer.put(word.to_be_bytes());
            }
            writer
        }
    };
    Ok(writer.at)
}

/// Reads a congestion header and returns it with its length in bytes.
///
/// # Errors
/// If the bytes are not a whole header of this version, or a field has an invalid value.
pub fn decode_header(bytes: &[u8]) -> Result<(Header, usize), WireError> {
    let (kind, mut reader) = Reader::open(bytes)?;
    let header = match kind {
        NONE => Header::None,
        XCP => {
            let rtt = reader.micros();
            let (interval, feedback) = (reader.u32(), reader.u32());
            if rtt.is_zero() && (interval != 0 || feedback != 0) {
                let (field, value) = match interval {
                    0 => ("feedback without an RTT", feedback),
                    _ => ("interval without an RTT", interval),
                };
                return Err(WireError::Value { field, value: u64::from(value) });
            }
            let interval = Span::from_nanos(u64::from(interval));
            Header::Xcp(XcpHeader { rtt, interval, feedback: feedback::decode(feedback) })
        }
        RCP => {
            let rtt = reader.micros();
            let rate = match reader.u32() {
                u32::MAX => u64::MAX,
                units => u64::from(units) * RATE_UNIT,
            };
            Header::Rcp(RcpHeader { rtt, rate: Rate::from_bps(rate) })
        }
        VCP => Header::Vcp(match reader.u8() {
            0 => Load::Unknown,
            1 => Load::Low,
            2 => Load::High,
            3 => Load::Overload,
            other => {
                return Err(WireError::Value { field: "load", value: u64::from(other) });
            }
        }),
        SPROUT => Header::Sprout(SproutHeader {
            connection: reader.u32(),
            offset: reader.u64(),
            throwaway: reader.u32(),
            time_to_next: reader.u32(),
        }),
        OPEN => {
            Header::Open(OpenHeader { scheme: reader.u32(), words: [reader.u64(), reader.u64()] })
        }
        other => return Err(WireError::Kind(other)),
    };
    Ok((header, bytes.len() - reader.rest.len()))
}

/// Returns the congestion header of a datagram, for routers; `None` if the datagram is not a
/// transport packet.
#[inline]
pub fn congestion_header(datagram: &[u8]) -> Option<Header> {
    if datagram.first() != Some(&TRANSPORT) {
        return None;
    }
    decode_header(datagram.get(HEADER_AT..)?).ok().map(|(header, _)| header)
}

/// Writes a report and returns its length in bytes.
///
/// # Errors
/// [`WireError::Truncated`] if it does not fit into `bytes`; then nothing is written.
pub fn encode_report(report: &Report, bytes: &mut [u8]) -> Result<usize, WireError> {
    let writer = match report {
        Report::Forecast(forecast) => {
            let mut writer = Writer::open(bytes, FORECAST)?;
            writer.put(forecast.total.to_be_bytes());
            writer.put(forecast.from.as_nanos().to_be_bytes());
            for count in forecast.counts {
                writer.put(count.to_be_bytes());
            }
            writer
        }
        Report::Rate(rate) => {
            let mut writer = Writer::open(bytes, ESTIMATE)?;
            writer.put(rate.as_bps().to_be_bytes());
            writer
        }
        Report::Open(report) => {
            let mut writer = Writer::open(bytes, OPEN_REPORT)?;
            writer.put(report.scheme.to_be_bytes());
            for word in report.words {
                writer.put(word.to_be_bytes());
            }
            writer
        }
    };
    Ok(writer.at)
}

/// Reads a report and returns it with its length in bytes.
///
/// # Errors
/// If the bytes are not a whole report of this version.
pub fn decode_report(bytes: &[u8]) -> Result<(Report, usize), WireError> {
    let (kind, mut reader) = Reader::open(bytes)?;
    let report = match kind {
        FORECAST => {
            let (total, from) = (reader.u64(), Time::from_nanos(reader.u64()));
            let mut counts = [0; FORECAST_TICKS];
            counts.fill_with(|| reader.u16());
            Report::Forecast(Forecast { total, from, counts })
        }
        ESTIMATE => Report::Rate(Rate::from_bps(reader.u64())),
        OPEN_REPORT => Report::Open(OpenReport {
            scheme: reader.u32(),
            words: [reader.u64(), reader.u64(), reader.u64()],
        }),
        other => return Err(WireError::Kind(other)),
    };
    Ok((report, bytes.len() - reader.rest.len()))
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
