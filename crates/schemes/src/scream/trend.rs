//! The trend of the queueing delay in version 1 (RFC 8298 §4.1.2.1).

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

/// Time between samples.
const INTERVAL: Span = Span::from_millis(50);
/// Number of samples.
const SAMPLES: usize = 20;
/// Weight of an acknowledgement in the averaged delay (`QDELAY_WEIGHT`).
const AVERAGE_GAIN: f64 = 0.1;
/// Decay factor of the largest recent trend, per sample.
const MEMORY: f64 = 0.99;

/// The queueing delay as a share of its target, and whether it rises.
#[derive(Clone, Debug, Default)]
pub(super) struct Trend {
    average: f64,
    /// The newest last.
    samples: VecDeque<f64>,
    sampled_at: Option<Time>,
    trend: f64,
    memory: f64,
}

impl Trend {
    /// Takes in an acknowledgement, whose queueing delay is `share` of the target.
    pub(super) fn update(&mut self, now: Time, share: f64) {
        self.average += AVERAGE_GAIN * (share - self.average);
        if self.sampled_at.is_some_and(|at| now.since(at) < INTERVAL) {
            return;
        }
        self.sampled_at = Some(now);
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(self.average);
        self.trend = (self.correlation() * self.average).clamp(0.0, 1.0);
        self.memory = (MEMORY * self.memory).max(self.trend);
    }

    /// Returns the autocorrelation of neighbouring samples, R(1) / R(0); 0 if all are equal.
    fn correlation(&self) -> f64 {
        let mean = self.samples.iter().sum::<f64>() / self.samples.len().max(1) as f64;
        let centred = || self.samples.iter().map(|sample| sample - mean);
        let r0: f64 = centred().map(|x| x * x).sum();
        let r1: f64 = centred().skip(1).zip(centred()).map(|(x, before)| x * before).sum();
        if r0 > 0.0 { r1 / r0 } else { 0.0 }
    }

    /// Returns the trend: 0 for a steady delay, 1 for one that has risen to the target.
    pub(super) fn get(&self) -> f64 {
        self.trend
    }

    /// Returns the largest recent trend.
    pub(super) fn memory(&self) -> f64 {
        self.memory
    }
}
