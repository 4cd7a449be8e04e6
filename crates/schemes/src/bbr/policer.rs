//! The detection of token-bucket policers: long-term bandwidth sampling, as in Linux.

use paceline_cc::{Feedback, Rate, Span, Time};

/// Minimum length of a sampling interval in round trips; it is given up after four times as many.
const MIN_ROUNDS: u32 = 4;
/// Bytes lost per byte delivered from which an interval counts as lossy.
const LOSS_SHARE: f64 = 50.0 / 256.0;
/// Maximum difference between two intervals' rates, relative and absolute.
const RATE_SHARE: f64 = 1.0 / 8.0;
const RATE_DIFFERENCE: Rate = Rate::from_bps(4_000);
/// Number of round trips for which the policed rate applies.
const HOLD_ROUNDS: u32 = 48;

/// Detects a policer: two successive intervals of at least four round trips, each with a fifth of
/// the bytes lost, at equal rates. Their rate then replaces the bandwidth for 48 round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// Rate of the last interval; the policed rate while `active`.
    rate: Option<Rate>,
    active: bool,
    rounds: u32,
    start: Time,
    delivered_at_start: u64,
    lost_at_start: u64,
    /// Bytes lost since the start of the connection.
    lost: u64,
}

/// The properties of an acknowledgement or a timeout for the detection.
#[derive(Copy, Clone, Debug)]
pub(super) struct Event {
    pub(super) losses: bool,
    pub(super) round_start: bool,
    pub(super) app_limited: bool,
    pub(super) probing_bandwidth: bool,
}

impl Policer {
    /// Returns the policer's rate, while one is assumed.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate.filter(|_| self.active)
    }

    /// Counts lost bytes.
    pub(super) fn note_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Starts the detection anew.
    pub(super) fn reset(&mut self, feedback: &Feedback<'_>) {
        *self = Policer { lost: self.lost, ..Policer::default() };
        self.begin(feedback);
    }

    fn begin(&mut self, feedback: &Feedback<'_>) {
        self.start = feedback.now;
        self.delivered_at_start = feedback.delivered;
        self.lost_at_start = self.lost;
        self.rounds = 0;
    }

    /// Takes in an acknowledgement or a timeout. Returns true if the policed rate has just been
    /// given up.
    pub(super) fn on_event(&mut self, feedback: &Feedback<'_>, event: Event) -> bool {
        if self.active {
            if event.probing_bandwidth && event.round_start {
                self.rounds += 1;
                if self.rounds >= HOLD_ROUNDS {
                    self.reset(feedback);
                    return true;
                }
            }
            return false;
        }
        // The first loss shows that the policer's tokens are spent.
        if !self.sampling {
            if !event.losses {
                return false;
            }
            self.begin(feedback);
            self.sampling = true;
        }
        if event.app_limited {
            self.reset(feedback);
            return false;
        }
        self.rounds += u32::from(event.round_start);
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(feedback);
        } else if self.rounds >= MIN_ROUNDS && event.losses {
            // An interval begins with a loss and ends with one.
            self.end(feedback);
        }
        false
    }

    fn end(&mut self, feedback: &Feedback<'_>) {
        let lost = self.lost - self.lost_at_start;
        let delivered = feedback.delivered.saturating_sub(self.delivered_at_start);
        let span = feedback.now.since(self.start);
        let lossy = delivered > 0 && lost as f64 >= LOSS_SHARE * delivered as f64;
        if !lossy || span < Span::from_millis(1) {
            return;
        }
        let rate = Rate::from_bytes_in(delivered, span);
        if let Some(before) = self.rate {
            let (rate, before) = (rate.as_bps(), before.as_bps());
            let difference = rate.abs_diff(before);
            let near = difference as f64 <= RATE_SHARE * before as f64;
            if near || difference <= RATE_DIFFERENCE.as_bps() {
                self.rate = Some(Rate::from_bps(rate / 2 + before / 2));
                self.active = true;
                self.rounds = 0;
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(feedback);
    }
}
