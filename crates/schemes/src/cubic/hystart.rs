//! HyStart: leaves slow start before the first loss, when acknowledgements show that the path is
//! full.
//!
//! Linux counts round trips from the first acknowledgement on, so that each begins with a flight of
//! packets. Once the window is 16 packets, it watches two signs in each round: acknowledgements
//! that follow each other closely for half the smallest RTT, and a smallest RTT of the round's
//! first nine samples that exceeds the smallest of all by an eighth (at least 4, at most 16 ms).
//! ns-3 has the same signs with laxer thresholds. RFC 9406 is in [`super::css`].

use paceline_cc::{Feedback, Span, Time};

use super::css::Css;
use super::rounds::Rounds;

paceline_cc::choices! {
    /// Ways to leave slow start early.
    pub enum HyStartKind {
        /// As in Linux: acknowledgement trains and delay.
        Linux = "linux",
        /// HyStart++: the delay's rise, then conservative slow start (RFC 9406).
        Rfc9406 = "rfc9406",
        /// Slow start ends only with congestion.
        Off = "off",
        /// As in ns-3: Linux' signs with laxer thresholds.
        Ns3 = "ns3",
    }
}

/// The window in packets from which on the signs count.
const LOW_WINDOW: f64 = 16.0;
/// Largest gap between acknowledgements of one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Number of samples in a round from which on its smallest RTT counts.
const MIN_SAMPLES: u32 = 8;
/// Smallest rise of the delay that counts.
const MIN_RISE: Span = Span::from_millis(4);

/// Watches slow start for the signs of a full path.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    kind: HyStartKind,
    paced: bool,
    found: bool,
    /// The smallest RTT in slow start since the start or the last timeout; zero if unknown.
    delay_min: Span,
    round_start: Time,
    rounds: Rounds,
    /// Time of the train's last acknowledgement.
    last_ack: Time,
    /// The smallest RTT of the round.
    round_min: Span,
    samples: u32,
    css: Css,
}

impl HyStart {
    pub(super) fn new(kind: HyStartKind) -> HyStart {
        HyStart {
            kind,
            paced: false,
            found: kind == HyStartKind::Off,
            delay_min: Span::ZERO,
            round_start: Time::ZERO,
            rounds: Rounds::default(),
            last_ack: Time::ZERO,
            round_min: Span::MAX,
            samples: 0,
            css: Css::new(),
        }
    }

    /// Sets whether packets leave at a pacing rate: trains are then longer, and bursts need no
    /// limit.
    pub(super) fn set_paced(&mut self, paced: bool) {
        self.paced = paced;
    }

    /// Notes that losses or marks have ended slow start: HyStart++ is for the first one only (RFC
    /// 9406 §4.3).
    pub(super) fn on_congestion(&mut self) {
        self.found |= self.kind == HyStartKind::Rfc9406;
    }

    /// Handles a timeout, which discards the smallest RTT and begins a round trip (Linux:
    /// `bictcp_hystart_reset`).
    pub(super) fn on_timeout(&mut self, feedback: &Feedback<'_>) {
        self.delay_min = Span::ZERO;
        self.rounds.restart(feedback);
        self.begin_round(feedback.now);
        self.found &= matches!(self.kind, HyStartKind::Off | HyStartKind::Rfc9406);
        self.on_congestion();
    }

    /// Takes in an acknowledgement in slow start, before any reaction to it and whether or not the
    /// window may grow, as Linux' `pkts_acked` does. At the end of an outage, the first
    /// acknowledgement, which undoes the timeout, only gives the smallest RTT. Returns true if slow
    /// start ends here.
    pub(super) fn observe(&mut self, feedback: &Feedback<'_>, cwnd: f64) -> bool {
        if self.found || self.kind == HyStartKind::Rfc9406 {
            return false;
        }
        let Some(rtt) = feedback.rtt.filter(|rtt| !rtt.is_zero()) else { return false };
        let known = if self.delay_min.is_zero() { Span::MAX } else { self.delay_min };
        self.delay_min = known.min(rtt);
        if self.rounds.begins(feedback) {
            self.begin_round(feedback.now);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        self.found = self.train_is_long(feedback, cwnd) || self.delay_has_risen(rtt);
        self.found
    }

    /// Takes in an acknowledgement of `acked` packets in slow start. Returns by how many packets
    /// the window may open; `None` if HyStart++ ends slow start here.
    pub(super) fn on_ack(&mut self, feedback: &Feedback<'_>, acked: f64) -> Option<f64> {
        if self.found || self.kind != HyStartKind::Rfc9406 {
            return Some(acked);
        }
        let growth = self.css.on_ack(feedback, acked, self.paced);
        self.found = growth.is_none();
        growth
    }

    fn begin_round(&mut self, now: Time) {
        self.round_start = now;
        self.last_ack = now;
        self.round_min = Span::MAX;
        self.samples = 0;
    }

    fn train_is_long(&mut self, feedback: &Feedback<'_>, cwnd: f64) -> bool {
        let now = feedback.now;
        if now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        let long = match self.kind {
            HyStartKind::Ns3 => self.delay_min,
            _ if self.paced => self.delay_min + cushion(feedback, cwnd),
            _ => (self.delay_min + cushion(feedback, cwnd)) / 2,
        };
        now.since(self.round_start) > long
    }

    fn delay_has_risen(&mut self, rtt: Span) -> bool {
        self.round_min = self.round_min.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = match self.kind {
            HyStartKind::Ns3 => self.delay_min.clamp(MIN_RISE, Span::from_secs(1)),
            _ => (self.delay_min / 8).clamp(MIN_RISE, Span::from_millis(16)),
        };
        self.round_min > self.delay_min + rise
    }
}

/// Returns the time by which a train may be longer because hosts send and acknowledge in
/// aggregates: four segments of 64 kB at Linux' pacing rate of two windows per RTT, at most 1 ms.
fn cushion(feedback: &Feedback<'_>, cwnd: f64) -> Span {
    let rate = 2.0 * cwnd * feedback.mss as f64 / feedback.srtt.as_secs_f64();
    Span::from_secs_f64(4.0 * 65_536.0 / rate).min(Span::from_millis(1))
}
