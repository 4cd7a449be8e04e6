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

/// Share of all events that a 95th percentile needs.
const COUNTED_SHARE: f64 = 0.95;
/// Share of its mean goodput that a flow has at most in the last tenth of the run, if it has stopped.
const STOPPED_SHARE: f64 = 0.05;
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

    /// Returns the 95th percentile of the delay of a flow's frames in milliseconds: the length of the run if fewer than
    /// 95 % arrived, NaN if none arrived. The length of the run, too, if the flow has stopped: its encoder makes no
    /// frames.
    pub fn frames_p95(&self, flow: &str) -> f64 {
        let frames = format!("flow.{flow}.frames");
        let [delay, delivered, made] =
            ["delay", "delivered", "made"].map(|part| format!("{frames}.{part}"));
        let p95 = self.p95_of_all(&delay, &delivered, &made);
        if p95.is_finite() && self.has_stopped(flow) { 1e3 * self.duration } else { p95 }
    }

    /// Returns the largest 95th percentile of the delays of flows' frames, of each as [`Look::frames_p95`] returns it;
    /// NaN if one of the flows has none.
    pub fn worst_frames_p95(&self, flows: &[&str]) -> f64 {
        extreme(flows.iter().map(|flow| self.frames_p95(flow)), f64::max)
    }

    /// Returns the mean goodput of a group of flows in Mbit/s, of the group in which it is smallest; NaN if one of the
    /// flows has none.
    pub fn smallest_goodput(&self, groups: &[&[&str]]) -> f64 {
        let goodput = |flow: &&str| self.number(&format!("flow.{flow}.goodput"));
        let mean = |group: &&[&str]| group.iter().map(goodput).sum::<f64>() / group.len() as f64;
        extreme(groups.iter().map(mean), f64::min)
    }

    /// Returns true if the goodput of a flow in the last tenth of the run is at most a small share of its mean.
    pub fn has_stopped(&self, flow: &str) -> bool {
        let goodput = format!("flow.{flow}.goodput");
        let [all, last] =
            [0.0, 0.9].map(|from| self.mean(&goodput, from * self.duration, self.duration));
        last <= STOPPED_SHARE * all
    }

    /// Returns true if all of these flows have stopped.
    pub fn have_stopped(&self, flows: &[&str]) -> bool {
        flows.iter().all(|flow| self.has_stopped(flow))
    }

    /// Returns the 95th percentile of the completion time of the flows that arrived at random, in milliseconds: the
    /// length of the run if fewer than 95 % finished, NaN if none finished.
    pub fn completion_p95(&self) -> f64 {
        self.p95_of_all("arrivals.completion", "arrivals.finished", "arrivals.arrived")
    }

    /// Returns the 95th percentile of the times of all events, of which those that happened have `times`: the length
    /// of the run if fewer than 95 % happened, NaN if none did.
    fn p95_of_all(&self, times: &str, happened: &str, all: &str) -> f64 {
        let (happened, all) = (self.number(happened), self.number(all));
        match happened {
            _ if happened == 0.0 || all.is_nan() => f64::NAN,
            _ if happened < COUNTED_SHARE * all => 1e3 * self.duration,
            _ => self.number(&format!("{times}.p95")),
        }
    }

    /// Returns Jain's index of the goodputs of flows between two times in seconds; NaN if they have none, or have all
    /// stopped.
    pub fn jain(&self, flows: &[&str], from: f64, to: f64) -> f64 {
        if self.have_stopped(flows) {
            return f64::NAN;
        }
        let rates: Vec<f64> =
            flows.iter().map(|flow| self.mean(&format!("flow.{flow}.goodput"), from, to)).collect();
        paceline_sim::metrics::jain(&rates)
    }

    /// Returns the mean of a series over a time, in seconds; missing bins count as zero.
    pub fn mean(&self, series: &str, from: f64, to: f64) -> f64 {
        let bins = self.bins(series, from, to);
        bins.iter().map(|value| if value.is_finite() { *value } else { 0.0 }).sum::<f64>()
            / bins.len() as f64
    }

    /// Returns the mean of those bins of a series over a time, in seconds, that have a value; NaN if none has.
    pub fn mean_of_measured(&self, series: &str, from: f64, to: f64) -> f64 {
        let mut bins = self.bins(series, from, to);
        bins.retain(|value| value.is_finite());
        bins.iter().sum::<f64>() / bins.len() as f64
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

    /// Returns the seconds between two times in which the bins of a series are above `level`. Missing bins are below
    /// each level. NaN if all bins are missing.
    pub fn time_above(&self, series: &str, level: f64, from: f64, to: f64) -> f64 {
        let bins = self.bins(series, from, to);
        if bins.iter().all(|value| value.is_nan()) {
            return f64::NAN;
        }
        bins.iter().filter(|value| **value > level).count() as f64 * self.bin()
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

/// Returns the extreme one of values, as `of` chooses from two; NaN if one of them is NaN, or without values.
fn extreme(mut values: impl Iterator<Item = f64>, of: fn(f64, f64) -> f64) -> f64 {
    let either = |one: f64, next: f64| if next.is_nan() { None } else { Some(of(one, next)) };
    values.try_fold(f64::NAN, either).unwrap_or(f64::NAN)
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
        assert!((look.mean("s", 0.0, 10.0) - 7.1).abs() < 1e-9);
        assert_eq!(look.largest("s", 4.0, 5.0), 10.0);
        assert!(look.reached("none", 1.0, 0.0, 10.0).is_nan());
        assert!(look.times("none").is_nan());
    }

    #[test]
    fn all_time_above_a_level_counts() {
        let mut own = Record::default();
        own.set("bin", 0.1);
        // From 60 s on: 1 s without packets, 0.6 s low, 15 s high, then low again.
        let delay = |bin: usize| match bin {
            600..610 => f64::NAN,
            616..766 => 300.0,
            _ => 20.0,
        };
        own.set_series("s", &(0..1000).map(delay).collect::<Vec<f64>>());
        own.set_series("none", &[f64::NAN; 1000]);
        let look = Look { own: &own, reference: &Record::default(), duration: 100.0, warmup: 0.0 };
        assert!((look.time_above("s", 100.0, 60.0, 80.0) - 15.0).abs() < 1e-9);
        assert!((look.time_above("s", 100.0, 60.0, 70.0) - 8.4).abs() < 1e-9);
        assert_eq!(look.time_above("s", 300.0, 60.0, 80.0), 0.0);
        assert!(look.time_above("none", 100.0, 60.0, 80.0).is_nan());
        assert!(look.time_above("missing", 100.0, 60.0, 80.0).is_nan());
    }

    #[test]
    fn the_worst_flow_counts() {
        let mut own = Record::default();
        own.set("bin", 1.0);
        for (flow, goodput, p95) in [("a", 1.0, 60.0), ("b", 0.4, 90.0)] {
            own.set_series(format!("flow.{flow}.goodput"), &[goodput; 10]);
            own.set(format!("flow.{flow}.goodput"), goodput);
            own.set(format!("flow.{flow}.frames.made"), 100.0);
            own.set(format!("flow.{flow}.frames.delivered"), 100.0);
            own.set(format!("flow.{flow}.frames.delay.p95"), p95);
        }
        let look = Look { own: &own, reference: &Record::default(), duration: 10.0, warmup: 0.0 };
        for [one, other] in [["a", "b"], ["b", "a"]] {
            assert_eq!(look.worst_frames_p95(&[one, other]), 90.0);
            assert_eq!(look.smallest_goodput(&[&[one], &[other]]), 0.4);
            assert!((look.smallest_goodput(&[&[one, other], &["a"]]) - 0.7).abs() < 1e-9);
        }
        for [one, other] in [["a", "none"], ["none", "a"]] {
            assert!(look.worst_frames_p95(&[one, other]).is_nan());
            assert!(look.smallest_goodput(&[&[one], &[other]]).is_nan());
            assert!(look.smallest_goodput(&[&[one, other], &["a"]]).is_nan());
        }
    }

    #[test]
    fn what_did_not_arrive_counts_with_the_length_of_the_run() {
        let of = |made: f64, delivered: f64| {
            let mut own = Record::default();
            own.set("bin", 1.0);
            own.set_series("flow.media.goodput", &[1.0; 10]);
            own.set("flow.media.frames.made", made);
            own.set("flow.media.frames.delivered", delivered);
            own.set("flow.media.frames.delay.p95", 60.0);
            own.set("arrivals.arrived", made);
            own.set("arrivals.finished", delivered);
            own.set("arrivals.completion.p95", 60.0);
            let look =
                Look { own: &own, reference: &Record::default(), duration: 10.0, warmup: 0.0 };
            assert_eq!(look.frames_p95("media").to_bits(), look.completion_p95().to_bits());
            let p95 = look.completion_p95();
            // Flows that have stopped, or nearly so, and one that has become slow.
            for (rest, has_stopped) in [(0.0, true), (0.01, true), (0.1, false)] {
                let goodput: Vec<f64> =
                    (0..10).map(|bin| if bin < 3 { 1.0 } else { rest }).collect();
                own.set_series("flow.media.goodput", &goodput);
                let look =
                    Look { own: &own, reference: &Record::default(), duration: 10.0, warmup: 0.0 };
                let expected = if has_stopped && p95.is_finite() { 10_000.0 } else { p95 };
                assert_eq!(look.frames_p95("media").to_bits(), expected.to_bits(), "{rest}");
                assert_eq!(look.jain(&["media"], 0.0, 9.0).is_nan(), has_stopped, "{rest}");
            }
            p95
        };
        assert_eq!(of(100.0, 95.0), 60.0);
        assert_eq!(of(100.0, 94.0), 10_000.0);
        assert_eq!(of(255.0, 75.0), 10_000.0);
        assert!(of(100.0, 0.0).is_nan() && of(0.0, 0.0).is_nan());
    }
}
