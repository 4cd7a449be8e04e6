//! Cellular links: a rate that varies, outages, and grants of several packets.

use super::model::Model;
use super::opportunities::Opportunities;
use super::processes::{Ar, Randomness, STEP_MS};
use crate::TraceError;
use paceline_cc::Stream;

/// Probability that an outage ends with a grant for the backlog.
const BACKLOG_CHANCE: f64 = 0.25;

impl Model {
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
        let mut entries = Opportunities::new(name);
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
                entries.add(start, &counts)?;
            }
            start += width;
        }
        Ok(entries.end(length))
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
    fn geometric_has_its_mean() {
        let mut random = Stream::new(3, "geometric");
        let mean = (0..100_000).map(|_| geometric(2.5, &mut random)).sum::<u64>() as f64 / 1e5;
        assert!((mean - 2.5).abs() < 0.03, "{mean}");
    }
}
