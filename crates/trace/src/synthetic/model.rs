//! The stochastic model of a cellular link's capacity. The [module](super) describes it.

use crate::trace::too_many;
use crate::{MAX_OPPORTUNITIES, TraceError};
use paceline_cc::Stream;

use super::moves::Moves;

/// Step of the rate and outage processes, in milliseconds.
pub(super) const STEP_MS: u32 = 10;

/// The standard normal's quantiles at which [`Model::knots`] are given: 5, 25, 50, 75, 95 %.
const KNOTS_AT: [f64; 5] = [-1.645, -0.674, 0.0, 0.674, 1.645];

/// Probability that an outage ends with a grant for the backlog.
const BACKLOG_CHANCE: f64 = 0.25;

/// The parameters of one synthetic trace.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Model {
    /// Rate in Mbit/s at the 5, 25, 50, 75 and 95 % quantiles while there is no outage. May be
    /// negative, which means a rate of zero.
    pub(crate) knots: [f64; 5],
    /// Growth of the rate beyond the last knot, in Mbit/s per standard deviation.
    pub(crate) tail: f64,
    /// Time constants of the slow and the fast process, in seconds.
    pub(crate) slow_s: f64,
    pub(crate) fast_s: f64,
    /// Share of the slow process in the variance, 0 to 1.
    pub(crate) slow: f64,
    /// Mean time from an outage's end to the next one's start, in seconds.
    pub(crate) outage_every_s: f64,
    /// Shortest and longest outage, in seconds, and the Pareto shape in between.
    pub(crate) outage_min_s: f64,
    pub(crate) outage_max_s: f64,
    pub(crate) outage_shape: f64,
    /// Mean number of packets per grant; at least 1.
    pub(crate) batch: f64,
    /// Share of the grants that come at even intervals, 0 to 1; the others are a Poisson process.
    pub(crate) even: f64,
    /// Largest number of packets in a grant at the end of an outage; 0 for no such grants.
    pub(crate) backlog: u64,
    /// For links to satellites, which have no outages and no grants of the above kinds, and no slow
    /// process.
    pub(crate) moves: Option<Moves>,
}

impl Model {
    /// Returns the rate in Mbit/s, zero or more, for a standard normal `z`.
    pub(super) fn rate(&self, z: f64) -> f64 {
        let last = KNOTS_AT.len() - 1;
        if z > KNOTS_AT[last] {
            return (self.knots[last] + self.tail * (z - KNOTS_AT[last])).max(0.0);
        }
        // Below the first knot the first segment continues.
        let i = KNOTS_AT[1..last].iter().take_while(|&&knot| z > knot).count();
        let slope = (self.knots[i + 1] - self.knots[i]) / (KNOTS_AT[i + 1] - KNOTS_AT[i]);
        (self.knots[i] + slope * (z - KNOTS_AT[i])).max(0.0)
    }

