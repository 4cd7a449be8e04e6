//! The messages of the two ends during the handshake: the initiator's offer and the responder's
//! answer.

use paceline_cc::Span;

use crate::bytes::{Reader, Writer, printable};
use crate::handout::LONGEST_HANDOUT;
use crate::{FormatError, Handout, ResetTicket};

/// Maximum length of a scheme in bytes.
pub const LONGEST_SCHEME: usize = 400;
/// Maximum length of a refusal in bytes.
pub const LONGEST_REFUSAL: usize = 400;

/// The kind of data that a connection carries.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// A stream of bytes, reliable and in order.
    #[default]
    Stream,
    /// Data packets without content, for measurements.
    Filler,
    /// The application's datagrams, which may be lost.
    Datagrams,
}

/// The initiator's offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// True if transport packets are not encrypted: for measurements in a laboratory only.
    pub plaintext: bool,
    /// What the connection carries.
    pub service: Service,
    /// Scheme of the data that the initiator sends; empty if it sends none.
    pub scheme: String,
    /// Scheme of the data that the responder sends; empty if it sends none.
    pub back: String,
    /// Largest packet in bytes, IP and UDP headers included: the size that the initiation has shown
    /// to pass.
    pub mtu: u16,
    /// Number of bytes that the initiator accepts beyond the first missing one; with `credit`, at
    /// first.
    pub window: u64,
    /// True if the initiator grants further bytes by [`Frame::Credit`](crate::frame::Frame::Credit)
    /// when its application has read. An [`Initiator`](crate::Initiator) sets it from its limits.
    pub credit: bool,
    /// Idle time that the initiator asks for: the connection ends after this time without a packet.
    pub idle: Span,
    /// Interval of keepalives while the connection carries no datagrams and so rests. Zero if it
    /// never rests. For [`Service::Datagrams`] only.
    pub keepalive: Span,
}

/// The responder's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The connection is accepted.
    Accepted {
        /// Number of bytes that the responder accepts beyond the first missing one; with `credit`,
        /// at first.
        window: u64,
        /// True if the responder grants further bytes when its application has read.
        credit: bool,
        /// Idle time that the responder asks for.
        idle: Span,
        /// Addresses and routes that it hands out to the initiator.
        handout: Handout,
        /// The ticket by which the initiator recognises a restart of the responder.
        reset: ResetTicket,
    },
    /// The connection is refused for this reason.
    Refused(String),
}

/// Writes an idle time in milliseconds, at most 49 days.
fn write_idle(writer: &mut Writer<'_>, idle: Span) -> Result<(), FormatError> {
    let millis = idle.as_nanos() / 1_000_000;
    writer.u32(u32::try_from(millis).unwrap_or(u32::MAX))
}

fn read_flag(reader: &mut Reader<'_>, field: &'static str) -> Result<bool, FormatError> {
    match reader.u8(field)? {
        flag @ (0 | 1) => Ok(flag == 1),
        value => Err(FormatError::Value { field, value: u64::from(value) }),
    }
}

fn read_idle(reader: &mut Reader<'_>) -> Result<Span, FormatError> {
    reader.u32("the idle time").map(|millis| Span::from_millis(u64::from(millis)))
}

