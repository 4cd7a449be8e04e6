//! The receiver's belief about the link's rate: a probability for each of 257 rates, updated by
//! Brownian motion and by arriving packets (thesis §2.2.1 and §2.2.2).

use std::sync::Arc;

use paceline_cc::Span;

/// Number of rates. The first is an outage; the last includes all higher rates.
pub const BINS: usize = 257;
/// Time between two updates (thesis §2.2.1).
pub const TICK: Span = Span::from_millis(20);
/// A number for each rate.
pub(super) type Rates = [f64; BINS];

/// Difference of neighbouring rates, in packets per second.
const WIDTH: f64 = 1000.0 / 256.0;
/// Standard deviation of the rate's change in a second, in packets per second (thesis §2.2.1).
const SIGMA: f64 = 200.0;
/// Rate per second at which outages end (thesis §2.2.1).
const ESCAPE: f64 = 1.0;
/// Number of rates to each side that a rate reaches in one tick: five standard deviations.
const REACH: usize = 36;

/// Returns the number of packets that a link of this rate is expected to deliver in a tick.
pub(super) fn per_tick(bin: usize) -> f64 {
    // The authors' outage is a rate of exactly zero; the other rates are the middles of their bins.
    if bin == 0 { 0.0 } else { (bin as f64 + 0.5) * WIDTH * TICK.as_secs_f64() }
}

/// Scales `p` to a sum of one; returns the sum before. A sum of zero is not scaled.
pub(super) fn normalise(p: &mut Rates) -> f64 {
    let sum: f64 = p.iter().sum();
    if sum > 0.0 {
        p.iter_mut().for_each(|p| *p /= sum);
    }
    sum
}

/// Returns the normal distribution function from a table like the authors': 32768 steps over 1000
/// to each side, each with the value at its middle.
fn normal_cdf(x: f64, deviation: f64) -> f64 {
    const STEPS: f64 = 32_768.0;
    let width = 2000.0 / STEPS;
    let at = ((x + 1000.0) / width).floor().clamp(0.0, STEPS - 1.0);
    let middle = (at + 0.5) * width - 1000.0;
    0.5 * libm::erfc(-middle / (deviation * std::f64::consts::SQRT_2))
}

/// The change of the rate in a tick. Rates further apart than [`REACH`] do not reach each other.
#[derive(Debug)]
pub struct Transition {
    /// For each rate, the lowest rate that it reaches, and the probabilities from there on.
    rows: Vec<(usize, Vec<f64>)>,
}

impl Transition {
    /// Returns the authors' motion. In it, the weights of staying in an outage and of leaving it do
    /// not add up to one (see [`super::SproutParams::outage_column`]); `proper` scales them to one.
    pub fn new(proper: bool) -> Transition {
        let tick = TICK.as_secs_f64();
        let deviation = SIGMA * tick.sqrt();
        let stay = libm::exp(-ESCAPE * tick);
        let rows = (0..BINS).map(|from| {
            let middle = per_tick(from) / tick;
            let low = from.saturating_sub(REACH);
            let high = (from + REACH).min(BINS - 1);
            let share = |to: usize| {
                // The outermost rates also get the probability beyond them.
                let under = |edge: f64| normal_cdf(edge - middle, deviation);
                let below = if to == 0 { 0.0 } else { under(to as f64 * WIDTH) };
                let above = if to == BINS - 1 { 1.0 } else { under((to + 1) as f64 * WIDTH) };
                let bias = match (from, to) {
                    (0, 0) => stay,
                    (0, _) => 1.0 - stay,
                    _ => 1.0,
                };
                bias * (above - below)
            };
            let mut row: Vec<f64> = (low..=high).map(share).collect();
            if from == 0 && proper {
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|share| *share /= sum);
            }
            (low, row)
        });
        Transition { rows: rows.collect() }
    }

    /// Computes the probabilities `to` a tick after `from`. The sum may shrink.
    pub fn apply(&self, from: &Rates, to: &mut Rates) {
        to.fill(0.0);
        for (&p, (low, row)) in from.iter().zip(&self.rows) {
            if p > 0.0 {
                for (to, share) in to[*low..].iter_mut().zip(row) {
                    *to += p * share;
                }
            }
        }
    }

    /// Returns the rates that `from` reaches in a tick, with their probabilities.
    pub fn row(&self, from: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (low, row) = &self.rows[from];
        row.iter().enumerate().map(move |(at, &share)| (low + at, share))
    }
}

/// Returns the logarithms of the rates in packets per tick; the first is that of zero.
fn logarithms() -> Rates {
    std::array::from_fn(|bin| libm::log(per_tick(bin)))
}

/// The probabilities of the rates.
#[derive(Clone, Debug)]
pub struct Belief {
    p: Rates,
    transition: Arc<Transition>,
    logarithms: Rates,
}

impl Belief {
    /// Returns the belief before the first tick: all rates are equally likely.
    pub fn new(transition: Arc<Transition>) -> Belief {
        Belief { p: [1.0 / BINS as f64; BINS], transition, logarithms: logarithms() }
    }

    /// Returns the probability of each rate.
    pub fn p(&self) -> &Rates {
        &self.p
    }

    /// Updates the probabilities for the passage of a tick.
    pub fn evolve(&mut self) {
        let mut moved = [0.0; BINS];
        self.transition.apply(&self.p, &mut moved);
        normalise(&mut moved);
        self.p = moved;
    }

    /// Updates the probabilities for `packets` packets that arrived in the tick that has passed.
    pub fn observe(&mut self, packets: u32) {
        // Likelihoods are relative to the largest one, so that none of a count's likelihoods
        // underflows to zero.
        let count = packets as f64;
        let log = |bin: usize| match (packets, bin) {
            (0, _) => -per_tick(bin),
            (_, 0) => f64::NEG_INFINITY,
            _ => count * self.logarithms[bin] - per_tick(bin),
        };
        // The likelihood is largest for the rate equal to the count.
        let nearest = (count / (WIDTH * TICK.as_secs_f64())) as usize;
        let around = nearest.saturating_sub(2).min(BINS - 1)..=(nearest + 1).min(BINS - 1);
        let peak = around.map(log).fold(f64::NEG_INFINITY, f64::max);
        let mut p = self.p;
        for (bin, p) in p.iter_mut().enumerate() {
            *p *= libm::exp(log(bin) - peak);
        }
        let sum = normalise(&mut p);
        if sum.is_nan() || sum < 1e-250 {
            // The count is so unlikely under every rate with a probability that the products
            // underflow. In logarithms, relative to the largest value, they do not.
            let log: Rates = std::array::from_fn(|bin| log(bin) + libm::log(self.p[bin]));
            let peak = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            p = log.map(|log| if peak.is_finite() { libm::exp(log - peak) } else { 1.0 });
            normalise(&mut p);
        }
        self.p = p;
    }
}
