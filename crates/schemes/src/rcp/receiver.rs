//! The receiver's half: the rate in acknowledgements, and its encoding.

use paceline_cc::{Header, Rate};

/// The unit of rates in acknowledgements, in bits per second.
const UNIT: u64 = 100;

/// Returns the rate that a header grants, as acknowledgements carry it.
pub(super) fn granted(header: &Header) -> Option<u32> {
    match header {
        Header::Rcp(header) => Some(encode(header.rate)),
        _ => None,
    }
}

/// Returns a rate in units of 100 bit/s, at least 1 and at most the largest number.
pub(super) fn encode(rate: Rate) -> u32 {
    (rate.as_bps() / UNIT).clamp(1, u32::MAX as u64) as u32
}

/// Returns the rate that an acknowledgement grants; `None` if no router has set one.
pub(super) fn decode(explicit: u32) -> Option<Rate> {
    (explicit != 0 && explicit != u32::MAX).then(|| Rate::from_bps(explicit as u64 * UNIT))
}
