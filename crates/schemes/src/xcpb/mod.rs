//! XCP-b (XCP-blind): XCP for links whose capacity is unknown.
//!
//! # What it does
//! It is [`crate::xcp`] with another aggregate feedback `F`, which needs neither the capacity nor
//! the traffic. The speed of the link's queue shows its spare capacity: `F = -alpha*dq/d - beta*(q
//! - kappa)/d`, with `q` the persistent queue of the last control interval, `dq` its change, `d`
//! the mean RTT and `kappa` a small queue that is to stand, so that there is a speed to measure.
//! While the queue is empty there is none, and the router is blind: it distributes `F = chi*Qmax/d`
//! per interval, an amount that cannot fill the buffer before the queue shows it (eq. 7). It
//! considers the link not fully used if the weighted average `lambda` of the queue is below
//! `tau*kappa` (eq. 10 to 12), or if the queue was empty `n` times in a row (eq. 9).
//!
//! # Signals it needs
//! Congestion headers. The router needs only its queue.
//!
//! # Parameters
//! Exactly equation 8 is `xcpb[detect=empty,kappa=0]`. The paper does not say whether an interval
//! with `q = 0` and `dq < 0` is blind; here it is not, and equation 6 applies.
//!
//! `q` is the shortest queue of the interval, as in the text. The bound of Fig. 4 assumes the queue
//! at the interval's end, which shows growth an interval earlier: `sample=boundary`. The average
//! begins at 0 and the counter at `n`, so that a router begins blind. In a full buffer the queue
//! does not change and seems to match the link; the paper leaves that to the senders, which halve
//! their windows; with `count_drops` the router notices it, too.
//!
//! At a shared medium each router also processes the data that its node receives (§5: "data packets
//! have to be processed at input queues"). So an access point controls the uploads of its stations,
//! whose acknowledgements wait in its queue. `inputs=false` turns that off. Other links never
//! report such packets.
//!
//! # Where it fails
//! Blind growth is linear: the time to fill a link is proportional to the bandwidth-delay product
//! divided by `Qmax` (Fig. 5), and growth starts anew whenever the capacity has risen. The router
//! sees the queue a round trip late: where capacity falls within an RTT, it overshoots as XCP does.
//! At RTTs above 1 s a flow may stay at its initial window for a minute or more, as in
//! [XCP](crate::xcp). A queue of `kappa` packets stands. With a `Qmax` larger than the buffer packets are lost. On
//! cellular links it is blind much of the time (ABC, §8).
//!
//! # Source
//! F. Abrantes, M. Ricardo: XCP for Shared-Access Multi-Rate Media, ACM SIGCOMM Computer
//! Communication Review, 2006: §2.2, §3, §4.2.

mod law;

#[cfg(test)]
mod tests;

pub(crate) use law::XcpbEfficiency;

use paceline_cc::Params;
use paceline_cc::params::above;

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{Note, Scheme};
use crate::xcp::{XcpRouter, XcpSender, halves};

/// The router's half of XCP-b.
pub(crate) type XcpbRouter = XcpRouter<XcpbEfficiency>;

paceline_cc::choices! {
    /// How a router detects that its link is not fully used.
    pub enum Detect {
        /// The weighted average of the queue is below `tau * kappa` (eq. 11).
        Average = "average",
        /// The queue was empty in `n` intervals in a row (eq. 9).
        Counter = "counter",
        /// The queue is empty and was (eq. 8).
        Empty = "empty",
    }
}

paceline_cc::choices! {
    /// The unit of queues.
    pub enum Unit {
        /// Packets, of the mean size of those that wait (eq. 13).
        Packets = "packets",
        /// Bytes; `kappa` is then in packets of 1500 bytes (eq. 9 and 11).
        Bytes = "bytes",
    }
}

paceline_cc::choices! {
    /// How the queue of an interval is defined.
    pub enum Sample {
        /// Its shortest length, the persistent queue (paper §3).
        Minimum = "minimum",
        /// Its length at the end, which the bound of Fig. 4 assumes.
        Boundary = "boundary",
    }
}

