//! Estimates the rate of an 802.11n link, with what its access point knows (paper §5.1).

use std::collections::VecDeque;

use paceline_cc::{Batch, Rate, Span, Time};

/// Estimates from block acknowledgements the rate that a link would have if its user always had
/// packets waiting.
///
/// The time between two block acknowledgements is the batch's time on air plus an overhead
/// (contention, preamble, acknowledgement) that does not depend on the batch's size. So with `M`
/// frames instead of `b` it would have been longer by `(M - b) S / R` (equation 8), and the link's
/// rate is that of `M` frames in this time (equation 6). The rate that left the queue is that of
/// `b` frames in the time between the acknowledgements (equation 5).
///
/// Both rates are means over a sliding window, weighted by time: bytes over seconds. A pause longer
/// than the window counts as one window. Frames count with the bytes of their packets; for times,
/// with the bytes on air. Of a batch that was lost in part only the part that arrived counts.
///
/// Input and output are plain values that a driver of a real access point knows. With the batches
/// of one user the result is this user's rate; with those of all users that share a queue it is
/// their joint rate.
#[derive(Clone, Debug)]
pub struct LinkRateEstimator {
    window: Span,
    last: Option<Time>,
    samples: VecDeque<Sample>,
    link: f64,
    dequeue: f64,
}

#[derive(Copy, Clone, Debug)]
struct Sample {
    at: Time,
    /// Bytes and seconds that a full batch would have had.
    full: (f64, f64),
    /// Bytes and seconds of this batch.
    real: (f64, f64),
}

impl LinkRateEstimator {
    /// Returns an estimator that averages over `window`, which should be longer than a batch (the
    /// paper: 40 ms).
    pub fn new(window: Span) -> LinkRateEstimator {
        LinkRateEstimator {
            window,
            last: None,
            samples: VecDeque::with_capacity(64),
            link: 0.0,
            dequeue: 0.0,
        }
    }

