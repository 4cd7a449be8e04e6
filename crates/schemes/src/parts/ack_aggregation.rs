//! How much more than expected arrives at once, where links or acknowledgements come in batches.

use paceline_cc::{Rate, Span, Time};

/// Excess at most within this time counts (Linux `bbr_extra_acked_max_us`).
const MAX_SPAN: Span = Span::from_millis(100);
/// Round trips per half of the window, so that the window is five to ten of them.
pub const HALF_WINDOW: u32 = 5;

/// The most bytes that were acknowledged beyond what the bandwidth explains, in the last round
/// trips: one to two times a number of them.
#[derive(Clone, Debug, Default)]
pub struct AckAggregation {
    start: Time,
    acked: u64,
    /// The maxima of this half of the window and of the one before.
    halves: [u64; 2],
    rounds: u32,
}

impl AckAggregation {
    /// A round trip has begun; half of the window is `half` of them.
    pub fn on_round(&mut self, half: u32) {
        self.rounds += 1;
        if self.rounds >= half {
            self.rounds = 0;
            self.halves = [0, self.halves[0]];
        }
    }

    /// Takes an acknowledgement of `acked` bytes in.
    pub fn on_ack(&mut self, now: Time, acked: u64, bw: Rate, cwnd: u64) {
        let mut expected = bw.bytes_in(now.since(self.start));
        if self.acked <= expected {
            // The batch is over; the next begins here.
            self.restart(now);
            expected = 0;
        }
        self.acked += acked;
        self.halves[0] = self.halves[0].max((self.acked - expected).min(cwnd));
    }

    /// Begins to count anew, after idleness.
    pub fn restart(&mut self, now: Time) {
        self.start = now;
        self.acked = 0;
    }

    /// The bytes by which the window exceeds what the bandwidth asks for.
    pub fn extra(&self, bw: Rate) -> u64 {
        self.halves[0].max(self.halves[1]).min(bw.bytes_in(MAX_SPAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BW: Rate = Rate::from_bps(12_000_000);

    #[test]
    fn batches_are_remembered_for_five_to_ten_rounds() {
        let mut aggregation = AckAggregation::default();
        let mut now = Time::from_secs(1);
        aggregation.on_ack(now, 1500, BW, 300_000);
        // 30 packets at once every 30 ms are 30 ms of bandwidth ahead of their time.
        for _ in 0..4 {
            now += Span::from_millis(30);
            (0..30).for_each(|_| aggregation.on_ack(now, 1500, BW, 300_000));
        }
        assert_eq!(aggregation.extra(BW), 45_000);
        // A pause, and evenly spaced acknowledgements from then on.
        now += Span::from_millis(100);
        let mut forgotten = 0;
        for round in 1..=11 {
            aggregation.on_round(HALF_WINDOW);
            for _ in 0..100 {
                now += Span::from_millis(1);
                aggregation.on_ack(now, 1500, BW, 300_000);
            }
            if aggregation.extra(BW) >= 45_000 {
                forgotten = round;
            }
        }
        assert!((4..10).contains(&forgotten), "{forgotten}");
        assert!(aggregation.extra(BW) <= 3_000);
    }

    #[test]
    fn window_and_time_bound_the_excess() {
        let mut aggregation = AckAggregation::default();
        let now = Time::from_secs(1);
        (0..1000).for_each(|_| aggregation.on_ack(now, 1500, BW, 900_000));
        assert_eq!(aggregation.extra(BW), 150_000);
        let mut aggregation = AckAggregation::default();
        (0..1000).for_each(|_| aggregation.on_ack(now, 1500, BW, 60_000));
        assert_eq!(aggregation.extra(BW), 60_000);
    }
}
