//! XCP (eXplicit Control Protocol): routers write into each packet how far its flow may open its
//! window.
//!
//! # What it does
//! Each packet tells its flow's RTT and the time to the flow's next packet, and asks for as much
//! as there is. Once per mean RTT `d`, a router computes by how much its flows together should
//! change their rate, `phi = alpha*(C - y) - beta*Q/d`, with `C` the capacity, `y` the traffic that
//! came and `Q` the persistent queue. It shares `phi` out among the packets of the next `d`: gains
//! equally among flows, cuts in proportion to their rates. Beside it, `gamma*y - |phi|` is taken
//! from all and given to all, so that shares become equal. A router lowers what a header asks for
//! to what it grants itself, so that the tightest link of the path decides. The receiver returns the
//! sum of what its packets were granted, and the sender adds it to its window. Upon loss the window
//! halves; a timeout leaves one packet.
//!
//! # Signals it needs
//! Congestion headers. The router needs the capacity of its link over time, or `capacity`.
//! Acknowledgements carry feedback in units of 1/256 byte (an `i32`: up to 8 MB); what rounding or
//! these bounds leave over goes into the next acknowledgement.
//!
//! # Parameters
//! ABC's experiments are `variant=abc`, though their queue recomputed feedback as
//! [`crate::xcpw`] does.
//!
//! The router is ns-2's: feedback is a change of throughput per packet, debited from two residues,
//! and what one packet may not take is taken back less from others; `Q` is the shortest queue of the
//! last half RTT without queueing delay, the packet about to leave included; RTTs above 1 s count
//! as 1 s; without traffic the mean RTT is 50 ms; an interval that nobody told its RTT in counts as
//! one of 1 s. The window moves by the header's RTT times the change of throughput, where ns-2's
//! sender takes its smoothed RTT when the acknowledgement arrives. ns-2 starts its timers at
//! random; here all start with the run.
//!
//! A packet without an RTT, as the first ones are, gets no feedback. Without a router on the path,
//! what was asked for comes back, and the receiver takes it for none. The window does not grow while
//! it does not limit sending: ns-2's would, without end. All traffic counts in `y`, with a header or
//! without, but acknowledgements are not controlled. The feedback of lost acknowledgements is lost.
//!
//! # Where it fails
//! It believes its capacity. If that is too high by `e`, a queue of `alpha/beta*d*e` persists (XCP-b,
//! eq. 5), and `d` contains its delay; if it is too low, the difference stays unused. On links whose
//! capacity varies within an RTT the feedback is that much too old, and the window of a flow jumps
//! rather than slides. Unpaced senders answer a large grant with a burst. Beside traffic that does
//! not obey, it yields. Headers are believed.
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
        /// Sender: pacing rate; 0 does not pace.
        pacing: f64 = 0.0, in 0.0..=100.0, unit "windows per RTT", source "ns-2";
        /// Router: share of the spare capacity that is handed out per RTT.
        alpha: f64 = 0.4, in above(0.0).up_to(2.0), source "paper §3.5; ABC's experiments: 0.55";
        /// Router: share of the persistent queue that is to drain per RTT.
        beta: f64 = 0.226, in 0.0..=2.0, source "paper §3.5; ABC's experiments: 0.4";
        /// Router: share of the traffic that changes hands per RTT.
        gamma: f64 = 0.1, in 0.0..=1.0, source "paper §3.5";
        /// Router: the capacity that it believes its link has; 0 for what the link has offered
        /// in the last interval of control.
        capacity: Rate = Rate::ZERO, source "ours: what the link offers";
    }
    variants {
        /// XCP's paper, and the ns-2 model of its authors.
        "ns2" => {},
        /// The gains of ABC's experiments.
        "abc" => { alpha: 0.55, beta: 0.4 },
    }
}

/// The halves of a variant: every packet is acknowledged, with the sum of its feedback.
pub(crate) fn halves<R: Router + 'static>(
    sender: impl Fn(&Setup) -> XcpSender + Send + Sync + 'static,
    router: impl Fn() -> R + Send + Sync + 'static,
) -> Halves {
    Halves {
        reporter: Some(Arc::new(|| Box::new(XcpReceiver::default()))),
        router: Some(Arc::new(move || Box::new(router()))),
        ack: AckPolicy::EACH,
        ..Halves::sender(sender)
    }
}

/// The line of the registry.
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
