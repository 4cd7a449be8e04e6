//! XCP's feedback in headers and acknowledgements: its unit, its bounds, and how it is written.

use crate::header::{Header, XcpHeader};
use crate::packet::{Body, Packet};

/// Feedback is carried in units of 1/256 byte, as an `i32` in an acknowledgement's `u32`: a few
/// thousandths of a byte up to 8 MB per acknowledgement.
pub const UNITS_PER_BYTE: f64 = 256.0;

/// The largest feedback that is carried, in bytes. A sender that asks for as much as there is
/// asks for this; if it comes back, no router has spoken.
pub const MOST: f64 = i32::MAX as f64 / UNITS_PER_BYTE;

/// Feedback in bytes as acknowledgements carry it: rounded to the nearest unit, cut to what fits.
/// What is not a number becomes 0.
pub fn encode(bytes: f64) -> u32 {
    // `as` cuts to the bounds and maps NaN to 0.
    libm::round(bytes * UNITS_PER_BYTE) as i32 as u32
}

/// Feedback in bytes from what an acknowledgement carries.
pub fn decode(explicit: u32) -> f64 {
    f64::from(explicit as i32) / UNITS_PER_BYTE
}

/// Feedback in bytes from a header that somebody else may have written.
pub fn clamp_feedback(bytes: f64) -> f64 {
    if bytes.is_nan() { 0.0 } else { bytes.clamp(-MOST, MOST) }
}

/// The header of a packet, if it is XCP's.
pub fn header(packet: &mut Packet) -> Option<&mut XcpHeader> {
    match &mut packet.body {
        Body::Data(data) => match &mut data.header {
            Header::Xcp(header) => Some(header),
            _ => None,
        },
        _ => None,
    }
}
