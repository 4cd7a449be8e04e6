//! The time-series chart: panels one below the other on one time axis.

use crate::axis;
use crate::figure::Figure;
use crate::label::{BOLD, Rect, fitted, spread, text_width};
use crate::layout::Layout;
use crate::markup::Markup;
use crate::number::{coordinate, short, trimmed};
use crate::scale::{Scale, extent};
use crate::series::{Series, Shade};
use crate::style::Paint;

const LEFT: f64 = 66.0;
const TOP: f64 = 10.0;
const GAP: f64 = 12.0;
/// Additional gap in pixels where the quantity changes.
const BREAK: f64 = 16.0;
const FOOT: f64 = 48.0;
/// Number of panels that share one title.
const TITLED: usize = 4;
/// Width in pixels of the piece of line beside a label.
const SAMPLE: f64 = 26.0;

/// One panel of a [`Chart`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// Title of the vertical axis with its unit. Neighbours with equal titles share it, and the
    /// range of their axes.
    pub title: String,
    /// Height of the plot in pixels.
    pub height: f64,
    /// Whether the vertical axis is logarithmic.
    pub log: bool,
    /// Series to draw: areas first, then lines, each in this order.
    pub series: Vec<Series>,
}

/// A time-series chart: panels one below the other that share the time axis. The labels of each
/// panel's series are at its right-hand side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// Description of the chart for screen readers and file viewers.
    pub label: String,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
}

/// Consecutive panels with equal titles.
struct Group {
    first: usize,
    last: usize,
    scale: Scale,
}

impl Chart {
    /// Returns the chart as an SVG file.
    pub fn to_svg(&self) -> String {
        self.figure().to_svg()
    }

    /// Returns the chart as a figure for a [`crate::Page`], on which the pointer shows values.
    pub fn figure(&self) -> Figure {
        self.figure_in(&Layout::default())
    }

    /// Returns the chart as a figure of this layout.
    pub fn figure_in(&self, layout: &Layout) -> Figure {
        let width = layout.width;
        let mut panels: Vec<Panel> = self.panels.iter().map(thinned).collect();
        if let Some(height) = layout.height {
            stretch(&mut panels, height);
        }
        let columns = layout.fitting(10);
        let all = || panels.iter().flat_map(|panel| &panel.series);
        let duration = all().map(Series::duration).fold(0.0, f64::max);
        if duration <= 0.0 {
            return Figure::no_data(width, layout.height.unwrap_or(120.0), &self.label);
        }
        let labels = all().flat_map(|s| s.label.iter());
        let widest = labels.map(|text| text_width(text, 12.5 * BOLD)).fold(0.0, f64::max);
        let right = (widest + 20.0 + SAMPLE).clamp(24.0, 260.0_f64.min(width / 3.0));
        let plot = Rect { x: LEFT, y: TOP, w: width - LEFT - right, h: 0.0 };
        let time = Scale::linear(0.0, duration, plot.x, plot.x + plot.w);

        let mut m = Markup::default();
        let mut y = TOP;
        let groups = groups(&panels);
        for group in &groups {
            let mut middles = Vec::new();
            for (i, panel) in (group.first..).zip(&panels[group.first..=group.last]) {
                let last = i + 1 == panels.len();
                let plot = Rect { y, h: panel.height, ..plot };
                draw(&mut m, panel, plot, &time, &group.scale, (right, columns));
                middles.push((y, y + panel.height));
                if last {
                    axis::bottom(&mut m, &time, plot, columns, "Time (s)");
                }
                y += panel.height + if last { 0.0 } else { GAP };
            }
            // A group of many panels repeats its title every [`TITLED`] panels.
            for some in middles.chunks(TITLED) {
                let (from, end) = (some[0].0, some[some.len() - 1].1);
                let middle = f64::midpoint(from, end);
                axis::side_title(&mut m, 15.0, middle, &panels[group.first].title);
            }
            y += BREAK;
        }
        let bottom = y - BREAK;
        Figure::new(width, bottom + FOOT, &self.label, m)
            .with_data("left", &trimmed(plot.x, 2))
            .with_data("right", &trimmed(plot.x + plot.w, 2))
            .with_data("top", &trimmed(TOP, 2))
            .with_data("bottom", &trimmed(bottom, 2))
            .with_data("duration", &trimmed(duration, 4))
    }
}

