//! What an account is made from, what it is told, and what it counts.

use paceline_cc::{EcnFeedback, NO_SEGMENT, Signals};

use super::cumulative::LossRecovery;
use super::rtt::RtoBounds;
use super::ticks::Ticks;

/// What an account is made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccountConfig {
    /// The largest packet, in bytes on the wire.
    pub mss: u32,
    /// True if lost data is sent again, as in TCP; false for datagrams.
    pub reliable: bool,
    /// How congestion marks come back.
    pub ecn: EcnFeedback,
    /// The bounds of the retransmission timeout.
    pub rto: RtoBounds,
    /// The signals that the controller needs: fates and rate samples are only made if it does.
    pub signals: Signals,
    /// True if the tail is probed before the retransmission timer expires (RFC 8985 §7).
    pub probes: bool,
    /// How losses are found out and repaired.
    pub recovery: LossRecovery,
    /// The ticks at which timers expire; `None` if they expire when they are due.
    pub ticks: Option<Ticks>,
}

impl AccountConfig {
    /// A reliable stream, with AccECN and Linux' timeouts.
    pub fn stream(mss: u32) -> AccountConfig {
        AccountConfig {
            mss,
            reliable: true,
            ecn: EcnFeedback::Accurate,
            rto: RtoBounds::LINUX,
            signals: Signals::NONE,
            probes: true,
            recovery: LossRecovery::Sack,
            ticks: None,
        }
    }

    /// Datagrams: nothing is sent again.
    pub fn datagrams(mss: u32) -> AccountConfig {
        AccountConfig { reliable: false, ..AccountConfig::stream(mss) }
    }
}

/// What of a configuration an account needs as long as it lives: less than all of it, as there may be
/// very many accounts.
#[derive(Debug)]
pub(super) struct Constants {
    pub(super) mss: u32,
    pub(super) reliable: bool,
    pub(super) signals: Signals,
    pub(super) probes: bool,
    /// True if losses are found and timers set as Linux' TCP does it, false for RFC 9002's rules.
    pub(super) linux: bool,
    pub(super) ticks: Option<Ticks>,
}

impl Constants {
    pub(super) fn new(config: &AccountConfig) -> Constants {
        let AccountConfig { mss, reliable, signals, probes, ticks, .. } = *config;
        let linux = reliable && config.recovery == LossRecovery::Sack;
        Constants { mss, reliable, signals, probes, linux, ticks }
    }
}

/// A packet that leaves.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// The position of its data, in segments; [`NO_SEGMENT`] if it carries none.
    pub segment: u64,
    /// Its bytes on the wire.
    pub size: u32,
    /// The controller's tag, which comes back in the packet's [`Fate`](paceline_cc::Fate).
    pub tag: u64,
    /// True if it repeats data.
    pub retransmission: bool,
}

impl Sent {
    /// New data.
    #[inline]
    pub fn segment(segment: u64, size: u32) -> Sent {
        Sent { segment, size, tag: 0, retransmission: false }
    }

    /// A packet without data.
    #[inline]
    pub fn empty(size: u32) -> Sent {
        Sent::segment(NO_SEGMENT, size)
    }

    /// Data that was sent before.
    #[inline]
    pub fn retransmission(repair: Repair) -> Sent {
        Sent { retransmission: true, ..Sent::segment(repair.segment, repair.size) }
    }

    /// The same with the controller's tag.
    #[inline]
    pub fn tagged(self, tag: u64) -> Sent {
        Sent { tag, ..self }
    }
}

/// Data to be sent again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The number of the packet that was lost.
    pub number: u64,
    /// Its data.
    pub segment: u64,
    /// Its bytes on the wire.
    pub size: u32,
}

/// Counters of an account.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccountStats {
    /// Packets sent.
    pub sent: u64,
    /// Of these, packets that repeated data.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Of these, packets whose acknowledgement came after all, or that count as in flight again since the
    /// reaction to their loss was taken back.
    pub late: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Acknowledgements that came.
    pub acks: u64,
}
