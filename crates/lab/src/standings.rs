//! Leaderboards of the contest: attempts of entries, and their places by power.

use paceline_report::front;
use paceline_requests::compare::{CompareRow, OMNISCIENT};
use paceline_sim::metrics::{Distribution, power};
use serde::Serialize;

use crate::contest::places;

/// One entry's run on one trace.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Attempt {
    /// Name of the entry.
    pub entry: String,
    /// `scheme`, `command` or `bound`.
    pub kind: &'static str,
    /// `training` or `secret`, the role of the trace.
    pub round: &'static str,
    /// Name of the trace.
    pub trace: String,
    /// Throughput of the link in Mbit/s.
    pub throughput_mbps: f64,
    /// 95th percentile of the one-way delay in milliseconds; NaN, in JSON `null`, if nothing arrived.
    pub delay_ms: f64,
    /// Throughput over delay, in Mbit/s per second; `None` if nothing arrived.
    pub power: Option<f64>,
    /// Place by power within the round; `None` for the omniscient protocol, and if nothing arrived.
    pub place: Option<usize>,
    /// True if no other entry of the round has more throughput with as little delay, or less delay with as much
    /// throughput. False if nothing arrived in most of the runs.
    pub on_front: bool,
    /// Figures over several runs. The fields above then have their medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_runs: Option<OverRuns>,
    /// Capacity of the link in Mbit/s.
    #[serde(skip)]
    pub capacity_mbps: f64,
    /// Throughput as a share of the capacity, the median over the runs.
    #[serde(skip)]
    pub utilization: f64,
    /// Number of runs.
    #[serde(skip)]
    pub runs: usize,
    /// Number of runs in which nothing arrived.
    #[serde(skip)]
    pub silent_runs: usize,
}

/// One entry's figures on one trace over several runs.
#[derive(Clone, Debug, Serialize)]
#[allow(clippy::exhaustive_structs, reason = "the fields of JSON")]
pub struct OverRuns {
    /// Throughput in Mbit/s.
    pub throughput_mbps: Distribution,
    /// 95th percentile of the one-way delay in milliseconds.
    pub delay_ms: Distribution,
    /// 0 in runs in which nothing arrived; `None` if nothing arrived in any run.
    pub power: Option<Distribution>,
}

/// The fields of the JSON of a contest.
#[derive(Serialize)]
#[allow(clippy::exhaustive_structs, reason = "the fields of JSON")]
pub struct Attempts<'a> {
    /// All attempts, by round and place.
    pub attempts: &'a [Attempt],
}

/// The figures of one run.
#[derive(Copy, Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "what a run shows")]
pub struct RunFigures {
    /// Throughput of the link in Mbit/s.
    pub throughput_mbps: f64,
    /// 95th percentile of the one-way delay in milliseconds; NaN if nothing arrived.
    pub delay_ms: f64,
    /// Capacity of the link in Mbit/s.
    pub capacity_mbps: f64,
}

impl RunFigures {
    /// Returns the share of the capacity that the link carried.
    fn utilization(&self) -> f64 {
        self.throughput_mbps / self.capacity_mbps
    }

    /// Returns throughput over delay; 0 if nothing arrived.
    fn power(&self) -> Option<f64> {
        if self.is_silent() { Some(0.0) } else { power(self.throughput_mbps, self.delay_ms) }
    }

    /// Returns true if nothing arrived.
    fn is_silent(&self) -> bool {
        self.delay_ms.is_nan()
    }
}

impl From<&CompareRow> for RunFigures {
    fn from(row: &CompareRow) -> RunFigures {
        RunFigures {
            throughput_mbps: row.throughput_mbps,
            delay_ms: row.one_way_delay_ms.p95,
            capacity_mbps: row.capacity_mbps,
        }
    }
}

