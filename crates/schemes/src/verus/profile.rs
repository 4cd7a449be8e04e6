//! The delay profile: the delay of each window. Delays are in milliseconds.

use super::curve::Curve;
use super::fit::{Fitter, SPACING, nodes};

/// Upper bound of windows, exclusive (authors' code).
pub(super) const WINDOWS: u32 = 40_000;
/// Weight of the past in a window's smoothed delay (authors' code).
const PAST: f64 = 0.875;
/// Value of windows without a known delay.
const UNKNOWN: f64 = -1.0;

/// The profile: a smoothed delay for each window, and the curve last fitted to them.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    delays: Vec<f64>,
    curve: Curve,
    fitted: bool,
    fitter: Fitter,
    /// Number of windows per node; it never increases until the profile is cleared (authors' code).
    spacing: u32,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile {
            delays: Vec::new(),
            curve: Curve::default(),
            fitted: false,
            fitter: Fitter::default(),
            spacing: SPACING,
        }
    }
}

impl Profile {
    /// Adds the delay of a packet sent with `window`.
    pub(super) fn note(&mut self, window: u32, delay: f64) {
        let at = window.min(WINDOWS - 1) as usize;
        if at >= self.delays.len() {
            self.delays.resize((at + 1).next_power_of_two(), UNKNOWN);
        }
        let known = &mut self.delays[at];
        *known = if *known < 0.0 { delay } else { PAST * *known + (1.0 - PAST) * delay };
    }

    /// Clears the profile.
    pub(super) fn clear(&mut self) {
        self.delays.fill(UNKNOWN);
        self.fitted = false;
        self.spacing = SPACING;
    }

    /// Forgets the windows from `stop` on.
    pub(super) fn cut(&mut self, stop: u32) {
        if let Some(rest) = self.delays.get_mut(stop as usize..) {
            rest.fill(UNKNOWN);
        }
    }

    /// Fits the curve anew. Returns false if there are too few points.
    pub(super) fn fit(&mut self) -> bool {
        let known = |(_, delay): &(usize, &f64)| **delay >= 0.0;
        let all = || self.delays.iter().enumerate().skip(1).filter(known);
        let (Some(first), Some(last)) = (all().next(), all().next_back()) else { return false };
        let (first, last) = (first.0 as f64, last.0 as f64);
        let Some((count, spacing)) = nodes(last as u32, self.spacing) else { return false };
        self.spacing = spacing;
        let points = all().map(|(window, delay)| (window as f64, *delay));
        let (fitter, curve) = (&mut self.fitter, &mut self.curve);
        self.fitted = fitter.fit(first, last, count as usize, points, &mut curve.factors);
        (curve.first, curve.last) = (first, last);
        if self.fitted {
            curve.changed();
        }
        self.fitted
    }

    /// Returns the window for a delay: one less than the first window, from 2, whose delay is above
    /// it. Without a curve, a delay above all known ones is lowered by steps of `lower`. `None` if
    /// the curve does not reach the delay.
    pub(super) fn window(&self, delay: f64, lower: f64) -> Option<u32> {
        if self.fitted {
            return self.curve.first_above(delay, WINDOWS).map(|above| above - 1);
        }
        let largest = self.delays.iter().skip(2).copied().fold(UNKNOWN, f64::max);
        if largest < 0.0 {
            return Some(1);
        }
        let mut level = delay;
        if largest <= level {
            let steps = libm::floor((level - largest) / lower.max(1e-6)) + 1.0;
            level -= steps * lower.max(1e-6);
        }
        let above = self.delays.iter().skip(2).position(|known| *known > level);
        Some(above.map_or(1, |at| at as u32 + 1))
    }

