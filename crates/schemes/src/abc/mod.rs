//! ABC (Accel-Brake Control): routers of wireless links steer senders with one bit per packet.
//!
//! # What it does
//! The router compares the rate at which packets leave its queue, `cr`, with a target rate that
//! follows the link's capacity `mu` and lies lower while packets wait for longer than `dt`:
//! `tr = eta*mu - mu/delta * (x - dt)⁺`. It lets the fraction `f = min(tr / 2cr, 1)` of packets
//! stay accelerates and turns the others into brakes. The receiver echoes the marks. The sender
//! adds a packet to its window per accelerate, takes one away per brake, and adds one per round
//! trip in any case, for fairness. Because senders are clocked by acknowledgements, what leaves
//! the queue now, times `2f`, is what arrives one round trip later: the target rate.
//!
//! A second window obeys drops and CE as Cubic does, for bottlenecks elsewhere; the smaller one
//! counts, and each is held within twice what is in flight.
//!
//! # Signals it needs
//! The echo of ABC's marks, and counts of CE for the second window. The router needs the
//! capacity that its link leaves unused, or its capacity over time; `lookahead` needs the future.
//!
//! # Parameters
//! "Code" is what the authors published. It differs from the paper where the table names both;
//! its basic sender and its router are `variant=authors`. PK-ABC is `abc[lookahead=100ms]`. The
//! default is the sender of paper §4.1, which also obeys losses and CE, over the code's router: the
//! code's basic sender ignores both, and is fit for paths whose one bottleneck has an ABC router.
//!
//! `credit` is where the code says what the paper leaves out. The paper's target is a share of the
//! capacity; the code's is a share of the present rate, and each opportunity that the link could
//! not use adds `eta/2` of a token. In the long run both let `eta*mu/2cr` of the packets
//! accelerate. But when a link offers its capacity in clumps with pauses longer than `t`, the
//! window over which rates are measured has forgotten what was unused by the time the next packet
//! leaves, and the paper's rule to the letter leaves the link idle; tokens remember. The paper's
//! cellular figures were taken with the code's rule, so it is the default.
//!
//! Differences that have no parameter: the code counts packets where this router counts bytes
//! (the same for packets of one size, but acknowledgements do not pass for capacity), whole
//! packets where this sender keeps fractions, and milliseconds where this has nanoseconds; its
//! dual window handles neither timeouts nor CE, where this one does as the paper says.
//!
//! Two points that the paper leaves open. "The number of in-flight packets" of the cap is the
//! most that were in flight in this round trip and the last one: on links that deliver in bursts
//! a paced sender has next to nothing in flight for moments, and a cap by such a moment would cost
//! it its window. And pacing is over the smaller of the smoothed and the last RTT, since after an
//! outage the smoothed one stays large for so long that the pacer would take the window's place.
//!
//! # Where it fails
//! Without an ABC router at the bottleneck it is Cubic without HyStart. Networks that clear the
//! ECN field stop the ABC window from doing more than the additive increase. A flow whose packets
//! cross a fast link in clumps shorter than the round trip but longer than `t` looks like one that
//! uses the link fully, and opens by one packet per round trip only. With many flows the marks that
//! each one gets are a matter of luck, and the additive increase corrects it slowly: shares are
//! fair over tens of seconds. Shares fall with the RTT. Capacity that falls within a round trip
//! leaves a queue; `lookahead` shows what of it is the feedback's delay.
//!
//! # Source
//! P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan: ABC: A Simple Explicit
//! Congestion Controller for Wireless Networks, NSDI 2020: §3.1 (sender, router, algorithm 1), §4.1
//! (dual window), §4.2 (ECN), §5.1 (Wi-Fi), §6 (delayed acknowledgements), §7.6 (PK-ABC), appendix C.

mod params;
mod rates;
mod router;
mod sender;
mod target;
mod tokens;
mod wifi;

#[cfg(test)]
mod router_tests;
#[cfg(test)]
mod sender_tests;

pub use params::{AbcParams, AdditiveIncrease, Basis, Credit, Delay, Source};
pub use router::AbcRouter;
pub use sender::AbcSender;
pub use wifi::LinkRateEstimator;

use std::sync::Arc;

use paceline_cc::{Halves, Params, TrafficClass};

use crate::parts::MarkEcho;
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

/// The receiver's half of ABC: echoes marks so that delayed acknowledgements lose none (paper §6).
pub type AbcReceiver = MarkEcho;

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "abc",
    summary: "Routers mark each packet accelerate or brake; senders open or close by a packet",
    source: "ABC, NSDI 2020",
    params: AbcParams::infos,
    plot_style: PlotStyle::new(Hue::Vermilion, Dash::Solid, Shape::Circle),
    bulk: None,
    note: None,
    build: |spec| {
        let params: AbcParams = spec.params()?;
        params.check(spec)?;
        let of_router = params.clone();
        Ok(Halves {
            reporter: Some(Arc::new(|| Box::new(AbcReceiver::default()))),
            router: Some(Arc::new(move || Box::new(AbcRouter::new(&of_router)))),
            class: TrafficClass::EXPLICIT,
            ..Halves::sender(move |setup| AbcSender::new(&params, setup.mss))
        })
    },
};