paceline_cc::params! {
    /// Parameters of XCP-b.
    pub struct XcpbParams {
        /// Sender: initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Sender: pacing rate; 0 turns pacing off.
        pacing: f64 = 0.0, in 0.0..=100.0, unit "windows per RTT", source "ns-2";
        /// Router: share of the queue's growth that is taken back per RTT.
        alpha: f64 = 0.4, in above(0.0).up_to(2.0), source "paper §2.1";
        /// Router: share of the queue beyond kappa that drains per RTT.
        beta: f64 = 0.2263, in 0.0..=2.0, source "paper §2.1";
        /// Router: share of the traffic that is redistributed per RTT.
        gamma: f64 = 0.1, in 0.0..=1.0, source "paper §2.1";
        /// Router: length up to which blind growth may fill the queue.
        qmax: u64 = 64_000, in 1_000..=1_000_000_000_000, unit "bytes", source "paper §4.2: 64 kbyte";
        /// Router: share of qmax that is distributed blindly per RTT; 0 for 1/(5 - alpha - beta),
        /// which keeps the queue below qmax.
        chi: f64 = 0.0, in 0.0..=1.0, source "eq. 7: 0.2286";
        /// Router: number of packets that should wait, so that the queue's speed can be measured.
        kappa: f64 = 3.0, in 0.0..=10_000.0, must "above 0 with detect=average, the default", unit "packets", source "paper §4.2; with 12 stations: 6";
        /// Router: how it detects that the link is not fully used.
        detect: Detect = Detect::Average, source "eq. 11; eq. 9: counter; eq. 8: empty";
        /// Router: number of empty intervals after which growth is blind.
        n: u32 = 6, in 1..=64, unit "intervals", source "paper §3.1: at least pi*alpha/beta = 5.55";
        /// Router: share of kappa below which the average queue makes growth blind; 0 for 0.75 to
        /// the power of n.
        tau: f64 = 0.0, in 0.0..=1.0, source "eq. 12: 0.178; paper §4.2: 0.17";
        /// Router: unit of queues.
        unit: Unit = Unit::Packets, source "eq. 13; eq. 9 and 11: bytes";
        /// Router: how the queue of an interval is defined.
        sample: Sample = Sample::Minimum, source "paper §3; Fig. 4: boundary";
        /// Router: whether data that arrives over a shared medium is processed, too.
        inputs: bool = true, source "paper §5";
        /// Router: whether bytes that the buffer drops count as growth of the queue. The paper
        /// leaves drops to the senders, which halve their windows.
        count_drops: bool = false, source "paper";
    }
}

impl XcpbParams {
    fn chi(&self) -> f64 {
        if self.chi > 0.0 { self.chi } else { 1.0 / (5.0 - self.alpha - self.beta) }
    }

    fn tau(&self) -> f64 {
        if self.tau > 0.0 { self.tau } else { libm::pow(0.75, f64::from(self.n)) }
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "xcpb",
    summary: "XCP that learns the spare capacity from its queue's growth",
    source: "XCP-b, CCR 2006",
    params: XcpbParams::infos,
    plot_style: PlotStyle::new(Hue::Violet, Dash::Dotted, Shape::Up),
    bulk: None,
    note: Some(Note::new(
        "while its queue is empty it hands out 64 kB for each RTT at most, so that a \
         long, fast path fills slowly",
    )),
    build: |spec| {
        let params: XcpbParams = spec.params()?;
        let (initial, pacing, gamma) = (params.initial_window, params.pacing, params.gamma);
        let can_detect = params.kappa > 0.0 || params.detect != Detect::Average;
        spec.require(can_detect, &params, "kappa")?;
        Ok(halves(
            move |setup| XcpSender::new(initial, 1.0, pacing, setup.mss),
            move || XcpbRouter::new(XcpbEfficiency::new(&params), gamma).with_inputs(params.inputs),
        ))
    },
};
