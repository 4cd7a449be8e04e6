//! The parameters of Vegas.

use paceline_cc::{Span, Spec, SpecError};

use crate::parts::{INITIAL_WINDOW, WINDOWS};

paceline_cc::choices! {
    /// How Vegas counts the packets that wait in queues.
    pub enum Diff {
        /// The window minus the packets that the path holds (the paper, ns-3).
        Paper = "paper",
        /// The paper's difference times the ratio of the RTT to the smallest RTT (Linux).
        Linux = "linux",
        /// The window minus the packets that the path holds, rounded to the nearest integer instead
        /// of up (ns-2's own Vegas).
        Rounded = "rounded",
    }
}

paceline_cc::choices! {
    /// The window that a round trip's judgement moves by a packet.
    pub enum Step {
        /// The present window.
        Present = "present",
        /// The window at the end of the previous round trip, towards which the present one moves: a
        /// step takes two round trips (Linux up to 2.6.27, and ns-2's copy of it).
        Before = "before",
    }
}

paceline_cc::choices! {
    /// In which round trips slow start doubles the window.
    pub enum Doubles {
        /// In each round trip (Linux, ns-3).
        Each = "each",
        /// In every second round trip; an eighth of the window is given up when slow start ends
        /// (the paper, ns-2's own Vegas).
        Second = "second",
    }
}

paceline_cc::choices! {
    /// The RTTs that Vegas compares.
    pub enum RttKind {
        /// The smallest sample of a round trip (Linux).
        Sample = "sample",
        /// The mean of the samples of a round trip (the paper, ns-2's own Vegas).
        Mean = "mean",
        /// The smoothed RTT (ns-3 before 3.38).
        Smoothed = "smoothed",
    }
}

paceline_cc::params! {
    /// Parameters of Vegas.
    pub struct VegasParams {
        /// Number of packets in queues below which the window grows.
        alpha: u32 = 2, unit "packets", source "Linux, ns-3; paper, ns-2: 1";
        /// Number of packets in queues above which the window shrinks.
        beta: u32 = 4, must "at least alpha", unit "packets", source "Linux, ns-3; paper, ns-2: 3";
        /// Number of packets in queues above which slow start ends.
        gamma: u32 = 1, unit "packets", source "Linux, ns-3";
        /// How packets in queues are counted.
        diff: Diff = Diff::Linux, source "Linux; paper, ns-3: paper; ns-2: rounded";
        /// Which RTTs are compared.
        rtt: RttKind = RttKind::Sample, source "Linux; ns-3 before 3.38: smoothed; ns-2: mean";
        /// An RTT known before the first packet, as from a handshake; 0 for none.
        handshake: Span = Span::ZERO, source "Linux; ns-3, ns-2: an RTT";
        /// Resolution of the clock for RTTs, as with timestamps in whole milliseconds; 0 for an
        /// exact clock.
        clock: Span = Span::ZERO, in ..=Span::from_secs(1), source "Linux; ns-3: 1ms";
        /// The window that a judgement moves by a packet.
        step: Step = Step::Present, source "paper, Linux, ns-3; Linux up to 2.6.27, ns-2: before";
        /// In which round trips slow start doubles the window.
        doubles: Doubles = Doubles::Each, source "Linux, ns-3; paper, ns-2: second";
        /// Initial window.
        initial_window: f64 = INITIAL_WINDOW, in WINDOWS, unit "packets", source "RFC 6928";
        /// Whether packets are ECN-capable, so that routers mark instead of dropping.
        ecn: bool = false, source "RFC 3168";
    }
    variants {
        /// Linux.
        "linux" => {},
        /// The paper's text.
        "paper" => {
            alpha: 1,
            beta: 3,
            diff: Diff::Paper,
            rtt: RttKind::Mean,
            doubles: Doubles::Second,
        },
        /// ns-3 up to 3.37.
        "ns3" => { diff: Diff::Paper, rtt: RttKind::Smoothed },
        /// ns-2's own Vegas.
        "ns2" => {
            alpha: 1,
            beta: 3,
            diff: Diff::Rounded,
            rtt: RttKind::Mean,
            doubles: Doubles::Second,
        },
    }
}

impl VegasParams {
    /// Checks the values; `spec` is the user's text, for errors.
    ///
    /// # Errors
    /// If a value is out of its range, or two values contradict each other.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        spec.require(self.alpha <= self.beta, self, "beta")
    }
}