impl Attempt {
    /// Returns the attempt of an entry over these runs, of which there is at least one: with their medians if there
    /// are several.
    pub fn of_runs(
        (entry, kind): (&str, &'static str),
        (round, trace): (&'static str, &str),
        runs: &[RunFigures],
    ) -> Attempt {
        let over = |figure: &dyn Fn(&RunFigures) -> f64| {
            Distribution::of(runs.iter().map(figure)).unwrap_or_default()
        };
        let throughput_mbps = over(&|run| run.throughput_mbps);
        let delay_ms = over(&|run| run.delay_ms);
        let silent_runs = runs.iter().filter(|run| run.is_silent()).count();
        let power = (silent_runs < runs.len())
            .then(|| Distribution::of(runs.iter().filter_map(RunFigures::power)))
            .flatten();
        let medians = (throughput_mbps.median, delay_ms.median);
        Attempt {
            entry: entry.to_string(),
            kind,
            round,
            trace: trace.to_string(),
            throughput_mbps: medians.0,
            delay_ms: medians.1,
            power: power.map(|power| power.median),
            place: None,
            on_front: false,
            over_runs: (runs.len() > 1).then_some(OverRuns { throughput_mbps, delay_ms, power }),
            capacity_mbps: over(&|run| run.capacity_mbps).median,
            utilization: over(&RunFigures::utilization).median,
            runs: runs.len(),
            silent_runs,
        }
    }

    /// Returns the attempt of the omniscient protocol over these runs.
    pub fn of_bound(place: (&'static str, &str), rows: &[CompareRow]) -> Attempt {
        let figures: Vec<RunFigures> = rows.iter().map(RunFigures::from).collect();
        Attempt::of_runs((OMNISCIENT, "bound"), place, &figures)
    }

    /// Returns the delay and the throughput, by which an attempt may be on the front: NaN if nothing arrived in most of
    /// the runs, since the delay is that of the others only.
    fn point(&self) -> (f64, f64) {
        let is_silent = 2 * self.silent_runs > self.runs;
        (if is_silent { f64::NAN } else { self.delay_ms }, self.throughput_mbps)
    }

    /// Returns a warning if nothing arrived in some run.
    pub fn warning(&self) -> Option<String> {
        let Attempt { entry, trace, runs, silent_runs, .. } = self;
        let of =
            if *runs > 1 { format!(" in {silent_runs} of {runs} runs") } else { String::new() };
        (*silent_runs > 0).then(|| format!("{entry} on {trace}: no packet arrived{of}"))
    }
}

/// Gives the attempts of a round their places, marks those of the front, and sorts them. An entry from which nothing
/// arrived has no place.
pub fn rank(attempts: &mut [Attempt]) {
    let places = places(&attempts.iter().map(|it| it.power).collect::<Vec<_>>());
    let points: Vec<(f64, f64)> = attempts.iter().map(Attempt::point).collect();
    let front = front(&points);
    for (at, attempt) in attempts.iter_mut().enumerate() {
        attempt.place = attempt.power.map(|_| places[at]);
        // Of equal figures, the front has one.
        attempt.on_front = front.iter().any(|&on_front| points[on_front] == points[at]);
    }
    attempts.sort_by_key(|attempt| attempt.place.unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the attempt of an entry over runs with these throughputs and delays.
    fn entry(name: &str, runs: &[(f64, f64)]) -> Attempt {
        let figures: Vec<RunFigures> = runs
            .iter()
            .map(|&(throughput_mbps, delay_ms)| RunFigures {
                throughput_mbps,
                delay_ms,
                capacity_mbps: 12.0,
            })
            .collect();
        Attempt::of_runs((name, "scheme"), ("training", "t"), &figures)
    }

    #[test]
    fn attempts_are_ranked_by_power_and_the_front_is_marked() {
        let mut attempts = [
            entry("slow", &[(2.0, 100.0)]),
            entry("best", &[(10.0, 50.0)]),
            entry("equal", &[(10.0, 50.0)]),
            entry("silent", &[(0.0, f64::NAN)]),
            entry("fast", &[(11.0, 400.0)]),
        ];
        rank(&mut attempts);
        let names: Vec<_> = attempts.iter().map(|it| (&*it.entry, it.place, it.on_front)).collect();
        assert_eq!(
            names,
            [
                ("best", Some(1), true),
                ("equal", Some(1), true),
                ("fast", Some(3), true),
                ("slow", Some(4), false),
                ("silent", None, false),
            ]
        );
        let several = entry("a", &[(1.0, 10.0), (3.0, 10.0)]);
        assert_eq!(several.over_runs.map(|over| over.throughput_mbps.median), Some(2.0));
    }

    #[test]
    fn a_run_in_which_nothing_arrives_has_no_power() {
        let silent = (0.0, f64::NAN);
        let odd = entry("odd", &[silent, (10.0, 20.0), silent, silent, (10.0, 20.0)]);
        assert_eq!(odd.power, Some(0.0));
        assert_eq!(odd.warning(), Some("odd on t: no packet arrived in 3 of 5 runs".into()));
        let mut attempts = [odd, entry("steady", &[(2.0, 100.0); 5])];
        rank(&mut attempts);
        assert_eq!(attempts[0].entry, "steady");
        assert_eq!(attempts.each_ref().map(|it| it.on_front), [true, false]);
        let never = entry("never", &[silent, silent]);
        assert!(never.power.is_none() && never.delay_ms.is_nan());
        assert_eq!(entry("one", &[silent]).warning(), Some("one on t: no packet arrived".into()));
        assert_eq!(attempts[0].warning(), None);
    }
}
