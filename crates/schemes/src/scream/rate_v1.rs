//! The encoder's rate in version 1 (RFC 8298 §4.1.3), in bits per second.

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

use super::ScreamParams;
use super::window_v1::{Event, WindowV1};

/// Time between adjustments (`RATE_ADJUST_INTERVAL`).
const INTERVAL: Span = Span::from_millis(200);
/// Number of intervals over which the media's median rate is taken: 10 s.
const MEDIAN_INTERVALS: usize = 50;
/// Waiting data, in seconds at the present rate, above which the rate falls (`RTP_QDELAY_TH`).
const QUEUE_LIMIT: f64 = 0.02;
/// Factor by which the target rate is then multiplied (`TARGET_RATE_SCALE_RTP_QDELAY`).
const QUEUE_SCALE: f64 = 0.95;

/// Sums of bytes since the start.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) sent: u64,
    pub(super) acked: u64,
    /// Made by the media.
    pub(super) made: u64,
}

/// The encoder's rate.
#[derive(Clone, Debug)]
pub(super) struct RateV1 {
    target: f64,
    /// The rate when congestion was last met.
    last_max: f64,
    adjusted_at: Option<Time>,
    sums: Sums,
    /// The media's rate in each interval, the newest last.
    media: VecDeque<f64>,
}

impl RateV1 {
    pub(super) fn new(params: &ScreamParams) -> RateV1 {
        let media = VecDeque::with_capacity(MEDIAN_INTERVALS + 1);
        let target = params.min_rate.as_bps() as f64;
        RateV1 { target, last_max: 1.0, adjusted_at: None, sums: Sums::default(), media }
    }

    /// Returns the encoder's rate.
    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// Takes in what happened to the window, the bytes so far, and the bytes that wait in the sender.
    pub(super) fn update(
        &mut self,
        params: &ScreamParams,
        now: Time,
        (event, window): (Event, &WindowV1),
        sums: Sums,
        waiting: u64,
    ) {
        match event {
            Event::None => {}
            Event::Rise => self.last_max = self.target,
            Event::Loss | Event::Mark => {
                let share = if event == Event::Loss { params.beta_rate } else { params.beta_ecn };
                self.last_max = self.target;
                self.target *= share;
                self.clip(params);
                return;
            }
        }
        let adjusted_at = *self.adjusted_at.get_or_insert(now);
        let time = now.since(adjusted_at);
        if time < INTERVAL {
            return;
        }
        let rate = |bytes: u64| bytes as f64 * 8.0 / time.as_secs_f64();
        let transmitted = rate(sums.sent.saturating_sub(self.sums.sent));
        let acked = rate(sums.acked.saturating_sub(self.sums.acked));
        let media = rate(sums.made.saturating_sub(self.sums.made));
        (self.adjusted_at, self.sums) = (Some(now), sums);
        if self.media.len() == MEDIAN_INTERVALS {
            self.media.pop_front();
        }
        self.media.push_back(media);
        let current = transmitted.max(acked);
        self.adjust(params, window, current, waiting as f64 * 8.0);
        let limit = current.max(media).max(self.median());
        self.target = self.target.min(limit * (2.0 - window.trend().memory()));
        self.clip(params);
    }

    /// Raises or lowers the rate; `current` is the present throughput, `waiting` the bits that wait.
    fn adjust(&mut self, params: &ScreamParams, window: &WindowV1, current: f64, waiting: f64) {
        let interval = INTERVAL.as_secs_f64();
        let ramp_up = (params.ramp_up.as_bps() as f64).min(self.target / 2.0);
        let distance = 4.0 * (self.target - self.last_max) / self.last_max;
        let scale = (distance * distance).clamp(0.2, 1.0);
        if window.is_in_fast_increase() {
            self.target += ramp_up * interval * scale;
            return;
        }
        let guard = 1.0 - params.pre_congestion_guard * window.trend().get();
        let mut delta = current * guard - params.tx_queue_factor * waiting;
        if delta > 0.0 {
            delta = (delta * scale).min(ramp_up * interval);
        }
        self.target += delta;
        if waiting > QUEUE_LIMIT * current {
            self.target *= QUEUE_SCALE;
        }
    }

    fn median(&self) -> f64 {
        let mut sorted = [0.0; MEDIAN_INTERVALS];
        let sorted = &mut sorted[..self.media.len()];
        sorted.iter_mut().zip(&self.media).for_each(|(place, rate)| *place = *rate);
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }

    fn clip(&mut self, params: &ScreamParams) {
        let (least, most) = (params.min_rate.as_bps() as f64, params.max_rate.as_bps() as f64);
        self.target = self.target.min(most).max(least);
    }
}
