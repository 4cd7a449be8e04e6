//! The receiver's belief about the link's rate: a probability for each of 257 rates, updated by
//! Brownian motion and by arriving packets (thesis §2.2.1 and §2.2.2).

use std::sync::{Arc, LazyLock};

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

/// Number of rates whose probabilities are computed together: eight pairs, as many as a processor
/// has registers for.
const LANES: usize = 16;

/// The probabilities of reaching [`LANES`] neighbouring rates. Aligned for loads of pairs.
#[derive(Copy, Clone, Debug)]
#[repr(align(16))]
struct Lanes([f64; LANES]);

/// The probabilities of reaching [`LANES`] neighbouring rates, from all rates that reach any of
/// them.
#[derive(Debug)]
struct Columns {
    /// The lowest of these rates.
    low: usize,
    /// One entry for each of them.
    shares: Vec<Lanes>,
}

/// The change of the rate in a tick. Rates further apart than [`REACH`] do not reach each other.
#[derive(Debug)]
pub struct Transition {
    /// For each rate, the lowest rate that it reaches, and the probabilities from there on.
    rows: Vec<(usize, Vec<f64>)>,
    /// The probabilities of `rows`, sorted by the rate that is reached.
    columns: Vec<Columns>,
}

/// Sorts the probabilities of `rows` by the rates that are reached.
fn columns(rows: &[(usize, Vec<f64>)]) -> Vec<Columns> {
    let block = |first: usize| {
        let low = first.saturating_sub(REACH);
        let high = (first + LANES - 1 + REACH).min(BINS - 1);
        let share = |from: usize, to: usize| {
            let (low, row) = &rows[from];
            to.checked_sub(*low).and_then(|at| row.get(at)).copied().unwrap_or(0.0)
        };
        let lanes = |from| Lanes(std::array::from_fn(|lane| share(from, first + lane)));
        Columns { low, shares: (low..=high).map(lanes).collect() }
    };
    (0..BINS).step_by(LANES).map(block).collect()
}

/// Adds to each sum the shares of rates with the probabilities `p`, in their order.
#[inline(always)]
fn add(sums: &mut [f64; LANES], p: &[f64], shares: &[Lanes]) {
    for (&p, Lanes(shares)) in p.iter().zip(shares) {
        for (sum, share) in sums.iter_mut().zip(shares) {
            *sum += p * share;
        }
    }
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
        let rows: Vec<_> = rows.collect();
        Transition { columns: columns(&rows), rows }
    }

    /// Computes the probabilities `to` a tick after `from`. The sum may shrink.
    pub fn apply(&self, from: &Rates, to: &mut Rates) {
        let possible = |p: &f64| *p > 0.0;
        let first = from.iter().position(possible).unwrap_or(BINS);
        let end = from.iter().rposition(possible).map_or(0, |last| last + 1);
        for (Columns { low, shares }, to) in self.columns.iter().zip(to.chunks_mut(LANES)) {
            // Each sum begins with the lowest rate, as the digests of runs expect.
            let mut sums = [0.0; LANES];
            let start = first.max(*low);
            let used = start - low..end.saturating_sub(*low).min(shares.len());
            let shares = shares.get(used).unwrap_or(&[]);
            let p = &from[start.min(BINS)..][..shares.len()];
            // Four rates in a step of the loop, of which there are a thousand in each tick.
            let ((p, p_rest), (shares, rest)) = (p.as_chunks::<4>(), shares.as_chunks::<4>());
            for (p, shares) in p.iter().zip(shares) {
                add(&mut sums, p, shares);
            }
            add(&mut sums, p_rest, rest);
            to.copy_from_slice(&sums[..to.len()]);
        }
    }

    /// Returns the rates that `from` reaches in a tick, with their probabilities.
    pub fn row(&self, from: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (low, row) = &self.rows[from];
        row.iter().enumerate().map(move |(at, &share)| (low + at, share))
    }
}

/// Logarithms of the rates in packets per tick; the first is that of zero.
static LOGARITHMS: LazyLock<Rates> =
    LazyLock::new(|| std::array::from_fn(|bin| libm::log(per_tick(bin))));

/// Number of counts whose likelihoods are kept: those of links of up to 24 Mbit/s.
const KEPT: u32 = 40;

/// The likelihoods of the first counts, 2 kB each.
static LIKELIHOODS: LazyLock<Vec<Rates>> = LazyLock::new(|| (0..KEPT).map(likelihoods).collect());

/// Returns the logarithm of the likelihood that a tick brings `packets` packets at a rate, without
/// the part that is equal for all rates.
fn log_likelihood(packets: u32, bin: usize) -> f64 {
    match (packets, bin) {
        (0, _) => -per_tick(bin),
        (_, 0) => f64::NEG_INFINITY,
        _ => f64::from(packets) * LOGARITHMS[bin] - per_tick(bin),
    }
}

/// Returns the likelihood of each rate when a tick brings `packets` packets, relative to the largest
/// one, so that none of a count's likelihoods underflows to zero.
fn likelihoods(packets: u32) -> Rates {
    // The likelihood is largest for the rate equal to the count.
    let nearest = (f64::from(packets) / (WIDTH * TICK.as_secs_f64())) as usize;
    let around = nearest.saturating_sub(2).min(BINS - 1)..=(nearest + 1).min(BINS - 1);
    let log = |bin| log_likelihood(packets, bin);
    let peak = around.map(log).fold(f64::NEG_INFINITY, f64::max);
    std::array::from_fn(|bin| libm::exp(log(bin) - peak))
}

/// The probabilities of the rates.
#[derive(Clone, Debug)]
pub struct Belief {
    p: Box<Rates>,
    /// Takes the next probabilities, and then changes places with `p`, so that neither is copied.
    next: Box<Rates>,
    transition: Arc<Transition>,
}

impl Belief {
    /// Returns the belief before the first tick: all rates are equally likely.
    pub fn new(transition: Arc<Transition>) -> Belief {
        let p = Box::new([1.0 / BINS as f64; BINS]);
        Belief { next: p.clone(), p, transition }
    }

    /// Returns the probability of each rate.
    pub fn p(&self) -> &Rates {
        &self.p
    }

    /// Updates the probabilities for the passage of a tick.
    pub fn evolve(&mut self) {
        self.transition.apply(&self.p, &mut self.next);
        normalise(&mut self.next);
        std::mem::swap(&mut self.p, &mut self.next);
    }

    /// Updates the probabilities for `packets` packets that arrived in the tick that has passed.
    pub fn observe(&mut self, packets: u32) {
        let Belief { p, next, .. } = self;
        let mut weigh = |likelihoods: &Rates| {
            for ((next, p), likelihood) in next.iter_mut().zip(p.iter()).zip(likelihoods) {
                *next = p * likelihood;
            }
        };
        match LIKELIHOODS.get(packets as usize) {
            Some(kept) => weigh(kept),
            None => weigh(&likelihoods(packets)),
        }
        let sum = normalise(next);
        if sum.is_nan() || sum < 1e-250 {
            // The count is so unlikely under every rate with a probability that the products
            // underflow. In logarithms, relative to the largest value, they do not.
            let log = |bin| log_likelihood(packets, bin) + libm::log(p[bin]);
            let log: Rates = std::array::from_fn(log);
            let peak = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            **next = log.map(|log| if peak.is_finite() { libm::exp(log - peak) } else { 1.0 });
            normalise(next);
        }
        std::mem::swap(p, next);
    }
}
