//! The states, with their gains for pacing and window.

use super::Bbr3Params;

/// The state of the sender.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Bbr3State {
    /// Doubles the rate per round trip.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// ProbeBW: sends slower, until the flight fits the path and leaves headroom.
    Down,
    /// ProbeBW: keeps to the bandwidth.
    Cruise,
    /// ProbeBW: fills the path for a round trip before Up.
    Refill,
    /// ProbeBW: sends faster, to find more bandwidth.
    Up,
    /// Halves the flight, to measure the path's propagation time.
    ProbeRtt,
}

impl Bbr3State {
    /// Returns true in the four states of ProbeBW.
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, Bbr3State::Down | Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::Up)
    }
    /// Returns true in states that look for more bandwidth: their losses do not change the
    /// short-term model.
    pub(super) fn is_accelerating(self) -> bool {
        matches!(self, Bbr3State::Startup | Bbr3State::Refill | Bbr3State::Up)
    }
    /// Returns the ratio of pacing rate to bandwidth.
    pub(super) fn pacing_gain(self, params: &Bbr3Params) -> f64 {
        match self {
            Bbr3State::Startup => params.startup_gain,
            Bbr3State::Drain => params.drain_gain,
            Bbr3State::Down => params.down_gain,
            Bbr3State::Up => params.up_gain,
            Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::ProbeRtt => 1.0,
        }
    }
    /// Returns the ratio of window to bandwidth-delay product.
    pub(super) fn cwnd_gain(self, params: &Bbr3Params) -> f64 {
        match self {
            Bbr3State::Up => params.up_cwnd_gain,
            Bbr3State::ProbeRtt => params.probe_rtt_gain,
            _ => params.cwnd_gain,
        }
    }
}

/// Which packets of a probe for bandwidth are being acknowledged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// None: no probe.
    Init,
    /// Refill's packets are in flight.
    Refilling,
    /// Up has begun; its packets are not acknowledged yet.
    Starting,
    /// Up's packets are being acknowledged.
    Feedback,
    /// Up has ended; its packets are still being acknowledged.
    Stopping,
}
