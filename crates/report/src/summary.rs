//! Figures of the runs: bars over traces, and the summary table.

use crate::bars::{BarPanel, Bars};
use crate::figure::Figure;
use crate::number::usable;
use crate::palette::Palette;
use crate::run::{RunView, distinct};
use crate::table::{Cell, Table};
use crate::timeline::differ_much;

/// Returns utilisation and 95th-percentile queueing delay as bars, grouped by trace, as an SVG
/// file. With several traces a last group has the means.
pub fn bars_svg(runs: &[RunView]) -> String {
    let palette = Palette::new(runs.iter().map(|run| run.scheme.as_str()));
    bars_figure(runs, &palette).to_svg()
}

/// Returns these bars as a figure, with the colours of a larger set of schemes.
pub fn bars_figure(runs: &[RunView], palette: &Palette) -> Figure {
    let traces = distinct(runs, |run| &run.trace);
    let schemes = distinct(runs, |run| &run.scheme);
    let grid = |of: &dyn Fn(&RunView) -> f64| {
        let find = |trace: &str, scheme: &str| {
            runs.iter().find(|run| run.trace == trace && run.scheme == scheme).map_or(f64::NAN, of)
        };
        let row = |trace: &&str| schemes.iter().map(|scheme| find(trace, scheme)).collect();
        let mut rows: Vec<Vec<f64>> = traces.iter().map(row).collect();
        if traces.len() > 1 {
            let mean = |column| mean(rows.iter().filter_map(|row| row.get(column)).copied());
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
    Bars { label, groups, bars, panels }.figure()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let good: Vec<f64> = values.filter(|&v| usable(v)).collect();
    if good.is_empty() { f64::NAN } else { good.iter().sum::<f64>() / good.len() as f64 }
}

/// Returns the table of all runs. Leaves out columns for which no run has a value.
pub fn summary_table(runs: &[RunView], palette: &Palette) -> Table {
    table_of(runs, palette, ["trace", "scheme"])
}

/// Returns this table with other headings for views' traces and schemes: links and their queues.
pub fn table_of(runs: &[RunView], palette: &Palette, names: [&str; 2]) -> Table {
    type Column = (&'static str, &'static str, fn(&RunView) -> Option<f64>, usize);
    // Ranges exist for these columns if there are several runs.
    let range = |head: &str, view: &RunView| -> Option<[f64; 2]> {
        let runs = view.runs.as_ref()?;
        match head {
            "Mbit/s" => Some(runs.throughput_mbps),
            "used %" => Some(runs.utilization.map(|share| 100.0 * share)),
            "p95 ms" => Some(runs.p95_ms),
            _ => None,
        }
    };
    const COLUMNS: [Column; 10] = [
        ("Mbit/s", "throughput of all flows together, in Mbit/s", |r| Some(r.throughput_mbps), 2),
        ("used %", "throughput over capacity", |r| Some(100.0 * r.utilization), 1),
        ("mean ms", "queueing delay in ms: mean", |r| Some(r.queue_delay_ms.mean), 1),
        ("p50 ms", "queueing delay in ms: median", |r| Some(r.queue_delay_ms.p50), 1),
        ("p95 ms", "queueing delay in ms: 95th percentile", |r| Some(r.queue_delay_ms.p95), 1),
        ("p99 ms", "queueing delay in ms: 99th percentile", |r| Some(r.queue_delay_ms.p99), 1),
        ("max ms", "queueing delay in ms: largest", |r| Some(r.queue_delay_ms.max), 1),
        ("loss %", "packets lost", |r| r.loss.map(|part| 100.0 * part), 2),
        ("resent", "packets sent again", |r| r.retransmits.map(|count| count as f64), 0),
        ("Jain", "Jain's fairness index over the flows", |r| r.jain, 3),
    ];
    let told = |column: &&Column| runs.iter().any(|run| column.2(run).is_some_and(f64::is_finite));
    let used: Vec<&Column> = COLUMNS.iter().filter(told).collect();
    let heads = names.map(|name| (name, "")).into_iter().chain(used.iter().map(|c| (c.0, c.1)));
    let columns = heads.map(|(name, hint)| (name.to_owned(), hint.to_owned())).collect();
    let row = |run: &RunView| {
        let scheme = Cell::text(&run.scheme).with_look(palette.paint(&run.scheme));
        let numbers = used.iter().map(|column| {
            let number = Cell::maybe(column.2(run), column.3);
            match range(column.0, run) {
                Some([low, high]) if low < high => number.with_range(low, high, column.3),
                _ => number,
            }
        });
        [Cell::text(&run.trace), scheme].into_iter().chain(numbers).collect()
    };
    Table { columns, rows: runs.iter().map(row).collect() }
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
        assert!(svg.contains("abc, mean: 50 ms") && svg.contains("cubic, mean: 600 ms"));
        assert!(!bars_svg(&runs[..1]).contains("mean:"));
        assert!(bars_svg(&[]).contains("no data"));
        assert_sound(&bars_svg(&[broken_run()]));
    }

    #[test]
    fn the_table_has_only_columns_with_values() {
        let palette = Palette::default();
        let table = summary_table(&[run("lte", "abc", 40.0)], &palette);
        assert!(!table.columns.iter().any(|(name, _)| name == "Jain"));
        let several = RunView { jain: Some(0.9), ..run("lte", "abc", 40.0) };
        let table = summary_table(&[several, broken_run()], &palette);
        assert!(table.columns.iter().any(|(name, _)| name == "Jain"));
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
