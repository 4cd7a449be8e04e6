//! A sweep: utilisation and delay of each scheme over round-trip times or buffers, as small multiples.

use crate::axis;
use crate::figure::Figure;
use crate::label::{Rect, fitted, text_width};
use crate::layout::Layout;
use crate::markup::Markup;
use crate::number::{coordinate, short, usable};
use crate::palette::Palette;
use crate::run::{RunSetting, RunView};
use crate::scale::Scale;
use crate::scatter::{Marker, marker};
use crate::style::Paint;
use crate::timeline::differ_much;

const LEFT: f64 = 66.0;
const RIGHT: f64 = 20.0;
/// Height of a panel on a page.
const PANEL: f64 = 140.0;
/// Space between the two panels of a multiple, and between columns of multiples.
const GAP: f64 = 16.0;
/// Height above a multiple, for its name.
const HEAD: f64 = 20.0;
/// Height below a multiple, for the axis and its title.
const FOOT: f64 = 48.0;
/// Least width of a multiple.
const LEAST_WIDTH: f64 = 150.0;
/// Horizontal distance between the schemes' points at one value, so that their ranges stay apart.
const APART: f64 = 3.0;

/// What the horizontal axis has: the other quantity and the traces are small multiples.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Rtt,
    Buffer,
}

/// A small multiple: its name, and the runs that it shows.
struct Multiple<'a> {
    name: String,
    runs: Vec<(&'a RunView, &'a RunSetting)>,
}

/// A sweep as small multiples that share their axes.
pub(crate) struct Sweep<'a> {
    over: Over,
    /// Values of the horizontal axis, in order.
    values: Vec<&'a str>,
    multiples: Vec<Multiple<'a>>,
    palette: &'a Palette,
    is_log: bool,
}

