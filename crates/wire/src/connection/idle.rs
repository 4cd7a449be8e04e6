//! Times without a packet.

use paceline_cc::Span;

/// Longest idle time that an end grants to the other one. An end's own may be longer.
pub const LONGEST_IDLE: Span = Span::from_secs(600);
/// Longest time without a packet after which an end sends a ping: address translators may forget a
/// flow that is silent for 30 s.
const LONGEST_QUIET: Span = Span::from_secs(15);

/// Returns the time without a packet after which an end sends a ping: this part of the idle time.
pub(super) fn quiet(idle: Span, part: u64) -> Span {
    (idle / part).min(LONGEST_QUIET * 4 / part)
}
