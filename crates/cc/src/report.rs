//! The receiver's half of a scheme: when to acknowledge, and what to echo.

use crate::header::Report;
use crate::packet::{Ecn, Packet};
use crate::units::{Span, Time};

/// The reporter's decision about a packet that has arrived.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// True if this packet is to be acknowledged at once.
    pub now: bool,
}

impl Verdict {
    /// Acknowledge the packet at once.
    pub const AT_ONCE: Verdict = Verdict { now: true };
}

/// The receiver's half of a scheme. The receiver itself keeps the blocks of numbers, acknowledges
/// at once when packets arrive out of order (RFC 5681 §4.2), and delays other acknowledgements by
/// its [`AckPolicy`].
pub trait Reporter: Send {
    /// Returns true if the delayed acknowledgement of earlier packets is to leave before `packet`
    /// is counted (RFC 8257 §3.2). Called before [`Reporter::on_arrival`], and only while an
    /// acknowledgement is delayed. If true, [`Reporter::echo`] and [`Reporter::explicit`] are
    /// called next for that acknowledgement, so that they do not include this packet.
    fn flushes(&self, _packet: &Packet) -> bool {
        false
    }
    /// Takes in a data packet that has arrived.
    fn on_arrival(&mut self, now: Time, packet: &Packet) -> Verdict;
    /// Returns the mark that an acknowledgement sent now echoes.
    fn echo(&self) -> Ecn {
        Ecn::NotEct
    }
    /// Returns the value that an acknowledgement sent now carries to the controller, in the
    /// scheme's own format. Sums over packets begin anew.
    fn explicit(&mut self) -> u32 {
        0
    }
    /// Returns when [`Reporter::report`] is to be called. Asked after each arrival and report.
    fn wake(&self) -> Time {
        Time::NEVER
    }
    /// Called at the time of [`Reporter::wake`]. Returns a report for the controller, if there is
    /// one to send. `clock` is the receiver's own clock.
    fn report(&mut self, _now: Time, _clock: Time) -> Option<Report> {
        None
    }
}

/// How a connection reports congestion marks to the sender, as negotiated at its start.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// No reports: packets are sent as not ECN-capable.
    Off,
    /// One flag, set until the sender confirms it: at most one reaction per round trip (RFC 3168).
    Classic,
    /// Counters of marked packets: AccECN (RFC 9768). Needed by schemes with finer reactions.
    #[default]
    Accurate,
}

/// The number of packets that an acknowledgement may wait for, and the time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Packets per acknowledgement at most: 1 to acknowledge each, 2 for TCP's delayed
    /// acknowledgements.
    pub every: u32,
    /// The longest delay of an acknowledgement (Linux: 40 ms).
    pub delay: Span,
}

impl AckPolicy {
    /// Acknowledges every packet at once.
    pub const EACH: AckPolicy = AckPolicy { every: 1, delay: Span::ZERO };
    /// TCP's delayed acknowledgements: one for every second packet, at most 40 ms late.
    pub const DELAYED: AckPolicy = AckPolicy { every: 2, delay: Span::from_millis(40) };
}
