//! BBR's model of the path: its bandwidth, its round-trip propagation time, and the count of round
//! trips.

use paceline_cc::{Established, Feedback, Rate, RateSample, Span, Time};

use super::BbrParams;
use crate::parts::{RoundTrips, SelfLimited, WindowedMax, is_ack_delayed};

/// The model of the path (draft §4.1).
#[derive(Clone, Debug)]
pub(super) struct Model {
    max_bw: WindowedMax<Rate>,
    rounds: RoundTrips,
    rtprop: Option<Span>,
    rtprop_at: Time,
    rtprop_window: Span,
    self_limited: SelfLimited,
}

impl Model {
    pub(super) fn new(params: &BbrParams) -> Model {
        Model {
            max_bw: WindowedMax::new(u64::from(params.btlbw_window)),
            rounds: RoundTrips::default(),
            rtprop: None,
            rtprop_at: Time::ZERO,
            rtprop_window: params.rtprop_window,
            self_limited: SelfLimited::default(),
        }
    }

    /// Returns the largest bandwidth of the recent round trips; zero before the first sample.
    pub(super) fn max_bw(&self) -> Rate {
        self.max_bw.get().unwrap_or(Rate::ZERO)
    }
    /// Takes the RTT of the handshake as the first sample.
    pub(super) fn begin_connection(&mut self, established: &Established) {
        (self.rtprop, self.rtprop_at) = (Some(established.rtt), established.now);
    }
    /// Returns the smallest RTT of the recent seconds; `None` before the first sample.
    pub(super) fn rtprop(&self) -> Option<Span> {
        self.rtprop
    }
    /// Returns true if the present acknowledgement is the first of a round trip.
    pub(super) fn round_start(&self) -> bool {
        self.rounds.started()
    }
    /// Begins a round trip now.
    pub(super) fn begin_round(&mut self, delivered: u64) {
        self.rounds.begin(delivered);
    }
    /// Counts the estimate of RTprop as taken now.
    pub(super) fn refresh_rtprop(&mut self, now: Time) {
        self.rtprop_at = now;
    }

    /// Returns the bytes in flight at bandwidth `bw` and RTprop, times `gain`; `None` before the
    /// first RTT.
    pub(super) fn bdp(&self, bw: Rate, gain: f64) -> Option<u64> {
        let bdp = bw.bytes_per_sec() * self.rtprop?.as_secs_f64();
        Some(libm::ceil(bdp * gain) as u64)
    }

    /// Marks packets sent from now on as limited by BBR itself.
    pub(super) fn limit(&mut self, feedback: &Feedback<'_>) {
        self.self_limited.begin(feedback);
    }

    /// Returns true if the application or BBR itself limited the sample, not the path.
    pub(super) fn is_limited(&self, sample: &RateSample) -> bool {
        self.self_limited.limits(sample)
    }

    /// Counts round trips.
    pub(super) fn count_round(&mut self, sample: Option<&RateSample>, delivered: u64) {
        self.rounds.on_ack(sample, delivered);
    }

    /// Takes a bandwidth sample into the filter. A sample limited by the application is only a
    /// lower bound of the bandwidth.
    pub(super) fn on_sample(&mut self, sample: &RateSample) {
        if !self.is_limited(sample) || sample.rate >= self.max_bw() {
            self.max_bw.update(self.rounds.count(), sample.rate);
        }
    }

    /// Takes the RTT in. Returns true if the estimate had expired. The sample replaces the estimate
    /// if it is the smallest, or if the estimate has expired and the acknowledgement was not
    /// delayed.
    pub(super) fn on_rtt(&mut self, feedback: &Feedback<'_>) -> bool {
        let expired =
            self.rtprop.is_some() && feedback.now.since(self.rtprop_at) > self.rtprop_window;
        if let Some(rtt) = feedback.rtt {
            let smallest = self.rtprop.is_none_or(|smallest| rtt <= smallest);
            if smallest || (expired && !is_ack_delayed(feedback)) {
                self.rtprop = Some(rtt);
                self.rtprop_at = feedback.now;
            }
        }
        expired
    }
}
