//! The runs over one trace as time series: capacity and throughput per scheme, and delays below.

use crate::chart::{Chart, Panel};
use crate::figure::Figure;
use crate::layout::Layout;
use crate::number::{short, usable};
use crate::palette::Palette;
use crate::run::{Band, RunView, TimeSeries};
use crate::series::{Fold, Series, Shade};
use crate::style::Paint;

/// Most schemes in one panel.
pub(crate) const TOGETHER: usize = 5;

/// Returns time series of the runs over one trace, as an SVG file: one row per scheme with the
/// capacity shaded and the throughput as a line, then the queueing delays of all schemes on a
/// shared axis (logarithmic if they differ by more than a factor of eight), then the windows, if they are
/// known.
pub fn time_series_svg(runs: &[RunView]) -> String {
    let palette = Palette::new(runs.iter().map(|run| run.scheme.as_str()));
    time_series_figure(runs, &palette).to_svg()
}

/// Returns these time series as a figure, with the colours of a larger set of schemes.
pub fn time_series_figure(runs: &[RunView], palette: &Palette) -> Figure {
    time_series(runs, palette).figure()
}

/// Returns these time series as a chart.
pub(crate) fn time_series(runs: &[RunView], palette: &Palette) -> Chart {
    let trace = runs.first().map_or("", |run| run.trace.as_str());
    // Several panels share one title; a single panel must have room for it.
    let height = if runs.len() > 1 { 84.0 } else { 130.0 };
    let panel = |run| throughput(run, palette, height);
    let mut panels: Vec<Panel> = runs.iter().map(panel).collect();
    let log = differ_much(runs);
    let title = if log { "Queueing delay (ms, log)" } else { "Queueing delay (ms)" };
    panels.extend(overlays(runs, palette, title, log, |run| Overlay {
        quantity: ("delay", "ms", Fold::Max),
        values: Some(&run.series.queue_delay_ms),
        band: run.runs.as_ref().map(|runs| &runs.queue_delay_band),
        note: format!("p95 {} ms", short(run.queue_delay_ms.p95)),
    }));
    if runs.iter().any(|run| run.series.window_packets.is_some()) {
        panels.extend(overlays(runs, palette, "Window (packets)", false, |run| Overlay {
            quantity: ("window", "packets", Fold::Mean),
            values: run.series.window_packets.as_ref(),
            band: None,
            note: String::new(),
        }));
    }
    let label = format!("Capacity, throughput and queueing delay over time: {trace}");
    Chart { label, panels }
}

fn throughput(run: &RunView, palette: &Palette, height: f64) -> Panel {
    let TimeSeries { bin_s, capacity_mbps, throughput_mbps, .. } = &run.series;
    let paint = palette.paint(&run.scheme);
    let capacity = Series {
        name: "capacity".into(),
        quantity: "throughput".into(),
        unit: "Mbit/s".into(),
        bin_s: *bin_s,
        values: capacity_mbps.clone(),
        paint: Paint::AREA,
        shade: Shade::Area,
        fold: Fold::Mean,
        label: vec![],
    };
    let line = Series {
        name: run.scheme.clone(),
        values: throughput_mbps.clone(),
        paint,
        shade: Shade::Line,
        label: in_parts(&run.scheme)
            .into_iter()
            .chain([
                format!("{} Mbit/s", short(run.throughput_mbps)),
                format!("{} % used", short(100.0 * run.utilization)),
            ])
            .collect(),
        ..capacity.clone()
    };
    let band = run.runs.as_ref().map(|runs| band(&line, &runs.throughput_band));
    let series = [capacity, line].into_iter().chain(band).collect();
    Panel { title: "Throughput (Mbit/s)".into(), height, log: false, series }
}

/// Returns the band of 90 % of the runs around the line of their medians.
fn band(line: &Series, [lower, upper]: &Band) -> Series {
    Series {
        quantity: format!("{} of 90 % of the runs", line.quantity),
        values: lower.clone(),
        shade: Shade::Band(upper.clone()),
        label: vec![],
        ..line.clone()
    }
}

/// Splits a long scheme into two lines: name and parameters.
fn in_parts(scheme: &str) -> Vec<String> {
    match scheme.find('[') {
        Some(at) if scheme.len() > 24 => vec![scheme[..at].to_owned(), scheme[at..].to_owned()],
        _ => vec![scheme.to_owned()],
    }
}

/// The series of a panel with several schemes.
struct Overlay<'a> {
    /// Name, unit, and way to merge bins.
    quantity: (&'static str, &'static str, Fold),
    values: Option<&'a Vec<f64>>,
    band: Option<&'a Band>,
    /// Text beside the scheme's name; may be empty.
    note: String,
}

