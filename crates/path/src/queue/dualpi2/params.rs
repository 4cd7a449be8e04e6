//! Parameters of DualPI2.

use paceline_cc::{Span, Spec, SpecError};

paceline_cc::choices! {
    /// Which queue goes first.
    pub enum Scheduling {
        /// Weighted round robin: L, with a share for C.
        Wrr = "wrr",
        /// The packet that has waited longest, with a head start for L.
        TsFifo = "tsfifo",
    }
}

paceline_cc::params! {
    /// Parameters of DualPI2, with the names of RFC 9332, Appendix A.1.
    pub struct DualPi2Params {
        /// The waiting time to hold in the classic queue.
        target: Span = Span::from_millis(15),
        /// Time between updates of the base probability.
        tupdate: Span = Span::from_millis(16),
        /// Probability per update and second of delay above the target.
        alpha: f64 = 0.16,
        /// Probability per update and second by which the delay grew.
        beta: f64 = 3.2,
        /// The coupling factor: L's marks are this times the base probability.
        k: f64 = 2.0,
        /// A packet that has waited longer in L is marked.
        step_thresh: Span = Span::from_millis(1),
        /// The width of a ramp of the probability around that time, in place of the step.
        range: Span = Span::ZERO,
        /// Marks by the packets left in L instead, when there are more than this; 0: by time.
        step_packets: u32 = 0,
        /// No marks by the step while so many packets or less are in L.
        th_len: u32 = 1,
        /// How the queues share the link: wrr or tsfifo.
        scheduler: Scheduling = Scheduling::Wrr,
        /// The share of the link that C has at least, under wrr.
        c_protection: f64 = 0.1,
        /// The head start of L, under tsfifo; the RFC leaves its size open.
        tshift: Span = Span::from_millis(50),
        /// Decides at random; else by counters, as in the RFC's pseudocode.
        random: bool = true,
    }
}

impl DualPi2Params {
    /// An error if a value makes no sense.
    pub(super) fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        let slow = self.tupdate >= Span::from_micros(100);
        spec.require(slow, "tupdate", "must be 100us or longer")?;
        spec.require(self.alpha >= 0.0, "alpha", "must not be negative")?;
        spec.require(self.beta >= 0.0, "beta", "must not be negative")?;
        spec.require(self.k > 0.0, "k", "must be above 0")?;
        let share = (0.0..=1.0).contains(&self.c_protection);
        spec.require(share, "c_protection", "must be between 0 and 1")
    }
}
