//! The fluid model of ABC's queue: the delay-differential equation of the paper's appendix C,
//!
//! x'(t) = A - (x(t - tau) - dt)⁺ / delta, where x stays at 0 or above,
//!
//! with the queueing delay x, the RTT tau and A = (eta - 1) + N / (mu l). All times are in seconds.

/// The parameters of the model.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Fluid {
    /// The constant A.
    pub(crate) a: f64,
    /// Time in which an excess of delay drains, in seconds.
    pub(crate) delta: f64,
    /// Tolerated delay in seconds.
    pub(crate) dt: f64,
    /// Delay of the feedback in seconds.
    pub(crate) tau: f64,
}

impl Fluid {
    /// Returns the delay over time in steps of `step`, from a constant history of `start` on, by
    /// Heun's method; the delayed term is interpolated.
    pub(crate) fn solve(&self, start: f64, step: f64, length: f64) -> Vec<f64> {
        let lag = self.tau / step;
        let count = (length / step) as usize;
        let mut x = vec![start];
        let past = |x: &[f64], at: f64| -> f64 {
            if at <= 0.0 {
                return start;
            }
            let (below, share) = (at as usize, at.fract());
            let value = |i: usize| x.get(i).copied().unwrap_or(x[x.len() - 1]);
            value(below) * (1.0 - share) + value(below + 1) * share
        };
        for i in 0..count {
            let slope = |delayed: f64| self.a - (delayed - self.dt).max(0.0) / self.delta;
            let first = slope(past(&x, i as f64 - lag));
            let second = slope(past(&x, (i + 1) as f64 - lag));
            let next = x[i] + step * (first + second) / 2.0;
            x.push(next.max(0.0));
        }
        x
    }

    /// Returns the delay at which the model is in equilibrium.
    pub(crate) fn fixed_point(&self) -> f64 {
        if self.a < 0.0 { 0.0 } else { self.a * self.delta + self.dt }
    }

    /// True if oscillations around the fixed point decay: the last ones are smaller than earlier
    /// ones. The queue never becomes empty here, so the model is linear.
    pub(crate) fn settles(&self) -> bool {
        let (step, length) = (self.tau / 200.0, 120.0 * self.tau);
        let rest = self.fixed_point();
        let swing =
            |values: &[f64]| values.iter().map(|value| (value - rest).abs()).fold(0.0, f64::max);
        let x = self.solve(rest + 0.01 * self.a * self.delta, step, length);
        let fifth = x.len() / 5;
        swing(&x[x.len() - fifth..]) < swing(&x[fifth..2 * fifth])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_where_the_paper_says() {
        let model = Fluid { a: 0.2, delta: 0.133, dt: 0.05, tau: 0.1 };
        let x = model.solve(0.0, 0.0005, 20.0);
        assert!((x[x.len() - 1] - (0.2 * 0.133 + 0.05)).abs() < 1e-6);
        let empty = Fluid { a: -0.01, ..model };
        assert_eq!(empty.solve(0.2, 0.0005, 60.0).last(), Some(&0.0));
    }

    #[test]
    fn it_is_stable_above_two_over_pi() {
        // x' = -x(t - tau) / delta is stable for tau / delta < pi / 2; the paper's bound of 2/3 is
        // stricter.
        let at = |ratio: f64| Fluid { a: 0.3, delta: 0.1 * ratio, dt: 1.0, tau: 0.1 };
        assert!(at(0.667).settles() && at(0.65).settles() && at(2.0).settles());
        assert!(!at(0.62).settles() && !at(0.5).settles());
    }
}
