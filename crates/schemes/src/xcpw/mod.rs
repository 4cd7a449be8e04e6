//! XCPw: XCP for wireless links, with feedback computed anew for every packet.
//!
//! # What it does
//! When a packet leaves, the router looks back over the last mean RTT: at the bytes that the link
//! offered, `C*d`, those that came, `y*d`, and the shortest queue `Q`. By
//! `phi = alpha*d*(C - y) - beta*Q` the flows should change their windows together, and each packet
//! that left within the same RTT has an equal share of it, the leaving one included: the header is
//! lowered to `phi` over their number (in bytes, to its own bytes' share). The next packet's is
//! computed anew, so that a change of capacity is told at once. Sender and receiver are XCP's, but
//! that the window has at least two packets.
//!
//! # Signals it needs
//! Congestion headers. The router needs the capacity of its link over time.
//!
//! # Parameters
//! | half | name | unit | default | source |
//! | --- | --- | --- | --- | --- |
//! | sender | `initial_window` | packets | 10 | RFC 6928 |
//! | sender | `min_window` | packets | 2 | |
//! | sender | `pacing` | windows per RTT | 0: not paced | |
//! | router | `alpha` | | 0.55 | paper §7.3, authors' code |
//! | router | `beta` | | 0.4 | paper §7.3, authors' code |
//! | router | `rtt` | time | 100 ms | authors' code: RTT without queue; 0 takes headers' RTTs |
//! | router | `t` | time | 100 ms | authors' code: the window of `Q` |
//! | router | `update` | | packet | paper §7.3; `rtt` computes the share once per mean RTT |
//!
//! The router is the one that ABC's authors published; the sender they did not publish. Their
//! router counts packets where this one counts bytes, and milliseconds where this one has
//! nanoseconds. Theirs writes into every packet of 300 bytes or more, this one into those with a
//! header; other traffic counts in `y` alone and has no share. As in theirs, what came is counted
//! when something comes, whatever the buffer does with it, and a pause longer than the window leaves
//! one packet in it.
//!
//! `update=rtt` is the published router with the update once per mean RTT that stands there as a
//! comment, which is the nearest that they published to the XCP of their figures. It has no residues:
//! however many packets come until the next update, each has the share that it would have if they
//! were as many as before.
//!
//! # Where it fails
//! Every packet has the same share, so that windows grow and shrink in proportion to themselves:
//! flows do not become fair, and there is no shuffling. `rtt` is what the router supposes: with a
//! longer path `C` and `y` are over less than a round trip, and gains are taken as often as the
//! windows turn over. In an outage nothing leaves, and nothing is computed. Headers are believed.
//!
//! # Source
//! P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan: ABC: A Simple Explicit
//! Congestion Controller for Wireless Networks, NSDI 2020: §7.3 and appendix F, and its authors'
//! code.

mod router;

#[cfg(test)]
mod tests;

pub use router::XcpwRouter;

use paceline_cc::{Params, Span};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;
use crate::xcp::{XcpSender, check_gains, check_sender, halves};

paceline_cc::choices! {
    /// When a router computes the feedback.
    pub enum Update {
        /// With every packet that leaves.
        Packet = "packet",
        /// Once per mean RTT: XCP as the authors' routers would have it.
        RoundTrip = "rtt",
    }
}

paceline_cc::params! {
    /// Parameters of XCPw.
    pub struct XcpwParams {
        /// Sender: initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
        /// Sender: smallest window in packets.
        min_window: f64 = 2.0,
        /// Sender: pacing rate in windows per smoothed RTT; 0 does not pace.
        pacing: f64 = 0.0,
        /// Router: share of the spare capacity that is handed out (ABC §7.3, authors' code).
        alpha: f64 = 0.55,
        /// Router: share of the queue that is to drain (ABC §7.3, authors' code).
        beta: f64 = 0.4,
        /// Router: the RTT of an empty path, to which sojourns are added (authors' code: 100 ms);
        /// 0 takes the RTTs of headers.
        rtt: Span = Span::from_millis(100),
        /// Router: the time whose shortest queue counts (authors' code: 100 ms).
        t: Span = Span::from_millis(100),
        /// Router: when feedback is computed.
        update: Update = Update::Packet,
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "xcpw",
    summary: "XCP with feedback computed anew for every packet, for wireless links",
    source: "ABC, NSDI 2020, appendix F",
    params: XcpwParams::infos,
    plot_style: PlotStyle::new(Hue::Vermilion, Dash::Dotted, Shape::Cross),
    bulk: None,
    note: None,
    build: |spec| {
        let params: XcpwParams = spec.params()?;
        let (initial, least, pacing) = (params.initial_window, params.min_window, params.pacing);
        check_sender(spec, initial, pacing)?;
        let sane = (1.0..=10_000.0).contains(&least);
        spec.require(sane, "min_window", "expected 1 to 10000 packets")?;
        check_gains(spec, params.alpha, params.beta)?;
        let sane = |time: Span| Span::from_millis(1) <= time && time <= Span::from_secs(10);
        let known = params.rtt.is_zero() || sane(params.rtt);
        spec.require(known, "rtt", "expected 0 or a time from 1ms to 10s")?;
        spec.require(sane(params.t), "t", "expected a time from 1ms to 10s")?;
        Ok(halves(
            move |setup| XcpSender::new(initial, least, pacing, setup.mss),
            move || XcpwRouter::new(&params),
        ))
    },
};
