//! Throughput over delay for a set of runs.

use crate::figure::Figure;
use crate::number::{short, usable};
use crate::palette::Palette;
use crate::region::Region;
use crate::run::{RunPoint, RunView, RunsView, distinct};
use crate::scatter::{Dot, Marker, Scatter};
use crate::style::Paint;

/// Returns the marker of a scheme: one run, or the mean of several.
fn large(paint: Paint) -> Marker {
    Marker { shape: paint.shape, filled: true, radius: 6.5 }
}

/// Returns the marker of one of several runs.
fn small(paint: Paint) -> Marker {
    Marker { shape: paint.shape, filled: false, radius: 3.6 }
}

/// Returns throughput over the 95th percentile of the queueing delay, as an SVG file: up and right
/// is better. Runs over one trace are shown in Mbit/s. Over several traces, each scheme has a
/// filled marker at its mean (utilisation and delay), and a small hollow one for each trace. If no
/// packet came over a trace, that trace counts in the utilisation, but not in the delay; then the
/// scheme's label says how many traces the delay has, and the Pareto front leaves the scheme out.
pub fn scatter_svg(runs: &[RunView]) -> String {
    let palette = Palette::new(runs.iter().map(|run| run.scheme.as_str()));
    scatter(runs, &palette).to_svg()
}

/// Returns this plot as a figure, with the colours of a larger set of schemes.
pub fn scatter_figure(runs: &[RunView], palette: &Palette) -> Figure {
    scatter(runs, palette).figure()
}

/// Returns this plot.
pub(crate) fn scatter(runs: &[RunView], palette: &Palette) -> Scatter {
    let traces = distinct(runs, |run| &run.trace);
    if traces.len() > 1 { over_traces(runs, &traces, palette) } else { over_one(runs, palette) }
}

fn over_one(runs: &[RunView], palette: &Palette) -> Scatter {
    let dots = runs.iter().map(|run| {
        let paint = palette.paint(&run.scheme);
        Dot {
            x: run.queue_delay_ms.p95,
            y: run.throughput_mbps,
            label: run.scheme.clone(),
            tooltip: tooltip(run),
            paint,
            marker: large(paint),
            counts: !run.bound,
            tie: None,
        }
    });
    let trace = runs.first().map_or("", |run| run.trace.as_str());
    let point = |run: &RunPoint| (run.p95_ms, run.throughput_mbps);
    let regions = runs.iter().filter_map(|view| {
        let runs = view.runs.as_ref()?;
        Some(Region {
            median: (view.queue_delay_ms.p95, view.throughput_mbps),
            runs: runs.points.iter().map(point).collect(),
            paint: palette.paint(&view.scheme),
            tooltip: region_tooltip(&view.scheme, runs.points.len()),
        })
    });
    Scatter {
        label: format!("Throughput over queueing delay: {trace}"),
        x_title: "95th-percentile queueing delay (ms)".into(),
        y_title: "Throughput (Mbit/s)".into(),
        dots: dots.collect(),
        regions: regions.collect(),
        ..Scatter::default()
    }
}

fn over_traces(runs: &[RunView], traces: &[&str], palette: &Palette) -> Scatter {
    let (mut singles, mut means) = (Vec::new(), Vec::new());
    let mut regions = Vec::new();
    let is_sweep = runs.iter().any(|run| run.setting.is_some());
    let (one, several) = if is_sweep { ("setting", "settings") } else { ("trace", "traces") };
    // Traces on which no scheme has a delay are no difference between schemes.
    let is_measured = |run: &RunView| usable(run.queue_delay_ms.p95) && usable(run.utilization);
    let has_delay = |trace: &&&str| runs.iter().any(|run| run.trace == **trace && is_measured(run));
    let all = traces.iter().filter(has_delay).count();
    for (scheme, paint) in palette.iter() {
        let own: Vec<&RunView> = runs.iter().filter(|run| run.scheme == scheme).collect();
        let good: Vec<&RunView> = own.iter().copied().filter(|run| is_measured(run)).collect();
        if good.is_empty() {
            continue;
        }
        let mean = |runs: &[&RunView], of: fn(&RunView) -> f64| {
            let values = runs.iter().map(|run| of(run)).filter(|value| usable(*value));
            paceline_measure::mean(values).unwrap_or(f64::NAN)
        };
        let x = mean(&good, |run| run.queue_delay_ms.p95);
        let y = mean(&own, |run| 100.0 * run.utilization);
        let is_whole = good.len() == all;
        singles.extend(good.iter().map(|run| Dot {
            x: run.queue_delay_ms.p95,
            y: 100.0 * run.utilization,
            label: String::new(),
            tooltip: tooltip(run),
            paint,
            marker: small(paint),
            counts: false,
            tie: Some((x, y)),
        }));
        let runs = means_by_run(&good);
        if !runs.is_empty() && is_whole {
            let tooltip = region_tooltip(scheme, runs.len());
            regions.push(Region { median: (x, y), runs, paint, tooltip });
        }
        let count = good.len();
        let note = if is_whole { String::new() } else { format!(" ({count} of {all} {several})") };
        let used = own.iter().filter(|run| usable(run.utilization)).count();
        let tooltip = format!(
            "{scheme}, mean over {used} {}: {} % used, p95 {} ms{note}",
            if used == 1 { one } else { several },
            short(y),
            short(x)
        );
        let label = format!("{scheme}{note}");
        let counts = is_whole && good.iter().all(|run| !run.bound);
        means.push(Dot { x, y, label, tooltip, paint, marker: large(paint), counts, tie: None });
    }
    singles.extend(means);
    let over = match all == traces.len() {
        true => several.to_owned(),
        false => format!("{all} of {} {several}", traces.len()),
    };
    let legend = vec![
        (large(Paint::MUTED), format!("mean over {over}")),
        (small(Paint::MUTED), format!("one {one}")),
    ];
    Scatter {
        label: format!("Utilisation over queueing delay, {} {several}", traces.len()),
        x_title: "95th-percentile queueing delay (ms)".into(),
        y_title: "Utilisation (%)".into(),
        y_most: Some(100.0),
        dots: singles,
        regions,
        legend,
        ..Scatter::default()
    }
}

