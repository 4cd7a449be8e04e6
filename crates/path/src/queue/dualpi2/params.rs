//! Parameters of DualPI2.

use paceline_cc::Span;
use paceline_cc::params::above;

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
        target: Span = Span::from_millis(15), source "RFC 9332 A.1";
        /// Time between updates of the base probability.
        tupdate: Span = Span::from_millis(16), in Span::from_micros(100).., source "RFC 9332 A.1";
        /// Probability per update and second of delay above the target.
        alpha: f64 = 0.16, in 0.0.., unit "1/s", source "RFC 9332 A.1";
        /// Probability per update and second by which the delay grew.
        beta: f64 = 3.2, in 0.0.., unit "1/s", source "RFC 9332 A.1";
        /// The coupling factor: L's marks are this times the base probability.
        k: f64 = 2.0, in above(0.0), source "RFC 9332 A.1";
        /// A packet that has waited longer in L is marked.
        step_thresh: Span = Span::from_millis(1), source "Linux";
        /// The width of a ramp of the probability around that time, in place of the step.
        range: Span = Span::ZERO, source "Linux: none; RFC 9332 A.1: 400us";
        /// Marks by the packets left in L instead, when there are more than this; 0: by time.
        step_packets: u32 = 0, unit "packets", source "Linux";
        /// No marks by the step while L holds this number of packets or fewer.
        th_len: u32 = 1, unit "packets", source "RFC 9332 A.1: Th_len";
        /// How the queues share the link: wrr or tsfifo.
        scheduler: Scheduling = Scheduling::Wrr, source "Linux";
        /// The share of the link that C has at least, under wrr.
        c_protection: f64 = 0.1, in 0.0..=1.0, source "Linux";
        /// The head start of L, under tsfifo.
        tshift: Span = Span::from_millis(50), source "ours; RFC 9332 leaves it open";
        /// Decides at random; else by counters, as in the RFC's pseudocode.
        random: bool = true, source "ours; RFC 9332's pseudocode: false";
    }
}
