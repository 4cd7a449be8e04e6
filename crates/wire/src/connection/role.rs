//! The two ends of a handshake.

use paceline_cc::Span;

/// The role of an end in the handshake.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that asked for the connection.
    Initiator {
        /// The other end's window: the bytes that it accepts beyond the first missing one.
        window: u64,
        /// True if the other end grants more bytes when its application has read.
        credit: bool,
        /// Idle time that the other end asks for.
        idle: Span,
        /// RTT of the last step of the handshake, if it was not repeated.
        rtt: Option<Span>,
    },
    /// The end that accepted it.
    Responder,
}
