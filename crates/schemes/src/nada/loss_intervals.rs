//! The average number of packets between losses (RFC 8698 §4.2, after RFC 5348 §5.4).

/// Weights of the intervals, the newest first (RFC 5348 §5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Intervals kept: the present one and the eight before.
const KEPT: usize = WEIGHTS.len() + 1;

/// Counts the packets that arrive between losses.
#[derive(Clone, Debug, Default)]
pub(super) struct LossIntervals {
    /// Packets that arrived between losses, the present interval first.
    intervals: [u64; KEPT],
    /// Number of intervals so far, at most `KEPT`; 0 before the first loss.
    known: usize,
    /// Number of the newest packet that was lost.
    last_lost: Option<u64>,
}

impl LossIntervals {
    /// Counts an arrival.
    pub(super) fn on_arrival(&mut self) {
        self.intervals[0] = self.intervals[0].saturating_add(1);
    }

    /// Begins a new interval with the loss of packet `number`. Consecutive lost packets are one gap in
    /// the sequence, and end one interval.
    pub(super) fn on_loss(&mut self, number: u64) {
        let continues = self.last_lost.is_some_and(|last| number <= last || number - last == 1);
        self.last_lost = self.last_lost.max(Some(number));
        if continues {
            return;
        }
        self.intervals.rotate_right(1);
        self.intervals[0] = 0;
        self.known = (self.known.max(1) + 1).min(KEPT);
    }

    /// Returns the length of the present interval in packets.
    pub(super) fn current(&self) -> f64 {
        self.intervals[0] as f64
    }

    /// Returns the average interval in packets; `None` before the first loss. The present interval
    /// counts if `counts_present` and it raises the average (RFC 5348 §5.4).
    pub(super) fn average(&self, counts_present: bool) -> Option<f64> {
        if self.known == 0 {
            return None;
        }
        let weighted = |intervals: &[u64]| {
            let products = intervals.iter().zip(WEIGHTS).map(|(&n, weight)| n as f64 * weight);
            products.sum::<f64>()
        };
        let ended = self.known - 1;
        let weights: f64 = WEIGHTS[..ended].iter().sum();
        let with_present = weighted(&self.intervals[..ended]);
        let without = weighted(&self.intervals[1..self.known]);
        let sum = if counts_present { with_present.max(without) } else { without };
        Some(sum / weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lengths: &[u64]) -> LossIntervals {
        let mut intervals = LossIntervals::default();
        let mut number = 0;
        for (index, &length) in lengths.iter().enumerate() {
            if index > 0 {
                intervals.on_loss(number);
                number += 1;
            }
            for _ in 0..length {
                intervals.on_arrival();
                number += 1;
            }
        }
        intervals
    }

    #[test]
    fn averages_are_those_of_rfc_5348() {
        assert_eq!(after(&[50]).average(true), None);
        // Ended: 100. Present: 20, which does not raise the average.
        assert_eq!(after(&[100, 20]).average(true), Some(100.0));
        // Ended: 300, 100. Average 200.
        assert_eq!(after(&[100, 300, 20]).average(true), Some(200.0));
        // With the present one: (500 + 300) / 2.
        assert_eq!(after(&[100, 300, 500]).average(true), Some(400.0));
        assert_eq!(after(&[100, 300, 500]).average(false), Some(200.0));
        // Nine ended: the oldest is forgotten. 10 + 20 + 30 + 40 + 0.8 · 50 + 0.6 · 60 + 0.4 · 70 + 0.2 · 80
        // over 6.
        let average = after(&[9000, 80, 70, 60, 50, 40, 30, 20, 10, 1]).average(true);
        assert!(average.is_some_and(|average| (average - 220.0 / 6.0).abs() < 1e-9), "{average:?}");
    }

    #[test]
    fn a_gap_is_one_loss() {
        let mut intervals = after(&[100, 20]);
        let newest = intervals.last_lost.expect("a loss");
        intervals.on_loss(newest);
        intervals.on_loss(newest + 1);
        assert_eq!((intervals.known, intervals.current()), (2, 20.0));
        intervals.on_loss(newest + 3);
        assert_eq!((intervals.known, intervals.current()), (3, 0.0));
    }
}