/// Returns the values of a key, each once, in order of appearance.
fn distinct<'a>(
    runs: &[(&'a RunView, &'a RunSetting)],
    key: impl Fn(&'a RunSetting) -> &'a str,
) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for &(_, setting) in runs {
        let value = key(setting);
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// Returns utilisation and 95th-percentile queueing delay over the RTTs, or over the buffers if there is one RTT:
/// a line for each scheme. Traces, and buffers beside several RTTs, are small multiples. `None` without a sweep.
pub fn sweep_figure(runs: &[RunView], palette: &Palette) -> Option<Figure> {
    Some(sweep(runs, palette)?.figure_in(&Layout::default()))
}

/// Returns this plot; `None` if the runs are not of a sweep.
pub(crate) fn sweep<'a>(runs: &'a [RunView], palette: &'a Palette) -> Option<Sweep<'a>> {
    let mut all: Vec<(&RunView, &RunSetting)> =
        runs.iter().filter_map(|run| Some((run, run.setting.as_ref()?))).collect();
    all.first()?;
    // A stable order: equal RTTs keep the order of the command line.
    all.sort_by(|(_, one), (_, other)| one.rtt_ms.total_cmp(&other.rtt_ms));
    let rtts = distinct(&all, |setting| &setting.rtt);
    let buffers = distinct(&all, |setting| &setting.buffer);
    let traces = distinct(&all, |setting| &setting.trace);
    let over = if rtts.len() > 1 { Over::Rtt } else { Over::Buffer };
    let fixed: Vec<Option<&str>> = match over {
        Over::Rtt => buffers.iter().map(|buffer| Some(*buffer)).collect(),
        Over::Buffer => vec![None],
    };
    let mut multiples = Vec::new();
    for trace in &traces {
        for buffer in &fixed {
            let is_shown = |setting: &RunSetting| {
                setting.trace == **trace && buffer.is_none_or(|buffer| setting.buffer == buffer)
            };
            let of_trace = Some(trace.to_string()).filter(|_| traces.len() > 1);
            let of_buffer = buffer.filter(|_| fixed.len() > 1);
            let names = of_trace.into_iter().chain(of_buffer.map(|it| format!("buffer {it}")));
            multiples.push(Multiple {
                name: names.collect::<Vec<_>>().join(", "),
                runs: all.iter().copied().filter(|(_, setting)| is_shown(setting)).collect(),
            });
        }
    }
    let values = if over == Over::Rtt { rtts } else { buffers };
    Some(Sweep { over, values, multiples, palette, is_log: differ_much(runs) })
}

/// A quantity: its title, its value of a run, and its range over several runs.
struct Quantity {
    title: String,
    unit: &'static str,
    value: fn(&RunView) -> f64,
    range: fn(&RunView) -> Option<[f64; 2]>,
}

impl Sweep<'_> {
    fn quantities(&self) -> [Quantity; 2] {
        let delay = if self.is_log { "p95 delay (ms, log)" } else { "p95 delay (ms)" };
        [
            Quantity {
                title: "Utilisation (%)".into(),
                unit: "%",
                value: |run| 100.0 * run.utilization,
                range: |run| Some(run.runs.as_ref()?.utilization.map(|share| 100.0 * share)),
            },
            Quantity {
                title: delay.into(),
                unit: "ms",
                value: |run| run.queue_delay_ms.p95,
                range: |run| Some(run.runs.as_ref()?.p95_ms),
            },
        ]
    }

    fn title(&self) -> &'static str {
        match self.over {
            Over::Rtt => "Round-trip propagation delay",
            Over::Buffer => "Buffer",
        }
    }

    /// Returns the place of a run on the horizontal axis.
    fn place(&self, setting: &RunSetting) -> usize {
        let value = if self.over == Over::Rtt { &setting.rtt } else { &setting.buffer };
        self.values.iter().position(|known| known == value).unwrap_or(0)
    }

    /// Returns the plot as a figure of this layout.
    pub(crate) fn figure_in(&self, layout: &Layout) -> Figure {
        let label = format!("Utilisation and 95th-percentile queueing delay by {}", self.title());
        let width = layout.width;
        let room = width - LEFT - RIGHT;
        let fitting = ((room + GAP) / (LEAST_WIDTH + GAP)).floor().max(1.0) as usize;
        let columns = fitting.min(self.multiples.len()).max(1);
        let rows = self.multiples.len().div_ceil(columns);
        let each = (room - GAP * (columns as f64 - 1.0)) / columns as f64;
        let mut m = Markup::default();
        let top = self.legend(&mut m, width) + 10.0;
        let tall = match layout.height {
            Some(height) => {
                let of_row = (height - top) / rows as f64;
                ((of_row - HEAD - GAP - FOOT) / 2.0).max(24.0)
            }
            None => PANEL,
        };
        let of_row = HEAD + 2.0 * tall + GAP + FOOT;
        for (at, multiple) in self.multiples.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let x = LEFT + (each + GAP) * column as f64;
            let y = top + of_row * row as f64 + HEAD;
            let name = fitted(&multiple.name, 12.0, each);
            axis::write(&mut m, (x + each / 2.0, y - 6.0), "middle", Paint::INK, &name);
            for (number, quantity) in self.quantities().iter().enumerate() {
                let y = y + (tall + GAP) * number as f64;
                let plot = Rect { x, y, w: each, h: tall };
                self.panel(&mut m, multiple, quantity, (plot, column == 0));
                if number == 1 {
                    self.bottom(&mut m, plot);
                }
            }
        }
        Figure::new(width, top + of_row * rows as f64, &label, m)
    }

    /// Draws the legend above the multiples. Returns the y coordinate of its end.
    fn legend(&self, m: &mut Markup, full: f64) -> f64 {
        let (mut x, mut y) = (LEFT, 20.0);
        for (name, paint) in self.palette.iter() {
            let name = fitted(name, 12.0, 220.0);
            let width = text_width(&name, 12.0) + 50.0;
            if x + width > full && x > LEFT {
                (x, y) = (LEFT, y + 18.0);
            }
            path(m, &[(x, y - 4.5), (x + 26.0, y - 4.5)], paint, "");
            marker(m, (x + 13.0, y - 4.5), look(paint), paint, "");
            axis::write(m, (x + 32.0, y), "start", Paint::INK, &name);
            x += width;
        }
        y
    }

    /// Draws one quantity of a multiple. The first column of multiples has the labels of the vertical axis.
    fn panel(
        &self,
        m: &mut Markup,
        multiple: &Multiple<'_>,
        quantity: &Quantity,
        (plot, is_first): (Rect, bool),
    ) {
        let all = self.multiples.iter().flat_map(|multiple| &multiple.runs);
        let values = all.flat_map(|(run, _)| {
            let range = (quantity.range)(run).unwrap_or([f64::NAN; 2]);
            [(quantity.value)(run), range[0], range[1]]
        });
        let bottom = plot.y + plot.h;
        let scale = match self.is_log && quantity.unit == "ms" {
            true => Scale::around_log(values.filter(|value| *value > 0.0), bottom, plot.y),
            false => Scale::from_zero(values, bottom, plot.y, 4),
        };
        if is_first {
            axis::left(m, &scale, plot, 4);
            axis::side_title(m, 15.0, plot.y + plot.h / 2.0, &quantity.title);
        } else {
            for tick in scale.ticks(4) {
                let y = scale.at(tick.value);
                axis::line(m, [plot.x, y, plot.x + plot.w, y], Paint::GRID, 1.0);
            }
        }
        let count = self.palette.iter().count();
        for (at, (scheme, paint)) in self.palette.iter().enumerate() {
            let aside = APART * (at as f64 - (count as f64 - 1.0) / 2.0);
            let aside = aside.clamp(-self.step(plot) / 4.0, self.step(plot) / 4.0);
            let own = multiple.runs.iter().filter(|(run, _)| run.scheme == scheme);
            let points = own.filter(|(run, _)| usable((quantity.value)(run)));
            let mut line = Vec::new();
            for (run, setting) in points {
                let x = self.x(plot, self.place(setting)) + aside;
                let value = (quantity.value)(run);
                let y = scale.at(value);
                let range =
                    (quantity.range)(run).filter(|ends| ends.iter().all(|end| usable(*end)));
                if let Some([low, high]) = range {
                    axis::line(m, [x, scale.at(low), x, scale.at(high)], paint, 1.5);
                }
                line.push((x, y));
                let unit = quantity.unit;
                let tooltip = format!("{scheme}, {}: {} {unit}", run.trace, short(value));
                marker(m, (x, y), look(paint), paint, &tooltip);
            }
            path(m, &line, paint, scheme);
        }
        axis::line(m, [plot.x, bottom, plot.x + plot.w, bottom], Paint::RULE, 1.0);
    }

    /// Returns the distance between two values on the horizontal axis.
    fn step(&self, plot: Rect) -> f64 {
        plot.w / self.values.len().max(1) as f64
    }

    fn x(&self, plot: Rect, place: usize) -> f64 {
        plot.x + self.step(plot) * (place as f64 + 0.5)
    }

    /// Draws the horizontal axis. Leaves out labels that would touch the previous one.
    fn bottom(&self, m: &mut Markup, plot: Rect) {
        let y = plot.y + plot.h;
        let mut free = f64::NEG_INFINITY;
        m.el("g").n("font-size", 11.0).open();
        for (place, value) in self.values.iter().enumerate() {
            let (x, half) = (self.x(plot, place), text_width(value, 11.0) / 2.0 + 2.0);
            axis::line(m, [x, y, x, y + 4.0], Paint::RULE, 1.0);
            if x - half >= free {
                axis::write(m, (x, y + 17.0), "middle", Paint::MUTED, value);
                free = x + half;
            }
        }
        m.close();
        let title = fitted(self.title(), 12.0, plot.w);
        axis::write(m, (plot.x + plot.w / 2.0, y + 36.0), "middle", Paint::INK, &title);
    }
}

