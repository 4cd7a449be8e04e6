//! The arrival-time filter (draft §5.3): a scalar Kalman filter of the queue's slope. All in
//! milliseconds.

use super::groups::Variation;

/// The system error covariance at the start, e(0).
const INITIAL_ERROR: f64 = 0.1;
/// Groups over which the shortest interval is looked for, K.
const REMEMBERED: usize = 60;

#[derive(Clone, Debug)]
pub(super) struct Kalman {
    q: f64,
    chi: f64,
    /// m: by how much each group takes longer than the one before.
    slope: f64,
    error: f64,
    /// var_v: the variance of the noise.
    noise: f64,
    intervals: [f64; REMEMBERED],
    next: usize,
}

impl Kalman {
    pub(super) fn new(q: f64, chi: f64) -> Kalman {
        Kalman {
            q,
            chi,
            slope: 0.0,
            error: INITIAL_ERROR,
            noise: 1.0,
            intervals: [f64::INFINITY; REMEMBERED],
            next: 0,
        }
    }

    /// Takes a group in; gives the new estimate.
    pub(super) fn update(&mut self, variation: &Variation) -> f64 {
        self.intervals[self.next] = variation.sent.max(0.1);
        self.next = (self.next + 1) % REMEMBERED;
        let shortest = self.intervals.iter().copied().fold(f64::INFINITY, f64::min);
        // 1 / f_max is the shortest interval.
        let alpha = libm::pow(1.0 - self.chi, 30.0 * shortest / 1000.0);
        let surprise = variation.delay() - self.slope;
        // Outliers count as three standard deviations.
        let most = 3.0 * self.noise.sqrt();
        let bounded = surprise.clamp(-most, most);
        self.noise = (alpha * self.noise + (1.0 - alpha) * bounded * bounded).max(1.0);
        let uncertain = self.error + self.q;
        let gain = uncertain / (self.noise + uncertain);
        self.slope += surprise * gain;
        self.error = (1.0 - gain) * uncertain;
        self.slope
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Time;

    use super::*;

    fn variation(delay: f64) -> Variation {
        Variation { sent: 5.0, received: 5.0 + delay, at: Time::ZERO }
    }

    #[test]
    fn follows_the_recursion() {
        let mut kalman = Kalman::new(0.001, 0.01);
        // alpha = 0.99^0.15; the noise stays at its floor of 1.
        let gain = 0.101 / 1.101;
        assert!((kalman.update(&variation(1.0)) - gain).abs() < 1e-12);
        let error = (1.0 - gain) * 0.101 + 0.001;
        let second = gain + (1.0 - gain) * error / (1.0 + error);
        assert!((kalman.update(&variation(1.0)) - second).abs() < 1e-12);
    }

    #[test]
    fn finds_slopes_and_forgets_them() {
        let mut kalman = Kalman::new(0.001, 0.01);
        let mut settle = |delay: f64| (0..400).map(|_| kalman.update(&variation(delay))).last();
        for delay in [0.0, 2.0, -1.0] {
            let slope = settle(delay).expect("many");
            assert!((slope - delay).abs() < 0.01, "{slope} instead of {delay}");
        }
    }

    #[test]
    fn an_outlier_hardly_moves_the_noise() {
        let mut kalman = Kalman::new(0.001, 0.1);
        kalman.update(&variation(1000.0));
        assert!(kalman.noise < 1.2, "{}", kalman.noise);
    }
}
