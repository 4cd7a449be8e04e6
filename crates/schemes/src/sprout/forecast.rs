//! Forecasts how many packets the link will deliver at least, with a given confidence (thesis
//! §2.2.3).

use std::sync::Arc;

use paceline_cc::FORECAST_TICKS;

use super::belief::{BINS, Rates, Transition, normalise, per_tick};

/// Largest number of packets that the model lets a tick deliver.
const MOST: usize = 29;

/// A cautious cumulative count of packets for the end of each coming tick.
pub type Counts = [u16; FORECAST_TICKS];

paceline_cc::choices! {
    /// Whether the ticks of a forecast depend on each other.
    pub enum Ticks {
        /// Independent: the authors add up ticks as if each had a new rate.
        Independent = "independent",
        /// Dependent: a tick's rate leads to the next one's.
        Joint = "joint",
    }
}

/// For each initial rate, the probability that the link delivers at most a number of packets within
/// a number of ticks.
#[derive(Debug)]
pub struct Tables {
    /// The change of the rate per tick.
    pub transition: Arc<Transition>,
    /// For each number of ticks and of packets, the probabilities of all initial rates.
    cumulative: [Vec<Rates>; FORECAST_TICKS],
}

/// Returns the probabilities of 0 to 29 packets in a tick, for each rate. Higher counts are left
/// out.
fn poisson() -> Vec<[f64; MOST + 1]> {
    let row = |bin: usize| {
        let mean = per_tick(bin);
        let mut chance = libm::exp(-mean);
        std::array::from_fn(|count| {
            if count > 0 {
                chance *= mean / count as f64;
            }
            chance
        })
    };
    (0..BINS).map(row).collect()
}

impl Tables {
    /// Computes the tables of one variant, which takes about ten milliseconds; receivers share
    /// them.
    pub fn new(ticks: Ticks, proper: bool) -> Tables {
        let transition = Transition::new(proper);
        let mut cumulative: [Vec<Rates>; FORECAST_TICKS] =
            std::array::from_fn(|tick| vec![[0.0; BINS]; (tick + 1) * MOST + 1]);
        match ticks {
            Ticks::Independent => independent(&transition, &mut cumulative),
            Ticks::Joint => joint(&transition, &mut cumulative),
        }
        for table in &mut cumulative {
            for count in 1..table.len() {
                let (done, rest) = table.split_at_mut(count);
                for (sum, before) in rest[0].iter_mut().zip(&done[count - 1]) {
                    *sum += before;
                }
            }
        }
        Tables { transition: Arc::new(transition), cumulative }
    }

    /// Returns for each tick the smallest count that the link does not exceed by its end with a
    /// probability of at least `share`.
    pub fn quantile(&self, p: &Rates, share: f64) -> Counts {
        let mut counts = Counts::default();
        let mut least = 0;
        for (table, count) in self.cumulative.iter().zip(&mut counts) {
            // A later tick's cumulative count is never smaller.
            let (mut low, mut high) = (least, table.len() - 1);
            while low < high {
                let middle = usize::midpoint(low, high);
                if weigh(p, &table[middle]) >= share {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            least = low;
            *count = low as u16;
        }
        counts
    }
}

/// Returns the scalar product, in four lanes that processors can add in parallel.
fn weigh(p: &Rates, values: &Rates) -> f64 {
    let mut lanes = [0.0; 4];
    let (p, values) = (p.chunks_exact(4), values.chunks_exact(4));
    let rest: f64 = p.remainder().iter().zip(values.remainder()).map(|(p, v)| p * v).sum();
    for (p, values) in p.zip(values) {
        for lane in 0..4 {
            lanes[lane] += p[lane] * values[lane];
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// Adds one tick's packets to those of the ticks before it: convolves the distributions.
fn convolve(before: &[f64], tick: &[f64; MOST + 1]) -> Vec<f64> {
    let mut sum = vec![0.0; before.len() + MOST];
    for (at, p) in before.iter().enumerate() {
        for (sum, chance) in sum[at..].iter_mut().zip(tick) {
            *sum += p * chance;
        }
    }
    sum
}

/// Computes each tick's counts from the rates that may be reached by then, and adds the ticks up as
/// if they were independent.
fn independent(transition: &Transition, tables: &mut [Vec<Rates>; FORECAST_TICKS]) {
    let poisson = poisson();
    for start in 0..BINS {
        let mut rates = [0.0; BINS];
        rates[start] = 1.0;
        let mut counts = vec![1.0];
        for (tick, table) in tables.iter_mut().enumerate() {
            if tick > 0 {
                let mut moved = [0.0; BINS];
                transition.apply(&rates, &mut moved);
                normalise(&mut moved);
                rates = moved;
            }
            let mut law = [0.0; MOST + 1];
            for (&p, chances) in rates.iter().zip(&poisson).filter(|(p, _)| **p > 0.0) {
                for (law, chance) in law.iter_mut().zip(chances) {
                    *law += p * chance;
                }
            }
            counts = convolve(&counts, &law);
            for (row, p) in table.iter_mut().zip(&counts) {
                row[start] = *p;
            }
        }
    }
}

/// Computes the exact distribution of the count: the first tick by its rate, the others by the
/// rates that it leads to.
fn joint(transition: &Transition, tables: &mut [Vec<Rates>; FORECAST_TICKS]) {
    let poisson = poisson();
    // For each initial rate, the probability of each count.
    let mut later: Vec<Vec<f64>> = vec![vec![1.0]; BINS];
    for (tick, table) in tables.iter_mut().enumerate() {
        let mut now = Vec::with_capacity(BINS);
        for start in 0..BINS {
            let mut after = vec![0.0; tick * MOST + 1];
            if tick == 0 {
                after[0] = 1.0;
            } else {
                // The weights of an outage need not add up to one, so they are scaled.
                let mass: f64 = transition.row(start).map(|(_, share)| share).sum();
                for (to, share) in transition.row(start) {
                    for (sum, p) in after.iter_mut().zip(&later[to]) {
                        *sum += share / mass * p;
                    }
                }
            }
            let counts = convolve(&after, &poisson[start]);
            for (row, p) in table.iter_mut().zip(&counts) {
                row[start] = *p;
            }
            now.push(counts);
        }
        later = now;
    }
}
