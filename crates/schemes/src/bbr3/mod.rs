//! BBR, version 3: the model of version 1 with bounds from losses and marks.
//!
//! # What it does
//! As version 1 it paces at the bandwidth measured and keeps about two bandwidth-delay products in
//! flight. Beside the model it keeps bounds: `inflight_hi`, the flight at which probing last met
//! losses above 2 %, and `bw_lo` and `inflight_lo`, what was delivered since losses set in
//! between probes. Every two to three seconds, or as often as a Reno flow would meet a loss,
//! *ProbeBW* goes through *Refill*, *Up*, *Down* and *Cruise*. *ProbeRTT* halves the flight for
//! 200 ms every five seconds.
//!
//! # Signals it needs
//! Delivery-rate samples, and the fate of each packet with what was in flight when it was sent
//! ([`Signals::DELIVERY_RATE`], [`Signals::FATES`]); CE counts with `ecn=true`.
//!
//! # Parameters
//! | name | unit | default | source |
//! | --- | --- | --- | --- |
//! | `startup_gain` | | 2.77 | draft §5.3.1.1: `StartupPacingGain` |
//! | `drain_gain` | | 0.5 | draft §5.3.2; Linux: 0.35 |
//! | `down_gain` | | 0.9 | draft §5.3.3.1 |
//! | `up_gain` | | 1.25 | draft §5.3.3.5 |
//! | `cwnd_gain` | | 2 | draft: `DefaultCwndGain` |
//! | `up_cwnd_gain` | | 2.25 | draft §5.3.3.5 |
//! | `loss_thresh` | | 0.02 | draft: `LossThresh` |
//! | `beta` | | 0.7 | draft §5.5.10: `Beta` |
//! | `headroom` | | 0.15 | draft: `Headroom` |
//! | `probe_wait` | time | 2s | draft §5.3.3.8: this and up to a second more |
//! | `reno_rounds` | round trips | 63 | draft §5.3.3.8 |
//! | `min_rtt_window` | time | 10s | draft: `MinRTTFilterLen` |
//! | `probe_rtt_interval` | time | 5s | draft: `ProbeRTTInterval` |
//! | `probe_rtt_time` | time | 200ms | draft: `ProbeRTTDuration` |
//! | `probe_rtt_gain` | | 0.5 | draft: `ProbeRTTCwndGain` |
//! | `pacing_margin` | | 0.01 | draft: `PacingMarginPercent` |
//! | `initial_window` | packets | 10 | RFC 6928 |
//! | `min_window` | packets | 4 | draft: `MinPipeCwnd` |
//! | `full_loss_count` | | 6 | draft: `BBRStartupFullLossCnt` |
//! | `ecn` | | false | Linux v3; the draft leaves ECN open |
//! | `ecn_thresh` | | 0.5 | Linux v3 |
//! | `ecn_factor` | | 1/3 | Linux v3 |
//! | `ecn_max_rtt` | time | 5ms | Linux v3; 0s for any RTT |
//!
//! With `ecn=true` packets are ECT(1) and marks are taken as those of a shallow threshold (DCTCP,
//! L4S); they count on paths with an RTT of at most `ecn_max_rtt`.
//!
//! # Where it fails
//! Between probes it takes two to three seconds to see that a link has become faster. The
//! bandwidth is the maximum of two such cycles, so that fades end in queues as with version 1.
//! Random loss above 2 % cuts its flight.
//!
//! # Source
//! draft-ietf-ccwg-bbr-06, whose `inflight_longterm`, `bw_shortterm` and `inflight_shortterm` are
//! `inflight_hi`, `bw_lo` and `inflight_lo` here; for ECN and for the window of aggregation Linux'
//! BBR version 3.
//!
//! Of the draft, the offload budget is that of TCP: three bursts.

mod bounds;
mod cycle;
mod model;
mod probe_rtt;
mod sender;
mod startup;
mod state;
mod tag;
mod window;

#[cfg(test)]
mod tests;

pub use sender::Bbr3Sender;

