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
//! | half | name | unit | default | source |
//! | --- | --- | --- | --- | --- |
//! | both | `variant` | | ns2 | XCP's paper and its ns-2 model; `abc` for ABC's experiments |
//! | sender | `initial_window` | packets | 10 | RFC 6928 |
//! | sender | `pacing` | windows per RTT | 0: not paced | ns-2 |
//! | router | `alpha` | | 0.4 | paper §3.5; ABC's experiments: 0.55 |
//! | router | `beta` | | 0.226 | paper §3.5; ABC's experiments: 0.4 |
//! | router | `gamma` | | 0.1 | paper §3.5 |
//! | router | `capacity` | rate | 0: the link's | what the link offered in the last interval |
//!
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

use paceline_cc::{AckPolicy, Halves, Params, Rate, Router, Setup, Spec, SpecError};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of XCP.
    pub struct XcpParams {
        /// Sender: initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
        /// Sender: pacing rate in windows per smoothed RTT; 0 does not pace (ns-2).
        pacing: f64 = 0.0,
        /// Router: share of the spare capacity that is handed out per RTT (paper §3.5; ABC's
        /// experiments: 0.55).
        alpha: f64 = 0.4,
        /// Router: share of the persistent queue that is to drain per RTT (paper §3.5; ABC's
        /// experiments: 0.4).
        beta: f64 = 0.226,
        /// Router: share of the traffic that changes hands per RTT (paper §3.5).
        gamma: f64 = 0.1,
        /// Router: the capacity that it believes its link has; 0 for what the link has offered
        /// in the last interval of control.
        capacity: Rate = Rate::ZERO,
    }
    variants {
        /// XCP's paper, and the ns-2 model of its authors.
        "ns2" => {},
        /// The gains of ABC's experiments.
        "abc" => { alpha: 0.55, beta: 0.4 },
    }
}

/// Checks the parameters that the sender of every variant has.
pub(crate) fn check_sender(spec: &Spec, initial: f64, pacing: f64) -> Result<(), SpecError> {
    let sane = (1.0..=10_000.0).contains(&initial);
    spec.require(sane, "initial_window", "expected 1 to 10000 packets")?;
    spec.require((0.0..=100.0).contains(&pacing), "pacing", "expected a number from 0 to 100")
}

/// Checks the gains that the router of every variant has.
pub(crate) fn check_gains(spec: &Spec, alpha: f64, beta: f64) -> Result<(), SpecError> {
    spec.require(0.0 < alpha && alpha <= 2.0, "alpha", "expected a number above 0, up to 2")?;
    spec.require((0.0..=2.0).contains(&beta), "beta", "expected a number from 0 to 2")
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
        check_sender(spec, initial, pacing)?;
        check_gains(spec, params.alpha, params.beta)?;
        let gamma = params.gamma;
        spec.require((0.0..=1.0).contains(&gamma), "gamma", "expected a number from 0 to 1")?;
        Ok(halves(
            move |setup| XcpSender::new(initial, 1.0, pacing, setup.mss),
            move || XcpRouter::new(XcpEfficiency::new(&params), gamma),
        ))
    },
};
