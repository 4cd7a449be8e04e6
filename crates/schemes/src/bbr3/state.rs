//! The states, and what each of them asks of pacing and window.

use super::Bbr3Params;

/// The state of the sender.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Doubles the rate per round trip.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// ProbeBW: sends slower, until the flight fits the path and leaves headroom.
    Down,
    /// ProbeBW: holds the bandwidth.
    Cruise,
    /// ProbeBW: fills the path for a round trip before Up.
    Refill,
    /// ProbeBW: sends faster.
    Up,
    /// Halves the flight, to see the path's propagation time.
    ProbeRtt,
}

impl State {
    /// True in the four states of ProbeBW.
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
    /// True while more bandwidth is looked for: losses then tell nothing of the short-term model.
    pub(super) fn is_accelerating(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
    /// The factor between bandwidth and pacing rate.
    pub(super) fn pacing_gain(self, params: &Bbr3Params) -> f64 {
        match self {
            State::Startup => params.startup_gain,
            State::Drain => params.drain_gain,
            State::Down => params.down_gain,
            State::Up => params.up_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }
    /// The factor between bandwidth-delay product and window.
    pub(super) fn cwnd_gain(self, params: &Bbr3Params) -> f64 {
        match self {
            State::Up => params.up_cwnd_gain,
            State::ProbeRtt => params.probe_rtt_gain,
            _ => params.cwnd_gain,
        }
    }
}

/// Where acknowledgements are in the course of a probe for bandwidth.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Not probing.
    Init,
    /// Refill's packets are on the way.
    Refilling,
    /// Up has begun; its packets are not acknowledged yet.
    Starting,
    /// Up's packets are being acknowledged.
    Feedback,
    /// Up has ended; its packets are still being acknowledged.
    Stopping,
}
