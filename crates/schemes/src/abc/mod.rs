//! ABC (Accel-Brake Control): routers of wireless links steer senders with one bit per packet.
//!
//! # What it does
//! The router compares the rate at which packets leave its queue, `cr`, with a target rate. The
//! target follows the link's capacity `mu`, and is lower while packets wait for longer than `dt`:
//! `tr = eta*mu - mu/delta * (x - dt)⁺`. The router lets the fraction `f = min(tr / 2cr, 1)` of
//! packets stay accelerates and turns the others into brakes. The receiver echoes the marks. The
//! sender adds a packet to its window per accelerate, removes one per brake, and in any case adds
//! one per round trip, for fairness. Senders are clocked by acknowledgements, so the rate that
//! leaves the queue now, times `2f`, arrives one round trip later: the target rate.
//!
//! A second window reacts to drops and CE as Cubic does, for bottlenecks elsewhere. The smaller
//! window applies; each is limited to about twice the bytes in flight.
//!
//! # Signals it needs
//! The echo of ABC's marks, and counts of CE for the second window. The router needs the capacity
//! that its link leaves unused, or the link's capacity over time; `lookahead` needs its future,
//! too.
//!
//! # Parameters
//! "Code" is the program that the authors published. The table names paper and code where they
//! differ. The code's basic sender and its router are `variant=authors`. PK-ABC is
//! `abc[lookahead=100ms]`. The default is the sender of paper §4.1, which also reacts to losses and
//! CE, with the code's router: the code's basic sender ignores both, and suits only paths whose one
//! bottleneck has an ABC router.
//!
//! `credit` is a rule that only the code states. The paper's target is a share of the capacity. The
//! code's target is a share of the present rate, and each opportunity that the link could not use
//! adds `eta/2` of a token. In the long run both let `eta*mu/2cr` of the packets accelerate. The
//! rules differ when a link offers its capacity in bursts with pauses longer than `t`, the window
//! over which rates are measured: when the next packet leaves, unused capacity is no longer in the
//! window, and the paper's rule leaves the link idle, whereas tokens remain. The paper's cellular
//! figures were measured with the code's rule, so it is the default.
//!
//! Differences without a parameter: the code counts packets where this router counts bytes
//! (equivalent for packets of one size, but acknowledgements do not count as capacity); it counts
//! whole packets where this sender keeps fractions, and milliseconds where this program has
//! nanoseconds; its dual window handles neither timeouts nor CE, while this one does, as the paper
//! says.
//!
//! Two points that the paper leaves open. First, "the number of in-flight packets" of the cap is
//! here the maximum in flight during this round trip and the last one. On links that deliver in
//! bursts a paced sender has almost nothing in flight for moments, and a cap by such a moment would
//! cost it its window. Second, pacing divides by the smaller of the smoothed and the last RTT.
//! After an outage the smoothed RTT stays large for so long that the pacer would limit sending
//! instead of the window.
//!
//! # Where it fails
//! Without an ABC router at the bottleneck it is Cubic without HyStart. In networks that clear the
//! ECN field the ABC window has only the additive increase. A flow whose packets cross a fast link
//! in bursts shorter than the round trip but longer than `t` looks like a flow that uses the link
//! fully, and opens by only one packet per round trip. Alone on 96 Mbit/s with an RTT of 100 ms it
//! uses 69 % of the link in the first 30 s if nothing varies, and 94 % with random delays of 0.2 ms;
//! the program in Linux' kernel uses 95 % there in real time. With many flows, each flow's marks
//! depend on chance, and the additive increase corrects this slowly: shares are fair over tens of
//! seconds. Flows with a long RTT get less.
//!
//! On links of constant rate two to four flows can keep unequal shares. Each flow's window stays as
//! it is if the flow receives one more brake than accelerates per round trip, whatever the window's
//! size. While the fraction `f` is constant, the token bucket places these additional brakes at
//! equal distances, and may give every flow one of them. Of 120 settings (RTTs of 50 to 200 ms, 4 to
//! 48 Mbit/s, 2 to 8 flows, 200 s measured after 100 s) 15 have a run of three in which Jain's index
//! is below .95; two flows over 8 Mbit/s with 100 ms have 6.5 and 1.5 Mbit/s (.72 to .75). With
//! `variant=authors` 8 settings have one, down to .67. Over six recordings, on which `f` changes all
//! the time, the index of two and of three flows is at least .96.
//!
//! Capacity that falls within a round trip leaves a queue; `lookahead` shows how much of it is due to
//! the feedback's delay.
//!
//! # Source
//! P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan: ABC: A Simple Explicit
//! Congestion Controller for Wireless Networks, NSDI 2020: §3.1 (sender, router, algorithm 1), §4.1
//! (dual window), §4.2 (ECN), §5.1 (Wi-Fi), §6 (delayed acknowledgements), §7.6 (PK-ABC), appendix
//! C.

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

use paceline_cc::{Ecn, Halves, Params, TrafficClass};

use crate::parts::MarkEcho;
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::{BulkPath, Note, Scheme};

/// The mark that asks the sender for one more packet (paper §4.2).
pub const ACCELERATE: Ecn = Ecn::Ect1;
/// The mark that asks the sender for one packet less (paper §4.2).
pub const BRAKE: Ecn = Ecn::Ect0;

/// The receiver's half of ABC: echoes marks so that delayed acknowledgements lose none (paper §6).
pub type AbcReceiver = MarkEcho;

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "abc",
    summary: "Routers mark each packet accelerate or brake; senders open or close by a packet",
    source: "ABC, NSDI 2020",
    params: AbcParams::infos,
    plot_style: PlotStyle::new(Hue::Vermilion, Dash::Solid, Shape::Circle),
    bulk: None,
    note: Some(Note::on(
        BulkPath::is_long_and_fast,
        "on a long, fast path without jitter its packets may cross the link in bursts, which look to its \
         router like a flow that uses the link fully: then it opens by a packet per RTT; with --jitter \
         200us, as on real paths, it uses more of the link",
    )),
    build: |spec| {
        let params: AbcParams = spec.params()?;
        params.check(spec)?;
        let of_router = params.clone();
        Ok(Halves {
            reporter: Some(Arc::new(|_| Box::new(AbcReceiver::default()))),
            router: Some(Arc::new(move |_| Box::new(AbcRouter::new(&of_router)))),
            class: TrafficClass::EXPLICIT,
            // The authors' receiver is Linux' with DCTCP's state machine (paper §6).
            adds_to_stock_receiver: true,
            ..Halves::sender(move |setup| AbcSender::new(&params, setup.mss))
        })
    },
};
