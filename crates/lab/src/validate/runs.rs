//! The peers' runs behind the checks: how many are independent, and in how many all figures agree.

use std::collections::BTreeMap;

use super::case::{ComparedFigure, Verdict};

/// Independent runs of peers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct IndependentRuns {
    /// Number of runs. The windows of one run count once, and so do runs with equal figures.
    pub(super) runs: usize,
    /// Number of runs of which each figure agrees or is within the spread.
    pub(super) inside: usize,
}

impl IndependentRuns {
    /// Counts the runs behind the checks of defaults.
    pub(super) fn of(rows: &[ComparedFigure]) -> IndependentRuns {
        let mut runs: BTreeMap<(&str, &str), (Vec<String>, bool)> = BTreeMap::new();
        for row in rows.iter().filter(|row| !row.variant) {
            let run = runs.entry((&row.peer, without_window(&row.group)));
            let (figures, inside) = run.or_insert_with(|| (Vec::new(), true));
            figures.push(format!("{} {}", row.figure, row.expected));
            *inside &= is_inside(row);
        }
        let mut distinct: BTreeMap<(&str, Vec<String>), bool> = BTreeMap::new();
        for ((peer, _), (figures, inside)) in runs {
            *distinct.entry((peer, figures)).or_insert(true) &= inside;
        }
        let inside = distinct.values().filter(|inside| **inside).count();
        IndependentRuns { runs: distinct.len(), inside }
    }
}

fn is_inside(row: &ComparedFigure) -> bool {
    matches!(row.verdict(), Verdict::Agrees | Verdict::Spread)
}

/// Returns the name of a run without the window of time at its end: `cubic over droptail, 10 to 60 s`
/// is a window of `cubic over droptail`.
fn without_window(group: &str) -> &str {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_window = |text: &str| {
        let times = text.strip_suffix(" s").and_then(|times| times.split_once(" to "));
        times.is_some_and(|(from, to)| is_number(from) && is_number(to))
    };
    group.rsplit_once(", ").filter(|(_, end)| is_window(end)).map_or(group, |(run, _)| run)
}

/// Returns the number of a peer's runs of which a variant explains a figure, and in how many of them
/// one and the same variant has all figures of the run within their bounds or spreads.
pub(super) fn whole_runs(rows: &[ComparedFigure]) -> (usize, usize) {
    let of_run = |row: &ComparedFigure| (row.peer.clone(), row.group.clone());
    let mut runs: Vec<(String, String)> = rows
        .iter()
        .filter(|row| !row.variant && row.verdict() == Verdict::Explained)
        .map(of_run)
        .collect();
    runs.sort();
    runs.dedup();
    let is_whole = |run: &&(String, String)| {
        let own = || rows.iter().filter(|row| of_run(row) == **run);
        own().filter(|row| row.variant).any(|variant| {
            let mut figures = own().filter(|row| row.variant && row.scheme == variant.scheme);
            figures.all(is_inside)
        })
    };
    (runs.len(), runs.iter().filter(is_whole).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(group: &str, expected: f64, agrees: bool) -> ComparedFigure {
        ComparedFigure {
            peer: "ns-3".into(),
            group: group.into(),
            scheme: "cubic".into(),
            variant: false,
            figure: "mean delay, ms".into(),
            expected,
            measured: Some(expected),
            interval: None,
            bound: "10 %".into(),
            changed: false,
            agrees_as_stated: Some(agrees),
            agrees: Some(agrees),
            reason: String::new(),
        }
    }

    #[test]
    fn windows_and_equal_figures_are_one_run() {
        let windows = [row("a, 0 to 60 s", 1.0, true), row("a, 10 to 60 s", 2.0, false)];
        assert_eq!(IndependentRuns::of(&windows), IndependentRuns { runs: 1, inside: 0 });
        let equal = [row("fq", 1.0, true), row("codel", 1.0, true), row("pie", 2.0, true)];
        assert_eq!(IndependentRuns::of(&equal), IndependentRuns { runs: 2, inside: 2 });
        let variant = ComparedFigure { variant: true, ..row("other", 3.0, false) };
        let with_variant = [row("fq", 1.0, true), variant];
        assert_eq!(IndependentRuns::of(&with_variant), IndependentRuns { runs: 1, inside: 1 });
    }

    #[test]
    fn a_window_is_two_times_at_the_end() {
        assert_eq!(without_window("cubic, RTT 40 ms, 20.5 to 50 s"), "cubic, RTT 40 ms");
        assert_eq!(without_window("cubic, RTT 40 to 370 ms"), "cubic, RTT 40 to 370 ms");
        assert_eq!(without_window("802.11b at 1 Mbit/s, 2 up"), "802.11b at 1 Mbit/s, 2 up");
    }
}
