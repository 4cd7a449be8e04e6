//! What a sender is made from, and what it counts.

use paceline_cc::{EcnFeedback, Halves, Setup, Signals, Time, TrafficClass};

use crate::account::{AccountConfig, AccountStats, LossRecovery, RtoBounds, Ticks};
use crate::workload::Workload;

/// What a sender is made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderConfig {
    /// The flow's number, its largest packet, and the key of what it draws at random: what the
    /// scheme is told, too.
    pub setup: Setup,
    /// The route of its packets, copied into [`Packet::route`](paceline_cc::Packet::route).
    pub route: u32,
    /// The class of its packets.
    pub class: TrafficClass,
    /// What it sends.
    pub workload: Workload,
    /// When it starts.
    pub start: Time,
    /// When it stops, whatever is left to send.
    pub stop: Time,
    /// True if lost data is sent again.
    pub reliable: bool,
    /// True if its connections begin with a handshake: a SYN, and a SYN-ACK that gives the first RTT
    /// sample. Data leaves afterwards. Off where the driver shakes hands itself; never for a flow that
    /// sends nothing again.
    pub handshake: bool,
    /// The most bytes beyond the last in-order one that the receiver takes (RFC 9293 §3.8.6), or
    /// that either end's socket buffer holds; `u64::MAX` for no limit. Without meaning for flows
    /// that send nothing again.
    pub receive_window: u64,
    /// Packets at the start of each connection that are not paced: ten on Linux (`tcp_update_skb_after_send`).
    pub unpaced: u32,
    /// How congestion marks come back to it.
    pub ecn: EcnFeedback,
    /// The bounds of its retransmission timeout.
    pub rto: RtoBounds,
    /// How it finds out about losses and repairs them. Without selective acknowledgements its tail is
    /// not probed.
    pub recovery: LossRecovery,
    /// The ticks of its host's kernel, at which timers expire; `None` if they expire when they are due.
    pub ticks: Option<Ticks>,
}

impl SenderConfig {
    /// A reliable bulk flow from the start on, for as long as it is driven.
    pub fn bulk(setup: Setup) -> SenderConfig {
        SenderConfig {
            setup,
            route: 0,
            class: TrafficClass::DEFAULT,
            workload: Workload::Bulk,
            start: Time::ZERO,
            stop: Time::NEVER,
            reliable: true,
            handshake: false,
            receive_window: u64::MAX,
            unpaced: 0,
            ecn: EcnFeedback::Accurate,
            rto: RtoBounds::LINUX,
            recovery: LossRecovery::Sack,
            ticks: None,
        }
    }

    /// A bulk flow of the scheme of these halves.
    pub fn of(halves: &Halves, setup: Setup) -> SenderConfig {
        SenderConfig::bulk(setup).with(|config| {
            (config.class, config.reliable) = (halves.class, halves.reliable);
        })
    }

    /// The same with a change: `config.with(|config| config.reliable = false)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut SenderConfig)) -> SenderConfig {
        change(&mut self);
        self
    }

    /// The account of this sender, for a controller that needs `signals` and, unless its window
    /// is exact, has its tail probed.
    pub(super) fn account(&self, signals: Signals, probes: bool) -> AccountConfig {
        let mut config = AccountConfig::stream(self.setup.mss);
        config.reliable = self.reliable;
        config.ecn = self.ecn;
        config.rto = self.rto;
        config.signals = signals;
        config.probes = probes && self.recovery.is_selective();
        config.recovery = self.recovery;
        config.ticks = self.ticks;
        config
    }
}

/// What of a configuration a sender needs as long as it lives: less than all of it, as there may be
/// very many senders.
#[derive(Debug)]
pub(super) struct Constants {
    pub(super) setup: Setup,
    pub(super) route: u32,
    pub(super) class: TrafficClass,
    pub(super) ecn: EcnFeedback,
    pub(super) reliable: bool,
    /// How many segments beyond the last in-order one the receiver takes.
    pub(super) receive_window: u64,
    pub(super) unpaced: u32,
}

impl Constants {
    pub(super) fn new(config: &SenderConfig) -> Constants {
        let SenderConfig { route, class, ecn, reliable, unpaced, .. } = *config;
        let setup = config.setup.clone();
        let receive_window = match reliable {
            true => (config.receive_window / u64::from(setup.mss.max(1))).max(1),
            false => u64::MAX,
        };
        Constants { setup, route, class, ecn, reliable, receive_window, unpaced }
    }
}

/// Counters of a sender.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// Packets sent.
    pub sent: u64,
    /// Of these, packets that repeated lost data.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Of these, packets whose acknowledgement came after all.
    pub late: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Acknowledgements that came.
    pub acks: u64,
    /// Reports that came.
    pub reports: u64,
    /// SYNs sent, which `sent` does not count.
    pub syns: u64,
    /// SYN-ACKs that came, which `acks` does not count.
    pub syn_acks: u64,
    /// Acknowledgements of SYN-ACKs sent, which `sent` does not count.
    pub handshake_acks: u64,
}

impl SenderStats {
    pub(super) fn new(
        account: AccountStats,
        reports: u64,
        (syns, syn_acks, handshake_acks): (u64, u64, u64),
    ) -> SenderStats {
        SenderStats {
            sent: account.sent,
            retransmits: account.retransmits,
            lost: account.lost,
            late: account.late,
            timeouts: account.timeouts,
            probes: account.probes,
            acks: account.acks,
            reports,
            syns,
            syn_acks,
            handshake_acks,
        }
    }
}

/// The controller needs signals that the driver does not have.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
#[error("the scheme needs signals that this driver does not have: {}", .missing.join(", "))]
pub struct MissingSignals {
    /// The names of the signals.
    pub missing: Vec<&'static str>,
}

/// The signals that a [`Sender`](super::Sender) gives to controllers.
pub const SENDER_SIGNALS: Signals = Signals::ECN
    .and(Signals::ABC_ECHO)
    .and(Signals::DELIVERY_RATE)
    .and(Signals::FATES)
    .and(Signals::RECEIVE_TIME)
    .and(Signals::HEADERS)
    .and(Signals::REPORTS);
