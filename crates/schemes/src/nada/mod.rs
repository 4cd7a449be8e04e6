//! NADA, Network-Assisted Dynamic Adaptation (RFC 8698): the rate of real-time media, from queueing
//! delay, losses and marks in one congestion signal.
//!
//! # What it does
//! The receiver compares each packet's one-way delay with the smallest one so far. The queueing delay,
//! a penalty for the share of lost packets and a penalty for the share of marked ones add up to the
//! congestion signal `x_curr`, in milliseconds. If packets were lost recently, a long queueing delay
//! counts less than it is (it is warped), so that the flow keeps a rate beside loss-based flows that
//! fill the buffer.
//!
//! Every 100 ms the sender gets a report. If no packet was lost and no queueing delay reached 10 ms
//! within 500 ms, it ramps up: the rate is at least the received rate plus up to 50 %, as much as
//! would build up 50 ms of queue until the next report. Otherwise it updates the rate gradually, so that
//! `x_curr` approaches `prio · xref · rmax / rate`. The higher the rate, the smaller the signal at which
//! it rests, and so flows over one queue converge to shares in the ratio of their priorities.
//!
//! Packets are paced at the rate. While data waits in the sender, the encoder is to make up to 5 % less
//! than the rate, and packets leave up to 5 % faster.
//!
//! # Signals it needs
//! The fate of packets with receive times, of each packet; marks (CE), which packets permit as ECT(0)
//! unless `ecn=false`. Offsets of the clocks cancel. The receiver acknowledges each packet, and the
//! sender computes the receiver's half when a report would come. RFC 8698 §6.1 allows this division.
//!
//! # Parameters
//! Names and defaults are those of RFC 8698, figure 3. The RFC has `rmax` at 1.5 Mbit/s: a flow never
//! sends more, and `rmax` enters the law of its rate. Set it to the encoder's largest rate.
//! With `open_interval=true` a loss is recent for ever: the present interval has a weight of a sixth or more
//! in the average, which is so never less than a sixth of it, and `multiloss` is seven. That follows from
//! the RFC's text, and is so in the authors' simulation. With `false` losses are forgotten after seven average
//! intervals.
//!
//! `xmax`, the largest signal, and the gradual end of warping are from the authors' simulation
//! (ns3-rmcat). The largest step of time, 500 ms, is libwebrtc's experimental NADA's. `base_time` is
//! ours.
//!
//! # Where it fails
//! Where the base delay rises, as after a change of the route, the difference counts as queueing delay for
//! `base_time`. Links that deliver in bursts show delays above 10 ms without a queue, so that the rate
//! ramps up gradually only; so do slow links on which a packet takes about as long: with packets of 1500 bytes on
//! 1 Mbit/s, 80 % of the link takes 20 s, and with 600 bytes 7 s.
//! Beside a loss-based flow in a deep buffer without losses it keeps little.
//! The RFC has no rule for missing reports: during an outage the sender goes on at its rate until a second's
//! data is in flight.
//!
//! # Source
//! X. Zhu, R. Pan, M. Ramalho, S. Mena: Network-Assisted Dynamic Adaptation (NADA): A Unified Congestion
//! Control Scheme for Real-Time Media, RFC 8698, 2020. ns3-rmcat by the same authors.

mod law;
mod log;
mod loss_intervals;
mod sender;
mod signal;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Rate, Span};

use crate::parts::{MEDIA_DELAYS, MEDIA_RATES};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
pub use sender::NadaSender;

