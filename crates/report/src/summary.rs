//! Figures of the runs: bars over traces, and the summary table.

use crate::bars::{BarPanel, Bars};
use crate::figure::Figure;
use crate::number::usable;
use crate::palette::Palette;
use crate::run::{RunView, TableFigure, distinct};
use crate::table::{Cell, Table};
use crate::timeline::differ_much;

/// Returns utilisation and 95th-percentile queueing delay as bars, grouped by trace, as an SVG
/// file. With several traces a last group has the means, each of those schemes that have the value
/// on every trace.
pub fn bars_svg(runs: &[RunView]) -> String {
    let palette = Palette::new(runs.iter().map(|run| run.scheme.as_str()));
    bars_figure(runs, &palette).to_svg()
}

/// Returns these bars as a figure, with the colours of a larger set of schemes.
pub fn bars_figure(runs: &[RunView], palette: &Palette) -> Figure {
    bars(runs, palette).figure()
}

/// Returns these bars.
pub(crate) fn bars(runs: &[RunView], palette: &Palette) -> Bars {
    let traces = distinct(runs, |run| &run.trace);
    let schemes = distinct(runs, |run| &run.scheme);
    let grid = |of: &dyn Fn(&RunView) -> f64| {
        let find = |trace: &str, scheme: &str| {
            runs.iter().find(|run| run.trace == trace && run.scheme == scheme).map_or(f64::NAN, of)
        };
        let row = |trace: &&str| schemes.iter().map(|scheme| find(trace, scheme)).collect();
        let mut rows: Vec<Vec<f64>> = traces.iter().map(row).collect();
        if traces.len() > 1 {
            // Rows without any value are no difference between schemes.
            let measured = rows.iter().filter(|row| row.iter().any(|value| usable(*value)));
            let mean = |column| mean(measured.clone().map(|row: &Vec<f64>| row[column]));
            let means = (0..schemes.len()).map(mean).collect();
            rows.push(means);
        }
        rows
    };
    let mut groups: Vec<String> = traces.iter().map(|trace| (*trace).to_owned()).collect();
    if traces.len() > 1 {
        groups.push("mean".into());
    }
    let log = differ_much(runs);
    let panels = vec![
        BarPanel {
            title: "Utilisation (%)".into(),
            unit: "%".into(),
            log: false,
            values: grid(&|run| 100.0 * run.utilization),
        },
        BarPanel {
            title: if log { "p95 delay (ms, log)" } else { "p95 delay (ms)" }.into(),
            unit: "ms".into(),
            log,
            values: grid(&|run| run.queue_delay_ms.p95),
        },
    ];
    let bars = schemes.iter().map(|name| ((*name).to_owned(), palette.paint(name))).collect();
    let label = "Utilisation and 95th-percentile queueing delay by trace".into();
    Bars { label, groups, bars, panels }
}

/// Returns the mean of the values; NaN if one of them cannot be drawn, since a mean over fewer traces
/// does not stand beside those over all.
fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let is_whole = values.clone().all(usable);
    paceline_measure::mean(values).filter(|_| is_whole).unwrap_or(f64::NAN)
}

/// Returns the table of all runs. Leaves out columns for which no run has a value.
pub fn summary_table(runs: &[RunView], palette: &Palette) -> Table {
    table_of(runs, palette, ["trace", "scheme"])
}

/// Returns this table with other headings for views' traces and schemes: links and their queues.
pub fn table_of(runs: &[RunView], palette: &Palette, names: [&str; 2]) -> Table {
    let figures: Vec<Vec<TableFigure>> = runs.iter().map(figures).collect();
    let mut used: Vec<&TableFigure> = Vec::new();
    for figure in figures.iter().flatten() {
        if figure.value.is_finite() && !used.iter().any(|head| head.heading == figure.heading) {
            used.push(figure);
        }
    }
    let heads = used.iter().map(|head| (head.heading.clone(), head.explanation.clone()));
    let is_sweep = runs.iter().any(|run| run.setting.is_some());
    let settings: &[&str] = if is_sweep { &["RTT ms", "buffer"] } else { &[] };
    let [trace, scheme] = names;
    let names = [trace].into_iter().chain(settings.iter().copied()).chain([scheme]);
    let columns = names.map(|name| (name.to_owned(), String::new())).chain(heads);
    let row = |(run, figures): (&RunView, &Vec<TableFigure>)| {
        let link = match &run.setting {
            None if is_sweep => vec![Cell::text(&run.trace), Cell::text(""), Cell::text("")],
            None => vec![Cell::text(&run.trace)],
            Some(setting) => {
                let decimals = usize::from(setting.rtt_ms.fract() != 0.0);
                let rtt = Cell::number(setting.rtt_ms, decimals);
                vec![Cell::text(&setting.trace), rtt, Cell::text(&setting.buffer)]
            }
        };
        let scheme = Cell::text(&run.scheme).with_look(palette.paint(&run.scheme));
        let numbers = used.iter().map(|head| {
            let found = figures.iter().find(|one| one.heading == head.heading);
            found.map_or_else(|| Cell::number(f64::NAN, head.decimals), TableFigure::cell)
        });
        link.into_iter().chain([scheme]).chain(numbers).collect()
    };
    Table { columns: columns.collect(), rows: runs.iter().zip(&figures).map(row).collect() }
}

