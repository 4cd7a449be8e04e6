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
    /// 95th percentile of the one-way delay in milliseconds.
    pub delay_ms: f64,
    /// Throughput over delay, in Mbit/s per second; `None` if nothing arrived.
    pub power: Option<f64>,
    /// Place by power within the round; `None` for the omniscient protocol.
    pub place: Option<usize>,
    /// True if no other entry of the round has at least as much throughput with as little delay.
    pub on_front: bool,
    /// Figures of a scheme over several runs. The fields above then have their medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_runs: Option<OverRuns>,
    /// Capacity of the link in Mbit/s.
    #[serde(skip)]
    pub capacity_mbps: f64,
}

/// One entry's figures on one trace over several runs.
#[derive(Clone, Debug, Serialize)]
#[allow(clippy::exhaustive_structs, reason = "the fields of JSON")]
pub struct OverRuns {
    /// Throughput in Mbit/s.
    pub throughput_mbps: Distribution,
    /// 95th percentile of the one-way delay in milliseconds.
    pub delay_ms: Distribution,
    /// `None` if nothing arrived in any run.
    pub power: Option<Distribution>,
}

/// The fields of the JSON of a contest.
#[derive(Serialize)]
#[allow(clippy::exhaustive_structs, reason = "the fields of JSON")]
pub struct Attempts<'a> {
    /// All attempts, by round and place.
    pub attempts: &'a [Attempt],
}

/// The figures of one run: throughput in Mbit/s, and the 95th percentile of the one-way delay in ms.
pub type RunFigures = (f64, f64);

impl Attempt {
    /// Returns an attempt of one run, without a place.
    pub fn new(
        (entry, kind): (&str, &'static str),
        (round, trace): (&'static str, &str),
        (throughput_mbps, delay_ms): RunFigures,
        capacity_mbps: f64,
    ) -> Attempt {
        Attempt {
            entry: entry.to_string(),
            kind,
            round,
            trace: trace.to_string(),
            throughput_mbps,
            delay_ms,
            power: power(throughput_mbps, delay_ms),
            place: None,
            on_front: false,
            over_runs: None,
            capacity_mbps,
        }
    }

    /// Returns the attempt of a scheme over these runs, of which there is at least one: with their
    /// medians if there are several.
    pub fn of_runs(
        entry: &str,
        (round, trace): (&'static str, &str),
        runs: &[RunFigures],
        capacity_mbps: f64,
    ) -> Attempt {
        if let [run] = *runs {
            return Attempt::new((entry, "scheme"), (round, trace), run, capacity_mbps);
        }
        let over = |figure: &dyn Fn(f64, f64) -> Option<f64>| {
            Distribution::of(runs.iter().filter_map(|(mbps, ms)| figure(*mbps, *ms)))
        };
        let throughput_mbps = over(&|mbps, _| Some(mbps)).unwrap_or_default();
        let delay_ms = over(&|_, ms| Some(ms)).unwrap_or_default();
        let power = over(&power);
        let medians = (throughput_mbps.median, delay_ms.median);
        Attempt {
            power: power.map(|power| power.median),
            over_runs: Some(OverRuns { throughput_mbps, delay_ms, power }),
            ..Attempt::new((entry, "scheme"), (round, trace), medians, capacity_mbps)
        }
    }

    /// Returns the attempt of the omniscient protocol.
    pub fn of_bound(place: (&'static str, &str), row: &CompareRow) -> Attempt {
        let figures = (row.throughput_mbps, row.one_way_delay_ms.p95);
        Attempt::new((OMNISCIENT, "bound"), place, figures, row.capacity_mbps)
    }
}

/// Gives the attempts of a round their places, marks those of the front, and sorts them.
pub fn rank(attempts: &mut [Attempt]) {
    let places = places(&attempts.iter().map(|it| it.power).collect::<Vec<_>>());
    let points: Vec<(f64, f64)> =
        attempts.iter().map(|it| (it.delay_ms, it.throughput_mbps)).collect();
    let front = front(&points);
    for (at, attempt) in attempts.iter_mut().enumerate() {
        attempt.place = Some(places[at]);
        attempt.on_front = front.contains(&at);
    }
    attempts.sort_by_key(|attempt| attempt.place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_ranked_by_power_and_the_front_is_marked() {
        let of = |name, figures| Attempt::new((name, "scheme"), ("training", "t"), figures, 12.0);
        let mut attempts =
            [of("slow", (2.0, 100.0)), of("best", (10.0, 50.0)), of("fast", (11.0, 400.0))];
        attempts[0].power = power(2.0, 100.0);
        rank(&mut attempts);
        let names: Vec<_> = attempts.iter().map(|it| (&*it.entry, it.place, it.on_front)).collect();
        assert_eq!(
            names,
            [("best", Some(1), true), ("fast", Some(2), true), ("slow", Some(3), false)]
        );
        let several = Attempt::of_runs("a", ("training", "t"), &[(1.0, 10.0), (3.0, 10.0)], 12.0);
        assert_eq!(several.over_runs.map(|over| over.throughput_mbps.median), Some(2.0));
    }
}
