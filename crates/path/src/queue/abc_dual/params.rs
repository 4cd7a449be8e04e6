//! Parameters of the dual queue.

use paceline_cc::params::above;
use paceline_cc::{Span, Spec, SpecError};

use crate::queue::Limit;

paceline_cc::choices! {
    /// The rule that sets the weights of the two queues.
    pub enum Weights {
        /// Max-min fair shares of the largest flows and of the short ones.
        MaxMin = "maxmin",
        /// In proportion to the numbers of flows, by zombie lists.
        Zombie = "zombie",
    }
}

paceline_cc::params! {
    /// Parameters of the dual queue.
    pub struct AbcDualParams {
        /// The rule that sets the weights: maxmin, or zombie (RCP's rule).
        weights: Weights = Weights::MaxMin, source "ABC §4.3";
        /// Time between updates of the weights.
        period: Span = Span::from_millis(100), in Span::from_millis(1)..,
            source "ours; the paper names none";
        /// maxmin: number of flows of each queue that count as large.
        k: u32 = 10, in 1..=MOST, must "at most counters", unit "flows", source "ours; the paper names none";
        /// maxmin: number of Space-Saving's counters for each queue.
        counters: u32 = 100, in 1..=MOST, unit "counters", source "ours: ten times k";
        /// maxmin: share by which a large flow's demand exceeds its rate.
        x: f64 = 0.1, in 0.0..=10.0, source "ABC §4.3";
        /// maxmin: part of older measurements that is kept in the next one. Together with the
        /// period it gives a memory of 0.5 s, about that of the authors' moving averages at 96
        /// Mbit/s.
        keep: f64 = 0.8, in 0.0..1.0, source "ours; the paper names none";
        /// The other queue's weight stays within this part of its measured share; 0: no bound.
        clamp: f64 = 0.0, in 0.0..=1.0, source "ABC §4.3: none; the authors' code: 0.2";
        /// Minimum weight of either queue.
        least: f64 = 0.05, in 0.0001..=0.5, source "the authors' code";
        /// Maximum bytes of its share that an empty queue may save up.
        burst: u32 = 3000, unit "bytes", source "ours: two packets";
        /// Part of the buffer for packets other than ABC's.
        split: f64 = 0.5, in 0.0..=1.0, source "ours; the paper names none";
        /// zombie: number of entries of each list.
        list: u32 = 1000, in 1..=MOST, unit "entries", source "the authors' code";
        /// zombie: weight of one arrival in the estimated frequency of hits.
        gain: f64 = 0.001, in above(0.0).up_to(1.0), source "ours";
        /// zombie: probability that a miss replaces the entry with which it was compared.
        replace: f64 = 0.25, in 0.0..=1.0, source "the authors' code";
    }
}

/// Maximum number of entries of any table.
const MOST: u32 = 100_000;

impl AbcDualParams {
    /// Checks that there is a counter for each large flow.
    ///
    /// # Errors
    /// `k` is larger than `counters`.
    pub(super) fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        spec.require(self.k <= self.counters, self, "k")
    }

    /// Returns the parts of the buffer for ABC and for other traffic.
    pub(super) fn parts(&self, limit: Limit) -> (Limit, Limit) {
        let other = |whole: u64| ((whole as f64 * self.split + 0.5) as u64).min(whole);
        let others = Limit {
            packets: limit.packets.map(other),
            bytes: limit.bytes.map(other),
            sojourn: limit.sojourn,
        };
        let rest = |whole: Option<u64>| whole.map(|whole| whole - other(whole));
        let abc = Limit {
            packets: rest(limit.packets),
            bytes: rest(limit.bytes),
            sojourn: limit.sojourn,
        };
        (abc, others)
    }

    /// Returns ABC's weight within its bounds; `served` are the bytes that left each queue.
    pub(super) fn bounded(&self, weight: f64, served: [u64; 2]) -> f64 {
        let mut other = 1.0 - weight;
        let total = served[0] + served[1];
        if self.clamp > 0.0 && total > 0 {
            let measured = served[1] as f64 / total as f64;
            other = other.clamp((1.0 - self.clamp) * measured, (1.0 + self.clamp) * measured);
        }
        1.0 - other.clamp(self.least, 1.0 - self.least)
    }
}
