//! Figures of fine series: phases of a flow, seen in what it sends and in the pacing rate that it reports.

use crate::figures::Look;

/// Time over which rates are averaged, in seconds: a round trip of the cases.
pub(super) const ROUND_TRIP: f64 = 0.1;

/// A series with a value for each bin.
pub(super) struct Series {
    values: Vec<f64>,
    bin: f64,
}

impl Series {
    /// Returns the series of a record; empty if the record does not have it.
    pub(super) fn of(look: &Look<'_>, name: &str) -> Series {
        Series { values: look.own.series(name), bin: look.own.number("bin") }
    }

    /// Returns a variable of the flow's congestion control; empty if it does not report it.
    pub(super) fn state(look: &Look<'_>, name: &str) -> Series {
        Series::of(look, &format!("flow.subject.state.{name}"))
    }

    /// Returns the rate at which the flow sends in Mbit/s, as means over a round trip.
    pub(super) fn sent(look: &Look<'_>) -> Series {
        Series::of(look, "link.access.throughput").mean_over(ROUND_TRIP)
    }

    /// Returns the queueing delay at the bottleneck in milliseconds.
    pub(super) fn queue(look: &Look<'_>) -> Series {
        Series::of(look, "link.link.delay")
    }

    /// Returns the pacing rate in Mbit/s; empty if the flow does not report it, or reports 0 throughout, as quinn's BBR
    /// without an estimate does.
    pub(super) fn pacing(look: &Look<'_>) -> Series {
        let pacing = Series::state(look, "pacing");
        let is_known = pacing.values.iter().any(|rate| *rate > 0.0);
        if is_known { pacing } else { Series { values: Vec::new(), ..pacing } }
    }

