//! Measures by how much more than expected arrives at once, where links or acknowledgements come in
//! batches.

use paceline_cc::{Rate, Span, Time};

/// Time within which excess bytes count (Linux `bbr_extra_acked_max_us`).
const MAX_SPAN: Span = Span::from_millis(100);
/// Number of round trips in half of the window, so that the window is five to ten of them.
pub const HALF_WINDOW: u32 = 5;

/// The most bytes acknowledged beyond the bandwidth's share, in the last one to two halves of a
/// window of round trips.
#[derive(Clone, Debug, Default)]
pub struct AckAggregation {
    start: Time,
    acked: u64,
    /// Maxima of the present half of the window, and of the one before.
    halves: [u64; 2],
    rounds: u32,
}

impl AckAggregation {
    /// Notes the beginning of a round trip; half of the window has `half` of them.
    pub fn on_round(&mut self, half: u32) {
        self.rounds += 1;
        if self.rounds >= half {
            self.rounds = 0;
            self.halves = [0, self.halves[0]];
        }
    }

    /// Takes in an acknowledgement of `acked` bytes.
    pub fn on_ack(&mut self, now: Time, acked: u64, bw: Rate, cwnd: u64) {
        let mut expected = bw.bytes_in(now.since(self.start));
        if self.acked <= expected {
            // The batch is over; the next one begins here.
            self.restart(now);
            expected = 0;
        }
        self.acked += acked;
        self.halves[0] = self.halves[0].max((self.acked - expected).min(cwnd));
    }

    /// Starts anew, after idleness.
    pub fn restart(&mut self, now: Time) {
        self.start = now;
        self.acked = 0;
    }

    /// Returns the bytes by which the window is to exceed its size for the bandwidth.
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
        // A pause, then evenly spaced acknowledgements.
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
