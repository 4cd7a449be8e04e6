//! Sentences and verdicts made from figures, by the rules of their criteria.

use paceline_requests::numbers::figure;
use paceline_sim::metrics::Distribution;

use crate::criterion::{Bounds, Measured};
use crate::row::Verdict;

/// Number of runs of a case, and of those that have the figure.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Measurements {
    pub(crate) measured_in: usize,
    pub(crate) of: usize,
}

impl Measurements {
    pub(crate) fn are_incomplete(self) -> bool {
        self.measured_in < self.of
    }
}

/// Judges the distribution of a figure; `cubic` is the median of Cubic's, for bounds that are its
/// multiples. `None` if such bounds have no figure of Cubic. A figure that some runs do not have is not good.
pub(crate) fn judge(
    bounds: &Bounds,
    of: &Distribution,
    runs: Measurements,
    cubic: Option<f64>,
) -> Option<Verdict> {
    let (good, poor) = bounds.absolute(cubic)?;
    // With figures mirrored, lower ones are better.
    let sign = if bounds.higher_is_better() { -1.0 } else { 1.0 };
    let worse_end = if bounds.higher_is_better() { of.p5 } else { of.p95 };
    let (median, worse_end) = (sign * of.median, sign * worse_end);
    let (good, poor) = (sign * good, sign * poor);
    Some(if good < poor && median >= poor {
        Verdict::Poor
    } else if !runs.are_incomplete() && median <= good && (worse_end < poor || good >= poor) {
        Verdict::Good
    } else {
        Verdict::Mixed
    })
}

/// Returns a figure with its unit.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { figure(value) } else { format!("{} {unit}", figure(value)) }
}

/// Returns the answer: the figure in its sentence, its range, Cubic's figure, and the verdict.
pub(crate) fn answer(
    measured: &Measured,
    of: &Distribution,
    runs: Measurements,
    cubic: Option<f64>,
    verdict: Option<Verdict>,
) -> String {
    let shown = |value| with_unit(value, measured.unit);
    // Medians of times are sums of bins, which are not exact.
    let says = match measured.never {
        Some((longest, says)) if of.median >= longest - 1e-6 => says,
        _ => measured.says,
    };
    let mut text = says.replace("{}", &shown(of.median));
    let (low, high) = (figure(of.p5), figure(of.p95));
    let Measurements { measured_in, of: all } = runs;
    let in_runs = match runs.are_incomplete() {
        true => format!("in {measured_in} of {all} runs"),
        false => format!("in {all} runs"),
    };
    if low != high {
        text += &format!(" ({low} to {high} {in_runs})");
    } else if runs.are_incomplete() {
        text += &format!(" ({in_runs})");
    }
    if let Some(cubic) = cubic {
        text += &format!("; Cubic: {}", shown(cubic));
    }
    text.push('.');
    if let (Some(verdict), Some(bounds)) = (verdict, &measured.bounds) {
        text += &format!(" Verdict: {} ({}).", verdict.word(), bounds.rule(measured.unit));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Measurements = Measurements { measured_in: 5, of: 5 };

    fn spread(p5: f64, median: f64, p95: f64) -> Distribution {
        Distribution { p5, median, p95, median_interval: None }
    }

    #[test]
    fn verdicts_follow_from_bounds() {
        let high = Bounds::new(90.0, 50.0, "test");
        let low = Bounds::new(10.0, 40.0, "test");
        for (bounds, of, wanted) in [
            (high, spread(91.0, 95.0, 96.0), Verdict::Good),
            (high, spread(49.0, 95.0, 96.0), Verdict::Mixed),
            (high, spread(60.0, 70.0, 96.0), Verdict::Mixed),
            (high, spread(10.0, 50.0, 96.0), Verdict::Poor),
            (low, spread(1.0, 10.0, 39.0), Verdict::Good),
            (low, spread(1.0, 10.0, 40.0), Verdict::Mixed),
            (low, spread(1.0, 41.0, 42.0), Verdict::Poor),
        ] {
            assert_eq!(judge(&bounds, &of, ALL, None), Some(wanted), "{bounds:?} {of:?}");
        }
        let beside = Bounds::beside(1.1, 2.0, "test");
        assert_eq!(judge(&beside, &spread(10.0, 10.0, 10.0), ALL, Some(10.0)), Some(Verdict::Good));
        assert_eq!(judge(&beside, &spread(20.0, 20.0, 20.0), ALL, Some(10.0)), Some(Verdict::Poor));
        assert_eq!(judge(&beside, &spread(20.0, 20.0, 20.0), ALL, None), None);
        // Where Cubic has zero, zero is good.
        assert_eq!(judge(&beside, &spread(0.0, 0.0, 0.0), ALL, Some(0.0)), Some(Verdict::Good));
        assert_eq!(judge(&beside, &spread(0.0, 1.0, 1.0), ALL, Some(0.0)), Some(Verdict::Mixed));
    }

    #[test]
    fn a_figure_of_some_runs_is_not_good() {
        let bounds = Bounds::new(90.0, 50.0, "test");
        let some = Measurements { measured_in: 3, of: 5 };
        let judged = |at: f64| judge(&bounds, &spread(at, at, at), some, None);
        assert_eq!((judged(95.0), judged(40.0)), (Some(Verdict::Mixed), Some(Verdict::Poor)));
        let measured = Measured::new("c", "utilization", "%", "A flow uses {}", |_| 0.0);
        let text = answer(&measured, &spread(95.0, 95.0, 95.0), some, None, None);
        assert_eq!(text, "A flow uses 95.0 % (in 3 of 5 runs).");
    }

    #[test]
    fn answers_are_sentences() {
        let measured = Measured::new("c", "utilization", "%", "A flow uses {} of it", |_| 0.0)
            .judged(Bounds::new(90.0, 50.0, "test"));
        let text =
            answer(&measured, &spread(93.0, 95.0, 96.0), ALL, Some(97.5), Some(Verdict::Good));
        let wanted = "A flow uses 95.0 % of it (93.0 to 96.0 in 5 runs); Cubic: 97.5 %. Verdict: \
                      good (good: 90.0 % or more; poor: 50.0 % or less).";
        assert_eq!(text, wanted);
        let measured = Measured::new("c", "time", "s", "A flow is there after {}", |_| 0.0)
            .ending(20.0, "A flow is not there within {}");
        let said = |median| answer(&measured, &spread(median, median, median), ALL, None, None);
        assert_eq!(said(19.9), "A flow is there after 19.9 s.");
        assert_eq!(said(20.0), "A flow is not there within 20.0 s.");
    }
}
