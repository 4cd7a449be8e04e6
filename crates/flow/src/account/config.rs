//! The configuration of an account, the packets reported to it, and its counters.

use std::ops::Sub;

use paceline_cc::{EcnFeedback, NO_SEGMENT, Signals};

use super::loss_recovery::LossRecovery;
use super::rtt::RtoBounds;
use super::ticks::Ticks;

/// Configuration of an account.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccountConfig {
    /// Size of the largest packet, in bytes on the wire.
    pub mss: u32,
    /// True if lost data is retransmitted, as in TCP; false for datagrams.
    pub reliable: bool,
    /// How many times the receiver asks for a lost datagram, an RTT apart (RTCP's NACK); 0 if it asks for none. A
    /// stream sends lost data again itself.
    pub requests: u32,
    /// How the receiver reports congestion marks.
    pub ecn: EcnFeedback,
    /// Bounds of the retransmission timeout.
    pub rto: RtoBounds,
    /// The signals that the controller needs. The account collects fates and rate samples only for
    /// a controller that needs them.
    pub signals: Signals,
    /// True if the account probes the tail before the retransmission timer expires (RFC 8985 §7).
    pub probes: bool,
    /// How the account detects and repairs losses.
    pub recovery: LossRecovery,
    /// The ticks at which timers expire; `None` if each timer expires exactly at its deadline.
    pub ticks: Option<Ticks>,
}

impl AccountConfig {
    /// Configures a reliable stream with AccECN and Linux' timeouts.
    pub fn stream(mss: u32) -> AccountConfig {
        AccountConfig {
            mss,
            reliable: true,
            requests: 0,
            ecn: EcnFeedback::Accurate,
            rto: RtoBounds::LINUX,
            signals: Signals::NONE,
            probes: true,
            recovery: LossRecovery::Sack,
            ticks: None,
        }
    }

    /// Configures datagrams: nothing is retransmitted.
    pub fn datagrams(mss: u32) -> AccountConfig {
        AccountConfig { reliable: false, ..AccountConfig::stream(mss) }
    }
}

/// The part of a configuration that an account needs as long as it lives. It is smaller than the
/// whole, since there may be very many accounts.
#[derive(Debug)]
pub(super) struct Constants {
    pub(super) mss: u32,
    pub(super) reliable: bool,
    pub(super) signals: Signals,
    pub(super) probes: bool,
    /// True if losses are detected and timers set as in Linux' TCP, false for RFC 9002's rules.
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

/// A packet that the driver sends, as it reports it to the account.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// Position of its data in the stream, in segments; [`NO_SEGMENT`] if it carries no data.
    pub segment: u64,
    /// Size in bytes on the wire.
    pub size: u32,
    /// The controller's tag, which comes back in the packet's [`Fate`](paceline_cc::Fate).
    pub tag: u64,
    /// True if it retransmits data.
    pub retransmission: bool,
    /// True if it has TCP's PSH flag: see [`Data::push`](paceline_cc::Data).
    pub push: bool,
}

impl Sent {
    /// Returns a packet with new data.
    #[inline]
    pub fn segment(segment: u64, size: u32) -> Sent {
        Sent { segment, size, tag: 0, retransmission: false, push: false }
    }

    /// Returns a packet without data.
    #[inline]
    pub fn empty(size: u32) -> Sent {
        Sent::segment(NO_SEGMENT, size)
    }

    /// Returns a packet that retransmits the data of `repair`.
    #[inline]
    pub fn retransmission(repair: Repair) -> Sent {
        let push = repair.push;
        Sent { retransmission: true, push, ..Sent::segment(repair.segment, repair.size) }
    }

    /// Returns this packet with the controller's tag.
    #[inline]
    pub fn tagged(self, tag: u64) -> Sent {
        Sent { tag, ..self }
    }
}

/// Lost data that is to be retransmitted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Number of the packet that was lost.
    pub number: u64,
    /// Its data's position, in segments.
    pub segment: u64,
    /// Size in bytes on the wire.
    pub size: u32,
    /// True if the lost packet had the PSH flag; the packet that retransmits it has it, too.
    pub push: bool,
}

/// Counters of a sender since the start. An [`Account`](super::Account) keeps them; other transports, such as Linux' or a QUIC
/// stack, leave at zero what they do not count.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// Packets sent.
    pub sent: u64,
    /// Packets among these that retransmitted lost data.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Packets among these that were acknowledged after all, or that count as in flight again
    /// because the reaction to their loss was undone.
    pub late: u64,
    /// Number of times that the retransmission timer expired.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Acknowledgements received.
    pub acks: u64,
    /// True if the transport counts `sent` and `lost` only, as the ends of QUIC stacks do. The other
    /// counters are zero, and say nothing.
    pub is_partial: bool,
}

impl SenderStats {
    /// Returns `retransmits`; `None` if the transport does not count it.
    pub fn counted_retransmits(&self) -> Option<u64> {
        (!self.is_partial).then_some(self.retransmits)
    }

    /// Returns `late`; `None` if the transport does not count it.
    pub fn counted_late(&self) -> Option<u64> {
        (!self.is_partial).then_some(self.late)
    }

    /// Returns `timeouts`; `None` if the transport does not count it.
    pub fn counted_timeouts(&self) -> Option<u64> {
        (!self.is_partial).then_some(self.timeouts)
    }
}

impl Sub for SenderStats {
    type Output = SenderStats;

    /// Returns what was counted after `before`.
    fn sub(self, before: SenderStats) -> SenderStats {
        let since = |now: u64, before: u64| now.saturating_sub(before);
        SenderStats {
            is_partial: self.is_partial,
            sent: since(self.sent, before.sent),
            retransmits: since(self.retransmits, before.retransmits),
            lost: since(self.lost, before.lost),
            late: since(self.late, before.late),
            timeouts: since(self.timeouts, before.timeouts),
            probes: since(self.probes, before.probes),
            acks: since(self.acks, before.acks),
        }
    }
}