#[cfg(doc)]
use paceline_cc::Signals;
use paceline_cc::{Halves, Params, Span, Spec, SpecError};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of BBR version 3.
    pub struct Bbr3Params {
        /// Pacing gain of Startup (draft §5.3.1.1).
        startup_gain: f64 = 2.77,
        /// Pacing gain of Drain (draft §5.3.2).
        drain_gain: f64 = 0.5,
        /// Pacing gain of ProbeBW's Down (draft §5.3.3.1).
        down_gain: f64 = 0.9,
        /// Pacing gain of ProbeBW's Up (draft §5.3.3.5).
        up_gain: f64 = 1.25,
        /// Window in bandwidth-delay products (draft §5.6.1).
        cwnd_gain: f64 = 2.0,
        /// The same in Up (draft §5.3.3.5).
        up_cwnd_gain: f64 = 2.25,
        /// Share of a flight that may be lost while probing (draft §2.7).
        loss_thresh: f64 = 0.02,
        /// Share of a bound that is left after a loss, at least (draft §5.5.10).
        beta: f64 = 0.7,
        /// Share of `inflight_hi` that is left to others while cruising (draft §2.7).
        headroom: f64 = 0.15,
        /// Time between probes for bandwidth, at least; up to a second more (draft §5.3.3.8).
        probe_wait: Span = Span::from_secs(2),
        /// Round trips between probes, at most (draft §5.3.3.8).
        reno_rounds: u32 = 63,
        /// Time after which the smallest RTT is forgotten (draft §5.5.7.2).
        min_rtt_window: Span = Span::from_secs(10),
        /// Time without a smaller RTT after which ProbeRTT begins (draft §5.3.4).
        probe_rtt_interval: Span = Span::from_secs(5),
        /// Time with a small flight in ProbeRTT (draft §5.3.4).
        probe_rtt_time: Span = Span::from_millis(200),
        /// Flight in ProbeRTT in bandwidth-delay products (draft §5.3.4).
        probe_rtt_gain: f64 = 0.5,
        /// Share of the bandwidth by which pacing stays below it (draft §5.6.2).
        pacing_margin: f64 = 0.01,
        /// Initial window in packets (RFC 6928).
        initial_window: u32 = 10,
        /// Smallest window in packets (draft §5.6.4.3).
        min_window: u32 = 4,
        /// Bursts of losses in a round trip that end Startup (draft §5.3.1.3).
        full_loss_count: u32 = 6,
        /// Whether packets are ECN-capable and marks heeded (Linux v3).
        ecn: bool = false,
        /// Share of marks that tells that probing went too far (Linux v3).
        ecn_thresh: f64 = 0.5,
        /// Share of `inflight_lo` that is cut if every packet is marked (Linux v3).
        ecn_factor: f64 = 1.0 / 3.0,
        /// RTT up to which marks count (Linux v3); 0s for any.
        ecn_max_rtt: Span = Span::from_millis(5),
    }
}

impl Bbr3Params {
    /// Checks the values against what they mean; `spec` is where they were written.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        for (name, gain) in [
            ("startup_gain", self.startup_gain),
            ("up_gain", self.up_gain),
            ("cwnd_gain", self.cwnd_gain),
            ("up_cwnd_gain", self.up_cwnd_gain),
        ] {
            let inside = (1.0..=100.0).contains(&gain);
            spec.require(inside, name, "expected a number from 1 to 100")?;
        }
        for (name, share) in [
            ("drain_gain", self.drain_gain),
            ("down_gain", self.down_gain),
            ("beta", self.beta),
            ("probe_rtt_gain", self.probe_rtt_gain),
            ("ecn_thresh", self.ecn_thresh),
        ] {
            let inside = 0.0 < share && share <= 1.0;
            spec.require(inside, name, "expected a number above 0, at most 1")?;
        }
        for (name, share) in [
            ("loss_thresh", self.loss_thresh),
            ("headroom", self.headroom),
            ("pacing_margin", self.pacing_margin),
            ("ecn_factor", self.ecn_factor),
        ] {
            let inside = (0.0..=0.9).contains(&share);
            spec.require(inside, name, "expected a number from 0 to 0.9")?;
        }
        for (name, packets) in
            [("initial_window", self.initial_window), ("min_window", self.min_window)]
        {
            let inside = (1..=10_000).contains(&packets);
            spec.require(inside, name, "expected 1 to 10000 packets")?;
        }
        Ok(())
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "bbr3",
    summary: "BBR that bounds its flight by what losses and marks have told",
    source: "draft-ietf-ccwg-bbr-06; Linux BBR v3",
    params: Bbr3Params::infos,
    plot_style: PlotStyle::new(Hue::Green, Dash::Dashed, Shape::Plus),
    bulk: None,
    note: None,
    build: |spec| {
        let params: Bbr3Params = spec.params()?;
        params.check(spec)?;
        Ok(Halves::sender(move |setup| Bbr3Sender::new(&params, setup)))
    },
};
