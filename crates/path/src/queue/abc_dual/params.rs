//! Parameters of the dual queue.

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
        /// How the weights are found: maxmin (ABC paper, section 4.3) or zombie (RCP's way).
        weights: Weights = Weights::MaxMin,
        /// Time between updates of the weights; the paper names none.
        period: Span = Span::from_millis(100),
        /// maxmin: so many flows of each queue count as large; the paper names no number.
        k: u32 = 10,
        /// maxmin: counters of Space-Saving for each queue, at least `k`.
        counters: u32 = 100,
        /// maxmin: by so much more than its rate a large flow demands (ABC paper, section 4.3).
        x: f64 = 0.1,
        /// maxmin: the part of older measurements that is kept in the next one. With the period it
        /// makes a memory of 0.5 s, about that of the authors' moving averages at 96 Mbit/s.
        keep: f64 = 0.8,
        /// The other queue's weight stays within this part of its measured share; 0: no bound, as
        /// in the paper. The authors' code has 0.2.
        clamp: f64 = 0.0,
        /// The least weight of either queue (authors' code).
        least: f64 = 0.05,
        /// Bytes of its share that an empty queue may save up.
        burst: u32 = 3000,
        /// The part of the buffer that is for other packets than ABC's.
        split: f64 = 0.5,
        /// zombie: entries of each list (authors' code).
        list: u32 = 1000,
        /// zombie: the weight of one arrival in the estimated frequency of hits.
        gain: f64 = 0.001,
        /// zombie: the probability that a miss replaces the entry it was compared with (authors'
        /// code).
        replace: f64 = 0.25,
    }
}

/// The most entries of any table.
const MOST: u32 = 100_000;

impl AbcDualParams {
    /// An error if a value makes no sense.
    pub(super) fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        let part = |value: f64| (0.0..=1.0).contains(&value);
        let entries = |value: u32| (1..=MOST).contains(&value);
        spec.require(self.period >= Span::from_millis(1), "period", "must be 1ms or longer")?;
        spec.require(entries(self.counters), "counters", "must be from 1 to 100000")?;
        let some = (1..=self.counters).contains(&self.k);
        spec.require(some, "k", "must be at least 1 and at most `counters`")?;
        spec.require((0.0..=10.0).contains(&self.x), "x", "must be from 0 to 10")?;
        spec.require((0.0..1.0).contains(&self.keep), "keep", "must be from 0 to below 1")?;
        spec.require(part(self.clamp), "clamp", "must be between 0 and 1")?;
        let least = (0.0001..=0.5).contains(&self.least);
        spec.require(least, "least", "must be from 0.0001 to 0.5")?;
        spec.require(part(self.split), "split", "must be between 0 and 1")?;
        spec.require(entries(self.list), "list", "must be from 1 to 100000")?;
        let gain = self.gain > 0.0 && self.gain <= 1.0;
        spec.require(gain, "gain", "must be above 0 and at most 1")?;
        spec.require(part(self.replace), "replace", "must be between 0 and 1")
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