paceline_cc::params! {
    /// Parameters of NADA.
    pub struct NadaParams {
        /// Weight of the flow's priority: flows share a queue in the ratio of their weights.
        prio: f64 = 1.0, in above(0.0).up_to(1000.0), source "RFC 8698, figure 3";
        /// Smallest rate, with which a flow begins.
        rmin: Rate = Rate::from_bps(150_000), in MEDIA_RATES, source "RFC 8698, figure 3";
        /// Largest rate, at least `rmin`.
        rmax: Rate = Rate::from_bps(1_500_000), in MEDIA_RATES, must "at least rmin", source "RFC 8698, figure 3";
        /// Reference congestion level: the signal at which a flow of `prio=1` at `rmax` rests.
        xref: Span = Span::from_millis(10), in MEDIA_DELAYS, source "RFC 8698, figure 3";
        /// Gain of the gradual update.
        kappa: f64 = 0.5, in above(0.0).up_to(10.0), source "RFC 8698, figure 3";
        /// Gain of the gradual update for changes of the signal, in relation to `kappa`.
        eta: f64 = 2.0, in 0.0..=100.0, source "RFC 8698, figure 3";
        /// Largest RTT for which the gradual update is stable.
        tau: Span = Span::from_millis(500), in MEDIA_DELAYS, source "RFC 8698, figure 3";
        /// Time between the receiver's reports; zero for a report with each acknowledgement.
        delta: Span = Span::from_millis(100), in ..=Span::from_secs(10), source "RFC 8698, figure 3";
        /// Time over which the receiver sums up packets.
        logwin: Span = Span::from_millis(500), in Span::from_millis(10)..=Span::from_secs(60),
            source "RFC 8698, figure 3";
        /// Queueing delay from which on a queue builds up.
        qeps: Span = Span::from_millis(10), in MEDIA_DELAYS, source "RFC 8698, figure 3";
        /// Largest delay by filtering.
        dfilt: Span = Span::from_millis(120), in ..=Span::from_secs(60), source "RFC 8698, figure 3";
        /// Largest growth of the rate between reports while ramping up, as a share of the received rate.
        gamma_max: f64 = 0.5, in above(0.0).up_to(10.0), source "RFC 8698, figure 3";
        /// Largest queueing delay that ramping up may cause.
        qbound: Span = Span::from_millis(50), in MEDIA_DELAYS, source "RFC 8698, figure 3";
        /// Number of average loss intervals for which a loss counts as recent.
        multiloss: f64 = 7.0, in 0.0..=1000.0, unit "loss intervals", source "RFC 8698, figure 3";
        /// Whether the present loss interval counts into the average one.
        open_interval: bool = true, source "RFC 5348 §5.4, ns3-rmcat";
        /// Queueing delay above which recent losses warp it.
        qth: Span = Span::from_millis(50), in MEDIA_DELAYS, source "RFC 8698, figure 3";
        /// Exponent of the warping.
        lambda: f64 = 0.5, in 0.0..=100.0, source "RFC 8698, figure 3";
        /// Share of lost packets at which the penalty is `dloss`.
        plrref: f64 = 0.01, in above(0.0).up_to(1.0), source "RFC 8698, figure 3";
        /// Share of marked packets at which the penalty is `dmark`.
        pmrref: f64 = 0.01, in above(0.0).up_to(1.0), source "RFC 8698, figure 3";
        /// Penalty for losses.
        dloss: Span = Span::from_millis(10), in ..=Span::from_secs(60), source "RFC 8698, figure 3";
        /// Penalty for marks.
        dmark: Span = Span::from_millis(2), in ..=Span::from_secs(60), source "RFC 8698, figure 3";
        /// Largest congestion signal.
        xmax: Span = Span::from_millis(500), in MEDIA_DELAYS, source "ns3-rmcat; not in the RFC";
        /// Weight of a report in the smoothed shares of lost and marked packets.
        alpha: f64 = 0.1, in above(0.0).up_to(1.0), source "RFC 8698, figure 3";
        /// Frames per second of the video, for the effect of data that waits in the sender.
        fps: f64 = 30.0, in above(0.0).up_to(1000.0), source "RFC 8698, figure 3";
        /// Gain by which waiting data raises the sending rate.
        beta_s: f64 = 0.1, in 0.0..=100.0, source "RFC 8698, figure 3";
        /// Gain by which waiting data lowers the encoder's rate.
        beta_v: f64 = 0.1, in 0.0..=100.0, source "RFC 8698, figure 3";
        /// Time over which the smallest one-way delay is the base delay.
        base_time: Span = Span::from_secs(600), in Span::from_secs(1)..=Span::from_secs(86_400),
            source "ours; RFC 8698 §5.1.1: a long period";
        /// Whether packets are ECN-capable.
        ecn: bool = true, source "RFC 8698 §4.2";
        /// Whether all lost data is sent again, as by TCP; without it, what the receiver of a video asks for.
        reliable: bool = false, source "ours";
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "nada",
    summary: "Rate of real-time media from one signal of delay, losses and marks",
    source: "RFC 8698",
    params: NadaParams::infos,
    plot_style: PlotStyle::new(Hue::Teal, Dash::Dotted, Shape::Plus),
    bulk: None,
    note: Some(Note::new(
        "it is made for video: its largest rate is 1.5 Mbit/s unless rmax sets another",
    )),
    build: |spec| {
        let params: NadaParams = spec.params()?;
        spec.require(params.rmax >= params.rmin, &params, "rmax")?;
        Ok(Halves {
            reliable: params.reliable,
            ack: AckPolicy::EACH,
            controller: Arc::new(move |setup| Box::new(NadaSender::new(&params, setup.mss))),
            ..Halves::sender(|setup| NadaSender::new(&NadaParams::default(), setup.mss))
        })
    },
};
