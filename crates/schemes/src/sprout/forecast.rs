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
    cumulative: [Vec<Row>; FORECAST_TICKS],
}

/// A probability for each rate. Aligned for loads of pairs.
#[derive(Clone, Debug)]
#[repr(align(16))]
struct Row(Rates);

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
        let mut cumulative: [Vec<Row>; FORECAST_TICKS] =
            std::array::from_fn(|tick| vec![Row([0.0; BINS]); (tick + 1) * MOST + 1]);
        match ticks {
            Ticks::Independent => independent(&transition, &mut cumulative),
            Ticks::Joint => joint(&transition, &mut cumulative),
        }
        for table in &mut cumulative {
            for count in 1..table.len() {
                let (done, rest) = table.split_at_mut(count);
                for (sum, before) in rest[0].0.iter_mut().zip(&done[count - 1].0) {
                    *sum += before;
                }
            }
        }
        Tables { transition: Arc::new(transition), cumulative }
    }

    /// Returns for each tick the smallest count that the link does not exceed by its end with a
    /// probability of at least `share`.
    pub fn quantile(&self, p: &Rates, share: f64) -> Counts {
        self.quantile_near(p, share, &Counts::default())
    }

    /// Does [`Tables::quantile`], faster if the counts are close to `near`, or all differ from it
    /// by one factor.
    pub fn quantile_near(&self, p: &Rates, share: f64, near: &Counts) -> Counts {
        let mut counts = Counts::default();
        // The count before, and the one in `near`.
        let (mut least, mut near_least) = (0, 0);
        for ((table, count), near) in self.cumulative.iter().zip(&mut counts).zip(near) {
            let suffices = |count: usize| weigh(p, &table[count]) >= share;
            let near = usize::from(*near);
            let expected = (near * least).checked_div(near_least).unwrap_or(near);
            // A later tick's cumulative count is never smaller.
            least = smallest(suffices, (least, table.len() - 1), expected);
            (near_least, *count) = (near, least as u16);
        }
        counts
    }
}

/// Returns the smallest count in `low..=high` that `suffices`, which every larger one then does, too;
/// `high` if no other does. Searches around `near`, in steps that double.
fn smallest(
    suffices: impl Fn(usize) -> bool,
    (mut low, mut high): (usize, usize),
    near: usize,
) -> usize {
    let near = near.clamp(low, high);
    let mut step = 1;
    if near < high && !suffices(near) {
        low = near + 1;
        while low < high {
            let at = (low + step - 1).min(high - 1);
            if suffices(at) {
                high = at;
                break;
            }
            (low, step) = (at + 1, 2 * step);
        }
    } else {
        high = near;
        while low < high {
            let at = high.saturating_sub(step).max(low);
            if !suffices(at) {
                low = at + 1;
                break;
            }
            (high, step) = (at, 2 * step);
        }
    }
    while low < high {
        let middle = usize::midpoint(low, high);
        if suffices(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns the scalar product, in four lanes that processors can add in parallel. Not compiled into its
/// callers, where the compiler does not know that a row is aligned.
#[inline(never)]
fn weigh(p: &Rates, Row(values): &Row) -> f64 {
    let mut lanes = [0.0; 4];
    let ((p, p_rest), (values, rest)) = (p.as_chunks::<16>(), values.as_chunks::<16>());
    for (p, values) in p.iter().zip(values) {
        // Each lane adds every fourth product, in ascending order.
        for first in [0, 4, 8, 12] {
            for (lane, sum) in lanes.iter_mut().enumerate() {
                *sum += p[first + lane] * values[first + lane];
            }
        }
    }
    let rest: f64 = p_rest.iter().zip(rest).map(|(p, v)| p * v).sum();
    join(&lanes) + rest
}

/// Adds the lanes. A function of its own: otherwise the compiler chooses the pairs of lanes for this
/// addition, and rearranges the numbers in the loop before it, which then takes twice as long.
#[inline(never)]
fn join(lanes: &[f64; 4]) -> f64 {
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
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
fn independent(transition: &Transition, tables: &mut [Vec<Row>; FORECAST_TICKS]) {
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
                row.0[start] = *p;
            }
        }
    }
}

/// Computes the exact distribution of the count: the first tick by its rate, the others by the
/// rates that it leads to.
fn joint(transition: &Transition, tables: &mut [Vec<Row>; FORECAST_TICKS]) {
    let poisson = poisson();
    // For each initial rate, the probability of each count.
    let mut later: Vec<Vec<f64>> = vec![vec![1.0]; BINS];
    for (tick, table) in tables.iter_mut().enumerate() {
        let mut now = Vec::with_capacity(BINS);
        for (start, chances) in poisson.iter().enumerate() {
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
            let counts = convolve(&after, chances);
            for (row, p) in table.iter_mut().zip(&counts) {
                row.0[start] = *p;
            }
            now.push(counts);
        }
        later = now;
    }
}
