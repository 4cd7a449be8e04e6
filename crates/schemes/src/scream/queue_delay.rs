//! The queueing delay, from one-way delays (RFC 6817 §3.3, RFC 8298 §4.1.2, draft §"Clock drift issues").

use paceline_cc::{Fate, Span, Time};

use crate::parts::WindowedMin;

/// Time over which the smallest one-way delay is the base delay (authors' `kBaseOwdHistSize`, 50 times
/// `kBaseDelayUpdateInterval_ntp`, 10 s).
const BASE_TIME: Span = Span::from_secs(500);
/// Weight of a round trip in the average of the smallest delays (draft `QDELAY_MIN_AVG_ALPHA`).
const MIN_AVERAGE_WEIGHT: f64 = 1.0 / 256.0;
/// The base delay is forgotten if that average is above this share of the target.
const RESET_SHARE: f64 = 0.25;
/// After that, the rate is halved for this number of RTTs, and at least for this time.
const DRAIN_RTTS: u64 = 5;
const DRAIN_TIME: Span = Span::from_millis(200);

/// Estimates the queueing delay in seconds.
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    base: WindowedMin<i64>,
    /// The newest delay.
    newest: f64,
    /// The smallest delay of the present round trip, and its average over round trips.
    smallest: f64,
    smallest_average: f64,
    round_start: Time,
    /// The rate is halved until then, so that the queue drains and shows the base delay.
    drains_until: Time,
}

impl QueueDelay {
    pub(super) fn new() -> QueueDelay {
        QueueDelay {
            base: WindowedMin::new(BASE_TIME.as_nanos()),
            newest: 0.0,
            smallest: f64::INFINITY,
            smallest_average: 0.0,
            round_start: Time::ZERO,
            drains_until: Time::ZERO,
        }
    }

    /// Takes in a packet that has arrived.
    pub(super) fn on_arrival(&mut self, now: Time, fate: &Fate) {
        let transit = i128::from(fate.received.as_nanos()) - i128::from(fate.sent.as_nanos());
        let transit = transit.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let base = self.base.update(now.as_nanos(), transit);
        let over = i128::from(transit) - i128::from(base);
        self.newest = over.max(0) as f64 / 1e9;
        self.smallest = self.smallest.min(self.newest);
    }

    /// Ends a round trip if one has passed. If the smallest delays of round trips stay above a quarter of
    /// `target`, by the clocks' drift or by a queue that never empties, the base delay is forgotten.
    pub(super) fn end_round(&mut self, now: Time, srtt: Span, target: f64) {
        if now.since(self.round_start) < srtt || self.smallest.is_infinite() {
            return;
        }
        self.round_start = now;
        self.smallest_average += MIN_AVERAGE_WEIGHT * (self.smallest - self.smallest_average);
        self.smallest = f64::INFINITY;
        if self.smallest_average > RESET_SHARE * target {
            self.smallest_average = 0.0;
            self.base = WindowedMin::new(BASE_TIME.as_nanos());
            self.newest = 0.0;
            self.drains_until = now + (srtt * DRAIN_RTTS).max(DRAIN_TIME);
        }
    }

    /// Returns the newest delay in seconds.
    pub(super) fn get(&self) -> f64 {
        self.newest
    }

    /// Returns true while the rate is halved.
    pub(super) fn is_draining(&self, now: Time) -> bool {
        now < self.drains_until
    }
}
