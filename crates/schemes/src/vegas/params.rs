//! The parameters of Vegas.

use paceline_cc::{Span, Spec, SpecError};

paceline_cc::choices! {
    /// How Vegas counts the packets that wait in queues.
    pub enum Diff {
        /// The window less what the path holds (the paper, ns-3).
        Paper = "paper",
        /// The same times the ratio of the RTT to the smallest RTT (Linux).
        Linux = "linux",
        /// The window less what the path holds, rounded to whole packets instead of up (ns-2's own
        /// Vegas).
        Rounded = "rounded",
    }
}

paceline_cc::choices! {
    /// What a round trip's judgement moves by a packet.
    pub enum Step {
        /// The present window.
        Present = "present",
        /// The window that the round trip before ended with, towards which the present one moves: a
        /// step takes two round trips (Linux up to 2.6.27, and ns-2's copy of it).
        Before = "before",
    }
}

paceline_cc::choices! {
    /// In which round trips slow start doubles the window.
    pub enum Doubles {
        /// In each (Linux, ns-3).
        Each = "each",
        /// In every second, after which an eighth of the window goes when slow start ends (the paper,
        /// ns-2's own Vegas).
        Second = "second",
    }
}

paceline_cc::choices! {
    /// Which RTTs Vegas compares.
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
        /// Packets in queues below which the window opens (Linux, ns-3).
        alpha: u32 = 2,
        /// Packets in queues above which the window closes (Linux, ns-3).
        beta: u32 = 4,
        /// Packets in queues above which slow start ends (Linux, ns-3).
        gamma: u32 = 1,
        /// How packets in queues are counted.
        diff: Diff = Diff::Linux,
        /// Which RTTs are compared.
        rtt: RttKind = RttKind::Sample,
        /// An RTT that is known before the first packet, as from a handshake; 0 for none.
        handshake: Span = Span::ZERO,
        /// The resolution of the clock that RTTs are measured by, as timestamps in whole
        /// milliseconds have it (ns-3); 0 for an exact one.
        clock: Span = Span::ZERO,
        /// What a judgement moves by a packet.
        step: Step = Step::Present,
        /// In which round trips slow start doubles the window.
        doubles: Doubles = Doubles::Each,
        /// Initial window in packets (RFC 6928).
        initial_window: f64 = 10.0,
        /// Whether packets are ECN-capable, so that routers mark instead of dropping (RFC 3168).
        ecn: bool = false,
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
    /// Checks the values against what they mean; `spec` is where they were written.
    ///
    /// # Errors
    /// A value outside its range, or two that contradict each other.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        spec.require(self.alpha <= self.beta, "beta", "expected at least alpha")?;
        let fine = self.clock <= Span::from_secs(1);
        spec.require(fine, "clock", "expected a resolution of at most 1s")?;
        let sane = (1.0..=10_000.0).contains(&self.initial_window);
        spec.require(sane, "initial_window", "expected 1 to 10000 packets")
    }
}
