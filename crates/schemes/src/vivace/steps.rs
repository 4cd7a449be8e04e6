//! The program's steps: amplified while the direction is unchanged, bounded by a share of the rate.

const LEAST: f64 = 0.5;
/// First bound of a step as a share of the rate, and the increase each time that the bound applies.
const BOUND: f64 = 0.05;
const BOUND_STEP: f64 = 0.06;
/// Largest number of steps in one direction that stay small after a change of direction.
const SWINGS: u32 = 2;

/// Returns the factor of a step after `a` steps in one direction (paper §4.3).
pub(super) fn amplify(a: f64) -> f64 {
    if a < 3.0 {
        a + 1.0
    } else if a < 6.0 {
        2.0 * a - 2.0
    } else if a < 9.0 {
        4.0 * a - 14.0
    } else {
        8.0 * a - 50.0
    }
}

/// State of past steps that determines the next one.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Steps {
    /// The last step in megabits per second; 0 if it implies no direction.
    previous: f64,
    amplifier: f64,
    boundary: f64,
    swing: u32,
    /// Number of steps in the last direction; also 2 if one pair of probes suffices for another
    /// reason.
    pub(super) trend: u32,
}

impl Steps {
    /// Lets the next step have no previous direction.
    pub(super) fn forget_direction(&mut self) {
        (self.trend, self.previous) = (2, 0.0);
    }

    /// Makes the next step small.
    pub(super) fn calm(&mut self) {
        (self.amplifier, self.boundary) = (0.0, 0.0);
    }

    /// Returns the change of a rate `base` that two pairs of rate and utility suggest, in megabits
    /// per second.
    pub(super) fn step(&mut self, base: f64, low: (f64, f64), high: (f64, f64)) -> f64 {
        let apart = high.0 - low.0;
        if apart == 0.0 {
            return 0.0;
        }
        let gradient = (high.1 - low.1) / apart;
        let turns = gradient * self.previous < 0.0;
        if turns {
            self.calm();
            self.swing = (self.swing + 1).min(SWINGS);
        }
        let mut change = gradient * amplify(self.amplifier);
        if turns {
            self.trend = 0;
        } else if change * self.previous > 0.0 {
            self.trend += 1;
            if self.swing == 0 {
                self.amplifier += if self.amplifier > 3.0 { 0.5 } else { 1.0 };
            }
            self.swing = self.swing.saturating_sub(1);
        }
        let most = base * (BOUND_STEP * self.boundary + BOUND);
        if change.abs() > most {
            change = most.copysign(change);
            self.boundary += 1.0;
        } else if self.boundary >= 1.0 {
            self.boundary -= 1.0;
        }
        if turns {
            self.calm();
        }
        if change != 0.0 {
            change = change.abs().max(LEAST).copysign(change);
        }
        self.previous = change;
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_amplification() {
        let factors = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0].map(amplify);
        assert_eq!(factors, [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 14.0, 18.0, 22.0, 30.0]);
    }

    #[test]
    fn facts_of_steps() {
        let mut steps = Steps::default();
        // A gradient of 1: a step of 1 Mbit/s, another of 1 (the first had no previous direction),
        // then 2.
        let mut step = |gradient: f64| steps.step(100.0, (95.0, 0.0), (105.0, 10.0 * gradient));
        assert_eq!([step(1.0), step(1.0), step(1.0), step(1.0)], [1.0, 1.0, 2.0, 3.0]);
        // A change of direction: the step is not amplified, nor is the next one in its direction.
        assert_eq!([step(-1.0), step(-1.0), step(-1.0), step(-1.0)], [-1.0, -1.0, -1.0, -2.0]);
        // At least 0.5, at most 5 %, a bound that a change of direction does not widen; then 11 %,
        // 17 %.
        assert_eq!(step(0.001), 0.5);
        assert_eq!([step(50.0), step(50.0), step(50.0)], [5.0, 11.0, 17.0]);
        assert_eq!([step(-50.0), step(-50.0)], [-5.0, -5.0]);
    }
}
