//! The deadlines of an account: loss by time, tail loss probe, retransmission timeout.
//!
//! Linux has one timer for the probe and the timeout (`tcp_schedule_loss_probe`, `tcp_rearm_rto`).
//! While no packet is missing, the timer is for the probe: each packet and each acknowledgement of
//! data sets it to two RTTs later, or to the timeout if that is earlier. After an acknowledgement,
//! the timeout counts from the acknowledgement; after a packet, from the sending of the oldest
//! packet in flight. If the timer expires while a probe is in flight, a timeout follows instead of
//! a second probe.
//!
//! With RFC 9002's rules ([`LossRecovery::Rfc9002`]) the timeout counts from the last
//! acknowledgement or probe, and one probe is sent before it.
//!
//! [`LossRecovery::Rfc9002`]: super::LossRecovery::Rfc9002

use paceline_cc::{Span, Time};

use super::Account;

/// Longest delay of a lone packet's acknowledgement (RFC 8985 §7.2 `TLP.max_ack_delay`; Linux
/// `TCP_RTO_MIN`).
const MAX_ACK_DELAY: Span = Span::from_millis(200);
/// Added to two RTTs when more than one packet is in flight (Linux `TCP_TIMEOUT_MIN_US`).
const PROBE_MARGIN: Span = Span::from_millis(2);

/// The state of an account's timers.
#[derive(Debug)]
pub(super) struct Timers {
    /// When the timeout last began to count: at an acknowledgement, a probe, a timeout, or a
    /// retransmission of the oldest missing data.
    start: Time,
    /// Number of the next packet at `start`.
    start_next: u64,
    /// When the oldest missing data was last retransmitted, and its segment.
    pub(super) repaired: Time,
    pub(super) repaired_segment: u64,
    /// When the time threshold declares the next packet lost.
    pub(super) loss: Time,
    /// The number of the last probe; zero before the first.
    pub(super) probe: u64,
    /// True if nothing was acknowledged since the last probe.
    silent_since_probe: bool,
    /// True if neither a loss nor a timeout followed the last probe.
    calm_since_probe: bool,
}

/// Deadlines of the tail probe and of the retransmission timer. One of them is [`Time::NEVER`]
/// while it waits for the other.
#[derive(Copy, Clone, Debug)]
pub(super) struct TailDeadlines {
    pub(super) probe: Time,
    pub(super) timeout: Time,
}

impl Timers {
    pub(super) fn new() -> Timers {
        Timers {
            start: Time::ZERO,
            start_next: 0,
            repaired: Time::ZERO,
            repaired_segment: u64::MAX,
            loss: Time::NEVER,
            probe: 0,
            silent_since_probe: false,
            calm_since_probe: false,
        }
    }

    /// Lets the timeout count from `now` on; `next` is the number of the next packet.
    #[inline]
    pub(super) fn restart(&mut self, now: Time, next: u64) {
        self.start = now;
        self.start_next = next;
        self.silent_since_probe = false;
    }

    /// Notes that packet `number` probes the tail. The timeout counts from now on (RFC 8985 §7.3).
    pub(super) fn on_probe(&mut self, now: Time, number: u64) {
        self.restart(now, number + 1);
        self.probe = number;
        (self.silent_since_probe, self.calm_since_probe) = (true, true);
    }

    /// Notes a timeout, or a reaction to a loss or a mark: the next tail may be probed.
    pub(super) fn on_congestion(&mut self) {
        self.calm_since_probe = false;
    }
}

impl Account {
    /// Returns when [`Account::on_deadline`] is next to be called; [`Time::NEVER`] if nothing is in
    /// flight.
    #[inline]
    pub fn deadline(&self) -> Time {
        let TailDeadlines { probe, timeout } = self.tail_deadlines();
        self.timers.loss.min(probe).min(timeout).min(self.next_request())
    }

    /// Returns true if no deadline can lie before `time`. A cheap bound: false does not mean that
    /// one does.
    #[inline]
    pub(crate) fn is_quiet_until(&self, time: Time) -> bool {
        self.quiet_until() >= time
    }

    /// Returns a time before which no deadline can lie, at a lower cost than the exact deadline.
    #[inline]
    pub(crate) fn quiet_until(&self) -> Time {
        let rto = self.rtt.rto();
        let soonest = rto.min(self.rtt.smoothed() * 2);
        let mut tail = self.timers.start + soonest;
        // While losses are repaired, no deadline counts from when a packet was sent. The oldest one is then
        // mostly a lost one, so that its time would be too early a bound.
        if !self.recovery.is_repairing()
            && let Some(oldest) = self.ledger.oldest()
        {
            tail = tail.min(self.ledger.entry(oldest).sent + rto);
        }
        self.timers.loss.min(self.next_request()).min(tail)
    }