    /// Returns the opportunities of `length` ms, the last at `length`.
    pub(crate) fn generate(
        &self,
        name: &str,
        random: Randomness,
        length: u32,
    ) -> Result<Vec<u32>, TraceError> {
        if let Some(moves) = self.moves {
            let Randomness { seed, take, .. } = random;
            return moves.generate(self, (name, seed, take), random, length);
        }
        let Randomness { mut rate, mut outage, mut grant, .. } = random;
        let mut slow = Ar::new(self.slow_s, &mut rate);
        let mut fast = Ar::new(self.fast_s, &mut rate);
        let (slow_part, fast_part) = (libm::sqrt(self.slow), libm::sqrt(1.0 - self.slow));
        let seconds_per_step = f64::from(STEP_MS) / 1e3;
        // Number of steps until the next outage starts, or until the present one ends.
        let mut out = false;
        let mut left = outage.exponential(self.outage_every_s) / seconds_per_step;
        let mut entries = Vec::new();
        let mut start = 0u32;
        let mut due = 0.0; // Part of the next even grant that is due.
        while start < length {
            let width = STEP_MS.min(length - start);
            let z = slow_part * slow.step(&mut rate) + fast_part * fast.step(&mut rate);
            left -= 1.0;
            let mut backlog = 0;
            while left < 0.0 {
                if out && outage.chance(BACKLOG_CHANCE) {
                    backlog = outage.below(self.backlog + 1);
                }
                out = !out;
                let seconds = if out {
                    outage.pareto(self.outage_shape, self.outage_min_s).min(self.outage_max_s)
                } else {
                    outage.exponential(self.outage_every_s)
                };
                left += seconds / seconds_per_step;
            }
            if !out {
                // Mbit/s times ms is kbit; a packet is 12 kbit.
                let packets = self.rate(z) * f64::from(width) / 12.0;
                let mut counts = [0u64; STEP_MS as usize];
                counts[0] = backlog;
                let grants = packets / self.batch;
                due += grants * self.even;
                let even = libm::floor(due);
                due -= even;
                for _ in 0..even as u64 + grant.poisson(grants * (1.0 - self.even)) {
                    counts[grant.below(width.into()) as usize] += geometric(self.batch, &mut grant);
                }
                for (ms, &n) in (start + 1..).zip(&counts) {
                    entries.extend(std::iter::repeat_n(ms, n as usize));
                }
            }
            if entries.len() >= MAX_OPPORTUNITIES {
                return Err(too_many(name));
            }
            start += width;
        }
        if entries.last() != Some(&length) {
            entries.push(length);
        }
        Ok(entries)
    }
}

/// One random stream per process, so that a change of one parameter has little effect on the
/// others.
pub(crate) struct Randomness {
    seed: u64,
    take: u32,
    pub(super) rate: Stream,
    outage: Stream,
    pub(super) grant: Stream,
}

impl Randomness {
    /// Returns the streams of a named trace for a seed; each `take` gives other streams.
    pub(crate) fn new(name: &str, seed: u64, take: u32) -> Randomness {
        let stream = |part| Stream::new(seed, &format!("trace {name} {take} {part}"));
        let (rate, outage, grant) = (stream("rate"), stream("outage"), stream("grant"));
        Randomness { seed, take, rate, outage, grant }
    }
}

/// A first-order autoregressive process with standard normal values.
pub(super) struct Ar {
    value: f64,
    keep: f64,
    kick: f64,
}

impl Ar {
    pub(super) fn new(time_constant_s: f64, random: &mut Stream) -> Ar {
        let keep = libm::exp(-f64::from(STEP_MS) / 1e3 / time_constant_s);
        Ar { value: random.normal(), keep, kick: libm::sqrt(1.0 - keep * keep) }
    }

    pub(super) fn step(&mut self, random: &mut Stream) -> f64 {
        self.value = self.keep * self.value + self.kick * random.normal();
        self.value
    }
}

/// Draws a geometric variate from 1, with the given mean.
fn geometric(mean: f64, random: &mut Stream) -> u64 {
    if mean <= 1.0 {
        return 1;
    }
    let steps = libm::log(1.0 - random.uniform()) / libm::log(1.0 - 1.0 / mean);
    1 + steps as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_its_knots() {
        let model = crate::synthetic::table::ENTRIES[0].model;
        for (z, mbps) in KNOTS_AT.into_iter().zip(model.knots) {
            assert!((model.rate(z) - mbps.max(0.0)).abs() < 1e-9);
        }
        assert!(model.rate(-9.0) == 0.0 && model.rate(4.0) > model.rate(2.0));
    }

    #[test]
    fn geometric_has_its_mean() {
        let mut random = Stream::new(3, "geometric");
        let mean = (0..100_000).map(|_| geometric(2.5, &mut random)).sum::<u64>() as f64 / 1e5;
        assert!((mean - 2.5).abs() < 0.03, "{mean}");
    }
}
