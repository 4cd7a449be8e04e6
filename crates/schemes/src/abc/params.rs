//! The parameters of ABC: one table for its three halves.

use paceline_cc::{Span, Spec, SpecError};

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
        /// Sender: whether a second window, Cubic's, obeys drops and CE (paper §4.1). False is
        /// the basic sender, which ignores losses (authors' code).
        dual_window: bool = true,
        /// Sender: additive increase per packet acknowledged (paper eq. 3), per acknowledgement
        /// (authors' code), or none.
        additive_increase: AdditiveIncrease = AdditiveIncrease::PerPacket,
        /// Sender: initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
        /// Sender: smallest window in packets. The paper has none, but a sender with nothing in
        /// flight would never hear of the next accelerate, and one packet alone would wait for
        /// the receiver's delayed acknowledgement.
        min_window: f64 = 2.0,
        /// Sender: a brake of n packets is ignored unless the window exceeds this number of
        /// packets plus n (authors' code: 5); 0 obeys every brake (paper).
        brake_floor: f64 = 0.0,
        /// Sender: pacing rate in windows per smoothed RTT (authors' code: 2); 0 does not pace.
        pacing: f64 = 2.0,
        /// All halves: packets are sent with ECT(0) and a brake is CE, for networks with proxies
        /// at the edge and unmodified receivers (paper §4.2; the authors' code). CE then is no
        /// congestion to the second window.
        proxied: bool = false,
        /// Router: share of the capacity that is aimed at (paper §7.2).
        eta: f64 = 0.98,
        /// Router: time in which an excess of queueing delay is to be drained; stable above two
        /// thirds of the RTT (paper §7.2, theorem 1).
        delta: Span = Span::from_millis(133),
        /// Router: queueing delay that is tolerated. The authors' scripts have 50 ms for cellular
        /// links; the paper 20, 60 and 100 ms for Wi-Fi.
        dt: Span = Span::from_millis(50),
        /// Router: length of the sliding window of rates, T (authors' code: 20 ms; paper §5.1:
        /// 40 ms for Wi-Fi).
        t: Span = Span::from_millis(20),
        /// Router: most tokens that can be saved up (authors' code).
        token_limit: f64 = 5.0,
        /// Router: tokens at the start (paper algorithm 1: 0; authors' code: 5).
        token0: f64 = 0.0,
        /// Router: where credit for unused capacity comes from: unused opportunities (authors'
        /// code) or the target (paper eq. 1, taken literally). Both accelerate the same share of
        /// packets in the long run.
        credit: Credit = Credit::Unused,
        /// Router: what counts as queueing delay.
        delay: Delay = Delay::Estimate,
        /// Router: the rate that is compared with the target; enqueue is the ablation of Fig. 2.
        rate: Basis = Basis::Dequeue,
        /// Router: where the capacity of 802.11 links comes from: the block acknowledgements
        /// (paper §5.1) or the link's own account. Other links have none of the former.
        capacity: Source = Source::Batches,
        /// Router: length of the sliding window over the batches of 802.11 links (paper §5.1).
        wifi_t: Span = Span::from_millis(40),
        /// Router: how far ahead it knows the capacity. PK-ABC of paper §7.6 is one RTT; works on
        /// emulated links only, and with `credit=target`.
        lookahead: Span = Span::ZERO,
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
        let sane = (1.0..=10_000.0).contains(&self.initial_window);
        spec.require(sane, "initial_window", "expected 1 to 10000 packets")?;
        let sane = (1.0..=10_000.0).contains(&self.min_window);
        spec.require(sane, "min_window", "expected 1 to 10000 packets")?;
        spec.require(self.brake_floor >= 0.0, "brake_floor", "expected 0 or more packets")?;
        let sane = (0.0..=100.0).contains(&self.pacing);
        spec.require(sane, "pacing", "expected a number from 0 to 100")?;
        let sane = 0.0 < self.eta && self.eta <= 1.5;
        spec.require(sane, "eta", "expected a number above 0, at most 1.5")?;
        spec.require(!self.delta.is_zero(), "delta", "expected a time above 0")?;
        spec.require(!self.t.is_zero(), "t", "expected a time above 0")?;
        let sane = !self.wifi_t.is_zero() && self.wifi_t <= Span::from_secs(10);
        spec.require(sane, "wifi_t", "expected a time above 0, at most 10s")?;
        spec.require(self.token_limit >= 1.0, "token_limit", "expected at least 1 token")?;
        let sane = (0.0..=self.token_limit).contains(&self.token0);
        spec.require(sane, "token0", "expected a number from 0 to token_limit")?;
        let unused = spec.args.iter().any(|(name, value)| name == "credit" && value == "unused");
        let known = self.lookahead.is_zero() || !unused;
        spec.require(known, "lookahead", "looking ahead goes with credit=target only")
    }
}