    /// Returns true if no data is in flight that the receiver still needs: then there is no tail,
    /// and neither a probe nor a timeout (RFC 6298 §5.2).
    #[inline]
    pub(super) fn needs_no_timer(&self) -> bool {
        self.config.reliable && self.cumulative == self.next_segment
    }

    /// Returns the deadlines of the tail probe and of the retransmission timer.
    pub(super) fn tail_deadlines(&self) -> TailDeadlines {
        let rto = self.rto();
        let timeout = self.timers.start + rto;
        if self.in_flight() == 0 {
            // Repairs held back after an undo wait for the timer.
            let timeout = if self.holds_repairs() { timeout } else { Time::NEVER };
            let timeout = self.expiry(self.timers.start, timeout);
            return TailDeadlines { probe: Time::NEVER, timeout };
        }
        if !self.probes_tail() {
            let timeout = self.expiry(self.timers.start, timeout);
            return TailDeadlines { probe: Time::NEVER, timeout };
        }
        let (next, linux) = (self.ledger.next(), self.config.linux);
        let newest = next - 1;
        let first = self.ledger.first_in_flight();
        let is_alone = first == Some(newest);
        let margin = if is_alone { MAX_ACK_DELAY } else { PROBE_MARGIN };
        let sent_since_start = next > self.timers.start_next;
        let start =
            if sent_since_start { self.ledger.entry(newest).sent } else { self.timers.start };
        let probe = start + self.rtt.smoothed() * 2 + margin;
        if !linux {
            let (probe, timeout) =
                (self.expiry(start, probe.min(timeout)), self.expiry(self.timers.start, timeout));
            return TailDeadlines { probe, timeout };
        }
        let oldest_expires = self.oldest_sent(first) + rto;
        let probe = match sent_since_start {
            false => probe.min(timeout),
            // If the timeout should already have expired, the probe keeps its time
            // (`tcp_schedule_loss_probe`).
            true if oldest_expires <= start => probe,
            true => probe.min(oldest_expires),
        };
        match self.has_probe_out() {
            true => {
                let timeout = self.expiry(start, probe.max(oldest_expires));
                TailDeadlines { probe: Time::NEVER, timeout }
            }
            false => TailDeadlines { probe: self.expiry(start, probe), timeout: Time::NEVER },
        }
    }

    /// Returns the retransmission timeout, rounded to whole ticks if timers expire at ticks.
    fn rto(&self) -> Span {
        match self.config.ticks {
            None => self.rtt.rto(),
            Some(ticks) => self.rtt.rounded_rto(|rto| ticks.rounded(rto)),
        }
    }

    /// Returns when a timer expires that is set at time `set` for `deadline`.
    pub(super) fn expiry(&self, set: Time, deadline: Time) -> Time {
        self.config.ticks.map_or(deadline, |ticks| ticks.expiry(set, deadline))
    }

    /// Returns the time from `earlier` to `later` as the host counts it.
    pub(crate) fn host_time(&self, earlier: Time, later: Time) -> Span {
        let exact = later.since(earlier);
        self.config.ticks.map_or(exact, |ticks| ticks.between(earlier, later))
    }

    /// Returns true if the timer is set for a probe: never while a loss or a timeout is being
    /// repaired, and on Linux not while a gap is open (`tcp_schedule_loss_probe`: not in
    /// `TCP_CA_Disorder`).
    fn probes_tail(&self) -> bool {
        let timers = &self.timers;
        // After a probe, the timer is for the timeout: always with RFC 9002's rules, on Linux until
        // something is sent.
        let awaits_timeout = timers.silent_since_probe
            && (!self.config.linux || self.ledger.next() <= timers.probe + 1);
        let gap_is_open = self.config.linux && self.ledger.has_acked_beyond_gap(1);
        self.config.probes
            && !awaits_timeout
            && self.next_repair().is_none()
            && !gap_is_open
            && !self.recovery.is_repairing()
            && !self.needs_no_timer()
            && !self.rtt.smoothed().is_zero()
    }

    /// Returns true if a probe is in flight: neither it nor a later packet is acknowledged, and no
    /// congestion was reacted to since (Linux `tlp_high_seq`). Also if it has repaired a lost tail
    /// and nothing beyond has arrived since.
    fn has_probe_out(&self) -> bool {
        let is_silent = self.ledger.acked_end() <= self.timers.probe;
        self.timers.calm_since_probe && (is_silent || self.recovery.has_probed_tail())
    }

    /// Returns when the oldest data in flight, of packet `first`, was last sent.
    fn oldest_sent(&self, first: Option<u64>) -> Time {
        let Some(number) = first else { return self.timers.start };
        let oldest = self.ledger.entry(number);
        // A probe that repeats it was sent later.
        match self.ledger.unlost(self.timers.probe) {
            Some(probe) if self.has_probe_out() && probe.segment == oldest.segment => probe.sent,
            _ => oldest.sent,
        }
    }
}
