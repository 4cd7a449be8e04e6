//! BBR, version 1: congestion control by a model of the path instead of by losses.
//!
//! # What it does
//! BBR estimates the bottleneck's bandwidth (the largest delivery rate of ten round trips) and the
//! round-trip propagation time (the smallest RTT of ten seconds). It paces at the bandwidth and
//! keeps at most twice the product of the two in flight. *Startup* doubles the rate until the
//! bandwidth stops growing. *Drain* empties the queue that this made. *ProbeBW* cycles through
//! eight phases, of which one sends faster and the next slower. *ProbeRTT* empties the path for 200
//! ms when no RTT as small as the propagation time was seen for ten seconds. Losses change the
//! window only while they are repaired.
//!
//! # Signals it needs
//! Delivery-rate samples ([`Signals::DELIVERY_RATE`]) and RTTs.
//!
//! # Parameters
//! `variant=linux4` is the BBR of kernels before 5.1, which the ABC and C2TCP papers used.
//!
//! # Where it fails
//! BBR takes a varying rate for its maximum over ten round trips. So on a cellular link the window
//! is twice the bandwidth-delay product of the best rate, and fades end in queues of hundreds of
//! milliseconds. Several flows together overestimate the bandwidth, and only the window limits
//! them: a queue of a whole bandwidth-delay product stands. BBR ignores losses, so shallow buffers
//! lose many packets. Delayed acknowledgements raise the propagation time. BBR ignores ECN marks.
//! After an outage whose buffer dropped more than four packets of the window, BBR sends nothing for
//! two of the outage's RTTs, as in Linux: its smallest RTT has expired, and a window of four packets
//! lets nothing out that would reveal the losses.
//!
//! # Source
//! draft-cardwell-iccrg-bbr-congestion-control-00, and Linux `net/ipv4/tcp_bbr.c` (6.x) where it
//! differs: gain cycling uses the flight at the next packet's departure, and windows are whole,
//! even numbers of packets. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue
//! 14(5), 2016.
//!
//! Without a handshake, nothing is known of the path before the first acknowledgement. The initial
//! window is then paced as for an RTT of 1 ms.

mod model;
mod policer;
mod recovery;
mod sender;
mod states;
mod window;

#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod policer_tests;
#[cfg(test)]
mod tests;

pub use sender::BbrSender;

#[cfg(doc)]
use paceline_cc::Signals;
use paceline_cc::params::above;
use paceline_cc::{Halves, Params, Span};

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of BBR version 1.
    pub struct BbrParams {
        /// Gain of rate and window in Startup; Drain paces with its inverse.
        high_gain: f64 = 2.885, in 1.0..=100.0, source "draft §4.2.1: 2/ln 2";
        /// Pacing gain of ProbeBW's first phase, which probes for bandwidth.
        probe_gain: f64 = 1.25, in 1.0..=100.0, source "draft §4.2.3";
        /// Pacing gain of ProbeBW's second phase, which drains the queue.
        drain_gain: f64 = 0.75, in above(0.0).up_to(1.0), source "draft §4.2.3";
        /// Window in ProbeBW.
        cwnd_gain: f64 = 2.0, in 1.0..=100.0, unit "bandwidth-delay products", source "draft §4.2.3";
        /// Share of the bandwidth by which the pacing rate is lower.
        pacing_margin: f64 = 0.01, in 0.0..=0.5, source "Linux";
        /// Number of round trips over which the largest delivery rate is the bandwidth.
        btlbw_window: u32 = 10, in 1.., unit "round trips", source "draft §4.1.1: BtlBwFilterLen";
        /// Time after which the smallest RTT is measured anew.
        rtprop_window: Span = Span::from_secs(10), source "draft §4.1.2: RTpropFilterLen";
        /// Time that ProbeRTT keeps the smallest window.
        probe_rtt_time: Span = Span::from_millis(200), source "draft §4.2.4: ProbeRTTDuration";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Smallest window, and ProbeRTT's.
        min_window: u32 = 4, in 1..=10_000, unit "packets", source "draft §4.2.3.3: BBRMinPipeCwnd";
        /// Smallest number of packets that leave back to back at 1.2 Mbit/s or more.
        min_quantum: u32 = 2, in 1..=10_000, unit "packets", source "Linux; ns-3: 1";
        /// Whether the window allows for acknowledgements that arrive in batches.
        aggregation: bool = true, source "Linux since 5.1";
        /// Whether to detect policers, and to keep to their rate.
        policer: bool = true, source "Linux; ns-3: false";
    }
    variants {
        /// Linux since 5.1.
        "linux" => {},
        /// Linux 4.9 to 5.0, which most papers up to 2020 ran.
        "linux4" => { aggregation: false },
        /// ns-3 3.37.
        "ns3" => { pacing_margin: 0.0, min_quantum: 1, aggregation: false, policer: false },
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "bbr",
    summary: "Paces at the bandwidth it measures, with twice the bandwidth-delay product in flight",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr",
    params: BbrParams::infos,
    plot_style: PlotStyle::new(Hue::Green, Dash::Solid, Shape::Diamond),
    bulk: None,
    note: None,
    build: |spec| {
        let params: BbrParams = spec.params()?;
        Ok(Halves::sender(move |setup| BbrSender::new(&params, setup)))
    },
};