fn look(paint: Paint) -> Marker {
    Marker { shape: paint.shape, filled: true, radius: 4.0 }
}

/// Draws a line through the points.
fn path(m: &mut Markup, points: &[(f64, f64)], paint: Paint, title: &str) {
    if points.len() < 2 {
        return;
    }
    let parts: Vec<String> =
        points.iter().map(|(x, y)| format!("{} {}", coordinate(*x), coordinate(*y))).collect();
    m.el("path")
        .a("d", &format!("M{}", parts.join("L")))
        .a("fill", "none")
        .a("stroke-linejoin", "round")
        .a("stroke-linecap", "round")
        .dashed(paint)
        .stroke(paint, 1.5)
        .titled(title);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, broken_run, run};
    use crate::layout::Colors;

    fn at(trace: &str, scheme: &str, rtt_ms: f64, buffer: &str, p95: f64) -> RunView {
        let rtt = format!("{rtt_ms}ms");
        let setting = RunSetting { trace: trace.into(), rtt_ms, rtt, buffer: buffer.into() };
        let name = format!("{trace}, RTT {}, buffer {buffer}", setting.rtt);
        RunView { setting: Some(setting), ..run(&name, scheme, p95) }
    }

    fn svg(runs: &[RunView]) -> String {
        let palette = Palette::new(runs.iter().map(|run| run.scheme.as_str()));
        let figure = sweep_figure(runs, &palette).expect("a sweep");
        let svg = figure.to_svg();
        assert_sound(&svg);
        svg
    }

    #[test]
    fn rtts_are_in_order_and_buffers_are_multiples() {
        let mut runs = Vec::new();
        for rtt in [100.0, 20.0] {
            for buffer in ["0.5bdp", "250"] {
                runs.push(at("lte", "abc", rtt, buffer, rtt));
                runs.push(at("lte", "cubic", rtt, buffer, 8.0 * rtt));
            }
        }
        let text = svg(&runs);
        for part in [">buffer 0.5bdp<", ">buffer 250<", "Round-trip propagation delay", ">20ms<"] {
            assert!(text.contains(part), "{part}");
        }
        assert!(text.find(">20ms<") < text.find(">100ms<"));
        assert!(!text.contains(">lte<"), "one trace needs no name");
        assert!(text.contains("cubic, lte, RTT 100ms, buffer 250: 800 ms"));
    }

    #[test]
    fn with_one_rtt_the_axis_has_buffers_in_the_order_given() {
        let runs: Vec<RunView> =
            ["2bdp", "0.5bdp"].map(|buffer| at("lte", "abc", 50.0, buffer, 40.0)).to_vec();
        let text = svg(&runs);
        assert!(text.contains(">Buffer<") && text.find(">2bdp<") < text.find(">0.5bdp<"));
    }

    #[test]
    fn no_sweep_has_no_figure_and_bad_values_are_left_out() {
        let palette = Palette::new(["abc"]);
        assert!(sweep_figure(&[run("lte", "abc", 40.0)], &palette).is_none());
        assert!(sweep_figure(&[], &palette).is_none());
        let setting = Some(RunSetting { rtt_ms: f64::NAN, ..RunSetting::default() });
        svg(&[RunView { setting, ..broken_run() }, at("lte", "abc", 50.0, "250", 40.0)]);
    }

    #[test]
    fn a_sweep_fits_a_column_of_a_paper() {
        let runs: Vec<RunView> = ["a", "b", "c"]
            .iter()
            .flat_map(|trace| [20.0, 50.0].map(|rtt| at(trace, "abc", rtt, "250", rtt)))
            .collect();
        let layout =
            Layout::new(252.0, Some(300.0), 8.0, "DejaVu Sans", Colors::Gray).expect("a layout");
        let palette = Palette::new(["abc"]);
        let text = sweep(&runs, &palette).expect("a sweep").figure_in(&layout).to_file(&layout, "");
        assert_sound(&text);
        assert!(text.contains("width=\"252pt\" height=\"300pt\""), "{text}");
    }
}
