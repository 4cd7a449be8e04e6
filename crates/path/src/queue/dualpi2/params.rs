//! Parameters of DualPI2.

use paceline_cc::Span;
use paceline_cc::params::above;

paceline_cc::choices! {
    /// Which queue is served first.
    pub enum Scheduling {
        /// Weighted round robin: L, with a share for C.
        Wrr = "wrr",
        /// The packet with the longest sojourn time, with a head start for L.
        TsFifo = "tsfifo",
    }
}

paceline_cc::params! {
    /// Parameters of DualPI2, with the names of RFC 9332, Appendix A.1.
    pub struct DualPi2Params {
        /// Sojourn time to maintain in the classic queue.
        target: Span = Span::from_millis(15), source "RFC 9332 A.1";
        /// Time between updates of the base probability.
        tupdate: Span = Span::from_millis(16), in Span::from_micros(100).., source "RFC 9332 A.1";
        /// Increase of the probability per update and per second of delay above the target.
        alpha: f64 = 0.16, in 0.0.., unit "1/s", source "RFC 9332 A.1";
        /// Increase of the probability per update and per second of delay growth.
        beta: f64 = 3.2, in 0.0.., unit "1/s", source "RFC 9332 A.1";
        /// Coupling factor: L marks with this times the base probability.
        k: f64 = 2.0, in above(0.0), source "RFC 9332 A.1";
        /// Packets with a longer sojourn time in L are marked.
        step_thresh: Span = Span::from_millis(1), source "Linux";
        /// Width of a ramp of the probability around that time, instead of the step.
        range: Span = Span::ZERO, source "Linux: none; RFC 9332 A.1: 400us";
        /// Marks while more than this many packets are left in L, instead of by time; 0: by time.
        step_packets: u32 = 0, unit "packets", source "Linux";
        /// The step marks no packets while L holds at most this many packets.
        th_len: u32 = 1, unit "packets", source "RFC 9332 A.1: Th_len";
        /// Size of a full packet: while less than two of these are queued, the controller neither drops nor marks; 0: no
        /// such exception.
        mtu: u32 = 1500, unit "bytes", source "Linux, whose 1514 bytes have an Ethernet header; RFC 9332 A.1: 0";
        /// How the queues share the link: wrr or tsfifo.
        scheduler: Scheduling = Scheduling::Wrr, source "Linux";
        /// Minimum share of the link for C, with wrr.
        c_protection: f64 = 0.1, in 0.0..=1.0, source "Linux";
        /// Head start of L, with tsfifo.
        tshift: Span = Span::from_millis(50), source "ours; RFC 9332 leaves it open";
        /// Draws random numbers; otherwise uses counters, as in the RFC's pseudocode.
        random: bool = true, source "ours; RFC 9332's pseudocode: false";
    }
}