/// The figures of a row: those of the charts, then those that the view adds.
fn figures(view: &RunView) -> Vec<TableFigure> {
    let (delay, runs) = (view.queue_delay_ms, view.runs.as_ref());
    let used = 100.0 * view.utilization;
    let percent = |range: [f64; 2]| range.map(|share| 100.0 * share);
    let of_charts = [
        ("Mbit/s", "throughput of all flows together, in Mbit/s", view.throughput_mbps, 2),
        ("used %", "throughput over capacity", used, 1),
        ("mean ms", "queueing delay in ms: mean", delay.mean, 1),
        ("p50 ms", "queueing delay in ms: median", delay.p50, 1),
        ("p95 ms", "queueing delay in ms: 95th percentile", delay.p95, 1),
        ("p99 ms", "queueing delay in ms: 99th percentile", delay.p99, 1),
        ("max ms", "queueing delay in ms: largest", delay.max, 1),
    ];
    let with_range = |(heading, explanation, value, decimals)| {
        let range = match heading {
            "Mbit/s" => runs.map(|runs| runs.throughput_mbps),
            "used %" => runs.map(|runs| percent(runs.utilization)),
            "p95 ms" => runs.map(|runs| runs.p95_ms),
            _ => None,
        };
        TableFigure::new(heading, explanation, value, decimals).with_range(range)
    };
    of_charts.map(with_range).into_iter().chain(view.figures.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, broken_run, run};
    use crate::run::Quantiles;

    #[test]
    fn several_traces_get_a_mean() {
        let runs = [run("lte", "abc", 40.0), run("5g", "abc", 60.0), run("5g", "cubic", 600.0)];
        let svg = bars_svg(&runs);
        assert_sound(&svg);
        // A scheme that lacks a trace has no mean.
        assert!(svg.contains("abc, mean: 50 ms") && !svg.contains("cubic, mean"));
        assert!(!bars_svg(&runs[..1]).contains("mean:"));
        assert!(bars_svg(&[]).contains("no data"));
        assert_sound(&bars_svg(&[broken_run()]));
    }

    #[test]
    fn the_table_has_only_columns_with_values() {
        let palette = Palette::default();
        let table = summary_table(&[run("lte", "abc", 40.0)], &palette);
        assert!(!table.columns.iter().any(|(name, _)| name == "Jain"));
        let jain = TableFigure::new("Jain", "fairness index", 0.9, 3);
        let several = RunView { figures: vec![jain], ..run("lte", "abc", 40.0) };
        // Each run finds its figures by their headings, in whatever order the others have theirs.
        let table = summary_table(&[run("lte", "cubic", 80.0), several, broken_run()], &palette);
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[names.len() - 2..], ["resent", "Jain"]);
        assert_eq!(table.rows[0].last(), Some(&Cell::number(f64::NAN, 3)));
        assert_eq!(table.rows[1].last(), Some(&Cell::number(0.9, 3)));
        // A contest knows only the 95th percentile.
        let none = f64::NAN;
        let only_p95 = Quantiles { mean: none, p50: none, p95: 3.0, p99: none, max: none };
        let one = RunView { queue_delay_ms: only_p95, ..run("lte", "abc", 40.0) };
        let table = summary_table(&[one], &palette);
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"p95 ms") && !names.contains(&"mean ms"), "{names:?}");
        let table = summary_table(&[broken_run()], &palette);
        assert_sound(&table.to_html());
    }
}