impl Offer {
    /// Returns the command that serves such connections.
    pub fn server_command(&self) -> &'static str {
        match self.service {
            Service::Datagrams => "paceline tunnel server",
            Service::Stream if self.scheme.is_empty() => "paceline send --listen",
            Service::Stream | Service::Filler => "paceline recv",
        }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>, FormatError> {
        let mut bytes = vec![0; 40 + self.scheme.len() + self.back.len()];
        let mut writer = Writer::new(&mut bytes);
        writer.u8(u8::from(self.plaintext))?;
        writer.u8(self.service as u8)?;
        writer.u16(self.mtu)?;
        writer.u64(self.window)?;
        writer.u8(u8::from(self.credit))?;
        write_idle(&mut writer, self.idle)?;
        write_idle(&mut writer, self.keepalive)?;
        for scheme in [&self.scheme, &self.back] {
            if scheme.len() > LONGEST_SCHEME {
                return Err(FormatError::Room("a scheme"));
            }
            writer.text(scheme)?;
        }
        let length = writer.len();
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Reads an offer.
    ///
    /// # Errors
    /// If the bytes are not an offer.
    pub fn read(bytes: &[u8]) -> Result<Offer, FormatError> {
        let mut reader = Reader::new(bytes);
        let plaintext = read_flag(&mut reader, "the encryption")?;
        let service = match reader.u8("the service")? {
            0 => Service::Stream,
            1 => Service::Filler,
            2 => Service::Datagrams,
            value => {
                return Err(FormatError::Value { field: "the service", value: u64::from(value) });
            }
        };
        let mtu = reader.u16("the largest packet")?;
        let window = reader.u64("the window")?;
        let credit = read_flag(&mut reader, "the kind of window")?;
        let idle = read_idle(&mut reader)?;
        let keepalive = read_idle(&mut reader)?;
        let scheme = reader.text(LONGEST_SCHEME, "the scheme")?.to_string();
        let back = reader.text(LONGEST_SCHEME, "the scheme back")?.to_string();
        reader.end("the offer")?;
        Ok(Offer { plaintext, service, scheme, back, mtu, window, credit, idle, keepalive })
    }
}

impl Answer {
    pub(crate) fn write(&self) -> Result<Vec<u8>, FormatError> {
        let mut bytes = vec![0; 64 + LONGEST_REFUSAL.max(LONGEST_HANDOUT)];
        let mut writer = Writer::new(&mut bytes);
        match self {
            Answer::Accepted { window, credit, idle, handout, reset } => {
                writer.u8(0)?;
                writer.u64(*window)?;
                writer.u8(u8::from(*credit))?;
                write_idle(&mut writer, *idle)?;
                handout.write(&mut writer)?;
                reset.write(&mut writer)?;
            }
            Answer::Refused(reason) => {
                let end = reason.floor_char_boundary(LONGEST_REFUSAL);
                writer.u8(1)?;
                writer.text(reason.get(..end).unwrap_or(""))?;
            }
        }
        let length = writer.len();
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// If the bytes are not an answer.
    pub fn read(bytes: &[u8]) -> Result<Answer, FormatError> {
        let mut reader = Reader::new(bytes);
        let answer = match reader.u8("the answer")? {
            0 => {
                let window = reader.u64("the window")?;
                let credit = read_flag(&mut reader, "the kind of window")?;
                let (idle, handout) = (read_idle(&mut reader)?, Handout::read(&mut reader)?);
                let reset = ResetTicket::read(&mut reader)?;
                Answer::Accepted { window, credit, idle, handout, reset }
            }
            1 => Answer::Refused(printable(reader.text(LONGEST_REFUSAL, "the refusal")?)),
            value => {
                return Err(FormatError::Value { field: "the answer", value: u64::from(value) });
            }
        };
        reader.end("the answer")?;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_and_answers_come_back() {
        let offer = Offer {
            plaintext: true,
            service: Service::Datagrams,
            scheme: "abc[dt=60ms]".into(),
            back: "sprout".into(),
            mtu: 1500,
            window: 1 << 33,
            credit: true,
            idle: Span::from_millis(60_001),
            keepalive: Span::from_secs(25),
        };
        let bytes = offer.write().expect("room");
        assert_eq!(Offer::read(&bytes), Ok(offer));
        (0..bytes.len()).for_each(|short| assert!(Offer::read(&bytes[..short]).is_err()));
        let prefix = |text| crate::Prefix::parse(text).expect("a network");
        let (networks, routes) = (vec![prefix("10.77.0.2/24")], vec![prefix("fd00::/8")]);
        let handout = Handout { networks, routes };
        let idle = Span::from_secs(60);
        let reset = ResetTicket::default();
        let accepted = Answer::Accepted { window: 7, credit: true, idle, handout, reset };
        for answer in [accepted, Answer::Refused("no".into())] {
            let bytes = answer.write().expect("room");
            assert_eq!(Answer::read(&bytes), Ok(answer));
            (0..bytes.len()).for_each(|short| assert!(Answer::read(&bytes[..short]).is_err()));
            assert!(Answer::read(&[&bytes[..], &[0]].concat()).is_err());
        }
        // A refusal is shown to people, so it must not be able to control a terminal.
        let colours = Answer::Refused("\u{1b}[2Jno\r\n".into()).write().expect("room");
        assert_eq!(
            Answer::read(&colours),
            Ok(Answer::Refused("\u{fffd}[2Jno\u{fffd}\u{fffd}".into()))
        );
        let long = Answer::Refused("ü".repeat(1000)).write().expect("cut");
        assert_eq!(Answer::read(&long), Ok(Answer::Refused("ü".repeat(200))));
        assert!(Offer { scheme: "x".repeat(401), ..Offer::default() }.write().is_err());
    }
}
