//! Figures of a run's records, for criteria.

use paceline_tasks::Record;

/// Records of one run of a case.
#[derive(Debug)]
pub struct Look<'a> {
    /// The run with the evaluated scheme.
    pub own: &'a Record,
    /// The run with the case's reference scheme in place of the evaluated one; empty without a reference.
    pub reference: &'a Record,
    /// Length of the run in seconds.
    pub duration: f64,
    /// Its warm-up in seconds.
    pub warmup: f64,
}

/// Bins over which a rate must stay high to count as reached.
const STEADY_BINS: usize = 5;

impl Look<'_> {
    /// Returns a number of the record.
    pub fn number(&self, name: &str) -> f64 {
        self.own.number(name)
    }

    /// Returns a share as per cent.
    pub fn percent(&self, name: &str) -> f64 {
        100.0 * self.own.number(name)
    }

    /// Returns the first number's share in the sum of both, in per cent.
    pub fn share(&self, one: &str, other: &str) -> f64 {
        let (one, other) = (self.own.number(one), self.own.number(other));
        100.0 * one / (one + other)
    }

    /// Returns by how many per cent a number is smaller than beside the reference; negative if it is
    /// larger.
    pub fn lost(&self, name: &str) -> f64 {
        100.0 * (1.0 - self.times(name))
    }

    /// Returns the number as a multiple of the one beside the reference.
    pub fn times(&self, name: &str) -> f64 {
        let reference = self.reference.number(name);
        if reference > 0.0 { self.own.number(name) / reference } else { f64::NAN }
    }

    /// Returns the packets that flows declared lost, per packet that they sent, in per cent. Both counts
    /// include the warm-up.
    pub fn lost_packets(&self, flows: &[&str]) -> f64 {
        let sum = |what: &str| -> f64 {
            flows.iter().map(|flow| self.number(&format!("flow.{flow}.{what}"))).sum()
        };
        100.0 * sum("lost") / sum("sent")
    }

    /// Returns the mean of a series over a time, in seconds; missing bins count as zero.
    pub fn mean(&self, series: &str, from: f64, to: f64) -> f64 {
        let bins = self.bins(series, from, to);
        bins.iter().map(|value| if value.is_finite() { *value } else { 0.0 }).sum::<f64>()
            / bins.len() as f64
    }

    /// Returns the largest value of a series over a time, in seconds; missing bins do not count.
    pub fn largest(&self, series: &str, from: f64, to: f64) -> f64 {
        self.bins(series, from, to).into_iter().fold(f64::NAN, f64::max)
    }

    /// Returns the seconds from `from` until a bin of a series is at or above `level`, and so is the mean of
    /// half a second from then on; the time up to `to` if that never happens.
    pub fn reached(&self, series: &str, level: f64, from: f64, to: f64) -> f64 {
        let bins = self.bins(series, from, to);
        let is_steady = |window: &[f64]| {
            let mean = window.iter().map(|value| value.max(0.0)).sum::<f64>() / window.len() as f64;
            window.first().is_some_and(|first| *first >= level) && mean >= level
        };
        match bins.windows(STEADY_BINS).position(is_steady) {
            Some(at) => at as f64 * self.bin(),
            None if bins.is_empty() => f64::NAN,
            None => to - from,
        }
    }

    /// Returns the seconds from `from` until a series is at or below `level` over half a second; the time up
    /// to `to` if it never is. Missing bins are below each level.
    pub fn fallen(&self, series: &str, level: f64, from: f64, to: f64) -> f64 {
        let bins = self.bins(series, from, to);
        let is_low = |window: &[f64]| window.iter().all(|value| value.is_nan() || *value <= level);
        match bins.windows(STEADY_BINS).position(is_low) {
            Some(at) => at as f64 * self.bin(),
            None if bins.is_empty() => f64::NAN,
            None => to - from,
        }
    }

    fn bin(&self) -> f64 {
        self.own.number("bin")
    }

    fn bins(&self, series: &str, from: f64, to: f64) -> Vec<f64> {
        let all = self.own.series(series);
        let at = |seconds: f64| ((seconds / self.bin()).round() as usize).min(all.len());
        all.get(at(from)..at(to)).unwrap_or_default().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_levels_are_read_from_series() {
        let mut own = Record::default();
        own.set("bin", 0.1);
        let series: Vec<f64> =
            (0..100).map(|bin| if bin == 5 || bin >= 30 { 10.0 } else { f64::NAN }).collect();
        own.set_series("s", &series);
        let look = Look { own: &own, reference: &Record::default(), duration: 10.0, warmup: 0.0 };
        assert!((look.reached("s", 9.0, 0.0, 10.0) - 3.0).abs() < 1e-9);
        assert!((look.reached("s", 9.0, 2.0, 10.0) - 1.0).abs() < 1e-9);
        assert_eq!(look.reached("s", 11.0, 2.0, 10.0), 8.0);
        assert!((look.fallen("s", 1.0, 0.5, 10.0) - 0.1).abs() < 1e-9);
        assert!((look.mean("s", 0.0, 10.0) - 7.1).abs() < 1e-9);
        assert_eq!(look.largest("s", 4.0, 5.0), 10.0);
        assert!(look.reached("none", 1.0, 0.0, 10.0).is_nan());
        assert!(look.times("none").is_nan());
    }
}
