//! XCP (eXplicit Control Protocol): routers write into each packet by how much its flow may
//! increase its window.
//!
//! # What it does
//! Each packet carries its flow's RTT and the time to the flow's next packet, and asks for an
//! unlimited increase. Once per mean RTT `d`, a router computes by how much its flows together
//! should change their rate, `phi = alpha*(C - y) - beta*Q/d`, with `C` the capacity, `y` the
//! arriving traffic and `Q` the persistent queue. It distributes `phi` among the packets of the
//! next `d`: increases equally among flows, decreases in proportion to their rates. In addition,
//! `gamma*y - |phi|` is taken from all flows and given to all, so that shares become equal. A
//! router lowers the request in a header to its own grant, so that the tightest link of the path
//! decides. The receiver returns the sum of its packets' grants, and the sender adds it to its
//! window. Upon loss the window halves; after a timeout it is one packet.
//!
//! # Signals it needs
//! Congestion headers. The router needs the capacity of its link over time, or `capacity`.
//! Acknowledgements carry feedback in units of 1/256 byte (an `i32`: up to 8 MB); the remainder due
//! to rounding or these bounds goes into the next acknowledgement.
//!
//! # Parameters
//! ABC's experiments are `variant=abc`, though their queue recomputed feedback as [`crate::xcpw`]
//! does.
//!
//! The router is ns-2's. Feedback is a change of throughput per packet, subtracted from two
//! residues; what one packet may not take lowers the decrease of others. `Q` is the shortest queue
//! of the last half of an RTT without queueing delay, including the departing packet. RTTs above 1
//! s count as 1 s. Without traffic the mean RTT is 50 ms. An interval without a packet that carries
//! an RTT counts as 1 s. The window changes by the header's RTT times the change of throughput,
//! where ns-2's sender uses its smoothed RTT when the acknowledgement arrives. An increase is for the
//! packet's own RTT if that is less than an eighth of the RTT in the newest packet's header, as after
//! an outage: otherwise the first packet would bring a window of seconds. The price is that the
//! window grows more slowly then: after 5 s without a link of 10 Mbit/s, 1 to 4 % of a minute is
//! lost. ns-2 starts its timers at random; here all start with the run.
//!
//! A packet without an RTT, such as the first ones, gets no feedback. Without a router on the path
//! the request comes back unchanged, and the receiver takes it for no feedback. The window does not
//! grow while it does not limit sending; ns-2's would grow without limit. All traffic counts in
//! `y`, with a header or without, but acknowledgements are not controlled. The feedback of lost
//! acknowledgements is lost.
//!
//! # Where it fails
//! It relies on its capacity. If that is too high by `e`, a queue of `alpha/beta*d*e` persists
//! (XCP-b, eq. 5), and `d` contains its delay; if it is too low, the difference stays unused. On
//! links whose capacity varies within an RTT the feedback is too old, and the window of a flow
//! jumps. Unpaced senders answer a large grant with a burst. XCP yields to traffic that does not
//! follow its feedback. Routers trust the headers.
//!
//! RTTs above 1 s count as 1 s (as in ns-2). At these RTTs a flow may stay at its initial window for
//! a minute or more: an interval without packets sets `d` to 50 ms, as in ns-2's `xcpq.cc`, and the
//! window of a flow alone leaves such intervals. From 100 s to 300 s one flow uses 100 % of 12
//! Mbit/s at 1 s and at 1.1 s, and 70 % at 2 s.
//!
//! # Source
//! D. Katabi, M. Handley, C. Rohrs: Congestion Control for High Bandwidth-Delay Product Networks,
//! SIGCOMM 2002, §3; the router and sender of ns-2.35; ABC, NSDI 2020, §7.3.

mod allocator;
mod backlog;
mod law;
mod receiver;
mod router;
mod sender;

#[cfg(test)]
mod router_tests;
#[cfg(test)]
mod sender_tests;

pub(crate) use backlog::{Backlog, PersistentQueue};
pub(crate) use law::XcpEfficiency;
pub use receiver::XcpReceiver;
pub(crate) use router::{ControlInterval, EfficiencyController, XcpRouter};
pub use sender::XcpSender;

use std::sync::Arc;

use paceline_cc::params::above;
use paceline_cc::{AckPolicy, Halves, Params, Rate, Router, Setup};

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of XCP.
    pub struct XcpParams {
        /// Sender: initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Sender: pacing rate; 0 turns pacing off.
        pacing: f64 = 0.0, in 0.0..=100.0, unit "windows per RTT", source "ns-2";
        /// Router: share of the spare capacity that is distributed per RTT.
        alpha: f64 = 0.4, in above(0.0).up_to(2.0), source "paper §3.5; ABC's experiments: 0.55";
        /// Router: share of the persistent queue that drains per RTT.
        beta: f64 = 0.226, in 0.0..=2.0, source "paper §3.5; ABC's experiments: 0.4";
        /// Router: share of the traffic that is redistributed per RTT.
        gamma: f64 = 0.1, in 0.0..=1.0, source "paper §3.5";
        /// Router: assumed capacity of its link; 0 for the capacity that the link has offered in
        /// the last control interval.
        capacity: Rate = Rate::ZERO, source "ours: what the link offers";
    }
    variants {
        /// XCP's paper, and the ns-2 model of its authors.
        "ns2" => {},
        /// The gains of ABC's experiments.
        "abc" => { alpha: 0.55, beta: 0.4 },
    }
}

/// Returns the halves of a variant: every packet is acknowledged, with the sum of its feedback.
pub(crate) fn halves<R: Router + 'static>(
    sender: impl Fn(&Setup) -> XcpSender + Send + Sync + 'static,
    router: impl Fn() -> R + Send + Sync + 'static,
) -> Halves {
    Halves {
        reporter: Some(Arc::new(|_| Box::new(XcpReceiver::default()))),
        router: Some(Arc::new(move |_| Box::new(router()))),
        ack: AckPolicy::EACH,
        ..Halves::sender(sender)
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "xcp",
    summary: "Routers write into each packet how far its flow may open its window",
    source: "XCP, SIGCOMM 2002",
    params: XcpParams::infos,
    plot_style: PlotStyle::new(Hue::Vermilion, Dash::Dashed, Shape::Up),
    bulk: None,
    note: None,
    build: |spec| {
        let params: XcpParams = spec.params()?;
        let (initial, pacing) = (params.initial_window, params.pacing);
        let gamma = params.gamma;
        Ok(halves(
            move |setup| XcpSender::new(initial, 1.0, pacing, setup.mss),
            move || XcpRouter::new(XcpEfficiency::new(&params), gamma),
        ))
    },
};
