//! The over-use detector with its adaptive threshold (draft §5.4; libwebrtc
//! `trendline_estimator.cc`).

use paceline_cc::{Span, Time};

use super::groups::Variation;

/// How the path is used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    Normal,
    Over,
    Under,
}

const INITIAL: f64 = 12.5;
const LEAST: f64 = 6.0;
const MOST: f64 = 600.0;
/// Estimates farther than this above the threshold do not move it, in milliseconds
/// (`kMaxAdaptOffsetMs`).
const SPIKE: f64 = 15.0;
/// The longest time that the threshold moves on at once, in milliseconds (`kMaxTimeDeltaMs`).
const LONGEST: f64 = 100.0;

#[derive(Clone, Debug)]
pub(super) struct Detector {
    /// Gains of the threshold per millisecond, upwards and downwards.
    up: f64,
    down: f64,
    overuse_time: f64,
    threshold: f64,
    /// For how long the estimate has been above the threshold, in milliseconds, and how often.
    above: Option<f64>,
    times: u32,
    previous: f64,
    updated: Option<Time>,
    usage: Usage,
}

impl Detector {
    /// A detector whose threshold follows by the gains `(up, down)`.
    pub(super) fn new((up, down): (f64, f64), overuse_time: Span) -> Detector {
        Detector {
            up,
            down,
            overuse_time: overuse_time.as_millis_f64(),
            threshold: INITIAL,
            above: None,
            times: 0,
            previous: 0.0,
            updated: None,
            usage: Usage::Normal,
        }
    }

    pub(super) fn threshold(&self) -> f64 {
        self.threshold
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes an estimate in.
    pub(super) fn detect(&mut self, estimate: f64, variation: &Variation) -> Usage {
        if estimate > self.threshold {
            let step = variation.sent.max(0.0);
            // The estimate has passed the threshold somewhere within the first step.
            self.above = Some(self.above.map_or(step / 2.0, |above| above + step));
            self.times += 1;
            let long = self.above.is_some_and(|above| above > self.overuse_time);
            if long && self.times > 1 && estimate >= self.previous {
                self.above = Some(0.0);
                self.times = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.above = None;
            self.times = 0;
            self.usage = if estimate < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.previous = estimate;
        self.adapt(estimate, variation.at);
        self.usage
    }

    fn adapt(&mut self, estimate: f64, now: Time) {
        let before = *self.updated.get_or_insert(now);
        self.updated = Some(now.max(before));
        let excess = estimate.abs() - self.threshold;
        if excess > SPIKE {
            return;
        }
        let gain = if excess < 0.0 { self.down } else { self.up };
        let step = now.since(before).as_millis_f64().min(LONGEST);
        self.threshold = (self.threshold + step * gain * excess).clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAFT: (f64, f64) = (0.01, 0.00018);
    const LIBWEBRTC: (f64, f64) = (0.0087, 0.039);

    fn detector(gains: (f64, f64)) -> (Detector, u64) {
        (Detector::new(gains, Span::from_millis(10)), 0)
    }

    fn step(state: &mut (Detector, u64), estimate: f64) -> Usage {
        state.1 += 5;
        let at = Time::from_millis(1000 + state.1);
        state.0.detect(estimate, &Variation { sent: 5.0, received: 5.0, at })
    }

    #[test]
    fn over_use_takes_ten_milliseconds() {
        let mut state = detector(DRAFT);
        let seen: Vec<Usage> = (0..4).map(|_| step(&mut state, 20.0)).collect();
        // 2.5 ms, 7.5 ms, 12.5 ms.
        assert_eq!(seen, [Usage::Normal, Usage::Normal, Usage::Over, Usage::Over]);
        assert_eq!(step(&mut state, 0.0), Usage::Normal);
        assert_eq!(step(&mut state, -20.0), Usage::Under);
    }

    #[test]
    fn a_falling_estimate_is_no_over_use() {
        let mut state = detector(DRAFT);
        assert!((0..20).all(|i| step(&mut state, 40.0 - f64::from(i)) == Usage::Normal));
    }

    /// With the draft's gains the threshold stays up for seconds after a
    /// high estimate; with libwebrtc's it comes down within a second.
    #[test]
    fn the_threshold_follows_by_the_gains() {
        for (gains, least_after) in [(DRAFT, 12.0), (LIBWEBRTC, LEAST)] {
            let mut state = detector(gains);
            step(&mut state, 0.0);
            let before = state.0.threshold();
            step(&mut state, 20.0);
            let expected = before + 5.0 * gains.0 * (20.0 - before);
            assert!((state.0.threshold() - expected).abs() < 1e-9, "{}", state.0.threshold());
            // A spike does not count.
            let before = state.0.threshold();
            step(&mut state, 50.0);
            assert_eq!(state.0.threshold(), before);
            // 100 ms without a queue.
            for _ in 0..20 {
                step(&mut state, 0.0);
            }
            assert!(state.0.threshold() >= least_after, "{gains:?}: {}", state.0.threshold());
            for _ in 0..20_000 {
                step(&mut state, 0.0);
            }
            assert_eq!(state.0.threshold(), LEAST);
        }
    }
}