    /// Returns the pacing rate as a multiple of `mbps`, or, for ends that do not report it, the rate at which the flow
    /// sends.
    pub(super) fn gain(look: &Look<'_>, mbps: f64) -> Series {
        let pacing = Series::pacing(look);
        let of = if pacing.is_empty() { Series::sent(look) } else { pacing };
        of.times(1.0 / mbps)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the series multiplied by `factor`.
    pub(super) fn times(mut self, factor: f64) -> Series {
        self.values.iter_mut().for_each(|value| *value *= factor);
        self
    }

    /// Returns the means over `seconds` that begin at each bin; missing bins count as zero. At the end of the run
    /// they are over fewer bins.
    pub(super) fn mean_over(self, seconds: f64) -> Series {
        let bins = ((seconds / self.bin).round() as usize).max(1);
        let filled: Vec<f64> =
            self.values.iter().map(|value| if value.is_finite() { *value } else { 0.0 }).collect();
        let mean = |at: usize| {
            let window = &filled[at..(at + bins).min(filled.len())];
            window.iter().sum::<f64>() / window.len() as f64
        };
        Series { values: (0..filled.len()).map(mean).collect(), bin: self.bin }
    }

    /// Returns the bins between two times in seconds; none if a time is NaN.
    pub(super) fn between(&self, from: f64, to: f64) -> &[f64] {
        if from.is_nan() || to.is_nan() {
            return &[];
        }
        let at = |seconds: f64| ((seconds / self.bin).round() as usize).min(self.values.len());
        self.values.get(at(from)..at(to)).unwrap_or_default()
    }

    /// Returns the value at a time in seconds; NaN if there is none.
    pub(super) fn at(&self, seconds: f64) -> f64 {
        self.between(seconds, seconds + self.bin).first().copied().unwrap_or(f64::NAN)
    }

    /// Returns the quantile `q` of the values between two times: the value whose rank, counted from 0, is
    /// `q` (n - 1), rounded. So the median of an even number is the upper one of the two middle values. Bounds of the
    /// BBR draft's criteria were stated for this definition. Missing bins do not count.
    pub(super) fn quantile(&self, q: f64, from: f64, to: f64) -> f64 {
        let mut values: Vec<f64> =
            self.between(from, to).iter().copied().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let place = q * values.len().saturating_sub(1) as f64;
        values.get(place.round() as usize).copied().unwrap_or(f64::NAN)
    }

    pub(super) fn median(&self, from: f64, to: f64) -> f64 {
        self.quantile(0.5, from, to)
    }

    pub(super) fn smallest(&self, from: f64, to: f64) -> f64 {
        self.between(from, to).iter().copied().fold(f64::NAN, f64::min)
    }

    pub(super) fn largest(&self, from: f64, to: f64) -> f64 {
        self.between(from, to).iter().copied().fold(f64::NAN, f64::max)
    }

    /// Returns the time of the largest value between two times; NaN without values.
    pub(super) fn time_of_largest(&self, from: f64, to: f64) -> f64 {
        let largest = self.largest(from, to);
        match self.between(from, to).iter().position(|value| *value == largest) {
            Some(at) => from + at as f64 * self.bin,
            None => f64::NAN,
        }
    }

    /// Returns the seconds from `from` until `test` is true of all bins of `hold` seconds; the time up to `to` if that
    /// never happens. NaN for an empty series.
    pub(super) fn until(&self, test: impl Fn(f64) -> bool, hold: f64, from: f64, to: f64) -> f64 {
        if self.is_empty() {
            return f64::NAN;
        }
        let bins = ((hold / self.bin).round() as usize).max(1);
        let held = |window: &[f64]| window.iter().all(|value| test(*value));
        match self.between(from, to).windows(bins).position(held) {
            Some(at) => at as f64 * self.bin,
            None => to - from,
        }
    }

    /// Returns the seconds from `from` until the series, a queueing delay, is at most `level` ms in all bins of `hold`
    /// seconds, or has no packets; the time up to `to` if that never happens. NaN if no packets pass in this time.
    pub(super) fn until_drained(&self, level: f64, hold: f64, from: f64, to: f64) -> f64 {
        if self.between(from, to).iter().all(|delay| delay.is_nan()) {
            return f64::NAN;
        }
        self.until(|delay| delay.is_nan() || delay <= level, hold, from, to)
    }

    /// Returns the longest time in seconds for which `test` is true of successive bins; NaN if it is true of none.
    pub(super) fn longest(&self, test: impl Fn(f64) -> bool, from: f64, to: f64) -> f64 {
        let runs = self.between(from, to).chunk_by(|one, next| test(*one) == test(*next));
        let longest = runs.filter(|run| test(run[0])).map(<[f64]>::len).max();
        longest.map_or(f64::NAN, |bins| bins as f64 * self.bin)
    }

    /// Returns the times in seconds at which the value rises by more than the share `by` from one bin to the next.
    pub(super) fn rises(&self, by: f64, from: f64, to: f64) -> Vec<f64> {
        let pairs = self.between(from, to).windows(2).enumerate();
        let rising = pairs.filter(|(_, pair)| pair[1] > pair[0] * (1.0 + by));
        rising.map(|(at, _)| from + (at + 1) as f64 * self.bin).collect()
    }
}

#[cfg(test)]
mod tests {
    use paceline_tasks::Record;

    use super::*;

    #[test]
    fn phases_are_read_from_series() {
        let mut own = Record::default();
        own.set("bin", 0.02);
        let gain: Vec<f64> = (0..500)
            .map(|bin| match bin {
                100..150 => 0.5,
                200..230 => 1.25,
                _ => 1.0,
            })
            .collect();
        own.set_series("flow.subject.state.pacing", &gain);
        let look = Look { own: &own, reference: &Record::default(), duration: 10.0, warmup: 0.0 };
        let gain = Series::gain(&look, 1.0);
        let close = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} {other}");
        close(gain.longest(|gain| gain < 0.7, 0.0, 10.0), 1.0);
        close(gain.longest(|gain| gain > 1.1, 0.0, 10.0), 0.6);
        assert!(gain.longest(|gain| gain > 2.0, 0.0, 10.0).is_nan());
        close(gain.until(|gain| gain < 0.7, 0.1, 1.0, 10.0), 1.0);
        close(gain.until(|gain| gain > 2.0, 0.1, 1.0, 10.0), 9.0);
        close(gain.smallest(0.0, 10.0), 0.5);
        close(gain.time_of_largest(0.0, 10.0), 4.0);
        close(gain.median(0.0, 10.0), 1.0);
        assert_eq!(gain.rises(0.2, 0.0, 10.0).len(), 2);
        assert!(Series::state(&look, "none").until(|_| true, 0.1, 0.0, 1.0).is_nan());
        let means = Series::gain(&look, 1.0).mean_over(2.0);
        close(means.at(2.0), 0.75);
    }
}
