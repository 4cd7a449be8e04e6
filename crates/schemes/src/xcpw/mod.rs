//! XCPw: XCP for wireless links, with feedback computed for every packet.
//!
//! # What it does
//! When a packet leaves, the router considers the last mean RTT: the bytes that the link offered,
//! `C*d`, those that arrived, `y*d`, and the shortest queue `Q`. The flows should together change
//! their windows by `phi = alpha*d*(C - y) - beta*Q`. Each packet that left within this RTT,
//! including the departing one, has an equal share of it: the header is lowered to `phi` divided by
//! their number (in bytes: to the share of its bytes). The next packet's share is computed again,
//! so that senders learn of a change of capacity at once. Sender and receiver are XCP's, but the
//! window has at least two packets.
//!
//! # Signals it needs
//! Congestion headers. The router needs the capacity of its link over time.
//!
//! # Parameters
//! The router is the one that ABC's authors published; they did not publish the sender. Their
//! router counts packets where this one counts bytes, and milliseconds where this one has
//! nanoseconds. Theirs writes into every packet of 300 bytes or more, this one into packets with a
//! header; other traffic counts only in `y` and has no share. As in theirs, arriving packets are
//! counted whatever the buffer does with them, and a pause longer than the window leaves one packet
//! in it.
//!
//! `update=rtt` is the published router with one update per mean RTT, which its source contains as
//! a comment; it is the nearest that they published to the XCP of their figures. It has no
//! residues: however many packets arrive until the next update, each has the share that it would
//! have if their number had not changed.
//!
//! # Where it fails
//! Every packet has an equal share, so that windows grow and shrink in proportion to themselves:
//! flows do not become fair, and nothing is redistributed. `rtt` is the router's assumption: on a
//! longer path `C` and `y` cover less than a round trip, and the gains apply more often than once
//! per round trip. In an outage no packet leaves, and nothing is computed. Routers trust the
//! headers.
//!
//! # Source
//! P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan: ABC: A Simple Explicit
//! Congestion Controller for Wireless Networks, NSDI 2020: §7.3 and appendix F, and its authors'
//! code.

mod router;

#[cfg(test)]
mod tests;

pub use router::XcpwRouter;

use paceline_cc::params::{above, within};
use paceline_cc::{Params, Span};

use crate::parts::{INITIAL_WINDOW, ROUTER_TIMES, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;
use crate::xcp::{XcpSender, halves};

paceline_cc::choices! {
    /// When a router computes the feedback.
    pub enum Update {
        /// With every departing packet.
        Packet = "packet",
        /// Once per mean RTT: XCP as the authors' routers would have it.
        RoundTrip = "rtt",
    }
}

paceline_cc::params! {
    /// Parameters of XCPw.
    pub struct XcpwParams {
        /// Sender: initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Sender: smallest window.
        min_window: f64 = 2.0, in WINDOWS, unit "packets", source "ours";
        /// Sender: pacing rate; 0 turns pacing off.
        pacing: f64 = 0.0, in 0.0..=100.0, unit "windows per RTT", source "ours";
        /// Router: share of the spare capacity that is distributed.
        alpha: f64 = 0.55, in above(0.0).up_to(2.0), source "ABC §7.3, authors' code";
        /// Router: share of the queue that drains.
        beta: f64 = 0.4, in 0.0..=2.0, source "ABC §7.3, authors' code";
        /// Router: RTT of an empty path, to which sojourn times are added; 0 to use the RTTs in
        /// headers.
        rtt: Span = Span::from_millis(100), in within(ROUTER_TIMES).or(Span::ZERO..=Span::ZERO),
            source "authors' code";
        /// Router: time over which the shortest queue counts.
        t: Span = Span::from_millis(100), in ROUTER_TIMES, source "authors' code";
        /// Router: when feedback is computed.
        update: Update = Update::Packet, source "ABC §7.3";
    }
}

/// Entry in the table of schemes.
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
        Ok(halves(
            move |setup| XcpSender::new(initial, least, pacing, setup.mss),
            move || XcpwRouter::new(&params),
        ))
    },
};
