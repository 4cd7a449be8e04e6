//! BBR, version 3: the model of version 1 with bounds from losses and marks.
//!
//! # What it does
//! Like version 1, it paces at the measured bandwidth and keeps about two bandwidth-delay products
//! in flight. In addition to the model it has bounds: `inflight_hi`, the flight at which probing
//! last caused losses above 2 %, and `bw_lo` and `inflight_lo`, the rate and volume delivered since
//! losses began between probes. Every two to three seconds, or as often as a Reno flow would have a
//! loss, *ProbeBW* goes through *Refill*, *Up*, *Down* and *Cruise*. *ProbeRTT* halves the flight
//! for 200 ms every five seconds.
//!
//! # Signals it needs
//! Delivery-rate samples, and the fate of each packet with the bytes in flight when it was sent
//! ([`Signals::DELIVERY_RATE`], [`Signals::FATES`]); CE counts with `ecn=true`.
//!
//! # Parameters
//! With `ecn=true` packets are ECT(1), and marks are taken as those of a shallow threshold (DCTCP,
//! L4S). Marks count only on paths with an RTT of at most `ecn_max_rtt`.
//!
//! # Where it fails
//! Between probes it takes two to three seconds to notice that a link has become faster. The
//! bandwidth is the maximum of two such cycles, so fades end in queues. If the RTT with this queue is .4 s or more,
//! probes of the RTT interrupt each cycle, and the old bandwidth stays: after a fall from 40 to 5 Mbit/s into a buffer of 5 s the
//! queue was 4 s long for the 170 s that were simulated, where version 1 has 34 ms. Random loss above 2 % reduces its flight.
//!
//! # Source
//! draft-ietf-ccwg-bbr-06, whose `inflight_longterm`, `bw_shortterm` and `inflight_shortterm` are
//! `inflight_hi`, `bw_lo` and `inflight_lo` here; Linux' BBR version 3 for ECN and for the window
//! of aggregation.
//!
//! The draft's offload budget is here that of TCP: three bursts.

mod bounds;
mod cycle;
mod flight;
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
use paceline_cc::params::above;
use paceline_cc::{Halves, Params, Span};

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of BBR version 3.
    pub struct Bbr3Params {
        /// Pacing gain of Startup.
        startup_gain: f64 = 2.77, in 1.0..=100.0, source "draft §5.3.1.1: StartupPacingGain";
        /// Pacing gain of Drain.
        drain_gain: f64 = 0.5, in above(0.0).up_to(1.0), source "draft §5.3.2; Linux: 0.35";
        /// Pacing gain of ProbeBW's Down.
        down_gain: f64 = 0.9, in above(0.0).up_to(1.0), source "draft §5.3.3.1";
        /// Pacing gain of ProbeBW's Up.
        up_gain: f64 = 1.25, in 1.0..=100.0, source "draft §5.3.3.5";
        /// Window in all states except Up.
        cwnd_gain: f64 = 2.0, in 1.0..=100.0, unit "bandwidth-delay products",
            source "draft §5.6.1: DefaultCwndGain";
        /// Window in Up.
        up_cwnd_gain: f64 = 2.25, in 1.0..=100.0, unit "bandwidth-delay products",
            source "draft §5.3.3.5";
        /// Share of a flight that may be lost while probing.
        loss_thresh: f64 = 0.02, in 0.0..=0.9, source "draft §2.7: LossThresh";
        /// Smallest share of a bound that remains after a loss.
        beta: f64 = 0.7, in above(0.0).up_to(1.0), source "draft §5.5.10: Beta";
        /// Share of `inflight_hi` that is left to other flows in Cruise.
        headroom: f64 = 0.15, in 0.0..=0.9, source "draft §2.7: Headroom";
        /// Shortest time between probes for bandwidth; a random part of up to one second is added.
        probe_wait: Span = Span::from_secs(2), source "draft §5.3.3.8";
        /// Largest number of round trips between probes.
        reno_rounds: u32 = 63, unit "round trips", source "draft §5.3.3.8";
        /// Time after which the smallest RTT is measured anew.
        min_rtt_window: Span = Span::from_secs(10), source "draft §5.5.7.2: MinRTTFilterLen";
        /// Time without a smaller RTT after which ProbeRTT begins.
        probe_rtt_interval: Span = Span::from_secs(5), source "draft §5.3.4: ProbeRTTInterval";
        /// Time that ProbeRTT keeps a small flight.
        probe_rtt_time: Span = Span::from_millis(200), source "draft §5.3.4: ProbeRTTDuration";
        /// Flight in ProbeRTT.
        probe_rtt_gain: f64 = 0.5, in above(0.0).up_to(1.0), unit "bandwidth-delay products",
            source "draft §5.3.4: ProbeRTTCwndGain";
        /// Share of the bandwidth by which the pacing rate is lower.
        pacing_margin: f64 = 0.01, in 0.0..=0.9, source "draft §5.6.2: PacingMarginPercent";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Smallest window.
        min_window: u32 = 4, in 1..=10_000, unit "packets", source "draft §5.6.4.3: MinPipeCwnd";
        /// Number of loss bursts in a round trip that ends Startup.
        full_loss_count: u32 = 6, unit "bursts", source "draft §5.3.1.3: BBRStartupFullLossCnt";
        /// Whether packets are ECN-capable and marks count as congestion.
        ecn: bool = false, source "ours: Linux v3 has ECN, the draft leaves it open";
        /// Share of marked packets from which on a probe has gone too far.
        ecn_thresh: f64 = 0.5, in above(0.0).up_to(1.0), source "Linux v3";
        /// Share by which `inflight_lo` is reduced if every packet is marked.
        ecn_factor: f64 = 1.0 / 3.0, in 0.0..=0.9, source "Linux v3";
        /// Largest RTT at which marks count; 0s for no limit.
        ecn_max_rtt: Span = Span::from_millis(5), source "Linux v3";
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "bbr3",
    summary: "BBR with upper bounds on its flight, learnt from losses and marks",
    source: "draft-ietf-ccwg-bbr-06; Linux BBR v3",
    params: Bbr3Params::infos,
    plot_style: PlotStyle::new(Hue::Green, Dash::Dashed, Shape::Plus),
    bulk: None,
    note: None,
    build: |spec| {
        let params: Bbr3Params = spec.params()?;
        Ok(Halves::sender(move |setup| Bbr3Sender::new(&params, setup)))
    },
};