    /// Takes in a block acknowledgement. The first one only starts the clock.
    pub fn on_block_ack(&mut self, now: Time, batch: &Batch) {
        let Some(last) = self.last.replace(now) else { return };
        let (bits, frames) = (batch.rate.as_bps() as f64, f64::from(batch.frames));
        let took = now.since(last).min(self.window).as_secs_f64();
        if frames < 1.0 || bits <= 0.0 || took <= 0.0 {
            return;
        }
        let missing = f64::from(batch.max_frames.saturating_sub(batch.frames));
        let longer = missing / frames * f64::from(batch.air_bytes) * 8.0 / bits;
        let through = f64::from(batch.acked_bytes);
        let sample = Sample {
            at: now,
            full: (through / frames * (frames + missing), took + longer),
            real: (through, took),
        };
        while self.samples.front().is_some_and(|first| now.since(first.at) > self.window) {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        // Summed anew each time: only dozens of values, and no rounding error accumulates.
        let sum = |part: fn(&Sample) -> (f64, f64)| {
            let add = |sum: (f64, f64), (bytes, secs)| (sum.0 + bytes, sum.1 + secs);
            let (bytes, secs) = self.samples.iter().map(part).fold((0.0, 0.0), add);
            bytes / secs
        };
        (self.link, self.dequeue) = (sum(|sample| sample.full), sum(|sample| sample.real));
    }

    /// Returns the link's rate, at most twice the present rate, since senders can at most double in
    /// a round trip. `None` before the second block acknowledgement.
    pub fn link_rate(&self) -> Option<Rate> {
        self.capped().map(Rate::from_bytes_per_sec)
    }

    /// Returns the rate that left the queue. `None` before the second block acknowledgement.
    pub fn dequeue_rate(&self) -> Option<Rate> {
        (!self.samples.is_empty()).then(|| Rate::from_bytes_per_sec(self.dequeue))
    }

    /// [`LinkRateEstimator::link_rate`] without the cap.
    pub fn uncapped(&self) -> Option<Rate> {
        (!self.samples.is_empty()).then(|| Rate::from_bytes_per_sec(self.link))
    }

    fn capped(&self) -> Option<f64> {
        (!self.samples.is_empty()).then(|| self.link.min(2.0 * self.dequeue))
    }

    /// Returns the link rate, with the cap, and the dequeue rate, in bytes per second, both above
    /// zero.
    #[inline]
    pub(super) fn rates(&self) -> Option<(f64, f64)> {
        self.capped().filter(|link| *link > 0.0).map(|link| (link, self.dequeue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(frames: u32, max_frames: u32, mbps: f64) -> Batch {
        let bytes = frames * 1500;
        let rate = Rate::from_mbps(mbps);
        Batch { station: 0, frames, max_frames, bytes, acked_bytes: bytes, air_bytes: bytes, rate }
    }

    fn fed(batches: &[(u64, Batch)]) -> LinkRateEstimator {
        let mut estimator = LinkRateEstimator::new(Span::from_millis(40));
        for (micros, batch) in batches {
            estimator.on_block_ack(Time::ZERO + Span::from_micros(*micros), batch);
        }
        estimator
    }

    fn mbps(rate: Option<Rate>) -> f64 {
        rate.expect("an estimate").as_mbps()
    }

    #[test]
    fn a_full_batch_is_the_link() {
        let full = batch(20, 20, 60.0);
        let estimator = fed(&[(0, full), (6000, full), (12_000, full)]);
        assert_eq!(mbps(estimator.link_rate()), 40.0);
        assert_eq!(mbps(estimator.dequeue_rate()), 40.0);
    }

    #[test]
    fn a_smaller_batch_is_extrapolated() {
        // Ten of twenty frames of 12 kbit at 60 Mbit/s take 4 ms, so twenty would take 6 ms.
        let half = batch(10, 20, 60.0);
        let estimator = fed(&[(0, half), (4000, half)]);
        assert!((mbps(estimator.link_rate()) - 40.0).abs() < 1e-6);
        assert!((mbps(estimator.dequeue_rate()) - 30.0).abs() < 1e-6);
    }

    #[test]
    fn the_estimate_is_at_most_twice_the_dequeue_rate() {
        let one = batch(1, 20, 60.0);
        let estimator = fed(&[(0, one), (1000, one)]);
        assert!((mbps(estimator.dequeue_rate()) - 12.0).abs() < 1e-6);
        assert!((mbps(estimator.link_rate()) - 24.0).abs() < 1e-6);
        // 1 ms, and 19 frames of 200 us.
        assert!((mbps(estimator.uncapped()) - 240.0 / 4.8).abs() < 1e-6);
    }

    #[test]
    fn lost_frames_are_no_capacity() {
        let full = Batch { acked_bytes: 15_000, ..batch(20, 20, 60.0) };
        assert_eq!(mbps(fed(&[(0, full), (6000, full)]).link_rate()), 20.0);
        let half = Batch { acked_bytes: 7500, ..batch(10, 20, 60.0) };
        assert!((mbps(fed(&[(0, half), (4000, half)]).link_rate()) - 20.0).abs() < 1e-6);
    }

    #[test]
    fn samples_older_than_the_window_are_forgotten() {
        let (full, slow) = (batch(20, 20, 60.0), batch(20, 20, 12.0));
        let estimator = fed(&[(0, full), (6000, full), (46_000, slow), (66_000, slow)]);
        // Of the three samples the first is 60 ms old, and no longer counts.
        let mean = 2.0 * 20.0 * 12_000.0 / 60_000.0;
        assert!((mbps(estimator.link_rate()) - mean).abs() < 1e-6);
        // A pause of an hour counts as 40 ms.
        let estimator = fed(&[(0, full), (3_600_000_000, full)]);
        assert!((mbps(estimator.link_rate()) - 6.0).abs() < 1e-6);
    }

    #[test]
    fn nonsense_is_left_out() {
        let none = batch(0, 20, 60.0);
        let still = batch(20, 20, 0.0);
        let full = batch(20, 20, 60.0);
        let estimator = fed(&[(0, full), (1, none), (2, still), (2, full)]);
        assert_eq!((estimator.link_rate(), estimator.dequeue_rate()), (None, None));
        let backwards = fed(&[(9, full), (2, full)]);
        assert_eq!(backwards.uncapped(), None);
        // Packets of zero bytes give no rate: there is no division by zero.
        let empty = Batch { acked_bytes: 0, ..full };
        assert_eq!(fed(&[(0, empty), (6000, empty)]).rates(), None);
    }
}
