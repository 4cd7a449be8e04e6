//! BBR, version 1: congestion control by a model of the path instead of by losses.
//!
//! # What it does
//! BBR estimates the bottleneck's bandwidth (the largest delivery rate of ten round trips) and the
//! round-trip propagation time (the smallest RTT of ten seconds). It paces at the bandwidth and
//! keeps at most twice the product of the two in flight. *Startup* doubles the rate until the
//! bandwidth stops growing, *Drain* empties the queue that this made, *ProbeBW* cycles through
//! eight phases of which one sends faster and the next slower, and *ProbeRTT* empties the path for
//! 200 ms when the propagation time has not been seen for ten seconds. Losses change the window
//! only while they are repaired.
//!
//! # Signals it needs
//! Delivery-rate samples ([`Signals::DELIVERY_RATE`]) and RTTs.
//!
//! # Parameters
//! | name | unit | default | source |
//! | --- | --- | --- | --- |
//! | `variant` | | linux | Linux since 5.1; `linux4` before, `ns3` for ns-3 3.37 |
//! | `high_gain` | | 2.885 | draft §4.2.1: 2/ln 2; drains with its inverse |
//! | `probe_gain` | | 1.25 | draft §4.2.3: first phase |
//! | `drain_gain` | | 0.75 | draft §4.2.3: second phase |
//! | `cwnd_gain` | | 2 | draft §4.2.3 |
//! | `pacing_margin` | | 0.01 | Linux |
//! | `btlbw_window` | round trips | 10 | draft §4.1.1: `BtlBwFilterLen` |
//! | `rtprop_window` | time | 10s | draft §4.1.2: `RTpropFilterLen` |
//! | `probe_rtt_time` | time | 200ms | draft §4.2.4: `ProbeRTTDuration` |
//! | `initial_window` | packets | 10 | RFC 6928 |
//! | `min_window` | packets | 4 | draft §4.2.3.3: `BBRMinPipeCwnd` |
//! | `min_quantum` | packets | 2 | Linux; ns-3: 1 |
//! | `aggregation` | | true | Linux since 5.1 |
//! | `policer` | | true | Linux; not in ns-3 |
//!
//! Kernels before 5.1, those of the ABC and the C2TCP paper among them, are `variant=linux4`.
//!
//! # Where it fails
//! A rate that varies is taken for its maximum of ten round trips, so that on a cellular link the
//! window is twice a product of the best rate, and fades end in queues of hundreds of
//! milliseconds. Several flows overestimate the bandwidth together and are held by the window: a
//! queue of a whole product stands. It ignores losses, so that shallow buffers lose a great deal.
//! What delays acknowledgements raises the propagation time. Marks are not heeded.
//!
//! # Source
//! draft-cardwell-iccrg-bbr-congestion-control-00, and Linux `net/ipv4/tcp_bbr.c` (6.x) where it
//! differs: gain cycling looks at the flight when the next packet may leave, and windows are
//! whole, even numbers of packets. Cardwell et al., "BBR: Congestion-Based Congestion Control",
//! ACM Queue 14(5), 2016.
//!
//! Nothing is known of the path before the first acknowledgement: there was no handshake. The
//! first window is paced as for an RTT of 1 ms.

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
use paceline_cc::{Halves, Params, Span, Spec, SpecError};

use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::params! {
    /// Parameters of BBR version 1.
    pub struct BbrParams {
        /// Gain of rate and window in Startup; Drain paces with its inverse (draft §4.2.1: 2/ln 2).
        high_gain: f64 = 2.885,
        /// Pacing gain of ProbeBW's first phase, which probes for bandwidth (draft §4.2.3).
        probe_gain: f64 = 1.25,
        /// Pacing gain of ProbeBW's second phase, which drains the queue (draft §4.2.3).
        drain_gain: f64 = 0.75,
        /// Window in bandwidth-delay products in ProbeBW (draft §4.2.3).
        cwnd_gain: f64 = 2.0,
        /// Share of the bandwidth by which pacing stays below it (Linux).
        pacing_margin: f64 = 0.01,
        /// Round trips whose largest delivery rate is the bandwidth (draft §4.1.1).
        btlbw_window: u32 = 10,
        /// Time after which the smallest RTT is measured anew (draft §4.1.2).
        rtprop_window: Span = Span::from_secs(10),
        /// Time with the smallest window in ProbeRTT (draft §4.2.4).
        probe_rtt_time: Span = Span::from_millis(200),
        /// Initial window in packets (RFC 6928).
        initial_window: u32 = 10,
        /// Smallest window in packets, and ProbeRTT's (draft §4.2.3.3).
        min_window: u32 = 4,
        /// Packets that leave back to back at 1.2 Mbit/s or more, at least (Linux; ns-3 has 1).
        min_quantum: u32 = 2,
        /// Whether the window makes up for acknowledgements that come in batches (Linux 5.1).
        aggregation: bool = true,
        /// Whether policers are looked for and their rate is kept to (Linux).
        policer: bool = true,
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

impl BbrParams {
    /// Checks the values against what they mean; `spec` is where they were written.
    ///
    /// # Errors
    /// A value outside its range.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        let above = "expected a number from 1 to 100";
        for (name, gain) in [
            ("high_gain", self.high_gain),
            ("probe_gain", self.probe_gain),
            ("cwnd_gain", self.cwnd_gain),
        ] {
            spec.require((1.0..=100.0).contains(&gain), name, above)?;
        }
        let inside = 0.0 < self.drain_gain && self.drain_gain <= 1.0;
        spec.require(inside, "drain_gain", "expected a number above 0, at most 1")?;
        let inside = (0.0..=0.5).contains(&self.pacing_margin);
        spec.require(inside, "pacing_margin", "expected a number from 0 to 0.5")?;
        spec.require(self.btlbw_window > 0, "btlbw_window", "expected at least 1 round trip")?;
        for (name, packets) in [
            ("initial_window", self.initial_window),
            ("min_window", self.min_window),
            ("min_quantum", self.min_quantum),
        ] {
            let inside = (1..=10_000).contains(&packets);
            spec.require(inside, name, "expected 1 to 10000 packets")?;
        }
        Ok(())
    }
}

/// The line of the registry.
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
        params.check(spec)?;
        Ok(Halves::sender(move |setup| BbrSender::new(&params, setup)))
    },
};
