//! Parameters of the dual queue.

use paceline_cc::params::above;
use paceline_cc::{Span, Spec, SpecError};

use crate::queue::Limit;

paceline_cc::choices! {
    /// How the weights of the two queues are found.
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
        /// How the weights are found: maxmin, or zombie (RCP's way).
        weights: Weights = Weights::MaxMin, source "ABC §4.3";
        /// Time between updates of the weights.
        period: Span = Span::from_millis(100), in Span::from_millis(1)..,
            source "ours; the paper names none";
        /// maxmin: the number of flows of each queue that count as large, at most `counters`.
        k: u32 = 10, in 1..=MOST, unit "flows", source "ours; the paper names none";
        /// maxmin: counters of Space-Saving for each queue.
        counters: u32 = 100, in 1..=MOST, unit "counters", source "ours: ten times k";
        /// maxmin: the share by which a large flow's demand exceeds its rate.
        x: f64 = 0.1, in 0.0..=10.0, source "ABC §4.3";
        /// maxmin: the part of older measurements that is kept in the next one. With the period it
        /// makes a memory of 0.5 s, about that of the authors' moving averages at 96 Mbit/s.
        keep: f64 = 0.8, in 0.0..1.0, source "ours; the paper names none";
        /// The other queue's weight stays within this part of its measured share; 0: no bound.
        clamp: f64 = 0.0, in 0.0..=1.0, source "ABC §4.3: none; the authors' code: 0.2";
        /// The least weight of either queue.
        least: f64 = 0.05, in 0.0001..=0.5, source "the authors' code";
        /// Bytes of its share that an empty queue may save up.
        burst: u32 = 3000, unit "bytes", source "ours: two packets";
        /// The part of the buffer that is for other packets than ABC's.
        split: f64 = 0.5, in 0.0..=1.0, source "ours; the paper names none";
        /// zombie: entries of each list.
        list: u32 = 1000, in 1..=MOST, unit "entries", source "the authors' code";
        /// zombie: the weight of one arrival in the estimated frequency of hits.
        gain: f64 = 0.001, in above(0.0).up_to(1.0), source "ours";
        /// zombie: the probability that a miss replaces the entry it was compared with.
        replace: f64 = 0.25, in 0.0..=1.0, source "the authors' code";
    }
}

/// The most entries of any table.
const MOST: u32 = 100_000;

impl AbcDualParams {
    /// Checks that there is a counter for each large flow.
    ///
    /// # Errors
    /// `k` is larger than `counters`.
    pub(super) fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        spec.require(self.k <= self.counters, "k", "must be at most `counters`")
    }

    /// The buffer in parts: ABC's and the others'.
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

    /// ABC's weight within its bounds; `served` are the bytes that left each queue.
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