/// Returns panels with the lines of several schemes: as few panels as are readable.
fn overlays<'a>(
    runs: &'a [RunView],
    palette: &Palette,
    title: &str,
    log: bool,
    pick: impl Fn(&'a RunView) -> Overlay<'a>,
) -> Vec<Panel> {
    let count = runs.len().div_ceil(TOGETHER).max(1);
    let share = runs.len().div_ceil(count).max(1);
    let panel = |runs: &'a [RunView]| {
        let series = runs.iter().flat_map(|run| {
            let Overlay { quantity: (quantity, unit, fold), values, band: around, note } =
                pick(run);
            let label = [run.scheme.clone(), note].into_iter().filter(|text| !text.is_empty());
            let line = Series {
                name: run.scheme.clone(),
                quantity: quantity.into(),
                unit: unit.into(),
                bin_s: run.series.bin_s,
                values: values.cloned().unwrap_or_default(),
                paint: palette.paint(&run.scheme),
                shade: Shade::Line,
                fold,
                label: label.collect(),
            };
            let band = around.map(|around| band(&line, around));
            [line].into_iter().chain(band)
        });
        let height = if share > 2 { 170.0 } else { 130.0 };
        Panel { title: title.into(), height, log, series: series.collect() }
    };
    runs.chunks(share).map(panel).collect()
}

/// True if the schemes' delays differ by more than a factor of eight.
pub(crate) fn differ_much(runs: &[RunView]) -> bool {
    let delays = || runs.iter().map(|run| run.queue_delay_ms.p95).filter(|&d| usable(d) && d > 0.0);
    let lo = delays().fold(f64::INFINITY, f64::min);
    let hi = delays().fold(0.0, f64::max);
    hi > 8.0 * lo
}

/// Returns the capacity of a link over time, in bins of `bin_s` seconds, as an SVG file.
pub fn capacity_svg(name: &str, bin_s: f64, mbps: Vec<f64>) -> String {
    capacity(name, bin_s, mbps).to_svg()
}

/// Returns the figure of a link's capacity over time for a file; `mbps` has a value for each bin of
/// `bin_s` seconds.
pub fn capacity_figure(name: &str, bin_s: f64, mbps: Vec<f64>, layout: &Layout) -> Figure {
    capacity(name, bin_s, mbps).figure_in(layout)
}

fn capacity(name: &str, bin_s: f64, mbps: Vec<f64>) -> Chart {
    let capacity = Series {
        name: "capacity".into(),
        quantity: "capacity".into(),
        unit: "Mbit/s".into(),
        bin_s,
        values: mbps,
        paint: Paint::AREA,
        shade: Shade::Area,
        fold: Fold::Mean,
        label: vec![name.to_string()],
    };
    let panel = Panel {
        title: "Capacity (Mbit/s)".into(),
        height: 260.0,
        log: false,
        series: vec![capacity],
    };
    Chart { label: format!("Capacity of {name} over time"), panels: vec![panel] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, broken_run, run};

    #[test]
    fn one_row_per_scheme() {
        let svg = time_series_svg(&[run("lte", "abc", 40.0), run("lte", "cubic", 800.0)]);
        assert_sound(&svg);
        assert!(svg.contains("Throughput (Mbit/s)") && svg.contains("Queueing delay (ms, log)"));
        assert!(svg.contains(">abc<") && svg.contains(">cubic<") && svg.contains("p95 800 ms"));
        assert!(svg.contains("Window (packets)"));
    }

    #[test]
    fn the_name_of_a_capacity_is_dark() {
        let svg = capacity_svg("lte", 0.1, vec![1.0, 2.0, 3.0]);
        let label = svg.rsplit_once(">lte</text>").map_or("", |(before, _)| before);
        let label = label.rsplit_once("<text").map_or("", |(_, text)| text);
        assert!(label.contains("class=\"f-ink\""), "{label}");
    }

    #[test]
    fn many_schemes_share_panels() {
        let runs: Vec<RunView> =
            (0..12).map(|i| run("lte", &format!("s{i}"), 50.0 + i as f64)).collect();
        assert_sound(&time_series_svg(&runs));
        assert_eq!(
            overlays(&runs, &Palette::default(), "t", false, |_| Overlay {
                quantity: ("", "", Fold::Max),
                values: None,
                band: None,
                note: String::new(),
            })
            .len(),
            3
        );
    }

    #[test]
    fn bad_data_is_left_out() {
        assert!(time_series_svg(&[]).contains("no data"));
        assert!(time_series_svg(&[RunView::default()]).contains("no data"));
        assert_sound(&time_series_svg(&[]));
        assert_sound(&time_series_svg(&[broken_run(), run("lte", "abc", 40.0)]));
        assert_sound(&time_series_svg(&[broken_run()]));
    }

    #[test]
    fn the_same_input_gives_the_same_output() {
        let runs = [run("lte", "abc", 40.0), run("lte", "cubic", 800.0)];
        assert_eq!(time_series_svg(&runs), time_series_svg(&runs));
    }
}
