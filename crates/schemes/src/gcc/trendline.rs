//! libwebrtc's filter: the slope of a line through the smoothed delays of the last groups.

use paceline_cc::Time;

use super::groups::Variation;

const GROUPS: usize = 20;
const SMOOTHING: f64 = 0.9;
/// Gain of the slope; the number of groups multiplies it, too.
const GAIN: f64 = 4.0;

#[derive(Clone, Debug)]
pub(super) struct Trendline {
    first: Option<Time>,
    delay: f64,
    smoothed: f64,
    /// Arrival times since the first group and smoothed delays, in milliseconds.
    points: [(f64, f64); GROUPS],
    count: usize,
    slope: f64,
}

impl Trendline {
    pub(super) fn new() -> Trendline {
        Trendline {
            first: None,
            delay: 0.0,
            smoothed: 0.0,
            points: [(0.0, 0.0); GROUPS],
            count: 0,
            slope: 0.0,
        }
    }

    /// Takes a group in; gives the new estimate, of delay per time, times a gain.
    pub(super) fn update(&mut self, variation: &Variation) -> f64 {
        let first = *self.first.get_or_insert(variation.at);
        self.delay += variation.delay();
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        let at = variation.at.since(first).as_millis_f64();
        self.points[self.count % GROUPS] = (at, self.smoothed);
        self.count += 1;
        if self.count >= GROUPS {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        GAIN * self.slope
    }
}

/// The slope of the least-squares line; nothing if all points lie above each other.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let above: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_slope() {
        let mut line = Trendline::new();
        let mut at = |i: u64, delay: f64| {
            let at = Time::from_millis(1000 + 10 * i);
            line.update(&Variation { sent: 10.0 - delay, received: 10.0, at })
        };
        assert_eq!((0..19).map(|i| at(i, 1.0)).last(), Some(0.0));
        // A millisecond in ten: 0.1, once the smoothing has settled.
        let slope = (19..300).map(|i| at(i, 1.0)).last().expect("many") / GAIN;
        assert!((slope - 0.1).abs() < 1e-3, "{slope}");
        let slope = (300..600).map(|i| at(i, 0.0)).last().expect("many") / GAIN;
        assert!(slope.abs() < 1e-3, "{slope}");
    }
}
