//! The parameters of the stochastic models of links. The [module](super) describes the models.

/// The standard normal's quantiles at which [`Model::knots`] are given: 5, 25, 50, 75, 95 %.
const KNOTS_AT: [f64; 5] = [-1.645, -0.674, 0.0, 0.674, 1.645];

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
}

/// Parameters of a link to satellites.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Moves {
    /// Time between two moves, in milliseconds.
    pub(crate) every_ms: u32,
    /// Standard deviation of a satellite's mean rate, as a share of the mean.
    pub(crate) level: f64,
    /// Shortest and longest silence at a move, in milliseconds.
    pub(crate) silence_ms: [f64; 2],
    /// Time for which the rate then grows, in milliseconds.
    pub(crate) growth_ms: f64,
    /// Standard deviation of the capacity granted in 10 ms, as a share of the rate.
    pub(crate) burst: f64,
    /// The propagation delay.
    pub(crate) delay: DelayModel,
}

/// The one-way delay of a link to satellites, in milliseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct DelayModel {
    /// Mean over satellites, and standard deviation between them.
    pub(crate) mean: f64,
    pub(crate) level: f64,
    /// Standard deviation around a satellite's own delay, and the share of a deviation that remains
    /// after 10 ms.
    pub(crate) noise: f64,
    pub(crate) keep: f64,
    /// Smallest delay.
    pub(crate) least: f64,
    /// Smallest and largest delay while moving, and the mean height of the peak above that.
    pub(crate) moving: [f64; 2],
    pub(crate) peak: f64,
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
}
