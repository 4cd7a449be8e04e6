//! The sender's model of the path: bandwidth, smallest RTT, and the count of round trips.

use paceline_cc::{Established, Feedback, Rate, RateSample, Span, Time};

use super::Bbr3Params;
use crate::parts::{RoundTrips, SelfLimited, is_ack_delayed};

/// Bandwidth and RTT (draft §5.5).
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Largest delivery rates of the previous cycle of probes and of the present one.
    cycles: [Rate; 2],
    pub(super) rounds: RoundTrips,
    /// Smallest RTT of ten seconds.
    pub(super) min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// Smallest RTT of five seconds; ProbeRTT begins when it is too old.
    recent_rtt: Option<Span>,
    recent_rtt_at: Time,
    pub(super) self_limited: SelfLimited,
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            cycles: [Rate::ZERO; 2],
            rounds: RoundTrips::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            recent_rtt: None,
            recent_rtt_at: Time::ZERO,
            self_limited: SelfLimited::default(),
        }
    }

    /// Takes the RTT of the handshake as the first sample.
    pub(super) fn begin_connection(&mut self, established: &Established) {
        (self.min_rtt, self.min_rtt_at) = (Some(established.rtt), established.now);
        (self.recent_rtt, self.recent_rtt_at) = (self.min_rtt, self.min_rtt_at);
    }

    /// Returns the largest bandwidth of two cycles.
    pub(super) fn max_bw(&self) -> Rate {
        self.cycles[0].max(self.cycles[1])
    }

    /// Ends a cycle of probes. A cycle without samples keeps the previous cycle's bandwidth.
    pub(super) fn advance_cycle(&mut self) {
        if self.cycles[1] > Rate::ZERO {
            self.cycles = [self.cycles[1], Rate::ZERO];
        }
    }

    /// Begins a round trip now.
    pub(super) fn begin_round(&mut self, delivered: u64) {
        self.rounds.begin(delivered);
    }

    /// Counts round trips and takes a bandwidth sample in.
    pub(super) fn on_ack(&mut self, sample: Option<&RateSample>, delivered: u64) {
        self.rounds.on_ack(sample, delivered);
        let Some(sample) = sample else { return };
        if sample.rate >= self.max_bw() || !self.self_limited.limits(sample) {
            self.cycles[1] = self.cycles[1].max(sample.rate);
        }
    }

    /// Takes the RTT in. Returns true if it is time for ProbeRTT.
    pub(super) fn on_rtt(&mut self, feedback: &Feedback<'_>, params: &Bbr3Params) -> bool {
        let now = feedback.now;
        let known = self.recent_rtt.is_some();
        let expired = known && now.since(self.recent_rtt_at) > params.probe_rtt_interval;
        if let Some(rtt) = feedback.rtt
            && ((expired && !is_ack_delayed(feedback))
                || self.recent_rtt.is_none_or(|smallest| rtt < smallest))
        {
            self.recent_rtt = Some(rtt);
            self.recent_rtt_at = now;
        }
        let stale = now.since(self.min_rtt_at) > params.min_rtt_window;
        if let Some(recent) = self.recent_rtt
            && (stale || self.min_rtt.is_none_or(|smallest| recent < smallest))
        {
            self.min_rtt = Some(recent);
            self.min_rtt_at = self.recent_rtt_at;
        }
        expired
    }

    /// Notes that ProbeRTT has just ended.
    pub(super) fn refresh_rtt(&mut self, now: Time) {
        self.recent_rtt_at = now;
    }
}
