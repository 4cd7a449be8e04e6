//! The parameters of ABC: one table for its three halves.

use paceline_cc::{Span, Spec, SpecError};

use crate::parts::{INITIAL_WINDOW, WINDOWS};
use paceline_cc::params::above;

paceline_cc::choices! {
    /// How a sender adds to its window beside accelerates and brakes.
    pub enum AdditiveIncrease {
        /// 1/w per packet acknowledged: one packet per round trip (paper §3.1.3).
        PerPacket = "true",
        /// 1/w per acknowledgement: half of that with delayed ones (authors' code).
        PerAck = "ack",
        /// Not at all: flows do not become fair (Fig. 3a).
        Off = "false",
    }
}

paceline_cc::choices! {
    /// How a router hands out what the link could carry beyond the present rate.
    pub enum Credit {
        /// The target rate is a share of the capacity (paper, eq. 1).
        Target = "target",
        /// The target rate is a share of the present rate, and every unused opportunity adds to
        /// the tokens (authors' code).
        Unused = "unused",
    }
}

paceline_cc::choices! {
    /// What a router takes for the queueing delay.
    pub enum Delay {
        /// The queue, this packet included, over the capacity (paper, appendix C; authors' code).
        Estimate = "estimate",
        /// How long the departing packet has waited.
        Sojourn = "sojourn",
    }
}

paceline_cc::choices! {
    /// Which rate a router compares with its target.
    pub enum Basis {
        /// The rate at which packets leave the queue.
        Dequeue = "dequeue",
        /// The rate at which they come, as older schemes do (Fig. 2b).
        Enqueue = "enqueue",
    }
}

paceline_cc::choices! {
    /// Where a router has the capacity of an 802.11 link from.
    pub enum Source {
        /// The block acknowledgements of its batches (paper §5.1).
        Batches = "batches",
        /// The link's own account, as on other links: what the estimate costs.
        Link = "link",
    }
}

paceline_cc::params! {
    /// Parameters of ABC.
    pub struct AbcParams {
        /// Sender: whether a second window, Cubic's, obeys drops and CE. False is the basic sender,
        /// which ignores losses.
        dual_window: bool = true, source "paper §4.1; code: false";
        /// Sender: additive increase per packet acknowledged, per acknowledgement, or none.
        additive_increase: AdditiveIncrease = AdditiveIncrease::PerPacket,
            source "paper eq. 3; code: ack; Fig. 3a: false";
        /// Sender: initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Sender: smallest window. The paper has none, but a sender with nothing in flight would
        /// never hear of the next accelerate, and one packet alone would wait for the receiver's
        /// delayed acknowledgement.
        min_window: f64 = 2.0, in WINDOWS, unit "packets", source "ours; paper: 1";
        /// Sender: a brake of n packets is ignored unless the window exceeds this number of
        /// packets plus n; 0 obeys every brake.
        brake_floor: f64 = 0.0, in 0.0.., unit "packets", source "paper; code: 5";
        /// Sender: pacing rate; 0 does not pace.
        pacing: f64 = 2.0, in 0.0..=100.0, unit "windows per RTT", source "code";
        /// All halves: packets are sent with ECT(0) and a brake is CE, for networks with proxies
        /// at the edge and unmodified receivers. CE then is no congestion to the second window.
        proxied: bool = false, source "paper §4.2; code: true";
        /// Router: share of the capacity that is aimed at.
        eta: f64 = 0.98, in above(0.0).up_to(1.5), source "paper §7.2";
        /// Router: time in which an excess of queueing delay is to be drained; stable above two
        /// thirds of the RTT (theorem 1).
        delta: Span = Span::from_millis(133), in above(Span::ZERO), source "paper §7.2";
        /// Router: queueing delay that is tolerated; the paper has 20, 60 and 100 ms for Wi-Fi.
        dt: Span = Span::from_millis(50), source "authors' scripts for cellular links";
        /// Router: length of the sliding window of rates, T; the paper has 40 ms for Wi-Fi.
        t: Span = Span::from_millis(20), in above(Span::ZERO), source "code; paper §5.1: 40ms";
        /// Router: most tokens that can be saved up.
        token_limit: f64 = 5.0, in 1.0.., unit "packets", source "code";
        /// Router: tokens at the start, at most `token_limit`.
        token0: f64 = 0.0, in 0.0.., unit "packets", source "paper algorithm 1; code: 5";
        /// Router: where credit for unused capacity comes from: unused opportunities, or the
        /// target, taken literally. Both accelerate the same share of packets in the long run.
        credit: Credit = Credit::Unused, source "code; paper eq. 1: target";
        /// Router: what counts as queueing delay.
        delay: Delay = Delay::Estimate, source "paper appendix C, code";
        /// Router: the rate that is compared with the target; enqueue is the ablation of Fig. 2.
        rate: Basis = Basis::Dequeue, source "paper eq. 2; Fig. 2b: enqueue";
        /// Router: where the capacity of 802.11 links comes from: the block acknowledgements, or
        /// the link's own account. Other links have no block acknowledgements.
        capacity: Source = Source::Batches, source "paper §5.1";
        /// Router: length of the sliding window over the batches of 802.11 links.
        wifi_t: Span = Span::from_millis(40), in above(Span::ZERO).up_to(Span::from_secs(10)),
            source "paper §5.1";
        /// Router: how far ahead it knows the capacity; works on emulated links only, and with
        /// `credit=target`. PK-ABC is one RTT.
        lookahead: Span = Span::ZERO, source "ours; PK-ABC, paper §7.6: 100ms";
    }
    variants {
        /// The paper's sender of section 4.1, over the router of its authors' code.
        "nsdi2020" => {},
        /// The authors' code: the basic sender, over marks in ECT and CE.
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
    /// Checks the values against what they mean; `spec` is where they were written.
    ///
    /// # Errors
    /// A value outside its range, or two that contradict each other.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        let fits = self.token0 <= self.token_limit;
        spec.require(fits, "token0", "expected a number from 0 to token_limit")?;
        let unused = spec.args.iter().any(|(name, value)| name == "credit" && value == "unused");
        let known = self.lookahead.is_zero() || !unused;
        spec.require(known, "lookahead", "looking ahead goes with credit=target only")
    }
}
