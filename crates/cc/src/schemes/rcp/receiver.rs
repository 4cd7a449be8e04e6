//! The receiver's half: returns what the newest packet's header says.

use crate::header::Header;
use crate::packet::{Body, Packet};
use crate::report::{Reporter, Verdict};
use crate::units::{Rate, Time};

/// The unit of rates in acknowledgements, in bits per second.
const UNIT: u64 = 100;

/// Returns what the header of the packet with the largest number says: packets that come late say
/// what was right before.
#[derive(Clone, Debug)]
pub struct Newest {
    read: fn(&Header) -> Option<u32>,
    number: Option<u64>,
    said: u32,
}

impl Newest {
    /// A receiver that returns what `read` finds in headers; 0 before it has found anything.
    pub fn new(read: fn(&Header) -> Option<u32>) -> Newest {
        Newest { read, number: None, said: 0 }
    }
}

impl Reporter for Newest {
    fn on_arrival(&mut self, _now: Time, packet: &Packet, _pending: bool) -> Verdict {
        if let Body::Data(data) = &packet.body
            && self.number.is_none_or(|number| number < data.number)
            && let Some(said) = (self.read)(&data.header)
        {
            self.number = Some(data.number);
            self.said = said;
        }
        Verdict::default()
    }

    fn explicit(&mut self) -> u32 {
        self.said
    }
}

/// The rate that a header grants, as acknowledgements carry it.
pub(super) fn granted(header: &Header) -> Option<u32> {
    match header {
        Header::Rcp(header) => Some(encode(header.rate)),
        _ => None,
    }
}

/// A rate in units of 100 bit/s, at least 1; what is too large becomes the largest number.
pub(super) fn encode(rate: Rate) -> u32 {
    (rate.as_bps() / UNIT).clamp(1, u32::MAX as u64) as u32
}

/// The rate that an acknowledgement grants, if a router has spoken.
pub(super) fn decode(explicit: u32) -> Option<Rate> {
    (explicit != 0 && explicit != u32::MAX).then(|| Rate::from_bps(explicit as u64 * UNIT))
}
