//! The detection of token-bucket policers: long-term bandwidth sampling, as in Linux.

use paceline_cc::{Feedback, Rate, Span, Time};

/// Round trips of a sampling interval, at least; it is given up after four times as many.
const MIN_ROUNDS: u32 = 4;
/// Lost bytes per delivered byte from which an interval counts as lossy.
const LOSS_SHARE: f64 = 50.0 / 256.0;
/// How much two intervals' rates may differ: relatively, or absolutely.
const RATE_SHARE: f64 = 1.0 / 8.0;
const RATE_DIFFERENCE: Rate = Rate::from_bps(4_000);
/// Round trips for which the policed rate holds.
const HOLD_ROUNDS: u32 = 48;

/// Two successive intervals of at least four round trips, each with a fifth of the bytes lost, at
/// the same rate: a policer. Its rate then stands for the bandwidth during 48 round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// The rate of the last interval; the policed rate while `active`.
    rate: Option<Rate>,
    active: bool,
    rounds: u32,
    start: Time,
    delivered_at_start: u64,
    lost_at_start: u64,
    /// Bytes lost since the start of the connection.
    lost: u64,
}

/// What an acknowledgement or a timeout means for the detection.
#[derive(Copy, Clone, Debug)]
pub(super) struct Event {
    pub(super) losses: bool,
    pub(super) round_start: bool,
    pub(super) app_limited: bool,
    pub(super) probing_bandwidth: bool,
}

impl Policer {
    /// The rate of the policer, while one is believed to be there.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate.filter(|_| self.active)
    }

    /// Counts losses.
    pub(super) fn note_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Forgets everything.
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

    /// Takes an acknowledgement or a timeout in. True if the policed rate has just been given up.
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
        // The first loss tells that the policer's tokens are spent.
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
            // An interval ends with a loss, as it began.
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
