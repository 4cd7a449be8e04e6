//! The receiver's half of a scheme: when to acknowledge, and what to echo.

use crate::header::Report;
use crate::packet::{Ecn, Packet};
use crate::units::{Span, Time};

/// What the reporter wants done about a packet that has arrived.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// Acknowledge this packet at once.
    pub now: bool,
}

impl Verdict {
    /// Acknowledge the packet at once.
    pub const AT_ONCE: Verdict = Verdict { now: true };
}

/// The receiver's half of a scheme. The receiver itself keeps the blocks of numbers, acknowledges
/// at once when packets arrive out of order (RFC 5681 §4.2), and delays other acknowledgements
/// as [`AckPolicy`] says.
pub trait Reporter: Send {
    /// A data packet is about to be counted while an acknowledgement for earlier packets is being
    /// delayed: true if that acknowledgement is to leave before this packet counts (RFC 8257
    /// §3.2). Asked before [`Reporter::on_arrival`], and only while an acknowledgement is delayed;
    /// [`Reporter::echo`] and [`Reporter::explicit`] are then asked for that acknowledgement, so
    /// that they know nothing of this packet.
    fn flushes(&self, _packet: &Packet) -> bool {
        false
    }
    /// A data packet has arrived.
    fn on_arrival(&mut self, now: Time, packet: &Packet) -> Verdict;
    /// The mark that an acknowledgement sent now echoes.
    fn echo(&self) -> Ecn {
        Ecn::NotEct
    }
    /// What an acknowledgement sent now tells the controller, in a format of the scheme's own.
    /// What adds up over packets begins anew.
    fn explicit(&mut self) -> u32 {
        0
    }
    /// When [`Reporter::report`] is to be called; asked after each arrival and report.
    fn wake(&self) -> Time {
        Time::NEVER
    }
    /// The time of [`Reporter::wake`] has come: a report to send to the controller, if there is
    /// something to tell. `clock` is the time that the receiver's own clock shows.
    fn report(&mut self, _now: Time, _clock: Time) -> Option<Report> {
        None
    }
}

/// How a connection conveys congestion marks, as negotiated at its start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Not at all: packets are sent as not ECN-capable.
    Off,
    /// One flag until the sender confirms it: at most one reaction per round trip (RFC 3168).
    Classic,
    /// Counters of marked packets: AccECN (RFC 9768). What schemes with finer reactions need.
    #[default]
    Accurate,
}

/// How many packets an acknowledgement may wait for, and how long.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Acknowledge at least every `every` packets: 1 for each, 2 for TCP's delayed ones.
    pub every: u32,
    /// The longest delay of an acknowledgement (Linux: 40 ms).
    pub delay: Span,
}

impl AckPolicy {
    /// Every packet is acknowledged.
    pub const EACH: AckPolicy = AckPolicy { every: 1, delay: Span::ZERO };
    /// TCP's delayed acknowledgements: every second packet, at most 40 ms late.
    pub const DELAYED: AckPolicy = AckPolicy { every: 2, delay: Span::from_millis(40) };
}