fn thinned(panel: &Panel) -> Panel {
    let series = panel.series.iter().map(Series::thinned).filter(|s| !s.is_empty()).collect();
    let height = if panel.height >= 20.0 { panel.height.min(2000.0) } else { 120.0 };
    Panel { series, height, ..panel.clone() }
}

fn groups(panels: &[Panel]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for i in 0..panels.len() {
        match groups.last_mut() {
            Some(group) if panels[group.first].title == panels[i].title => group.last = i,
            _ => groups.push(Group { first: i, last: i, scale: Scale::linear(0.0, 1.0, 0.0, 1.0) }),
        }
    }
    for group in &mut groups {
        let panels = &panels[group.first..=group.last];
        let values = || panels.iter().flat_map(|p| &p.series).flat_map(Series::drawn);
        let count = ticks(panels[0].height);
        group.scale = match panels.iter().any(|p| p.log) {
            true => {
                // Less than a millionth of the range, or a hundredth of the unit, is not visible.
                let top = extent(values()).map_or(1.0, |(_, hi)| hi);
                let floor = (top / 1e6).max(0.01);
                let lows = values().filter(|&v| v >= floor).map(|v| v.max(low(top)));
                Scale::around_log(lows, 1.0, 0.0)
            }
            false => Scale::from_zero(values(), 1.0, 0.0, count),
        };
    }
    groups
}

/// Returns the lower end of a logarithmic axis that ends at `top`: three decades below it, but at
/// least 1.
fn low(top: f64) -> f64 {
    (top / 1000.0).max(1.0).min(top)
}

/// Returns the number of ticks for a vertical axis of this height.
fn ticks(height: f64) -> usize {
    ((height / 32.0) as usize).clamp(2, 8)
}

/// Sets the panels' heights so that the chart is `height` high; each stays at least 24 high.
fn stretch(panels: &mut [Panel], height: f64) {
    let breaks = panels.windows(2).filter(|two| two[0].title != two[1].title).count() as f64;
    let gaps = GAP * panels.len().saturating_sub(1) as f64 + BREAK * breaks;
    let room = height - TOP - FOOT - gaps;
    let wanted: f64 = panels.iter().map(|panel| panel.height).sum();
    let factor = room / wanted.max(1.0);
    panels.iter_mut().for_each(|panel| panel.height = (panel.height * factor).max(24.0));
}

/// Draws a panel; `right` is the room for its labels, `columns` the number of vertical lines.
fn draw(
    m: &mut Markup,
    panel: &Panel,
    plot: Rect,
    time: &Scale,
    unit: &Scale,
    (right, columns): (f64, usize),
) {
    let (top, bottom) = (plot.y, plot.y + plot.h);
    let scale = match panel.log || unit.is_log() {
        true => Scale::log(unit.lo(), unit.hi(), bottom, top),
        false => Scale::linear(unit.lo(), unit.hi(), bottom, top),
    };
    m.el("g").open();
    let areas = || panel.series.iter().filter(|s| s.shade == Shade::Area);
    for area in areas() {
        m.el("path").a("d", &area.steps(time, &scale, true)).fill(area.paint).end();
    }
    axis::columns(m, time, plot, columns);
    axis::left(m, &scale, plot, ticks(plot.h));
    for area in areas() {
        let d = area.steps(time, &scale, false);
        data(m, area).a("d", &d).a("fill", "none").stroke(Paint::EDGE, 1.0).titled(&title(area));
    }
    for band in panel.series.iter().filter(|s| matches!(s.shade, Shade::Band(_))) {
        let shape = m.el("path").a("d", &band.band(time, &scale)).fill(band.paint);
        shape.a("fill-opacity", "0.22").titled(&title(band));
    }
    for line in panel.series.iter().filter(|s| s.shade == Shade::Line) {
        data(m, line)
            .a("d", &line.line(time, &scale))
            .a("fill", "none")
            .a("stroke-linejoin", "round")
            .a("stroke-linecap", "round")
            .dashed(line.paint)
            .stroke(line.paint, 1.5)
            .titled(&title(line));
    }
    axis::line(m, [plot.x, bottom, plot.x + plot.w, bottom], Paint::RULE, 1.0);
    if panel.series.is_empty() {
        let middle = (plot.x + plot.w / 2.0, plot.y + plot.h / 2.0 + 4.0);
        axis::write(m, middle, "middle", Paint::MUTED, "no data");
    }
    side_labels(m, panel, plot, &scale, right);
    m.close();
}

