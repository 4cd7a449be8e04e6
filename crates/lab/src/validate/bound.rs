//! Allowed distances between Paceline's figures and a peer's, and the interval of one further run.

use paceline_sim::metrics;

/// Largest distance between two figures.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Tolerance {
    /// A share of the expected figure.
    Share(f64),
    /// An absolute distance.
    Within(f64),
    /// A share or an absolute distance, whichever is larger.
    Either(f64, f64),
    /// A share, or a number of packets times their transmission time in milliseconds, whichever is
    /// larger.
    Packets(f64, f64, f64),
}

impl Tolerance {
    /// Returns the distance that is allowed from `expected`.
    pub(crate) fn of(self, expected: f64) -> f64 {
        match self {
            Tolerance::Share(share) => share * expected.abs(),
            Tolerance::Within(distance) => distance,
            Tolerance::Either(share, distance) => (share * expected.abs()).max(distance),
            Tolerance::Packets(share, packets, each) => {
                (share * expected.abs()).max(packets * each)
            }
        }
    }

    /// True if `measured` is near enough to `expected`. NaN never is.
    pub(crate) fn holds(self, expected: f64, measured: f64) -> bool {
        // Peers' figures are rounded: tolerate a difference in the last bit.
        (measured - expected).abs() <= self.of(expected) + 1e-9
    }

    /// Returns the bound in words.
    pub(crate) fn words(self) -> String {
        match self {
            Tolerance::Share(share) => percent(share),
            Tolerance::Within(distance) => format!("{distance}"),
            Tolerance::Either(share, distance) => format!("{} or {distance}", percent(share)),
            Tolerance::Packets(share, packets, _) => {
                let unit = if packets == 1.0 { "packet" } else { "packets" };
                format!("{} or {packets} {unit}", percent(share))
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A bound as stated before the first run, and the present one if it was changed afterwards.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) stated: Tolerance,
    pub(crate) changed: Option<Tolerance>,
}

impl Bound {
    /// A bound that was not changed.
    pub(crate) fn stated(tolerance: Tolerance) -> Bound {
        Bound { stated: tolerance, changed: None }
    }

    /// Returns the bound in force.
    pub(crate) fn today(self) -> Tolerance {
        self.changed.unwrap_or(self.stated)
    }

    /// Returns the bound in force in words, with the stated one if they differ.
    pub(crate) fn words(self) -> String {
        match self.changed {
            None => self.stated.words(),
            Some(now) => format!("{} (stated: {})", now.words(), self.stated.words()),
        }
    }
}

/// Returns the mean of the figures of several runs; 0 without runs.
pub(crate) fn mean(figures: &[f64]) -> f64 {
    metrics::mean(figures.iter().copied()).unwrap_or(0.0)
}

/// Fewest runs that have an interval.
const FEWEST_RUNS: usize = 3;

/// Returns the interval in which the figure of one further run lies with probability 95 %, if the
/// runs' figures have a normal distribution: the mean, plus and minus Student's t times the
/// standard deviation times √(1 + 1/n). Unlike the range of the runs it does not grow with their
/// number. `None` for fewer than three runs: that of two is 31 standard deviations wide, and excuses nearly all figures.
pub(crate) fn prediction(figures: &[f64]) -> Option<[f64; 2]> {
    let runs = figures.len();
    if runs < FEWEST_RUNS {
        return None;
    }
    let student = metrics::student_t_975(runs)?;
    let mean = mean(figures);
    let deviation = metrics::sample_variance(figures)?.sqrt();
    let reach = student * deviation * (1.0 + 1.0 / runs as f64).sqrt();
    Some([mean - reach, mean + reach])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_five_runs() {
        // Mean 3, deviation √2.5, t of four degrees of freedom: 3 ± 2.776 · 1.5811 · √1.2.
        let [low, high] = prediction(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("five runs");
        assert!((low + 1.808).abs() < 0.001 && (high - 7.808).abs() < 0.001, "{low} {high}");
        assert_eq!(prediction(&[1.0]), None);
        assert_eq!(prediction(&[10.2, 12.55]), None);
        assert_eq!(prediction(&[2.0; 3]), Some([2.0, 2.0]));
    }

    #[test]
    fn the_interval_does_not_grow_with_the_number_of_runs() {
        let figures = |count: usize| (0..count).map(|i| (i % 5) as f64).collect::<Vec<_>>();
        let width = |count| prediction(&figures(count)).map_or(0.0, |[low, high]| high - low);
        assert!(width(30) < width(10) && width(10) < width(5));
    }

    #[test]
    fn bounds_hold_on_both_sides_and_never_for_nan() {
        let half = Tolerance::Packets(0.1, 0.5, 0.125);
        assert!(half.holds(0.04, 0.1) && !half.holds(0.04, 0.11) && half.holds(10.0, 9.0));
        assert!(!Tolerance::Share(0.02).holds(12.0, 11.7) && !half.holds(1.0, f64::NAN));
        assert_eq!(half.words(), "10 % or 0.5 packets");
        let bound = Bound { stated: Tolerance::Either(0.1, 2.0), changed: Some(half) };
        assert_eq!(bound.words(), "10 % or 0.5 packets (stated: 10 % or 2)");
    }
}
