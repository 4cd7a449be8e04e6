//! XCP's feedback in headers and acknowledgements: its unit, its bounds, and its encoding.

use crate::header::{Header, XcpHeader};
use crate::packet::{Body, Packet};

/// Number of units of feedback in a byte. An acknowledgement's `u32` carries feedback as an `i32`
/// in these units: from 1/256 byte to 8 MB per acknowledgement.
pub const UNITS_PER_BYTE: f64 = 256.0;

/// Largest feedback that is carried, in bytes. A sender that wants as much as possible asks for
/// this; if it comes back unchanged, no router has set it.
pub const MOST: f64 = i32::MAX as f64 / UNITS_PER_BYTE;

/// Returns feedback in bytes as acknowledgements carry it: rounded to the nearest unit and clamped.
/// NaN becomes 0.
pub fn encode(bytes: f64) -> u32 {
    // `as` clamps and maps NaN to 0.
    libm::round(bytes * UNITS_PER_BYTE) as i32 as u32
}

/// Returns the feedback in bytes that an acknowledgement carries.
pub fn decode(explicit: u32) -> f64 {
    f64::from(explicit as i32) / UNITS_PER_BYTE
}

/// Clamps the feedback in bytes of a header that may come from outside the program.
pub fn clamp_feedback(bytes: f64) -> f64 {
    if bytes.is_nan() { 0.0 } else { bytes.clamp(-MOST, MOST) }
}

/// Returns the header of a packet, if it is XCP's.
pub fn header(packet: &mut Packet) -> Option<&mut XcpHeader> {
    match &mut packet.body {
        Body::Data(data) => match &mut data.header {
            Header::Xcp(header) => Some(header),
            _ => None,
        },
        _ => None,
    }
}