/// Returns each run's means over the traces: delay and utilisation; empty unless all views have the
/// same runs.
fn means_by_run(views: &[&RunView]) -> Vec<(f64, f64)> {
    let runs: Option<Vec<&RunsView>> = views.iter().map(|view| view.runs.as_ref()).collect();
    let Some(runs) = runs.filter(|runs| !runs.is_empty()) else { return Vec::new() };
    let count = runs.iter().map(|runs| runs.points.len()).min().unwrap_or(0);
    let mean = |at: usize, of: fn(&RunPoint) -> f64| {
        runs.iter().map(|runs| of(&runs.points[at])).sum::<f64>() / runs.len() as f64
    };
    (0..count)
        .map(|at| (mean(at, |run| run.p95_ms), mean(at, |run| 100.0 * run.utilization)))
        .collect()
}

fn region_tooltip(scheme: &str, runs: usize) -> String {
    format!("{scheme}: {runs} runs, and the region of the 90 % nearest to their median")
}

fn tooltip(run: &RunView) -> String {
    format!(
        "{} over {}: {} Mbit/s, {} % used, queueing delay mean {} ms, p95 {} ms",
        run.scheme,
        run.trace,
        short(run.throughput_mbps),
        short(100.0 * run.utilization),
        short(run.queue_delay_ms.mean),
        short(run.queue_delay_ms.p95)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, broken_run, run};

    #[test]
    fn one_trace_in_mbps_several_in_percent() {
        let one = scatter_svg(&[run("lte", "abc", 40.0), run("lte", "cubic", 800.0)]);
        let two = scatter_svg(&[run("lte", "abc", 40.0), run("5g", "abc", 60.0)]);
        assert_sound(&one);
        assert_sound(&two);
        assert!(one.contains("Throughput (Mbit/s)") && two.contains("Utilisation (%)"));
        assert!(two.contains("mean over 2 traces: 83 % used, p95 50 ms"));
    }

    #[test]
    fn a_trace_without_packets_lowers_the_mean() {
        // Nothing came over the trace `slow`: the link was not used, and there is no delay.
        let mut none = run("slow", "abc", f64::NAN);
        none.utilization = 0.0;
        let whole = [run("lte", "cubic", 60.0), run("slow", "cubic", 80.0)];
        let runs = [vec![run("lte", "abc", 40.0), none], whole.to_vec()].concat();
        let palette = Palette::new(["abc", "cubic"]);
        let plot = scatter(&runs, &palette);
        let mean = |label: &str| plot.dots.iter().find(|dot| dot.label == label).expect("a mean");
        let (abc, cubic) = (mean("abc (1 of 2 traces)"), mean("cubic"));
        assert_eq!((abc.x, abc.y, abc.counts), (40.0, 41.5, false));
        assert!(cubic.counts && (cubic.y - 83.0).abs() < 1e-9);
        let svg = scatter_svg(&runs);
        assert!(svg.contains("mean over 2 traces: 41.5 % used, p95 40 ms (1 of 2 traces)"));
        // The bars of these runs have the same mean, and none of the delay.
        let bars = crate::summary::bars_svg(&runs);
        assert!(bars.contains("abc, mean: 41.5 %") && bars.contains("cubic, mean: 70 ms"));
        assert!(!bars.contains("abc, mean: 40 ms"), "the mean of one trace of two");
        // A link that offered nothing has no utilization.
        let mut runs = runs;
        runs[1].utilization = f64::NAN;
        let svg = scatter_svg(&runs);
        assert!(svg.contains("mean over 1 trace: 83 % used, p95 40 ms (1 of 2 traces)"), "{svg}");
        assert!(!crate::summary::bars_svg(&runs).contains("abc, mean: "));
        // A trace on which no scheme has a delay is no difference between them.
        runs[3].queue_delay_ms.p95 = f64::NAN;
        let plot = scatter(&runs, &palette);
        let counts = plot.dots.iter().filter(|dot| dot.counts).map(|dot| dot.label.as_str());
        assert_eq!(counts.collect::<Vec<_>>(), ["abc", "cubic"]);
        assert!(scatter_svg(&runs).contains(">mean over 1 of 2 traces<"));
        assert!(crate::summary::bars_svg(&runs).contains("abc, mean: 40 ms"));
    }

    #[test]
    fn the_legend_is_whole_in_a_column_of_a_paper() {
        let runs = [run("lte", "abc", 40.0), run("5g", "abc", 60.0)];
        let plot = scatter(&runs, &Palette::new(["abc"]));
        let layout = crate::Layout { width: 252.0, ..crate::Layout::default() };
        let svg = plot.figure_in(&layout).to_svg();
        assert_sound(&svg);
        assert!(
            svg.contains("mean over traces") && svg.contains("one trace") && !svg.contains('…')
        );
    }

    #[test]
    fn bad_data_is_left_out() {
        assert!(scatter_svg(&[]).contains("no data"));
        assert_sound(&scatter_svg(&[broken_run()]));
        assert_sound(&scatter_svg(&[broken_run(), run("lte", "abc", 40.0)]));
        let many: Vec<RunView> = (0..9).map(|i| run(&format!("t{i}"), "abc", 9.0)).collect();
        assert!(scatter_svg(&many).contains("one trace"));
    }
}