/// Begins a path with the attributes that the page's read-out needs.
fn data<'a>(m: &'a mut Markup, series: &Series) -> crate::markup::Element<'a> {
    m.el("path")
        .a("data-name", &series.name)
        .a("data-quantity", &series.quantity)
        .a("data-unit", &series.unit)
        .a("data-bin", &format!("{}", series.bin_s))
        .a("data-values", &series.text())
}

fn title(series: &Series) -> String {
    let Series { name, quantity, unit, .. } = series;
    let (lo, hi) = extent(series.drawn()).unwrap_or((f64::NAN, f64::NAN));
    format!("{name}, {quantity}: {} to {} {unit}", short(lo), short(hi))
}

/// Writes the labels to the right: a single one in the middle, several beside the ends of their
/// lines.
fn side_labels(m: &mut Markup, panel: &Panel, plot: Rect, scale: &Scale, right: f64) {
    let labelled: Vec<&Series> = panel.series.iter().filter(|s| !s.label.is_empty()).collect();
    let lines = labelled.iter().map(|s| s.label.len()).max().unwrap_or(0) as f64;
    let gap = 15.0 * lines + if lines > 1.0 { 3.0 } else { 0.0 };
    let middle = plot.y + plot.h / 2.0;
    let wanted: Vec<f64> = match labelled.len() {
        1 => vec![middle],
        _ => labelled.iter().map(|s| s.tail().map_or(middle, |v| scale.at(v))).collect(),
    };
    let half = gap / 2.0;
    let placed = spread(&wanted, gap, plot.y + half - 4.0, plot.y + plot.h - half + 4.0);
    let x = plot.x + plot.w + 12.0;
    for (series, centre) in labelled.iter().zip(placed) {
        let first = centre - half + 12.0;
        if series.shade == Shade::Line {
            let (from, to) = (coordinate(x), coordinate(x + SAMPLE - 6.0));
            let d = format!("M{from} {}H{to}", coordinate(first - 4.0));
            m.el("path")
                .a("d", &d)
                .a("fill", "none")
                .a("stroke-linecap", "round")
                .dashed(series.paint)
                .stroke(series.paint, 2.0)
                .end();
        }
        for (i, text) in series.label.iter().enumerate() {
            let (paint, size, weight) = match i {
                // The colours of areas and of their edges are too light for text.
                0 if [Paint::AREA, Paint::EDGE].contains(&series.paint) => {
                    (Paint::INK, 12.5, "600")
                }
                0 => (series.paint, 12.5, "600"),
                _ => (Paint::MUTED, 11.0, "400"),
            };
            m.el("text")
                .n("x", x + SAMPLE)
                .n("y", first + 15.0 * i as f64)
                .n("font-size", size)
                .a("font-weight", weight)
                .fill(paint)
                .text(&fitted(text, size * BOLD, right - 14.0 - SAMPLE));
        }
    }
}
