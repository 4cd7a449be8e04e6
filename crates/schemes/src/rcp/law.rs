//! The formula by which a router updates its rate.

use paceline_cc::Span;

use super::RcpParams;

/// The shortest and the longest mean RTT that routers accept.
const SHORTEST: Span = Span::from_millis(1);
const LONGEST: Span = Span::from_secs(10);

/// Returns an RTT within these bounds, in seconds.
pub(super) fn believable(rtt: Span) -> f64 {
    rtt.clamp(SHORTEST, LONGEST).as_secs_f64()
}

/// The constants of the formula.
#[derive(Copy, Clone, Debug)]
pub(super) struct Law {
    alpha: f64,
    beta: f64,
    eta: f64,
}

/// Measurements over an interval.
#[derive(Copy, Clone, Debug)]
pub(super) struct IntervalMeasurement {
    /// Time in seconds that one step covers.
    pub(super) t: f64,
    /// The mean RTT in seconds.
    pub(super) d0: f64,
    /// The capacity in bytes per second.
    pub(super) capacity: f64,
    /// Arriving traffic in bytes per second.
    pub(super) traffic: f64,
    /// The queue in bytes.
    pub(super) queue: f64,
}

impl Law {
    pub(super) fn new(params: &RcpParams) -> Law {
        Law { alpha: params.alpha, beta: params.beta, eta: params.eta }
    }

    /// Returns the target capacity in bytes per second.
    pub(super) fn aim(&self, capacity: f64) -> f64 {
        self.eta * capacity
    }

    /// Returns the factor by which the rate changes; it may be negative. Without capacity, returns
    /// the formula's limit.
    pub(super) fn factor(&self, measured: &IntervalMeasurement) -> f64 {
        let IntervalMeasurement { t, d0, capacity, traffic, queue } = *measured;
        let aim = self.aim(capacity);
        if aim > 0.0 {
            1.0 + t / d0 * (self.alpha * (aim - traffic) - self.beta * queue / d0) / aim
        } else if traffic > 0.0 || queue > 0.0 {
            f64::NEG_INFINITY
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(traffic: f64, queue: f64) -> IntervalMeasurement {
        IntervalMeasurement { t: 0.1, d0: 0.1, capacity: 1e6, traffic, queue }
    }

    #[test]
    fn facts_of_the_formula() {
        let law = Law::new(&RcpParams::default());
        assert_eq!(law.factor(&measured(0.0, 0.0)), 1.5);
        assert_eq!(law.factor(&measured(950_000.0, 0.0)), 1.0);
        assert_eq!(law.factor(&measured(2.0 * 950_000.0, 0.0)), 0.5);
        let whole = Law { eta: 1.0, ..law };
        assert_eq!(whole.factor(&measured(500_000.0, 0.0)), 1.25);
    }

    #[test]
    fn a_queue_lowers_the_rate_and_short_steps_move_it_less() {
        let law = Law { eta: 1.0, ..Law::new(&RcpParams::default()) };
        // A queue of one RTT: the rate decreases by beta.
        assert_eq!(law.factor(&measured(1e6, 1e5)), 0.75);
        let half = IntervalMeasurement { t: 0.05, ..measured(1e6, 1e5) };
        assert_eq!(law.factor(&half), 0.875);
    }

    #[test]
    fn without_capacity_the_factor_is_the_limit() {
        let law = Law::new(&RcpParams::default());
        let none =
            |traffic, queue| IntervalMeasurement { capacity: 0.0, ..measured(traffic, queue) };
        assert_eq!(law.factor(&none(0.0, 0.0)), 1.0);
        assert_eq!(law.factor(&none(1.0, 0.0)), f64::NEG_INFINITY);
        assert_eq!(law.factor(&none(0.0, 1.0)), f64::NEG_INFINITY);
    }

    #[test]
    fn impossible_rtts_are_clamped() {
        assert_eq!(believable(Span::MAX), 10.0);
        assert_eq!(believable(Span::ZERO), 0.001);
    }
}