    /// Returns the delay of a window; without a curve, that of the nearest smaller window with a
    /// known delay. `None` if no delay is known.
    pub(super) fn delay(&self, window: f64) -> Option<f64> {
        if self.fitted {
            return Some(self.curve.at(window));
        }
        let upto = (window as usize + 1).min(self.delays.len());
        self.delays[..upto].iter().rev().copied().find(|known| *known >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Stream;

    use super::*;

    fn filled(delay: impl Fn(u32) -> f64, windows: u32) -> Profile {
        let mut profile = Profile::default();
        for window in 1..=windows {
            profile.note(window, delay(window));
        }
        profile
    }

    #[test]
    fn a_window_s_delay_is_smoothed() {
        let mut profile = Profile::default();
        profile.note(7, 100.0);
        profile.note(7, 180.0);
        assert_eq!(profile.delay(7.0), Some(110.0));
        assert_eq!(profile.delay(9.5), Some(110.0));
        assert_eq!(profile.delay(6.0), None);
    }

    #[test]
    fn without_a_curve_the_first_delay_above_counts() {
        let profile = filled(|w| 50.0 + w as f64, 20);
        assert_eq!(profile.window(58.0, 2.0), Some(8));
        // The largest delay is 70 ms: 74 becomes 68, which the window of 19 exceeds.
        assert_eq!(profile.window(74.0, 2.0), Some(18));
        assert_eq!(profile.window(10.0, 2.0), Some(1));
        assert_eq!(Profile::default().window(10.0, 2.0), Some(1));
    }

    #[test]
    fn a_straight_profile_is_met_exactly_and_goes_on() {
        let mut profile = filled(|w| 100.0 + 2.0 * w as f64, 200);
        assert!(profile.fit());
        for window in [1.0, 2.5, 77.0, 200.0, 1000.0] {
            let delay = profile.delay(window).expect("a curve");
            assert!((delay - 100.0 - 2.0 * window).abs() < 1e-6, "{window}: {delay}");
        }
        assert_eq!(profile.window(160.1, 2.0), Some(30));
        assert_eq!(profile.window(1100.1, 2.0), Some(500));
        assert_eq!(profile.window(1e6, 2.0), None, "no window below 40000 has that delay");
    }

    #[test]
    fn too_few_windows_give_no_curve() {
        assert!(!Profile::default().fit());
        assert!(!filled(|_| 100.0, 4).fit());
        assert!(!filled(|_| 100.0, 1).fit());
        let mut sparse = Profile::default();
        sparse.note(40, 100.0);
        assert!(!sparse.fit());
        assert!(filled(|_| 100.0, 5).fit());
    }

    #[test]
    fn noise_leaves_a_curve_that_is_near_and_its_first_crossing_counts() {
        for seed in 0..50 {
            let mut random = Stream::new(seed, "profile");
            let mut profile = Profile::default();
            let truth = |w: f64| 80.0 + 0.01 * w * w;
            for window in 1..300 {
                if random.chance(0.6) {
                    profile.note(window, (truth(window as f64) + 20.0 * random.normal()).max(1.0));
                }
            }
            assert!(profile.fit());
            for tenth in 200..2800 {
                let x = tenth as f64 / 10.0;
                let error = (profile.delay(x).expect("a curve") - truth(x)).abs();
                assert!(error < 25.0, "seed {seed}: {error} off at {x}");
            }
            for level in 80..900 {
                let level = level as f64;
                let slow = (2..WINDOWS).find(|w| profile.delay(*w as f64).expect("curve") > level);
                assert_eq!(profile.window(level, 2.0), slow.map(|w| w - 1));
            }
        }
    }

    #[test]
    fn a_bump_maps_delays_to_a_small_window_and_a_falling_end_to_none() {
        let bump = |w: u32| match w {
            20..40 => 400.0,
            40.. => 300.0 - 0.5 * w as f64,
            _ => 100.0,
        };
        let mut profile = filled(bump, 200);
        assert!(profile.fit());
        let small = profile.window(250.0, 2.0).expect("a window");
        assert!(small < 30, "{small}");
        let highest = (2..200).map(|w| profile.delay(w as f64).expect("a curve"));
        let highest = highest.fold(0.0, f64::max);
        assert_eq!(profile.window(highest + 1.0, 2.0), None, "it goes on falling");
    }

    #[test]
    fn the_spacing_of_nodes_never_grows_until_all_is_forgotten() {
        let mut profile = filled(|w| w as f64, 30);
        assert!(profile.fit());
        assert_eq!((profile.spacing, profile.curve.factors.len()), (6, 5));
        for window in 31..=300 {
            profile.note(window, window as f64);
        }
        assert!(profile.fit());
        assert_eq!((profile.spacing, profile.curve.factors.len()), (6, 50));
        profile.clear();
        for window in 1..=300 {
            profile.note(window, window as f64);
        }
        assert!(profile.fit());
        assert_eq!((profile.spacing, profile.curve.factors.len()), (15, 20));
    }

    #[test]
    fn windows_beyond_a_cut_are_forgotten() {
        let mut profile = filled(|w| w as f64, 200);
        profile.cut(100);
        assert!(profile.fit());
        assert_eq!(profile.curve.last, 99.0);
        profile.cut(1 << 20);
    }
}
