//! The arrival-time filter (draft §5.3): a scalar Kalman filter of the queue's slope. All in
//! milliseconds.
//!
//! Two rules are of the draft's authors' code (libwebrtc `overuse_estimator.cc`), without which the
//! filter locks up after an outage: the noise is learnt only while the path is neither over-used nor
//! under-used, and the covariance is larger while the slope is on its way back.

use super::detector::Usage;
use super::groups::Variation;

/// The system error covariance at the start, e(0).
const INITIAL_ERROR: f64 = 0.1;
/// Groups over which the shortest interval is looked for, K.
const REMEMBERED: usize = 60;
/// On the way back the covariance grows by this number of times `q` more (authors' code).
const WAY_BACK: f64 = 10.0;

#[derive(Clone, Debug)]
pub(super) struct Kalman {
    q: f64,
    chi: f64,
    /// m: by how much each group takes longer than the one before.
    slope: f64,
    previous: f64,
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
            previous: 0.0,
            error: INITIAL_ERROR,
            noise: 1.0,
            intervals: [f64::INFINITY; REMEMBERED],
            next: 0,
        }
    }

    /// Takes a group in, while the path is used as `usage` says. Returns the new estimate.
    pub(super) fn update(&mut self, variation: &Variation, usage: Usage) -> f64 {
        self.intervals[self.next] = variation.sent.max(0.1);
        self.next = (self.next + 1) % REMEMBERED;
        let shortest = self.intervals.iter().copied().fold(f64::INFINITY, f64::min);
        // 1 / f_max is the shortest interval.
        let alpha = libm::pow(1.0 - self.chi, 30.0 * shortest / 1000.0);
        let surprise = variation.delay() - self.slope;
        // Outliers count as three standard deviations.
        let most = 3.0 * self.noise.sqrt();
        let bounded = surprise.clamp(-most, most);
        if usage == Usage::Normal {
            self.noise = (alpha * self.noise + (1.0 - alpha) * bounded * bounded).max(1.0);
        }
        let is_on_way_back = match usage {
            Usage::Over => self.slope < self.previous,
            Usage::Under => self.slope > self.previous,
            Usage::Normal => false,
        };
        let extra = if is_on_way_back { WAY_BACK * self.q } else { 0.0 };
        let uncertain = self.error + self.q + extra;
        let gain = uncertain / (self.noise + uncertain);
        self.previous = self.slope;
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
        assert!((kalman.update(&variation(1.0), Usage::Normal) - gain).abs() < 1e-12);
        let error = (1.0 - gain) * 0.101 + 0.001;
        let second = gain + (1.0 - gain) * error / (1.0 + error);
        assert!((kalman.update(&variation(1.0), Usage::Normal) - second).abs() < 1e-12);
    }

    #[test]
    fn finds_slopes_and_forgets_them() {
        let mut kalman = Kalman::new(0.001, 0.01);
        let mut settle =
            |delay: f64| (0..400).map(|_| kalman.update(&variation(delay), Usage::Normal)).last();
        for delay in [0.0, 2.0, -1.0] {
            let slope = settle(delay).expect("many");
            assert!((slope - delay).abs() < 0.01, "{slope} instead of {delay}");
        }
    }

    #[test]
    fn an_outlier_hardly_moves_the_noise() {
        let mut kalman = Kalman::new(0.001, 0.1);
        kalman.update(&variation(1000.0), Usage::Normal);
        assert!(kalman.noise < 1.2, "{}", kalman.noise);
    }

    /// Delays after an outage must not raise the noise estimate: it stays under over-use, and the slope
    /// returns faster than it does under normal use.
    #[test]
    fn over_use_teaches_no_noise_and_the_way_back_is_short() {
        let back = |usage: Usage| {
            let mut kalman = Kalman::new(0.001, 0.01);
            for _ in 0..400 {
                kalman.update(&variation(0.0), Usage::Normal);
            }
            for _ in 0..40 {
                kalman.update(&variation(20.0), usage);
            }
            let noise = kalman.noise;
            let groups = (0..4000).take_while(|_| kalman.update(&variation(0.0), usage) > 0.2);
            (noise, groups.count())
        };
        let (normal, over) = (back(Usage::Normal), back(Usage::Over));
        assert!(over.0 == 1.0 && normal.0 > 1.0, "noise {normal:?}, {over:?}");
        assert!(over.1 < normal.1, "groups {normal:?}, {over:?}");
    }
}
