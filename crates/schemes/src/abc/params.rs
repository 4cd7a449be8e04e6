//! The parameters of ABC: one table for its three halves.

use paceline_cc::{Span, Spec, SpecError};

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use paceline_cc::params::above;

paceline_cc::choices! {
    /// How a sender's window grows besides accelerates and brakes.
    pub enum AdditiveIncrease {
        /// 1/w per packet acknowledged: one packet per round trip (paper §3.1.3).
        PerPacket = "true",
        /// 1/w per acknowledgement: half of that with delayed ones (authors' code).
        PerAck = "ack",
        /// No increase: flows do not become fair (Fig. 3a).
        Off = "false",
    }
}

paceline_cc::choices! {
    /// How a router uses capacity beyond the present rate.
    pub enum Credit {
        /// The target rate is a share of the capacity (paper, eq. 1).
        Target = "target",
        /// The target rate is a share of the present rate, and every unused opportunity adds to the
        /// tokens (authors' code).
        Unused = "unused",
    }
}

paceline_cc::choices! {
    /// The router's measure of the queueing delay.
    pub enum Delay {
        /// The bytes in the queue, including this packet, divided by the capacity (paper, appendix
        /// C; authors' code).
        Estimate = "estimate",
        /// Sojourn time of the departing packet.
        Sojourn = "sojourn",
    }
}

paceline_cc::choices! {
    /// The rate that a router compares with its target.
    pub enum Basis {
        /// The rate at which packets leave the queue.
        Dequeue = "dequeue",
        /// The rate at which packets arrive at the queue, as in older schemes (Fig. 2b).
        Enqueue = "enqueue",
    }
}

paceline_cc::choices! {
    /// How a router learns the capacity of an 802.11 link.
    pub enum Source {
        /// From the block acknowledgements of its batches (paper §5.1).
        Batches = "batches",
        /// From the link itself, as on other links: shows what the estimate costs.
        Link = "link",
    }
}

paceline_cc::params! {
    /// Parameters of ABC.
    pub struct AbcParams {
        /// Sender: whether a second window, Cubic's, reacts to drops and CE. False is the basic
        /// sender, which ignores losses.
        dual_window: bool = true, source "paper §4.1; code: false";
        /// Sender: additive increase per packet acknowledged, per acknowledgement, or none.
        additive_increase: AdditiveIncrease = AdditiveIncrease::PerPacket,
            source "paper eq. 3; code: ack; Fig. 3a: false";
        /// Sender: initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Sender: smallest window. The paper has none, but a sender with nothing in flight would
        /// never receive the next accelerate, and a single packet would wait for the receiver's
        /// delayed acknowledgement.
        min_window: f64 = 2.0, in WINDOWS, unit "packets", source "ours; paper: 1";
        /// Sender: a brake of n packets is ignored unless the window exceeds this number of packets
        /// plus n; 0 obeys every brake.
        brake_floor: f64 = 0.0, in 0.0.., unit "packets", source "paper; code: 5";
        /// Sender: pacing rate; 0 turns pacing off.
        pacing: f64 = 2.0, in 0.0..=100.0, unit "windows per RTT", source "code";
        /// All halves: packets are sent with ECT(0) and a brake is CE, for networks with proxies at
        /// the edge and unmodified receivers. The second window then does not treat CE as
        /// congestion.
        proxied: bool = false, source "paper §4.2; code: true";
        /// Router: share of the capacity that the target rate uses.
        eta: f64 = 0.98, in above(0.0).up_to(1.5), source "paper §7.2";
        /// Router: time in which excess queueing delay is to be drained; stable above two thirds of
        /// the RTT (theorem 1).
        delta: Span = Span::from_millis(133), in above(Span::ZERO), source "paper §7.2";
        /// Router: tolerated queueing delay; for Wi-Fi the paper has 20, 60 and 100 ms.
        dt: Span = Span::from_millis(50), source "authors' scripts for cellular links";
        /// Router: length T of the sliding window of rates; for Wi-Fi the paper has 40 ms.
        t: Span = Span::from_millis(20), in above(Span::ZERO), source "code; paper §5.1: 40ms";
        /// Router: largest number of tokens saved.
        token_limit: f64 = 5.0, in 1.0.., unit "packets", source "code";
        /// Router: tokens at the start, at most `token_limit`.
        token0: f64 = 0.0, in 0.0.., must "at most token_limit", unit "packets", source "paper algorithm 1; code: 5";
        /// Router: whether credit for unused capacity comes from unused opportunities, or from the
        /// target as the paper states it. Both accelerate equal shares of packets in the long run.
        credit: Credit = Credit::Unused, source "code; paper eq. 1: target";
        /// Router: measure of the queueing delay.
        delay: Delay = Delay::Estimate, source "paper appendix C, code";
        /// Router: rate compared with the target; enqueue is the ablation of Fig. 2.
        rate: Basis = Basis::Dequeue, source "paper eq. 2; Fig. 2b: enqueue";
        /// Router: whether the capacity of an 802.11 link comes from block acknowledgements or from
        /// the link itself. Other links have no block acknowledgements.
        capacity: Source = Source::Batches, source "paper §5.1";
        /// Router: length of the sliding window over the batches of 802.11 links.
        wifi_t: Span = Span::from_millis(40), in above(Span::ZERO).up_to(Span::from_secs(10)),
            source "paper §5.1";
        /// Router: how far ahead it knows the capacity. Works only on emulated links, and with
        /// `credit=target`. PK-ABC has one RTT.
        lookahead: Span = Span::ZERO, must "0s with credit=unused", source "ours; PK-ABC, paper §7.6: 100ms";
    }
    variants {
        /// The paper's sender of section 4.1, with the router of the authors' code.
        "nsdi2020" => {},
        /// The authors' code: the basic sender, with marks in ECT and CE.
        "authors" => {
            dual_window: false,
            additive_increase: AdditiveIncrease::PerAck,
            brake_floor: 5.0,
            proxied: true,
            token0: 5.0,
        },
        /// The paper's text.
        "paper" => { credit: Credit::Target },
    }
}

impl AbcParams {
    /// Checks the values; `spec` is the user's text, for errors.
    ///
    /// # Errors
    /// If a value is out of its range, or two values contradict each other.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        let fits = self.token0 <= self.token_limit;
        spec.require(fits, self, "token0")?;
        let unused = spec.args.iter().any(|(name, value)| name == "credit" && value == "unused");
        let known = self.lookahead.is_zero() || !unused;
        spec.require(known, self, "lookahead")
    }
}
