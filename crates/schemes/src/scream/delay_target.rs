//! The target of the queueing delay, which rises beside flows that fill the queue (RFC 8298 §4.1.2.3, and the draft's
//! "Competing Flows Compensation").

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

/// Time between samples (authors' `kSlowUpdateInterval_ntp`).
const INTERVAL: Span = Span::from_millis(50);
/// Numbers of samples for the variance and for the average.
const LONG: usize = 200;
const SHORT: usize = 50;
/// Share of round trips with losses above which others compete.
const LOSSES: f64 = 0.002;
/// Variance of the delay, in squares of the smallest target, below which the queue is steady.
const STEADY: f64 = 0.2;
/// Weight of a round trip in the share of round trips with losses (authors' `lossEventRate`).
const LOSS_WEIGHT: f64 = 0.02;

/// Follows the queueing delay with its target, in seconds.
#[derive(Clone, Debug)]
pub(super) struct DelayTarget {
    is_adjusted: bool,
    lowest: f64,
    highest: f64,
    target: f64,
    /// Delays as multiples of the lowest target, the newest last.
    delays: VecDeque<f64>,
    last_sample: Option<Time>,
    loss_event_rate: f64,
    round_start: Time,
    round_has_loss: bool,
}

impl DelayTarget {
    /// A target from `lowest` to `highest`; always `lowest` unless `is_adjusted`.
    pub(super) fn new(lowest: Span, highest: Span, is_adjusted: bool) -> DelayTarget {
        DelayTarget {
            is_adjusted,
            lowest: lowest.as_secs_f64(),
            highest: highest.as_secs_f64(),
            target: lowest.as_secs_f64(),
            delays: VecDeque::with_capacity(LONG + 1),
            last_sample: None,
            loss_event_rate: 0.0,
            round_start: Time::ZERO,
            round_has_loss: false,
        }
    }

    /// Takes in an acknowledgement with the queueing delay in seconds.
    pub(super) fn update(&mut self, now: Time, qdelay: f64, srtt: Span, has_loss: bool) {
        if !self.is_adjusted {
            return;
        }
        self.round_has_loss |= has_loss;
        if now.since(self.round_start) >= srtt {
            let loss = if self.round_has_loss { 1.0 } else { 0.0 };
            self.loss_event_rate += LOSS_WEIGHT * (loss - self.loss_event_rate);
            (self.round_start, self.round_has_loss) = (now, false);
        }
        if self.last_sample.is_some_and(|last| now.since(last) < INTERVAL) {
            return;
        }
        self.last_sample = Some(now);
        if self.delays.len() == LONG {
            self.delays.pop_front();
        }
        self.delays.push_back(qdelay / self.lowest);
        self.adjust();
    }

    fn adjust(&mut self) {
        let mean = |skipped: usize, count: usize| {
            self.delays.iter().skip(skipped).sum::<f64>() / count.max(1) as f64
        };
        let count = self.delays.len();
        let long = mean(0, count);
        let squares = self.delays.iter().map(|delay| (delay - long) * (delay - long));
        let variance = squares.sum::<f64>() / count.max(1) as f64;
        let recent = count.min(SHORT);
        let new = (mean(count - recent, recent) + variance.sqrt()) * self.lowest;
        self.target = if self.loss_event_rate > LOSSES {
            1.5 * new
        } else if variance < STEADY {
            new
        } else if new < self.lowest {
            (0.5 * self.target).max(new)
        } else {
            0.9 * self.target
        };
        self.target = self.target.min(self.highest).max(self.lowest);
    }

    /// Returns the target in seconds.
    pub(super) fn get(&self) -> f64 {
        self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(is_adjusted: bool, delay: impl Fn(u64) -> f64, losses: bool) -> f64 {
        let (lowest, highest) = (Span::from_millis(60), Span::from_millis(400));
        let mut target = DelayTarget::new(lowest, highest, is_adjusted);
        for step in 0..400 {
            let now = Time::from_millis(50 * step);
            target.update(now, delay(step), Span::from_millis(100), losses);
        }
        target.get()
    }

    #[test]
    fn the_target_follows_a_steady_queue_of_others() {
        assert_eq!(target(true, |_| 0.01, false), 0.06);
        assert!((target(true, |_| 0.2, false) - 0.2).abs() < 1e-9);
        // With losses by half more, up to the highest target.
        assert!((target(true, |_| 0.2, true) - 0.3).abs() < 1e-9);
        assert_eq!(target(true, |_| 0.35, true), 0.4);
        assert_eq!(target(false, |_| 0.35, true), 0.06);
        // A queue that comes and goes is one's own.
        assert_eq!(target(true, |step| if step % 20 < 10 { 0.0 } else { 0.2 }, false), 0.06);
    }
}
