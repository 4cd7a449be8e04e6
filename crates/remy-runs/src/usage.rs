//! Which rules senders use, and for which memories.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use paceline_schemes::remy::{Memory, RuleObserver, Signal};
use paceline_sim::metrics::median;

/// Maximum number of memories kept per rule. When it is reached, every second memory is removed and
/// half as many are taken from then on. Equal runs keep the same memories.
const SAMPLES: usize = 512;

/// How often a rule was used, and a sample of the memories for which it was used.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleUse {
    /// Number of uses.
    pub count: u64,
    samples: Vec<Memory>,
    stride: u64,
}

impl Default for RuleUse {
    fn default() -> RuleUse {
        RuleUse { count: 0, samples: Vec::new(), stride: 1 }
    }
}

impl RuleUse {
    /// Returns the count, the memories and their stride, the arguments of [`RuleUse::from_parts`].
    pub fn parts(&self) -> (u64, &[Memory], u64) {
        (self.count, &self.samples, self.stride)
    }

    /// Creates a `RuleUse` from what [`RuleUse::parts`] returns.
    pub fn from_parts(count: u64, samples: Vec<Memory>, stride: u64) -> RuleUse {
        RuleUse { count, samples, stride: stride.max(1) }
    }

    /// Samples the memory of use number `number`, counted from 0. Returns the number of the next
    /// use to sample.
    fn take(&mut self, number: u64, memory: &Memory) -> u64 {
        if self.samples.len() == SAMPLES {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
        if number.is_multiple_of(self.stride) {
            self.samples.push(*memory);
        }
        (number / self.stride + 1) * self.stride
    }

    /// Adds the uses of another run, with all of its sampled memories.
    fn join(&mut self, other: &RuleUse) {
        self.count += other.count;
        self.samples.extend_from_slice(&other.samples);
        // A run that sampled half as often should count twice and does not: precise enough for
        // choosing where to divide.
        self.stride = self.stride.max(other.stride);
    }

    /// Returns the sampled memories.
    pub fn samples(&self) -> &[Memory] {
        &self.samples
    }

    /// Returns the median of a signal over the sampled memories; `None` without a use.
    pub fn median(&self, signal: Signal) -> Option<f64> {
        median(self.samples.iter().map(|memory| memory.get(signal)))
    }
}

/// Counts the uses of each rule of a table in one run without atomic operations. Only one thread
/// may use it.
#[derive(Clone, Debug, Default)]
pub struct UsageCounts {
    /// Uses of each rule, and the number of the next use to sample.
    rules: Vec<(RuleUse, u64)>,
}

impl UsageCounts {
    /// Creates counts for a table of `rules` rules.
    pub fn new(rules: usize) -> UsageCounts {
        UsageCounts { rules: vec![(RuleUse::default(), 0); rules] }
    }

    /// Counts a use of rule `rule` for `memory`.
    #[inline]
    pub(crate) fn count(&mut self, rule: usize, memory: &Memory) {
        let Some((uses, next)) = self.rules.get_mut(rule) else { return };
        let number = uses.count;
        uses.count += 1;
        if number == *next {
            *next = uses.take(number, memory);
        }
    }

    /// Returns the uses so far, by rule number.
    pub fn into_rules(self) -> Vec<RuleUse> {
        self.rules.into_iter().map(|(uses, _)| uses).collect()
    }
}

/// Counts the uses of each rule of a table in one run. Threads may share it.
#[derive(Debug, Default)]
pub struct Usage {
    rules: Vec<Counter>,
}

/// Uses of one rule. Most uses are counted without a lock.
#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    /// Number of the next use to sample.
    next: AtomicU64,
    taken: Mutex<RuleUse>,
}

impl Usage {
    /// Creates counts for a table of `rules` rules.
    pub fn new(rules: usize) -> Usage {
        Usage { rules: (0..rules).map(|_| Counter::default()).collect() }
    }

    /// Returns the uses so far, by rule number.
    pub fn rules(&self) -> Vec<RuleUse> {
        let uses = |counter: &Counter| {
            let taken = counter.taken.lock().unwrap_or_else(PoisonError::into_inner);
            RuleUse { count: counter.count.load(Relaxed), ..taken.clone() }
        };
        self.rules.iter().map(uses).collect()
    }
}

impl RuleObserver for Usage {
    #[inline]
    fn on_use(&self, rule: usize, memory: &Memory) {
        let Some(counter) = self.rules.get(rule) else { return };
        let number = counter.count.fetch_add(1, Relaxed);
        if number == counter.next.load(Relaxed) {
            let mut taken = counter.taken.lock().unwrap_or_else(PoisonError::into_inner);
            counter.next.store(taken.take(number, memory), Relaxed);
        }
    }
}

/// Combines the uses of several runs, in their order.
pub fn join(runs: impl IntoIterator<Item = Vec<RuleUse>>) -> Vec<RuleUse> {
    let mut all: Vec<RuleUse> = Vec::new();
    for run in runs {
        all.resize_with(all.len().max(run.len()), RuleUse::default);
        all.iter_mut().zip(&run).for_each(|(sum, one)| sum.join(one));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_schemes::remy::SIGNALS;

    #[test]
    fn counts_and_medians() {
        let usage = Usage::new(2);
        for value in 0..10_001 {
            usage.on_use(1, &Memory { values: [f64::from(value); SIGNALS] });
        }
        usage.on_use(7, &Memory::default());
        let rules = usage.rules();
        assert_eq!((rules[0].count, rules[1].count), (0, 10_001));
        assert_eq!(rules[0].median(Signal::RttRatio), None);
        assert!(rules[1].samples.len() <= SAMPLES && rules[1].samples.len() > SAMPLES / 2);
        let median = rules[1].median(Signal::RttRatio).expect("used");
        assert!((median - 5000.0).abs() < 100.0, "{median}");
        let both = join([rules.clone(), rules]);
        assert_eq!((both.len(), both[1].count), (2, 20_002));
    }
}
