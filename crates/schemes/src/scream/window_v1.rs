//! The congestion window of version 1 (RFC 8298 §4.1.2).

use std::collections::VecDeque;

use paceline_cc::{Span, Time};

use super::ScreamParams;
use super::trend::Trend;
use super::window_v2::Acked;

/// The window is at most what was in flight within this number of seconds, with some headroom.
const FLIGHT_SECONDS: usize = 5;

/// Event in an acknowledgement to which the window reacts.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Event {
    None,
    Loss,
    Mark,
    /// The delay rises: fast increase ends.
    Rise,
}

/// The congestion window in bytes.
#[derive(Clone, Debug)]
pub(super) struct WindowV1 {
    mss: f64,
    cwnd: f64,
    is_in_fast_increase: bool,
    trend: Trend,
    reduced_at: Option<Time>,
    /// Since when the trend is below the limit.
    calm_since: Option<Time>,
    /// Most bytes in flight in each of the last seconds, the newest last.
    flights: VecDeque<f64>,
    second_start: Time,
}

impl WindowV1 {
    pub(super) fn new(params: &ScreamParams, mss: u32) -> WindowV1 {
        WindowV1 {
            mss: f64::from(mss),
            cwnd: params.min_window as f64,
            is_in_fast_increase: true,
            trend: Trend::default(),
            reduced_at: None,
            calm_since: None,
            flights: VecDeque::from([0.0]),
            second_start: Time::ZERO,
        }
    }

    /// Returns the window in bytes.
    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Returns true while the window grows by the acknowledged bytes.
    pub(super) fn is_in_fast_increase(&self) -> bool {
        self.is_in_fast_increase
    }

    /// Returns the trend of the queueing delay.
    pub(super) fn trend(&self) -> &Trend {
        &self.trend
    }

    /// Takes an acknowledgement in.
    pub(super) fn update(&mut self, params: &ScreamParams, acked: &Acked) -> Event {
        self.note_flight(acked);
        self.trend.update(acked.now, acked.qdelay / acked.qdelay_target);
        let event = self.event(params, acked);
        match event {
            Event::Loss => self.reduce(acked.now, params.beta_loss),
            Event::Mark => self.reduce(acked.now, params.beta_ecn),
            Event::None | Event::Rise => self.follow_delay(params, acked),
        }
        self.cwnd = self.cwnd.max(params.min_window as f64);
        event
    }

    fn note_flight(&mut self, acked: &Acked) {
        if acked.now.since(self.second_start) >= Span::from_secs(1) {
            self.second_start = acked.now;
            self.flights.push_back(0.0);
            if self.flights.len() > FLIGHT_SECONDS {
                self.flights.pop_front();
            }
        }
        if let Some(most) = self.flights.back_mut() {
            *most = most.max(acked.in_flight);
        }
    }

    /// Returns the event: losses and marks at most once per RTT.
    fn event(&mut self, params: &ScreamParams, acked: &Acked) -> Event {
        let may_reduce = self.reduced_at.is_none_or(|at| acked.now.since(at) >= acked.srtt);
        if may_reduce && acked.has_loss {
            return Event::Loss;
        }
        if may_reduce && acked.marked > 0 {
            return Event::Mark;
        }
        let rises = self.trend.get() >= params.trend_limit;
        if self.is_in_fast_increase && rises {
            (self.is_in_fast_increase, self.calm_since) = (false, None);
            return Event::Rise;
        }
        if rises {
            self.calm_since = None;
        } else if !self.is_in_fast_increase {
            let since = *self.calm_since.get_or_insert(acked.now);
            self.is_in_fast_increase = acked.now.since(since) >= params.resume_time;
        }
        Event::None
    }

    fn reduce(&mut self, now: Time, share: f64) {
        self.cwnd *= share;
        self.is_in_fast_increase = false;
        (self.reduced_at, self.calm_since) = (Some(now), None);
    }

    fn follow_delay(&mut self, params: &ScreamParams, acked: &Acked) {
        let is_used = |slack: f64| acked.in_flight * slack + acked.bytes > self.cwnd;
        if self.is_in_fast_increase {
            if is_used(1.5) {
                self.cwnd += acked.bytes;
            }
            return;
        }
        let off_target = (acked.qdelay_target - acked.qdelay) / acked.qdelay_target;
        if off_target <= 0.0 || is_used(1.25) {
            self.cwnd += params.gain * off_target * acked.bytes * self.mss / self.cwnd;
        }
        let most = self.flights.iter().copied().fold(0.0, f64::max);
        self.cwnd = self.cwnd.min(most * params.flight_headroom);
    }
}
