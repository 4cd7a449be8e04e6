//! The configuration of a sender, and its counters.

use paceline_cc::{EcnFeedback, Halves, Provided, Setup, Signals, Time, TrafficClass};

use crate::account::{AccountConfig, LossRecovery, RtoBounds, Ticks};
use crate::workload::Workload;

/// Configuration of a sender.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderConfig {
    /// The flow's number, its largest packet, and the key of its random draws. The scheme gets it,
    /// too.
    pub setup: Setup,
    /// The route of its packets, copied into [`Packet::route`](paceline_cc::Packet::route).
    pub route: u32,
    /// The class of its packets.
    pub class: TrafficClass,
    /// What it sends.
    pub workload: Workload,
    /// When it starts.
    pub start: Time,
    /// When it stops, even if data is left to send.
    pub stop: Time,
    /// True if lost data is retransmitted.
    pub reliable: bool,
    /// True if its connections begin with a handshake: a SYN, and a SYN-ACK that gives the first
    /// RTT sample. Data leaves afterwards. False where the driver does the handshake itself, and
    /// for flows that retransmit nothing.
    pub handshake: bool,
    /// The most bytes beyond the last in-order one that the receiver accepts (RFC 9293 §3.8.6), or
    /// that either end's socket buffer holds; `u64::MAX` for no limit. One packet always fits. Ignored for flows that
    /// retransmit nothing.
    pub receive_window: u64,
    /// Number of packets at the start of each connection that are not paced: ten on Linux
    /// (`tcp_update_skb_after_send`).
    pub unpaced: u32,
    /// How the receiver reports congestion marks.
    pub ecn: EcnFeedback,
    /// Bounds of the retransmission timeout.
    pub rto: RtoBounds,
    /// How the sender detects and repairs losses. Without selective acknowledgements it does not
    /// probe its tail.
    pub recovery: LossRecovery,
    /// True if an idle time of a retransmission timeout or more reduces the window (RFC 2861; the
    /// default of Linux' `tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
    /// The ticks of its host's kernel, at which timers expire; `None` if each timer expires exactly
    /// at its deadline.
    pub ticks: Option<Ticks>,
}

impl SenderConfig {
    /// Configures a reliable bulk flow that starts at once and never stops.
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
            slow_start_after_idle: true,
            ticks: None,
        }
    }

    /// Configures a bulk flow of the scheme with these halves.
    pub fn of(halves: &Halves, setup: Setup) -> SenderConfig {
        SenderConfig::bulk(setup).with(|config| {
            (config.class, config.reliable) = (halves.class, halves.reliable);
        })
    }

    /// Returns this configuration changed by `change`: `config.with(|config| config.reliable =
    /// false)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut SenderConfig)) -> SenderConfig {
        change(&mut self);
        self
    }

    /// Returns the configuration of this sender's account, for a controller that needs `signals`.
    /// `probes` is true for a controller without an exact window: its tail is probed.
    pub(super) fn account(&self, signals: Signals, probes: bool) -> AccountConfig {
        let mut config = AccountConfig::stream(self.setup.mss);
        config.reliable = self.reliable;
        config.requests = match &self.workload {
            Workload::Video(video) if !self.reliable => video.requests,
            _ => 0,
        };
        config.ecn = self.ecn;
        config.rto = self.rto;
        config.signals = signals;
        config.probes = probes && self.recovery.is_selective();
        config.recovery = self.recovery;
        config.ticks = self.ticks;
        config
    }
}

/// The part of a configuration that a sender needs as long as it lives. It is smaller than the
/// whole, since there may be very many senders.
#[derive(Debug)]
pub(super) struct Constants {
    pub(super) setup: Setup,
    pub(super) route: u32,
    pub(super) class: TrafficClass,
    pub(super) ecn: EcnFeedback,
    pub(super) reliable: bool,
    pub(super) unpaced: u32,
    pub(super) slow_start_after_idle: bool,
}

impl Constants {
    pub(super) fn new(config: &SenderConfig) -> Constants {
        let SenderConfig { route, class, ecn, reliable, unpaced, slow_start_after_idle, .. } =
            *config;
        let setup = config.setup.clone();
        Constants { setup, route, class, ecn, reliable, unpaced, slow_start_after_idle }
    }
}

/// Error: the controller needs signals that the driver does not have.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
#[error("the scheme needs signals that this driver does not have: {}", .missing.join(", "))]
pub struct MissingSignals {
    /// Names of the missing signals.
    pub missing: Vec<&'static str>,
}

/// The signals that a [`Sender`](super::Sender) gives to controllers.
pub const SENDER_SIGNALS: Signals = Signals::of(Provided {
    ecn: true,
    echo: true,
    delivery_rate: true,
    fates: true,
    receive_time: true,
    headers: true,
    reports: true,
});
