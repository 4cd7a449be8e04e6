//! Grouped bars: panels one below the other, one group per trace, one bar per scheme.

use crate::axis;
use crate::figure::Figure;
use crate::label::{Rect, fitted, text_width, wrapped};
use crate::layout::Layout;
use crate::markup::Markup;
use crate::number::{short, usable};
use crate::scale::Scale;
use crate::scatter::{Marker, marker};
use crate::style::Paint;
use paceline_schemes::{Dash, Hue};

const LEFT: f64 = 66.0;
const RIGHT: f64 = 20.0;
const PANEL: f64 = 150.0;
const GAP: f64 = 22.0;

/// A panel with one quantity.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarPanel {
    /// Title of the axis with its unit.
    pub title: String,
    /// The unit, for the read-out.
    pub unit: String,
    /// Whether the axis is logarithmic; then bars begin at the axis' lower end.
    pub log: bool,
    /// A row per group with a value per bar; missing values and NaN leave gaps.
    pub values: Vec<Vec<f64>>,
}

/// Grouped bars over traces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// Description of the plot for screen readers and file viewers.
    pub label: String,
    /// The names of the groups.
    pub groups: Vec<String>,
    /// The names and colours of the bars in each group.
    pub bars: Vec<(String, Paint)>,
    /// The quantities, from top to bottom.
    pub panels: Vec<BarPanel>,
}

impl Bars {
    /// Returns the plot as an SVG file.
    pub fn to_svg(&self) -> String {
        self.figure().to_svg()
    }

    /// Returns the plot as a figure for a [`crate::Page`].
    pub fn figure(&self) -> Figure {
        self.figure_in(&Layout::default())
    }

    /// Returns the plot as a figure of this layout.
    pub(crate) fn figure_in(&self, layout: &Layout) -> Figure {
        let width = layout.width;
        let values = || self.panels.iter().flat_map(|p| p.values.iter().flatten());
        if self.groups.is_empty() || self.bars.is_empty() || !values().any(|&v| usable(v)) {
            return Figure::no_data(width, layout.height.unwrap_or(160.0), &self.label);
        }
        let mut m = Markup::default();
        let mut y = self.legend(&mut m, width) + 26.0;
        let mut foot = 15.0;
        let count = self.panels.len();
        let room = layout.height.map(|height| self.panel_height(height - y, width));
        let tall = room.unwrap_or(PANEL);
        for (i, panel) in self.panels.iter().enumerate() {
            let plot = Rect { x: LEFT, y, w: width - LEFT - RIGHT, h: tall };
            self.panel(&mut m, panel, plot);
            if i + 1 == count {
                foot += 15.0 * self.group_names(&mut m, plot) as f64;
            }
            y += tall + GAP;
        }
        Figure::new(width, y - GAP + foot, &self.label, m)
    }

    /// Draws the legend above the plot, in as many rows as it needs. Returns the y coordinate of
    /// its end.
    fn legend(&self, m: &mut Markup, full: f64) -> f64 {
        let (mut x, mut y) = (LEFT, 20.0);
        for (name, paint) in &self.bars {
            let name = fitted(name, 12.0, 220.0);
            let width = text_width(&name, 12.0) + 44.0;
            if x + width > full && x > LEFT {
                (x, y) = (LEFT, y + 18.0);
            }
            let swatch = Rect { x, y: y - 10.0, w: 11.0, h: 11.0 };
            bar(m, swatch, *paint, &name);
            let look = Marker { shape: paint.shape, filled: true, radius: 4.0 };
            marker(m, (x + 19.0, y - 4.5), look, *paint, "");
            axis::write(m, (x + 27.0, y), "start", Paint::INK, &name);
            x += width;
        }
        y
    }

    /// Returns the height of a panel if all panels with the names below them have this height.
    fn panel_height(&self, height: f64, width: f64) -> f64 {
        let group = (width - LEFT - RIGHT) / self.groups.len() as f64;
        let lines = self.groups.iter().map(|name| wrapped(name, 12.0, group - 6.0, 3).len());
        let foot = 15.0 + 15.0 * lines.max().unwrap_or(1) as f64;
        let count = self.panels.len().max(1) as f64;
        ((height - foot - GAP * (count - 1.0)) / count).max(24.0)
    }

    fn panel(&self, m: &mut Markup, panel: &BarPanel, plot: Rect) {
        let bottom = plot.y + plot.h;
        let all = panel.values.iter().flatten().copied();
        let scale = match panel.log {
            true => Scale::around_log(all.filter(|&value| value > 0.0), bottom, plot.y),
            false => Scale::from_zero(all, bottom, plot.y, 4),
        };
        axis::left(m, &scale, plot, 4);
        axis::side_title(m, 15.0, plot.y + plot.h / 2.0, &panel.title);
        let (group, width) = self.widths(plot);
        let marked = self.are_marked(width);
        let base = if panel.log { bottom } else { scale.at(0.0) };
        for (g, name) in self.groups.iter().enumerate() {
            let inner = width * self.bars.len() as f64;
            let start = plot.x + group * g as f64 + (group - inner) / 2.0;
            for (b, (scheme, paint)) in self.bars.iter().enumerate() {
                let value = panel.values.get(g).and_then(|row| row.get(b)).copied();
                let Some(value) = value.filter(|&v| usable(v)) else { continue };
                let x = start + width * b as f64;
                let y = if panel.log && value <= 0.0 { base } else { scale.at(value) };
                let gap = if width > 6.0 { 1.0 } else { 0.0 };
                let shape =
                    Rect { x: x + gap / 2.0, y: y.min(base), w: width - gap, h: (y - base).abs() };
                let title = format!("{scheme}, {name}: {} {}", short(value), panel.unit);
                bar(m, shape, *paint, &title);
                let (middle, text) = (x + width / 2.0, short(value));
                let mut above = y.min(base) - 4.0;
                if !marked && is_room(&text, width) {
                    m.el("g").n("font-size", 10.0).open();
                    axis::write(m, (middle, above), "middle", Paint::MUTED, &text);
                    m.close();
                } else if marked && width > 4.0 {
                    let radius = (width / 2.0 - 0.5).min(4.0);
                    above -= radius - 3.0;
                    let look = Marker { shape: paint.shape, filled: true, radius };
                    marker(m, (middle, above), look, *paint, "");
                }
            }
        }
        axis::line(m, [plot.x, base, plot.x + plot.w, base], Paint::RULE, 1.0);
    }

    /// Returns true if all bars have markers in place of numbers: they are too many to be distinguished by colour, and
    /// too narrow for one of the numbers.
    fn are_marked(&self, width: f64) -> bool {
        let values = || self.panels.iter().flat_map(|panel| panel.values.iter().flatten());
        let mut numbers = values().filter(|value| usable(**value)).map(|value| short(*value));
        self.bars.len() > Hue::ALL.len() && numbers.any(|number| !is_room(&number, width))
    }

    /// Writes the names below the last panel. Returns the number of lines that they need.
    fn group_names(&self, m: &mut Markup, plot: Rect) -> usize {
        let (group, _) = self.widths(plot);
        let mut most = 1;
        for (g, name) in self.groups.iter().enumerate() {
            let lines = wrapped(name, 12.0, group - 6.0, 3);
            most = most.max(lines.len());
            for (i, line) in lines.iter().enumerate() {
                let y = plot.y + plot.h + 20.0 + 15.0 * i as f64;
                let at = (plot.x + group * (g as f64 + 0.5), y);
                axis::write(m, at, "middle", Paint::INK, line);
            }
        }
        most
    }

    /// Returns the widths of a group and of a bar.
    fn widths(&self, plot: Rect) -> (f64, f64) {
        let group = plot.w / self.groups.len() as f64;
        (group, (group * 0.84 / self.bars.len() as f64).min(46.0))
    }
}

/// Returns true if a number fits above a bar of this width.
fn is_room(number: &str, width: f64) -> bool {
    text_width(number, 10.0) + 2.0 < width
}

/// Draws a bar: filled, or with an outline if the paint's fill is translucent.
fn bar(m: &mut Markup, shape: Rect, paint: Paint, title: &str) {
    let filling = paint.filling();
    let inset = if filling < 1.0 { 0.6 } else { 0.0 };
    let element = m
        .el("rect")
        .n("x", shape.x + inset)
        .n("y", shape.y + inset)
        .n("width", (shape.w - 2.0 * inset).max(0.1))
        .n("height", (shape.h - inset).max(0.0))
        .fill(paint);
    let element = match filling < 1.0 {
        true => element
            .a("fill-opacity", &format!("{filling}"))
            .dashed(Paint { dash: outline(paint.dash), ..paint })
            .stroke(paint, 1.2),
        false => element,
    };
    element.titled(title);
}

/// Returns the outline of a bar: unbroken, except for variants.
fn outline(dash: Dash) -> Dash {
    if dash == Dash::DashDot { Dash::Dashed } else { Dash::Solid }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn gaps_and_empty_input_do_not_break_it() {
        let mut bars = Bars {
            groups: vec!["lte & co".into(), "5g".into()],
            bars: vec![("abc".into(), Paint::INK), ("<cubic>".into(), Paint::MUTED)],
            panels: vec![BarPanel {
                log: false,
                title: "Utilisation (%)".into(),
                unit: "%".into(),
                values: vec![vec![90.0, f64::NAN], vec![-3.0]],
            }],
            ..Bars::default()
        };
        let svg = bars.to_svg();
        assert_sound(&svg);
        assert!(svg.contains("abc, lte &amp; co: 90 %"));
        bars.panels[0].values = vec![vec![f64::INFINITY]];
        assert!(bars.to_svg().contains("no data"));
        assert_sound(&Bars::default().to_svg());
    }

    #[test]
    fn of_many_bars_all_have_markers_or_none() {
        let panel = |value: f64| BarPanel {
            title: "Utilisation (%)".into(),
            unit: "%".into(),
            log: false,
            // The shorter of these numbers fits above its bar, the longer one does not.
            values: vec![(0..12).map(|at| if at % 2 == 0 { 83.0 } else { value }).collect(); 4],
        };
        let bars = |value| Bars {
            groups: (0..4).map(|at| format!("t{at}")).collect(),
            bars: (0..12).map(|at| (format!("s{at}"), Paint::INK)).collect(),
            panels: vec![panel(value)],
            ..Bars::default()
        };
        // A marker of each bar, and one in the legend.
        let layout = Layout::default();
        let markers = |value| {
            let svg = bars(value).figure_in(&layout).to_svg();
            svg.matches("<circle").count() + svg.matches("<polygon").count()
        };
        let (_, width) =
            bars(83.0).widths(Rect { x: LEFT, y: 0.0, w: layout.width - LEFT - RIGHT, h: 1.0 });
        assert!(is_room("83", width) && !is_room("84.6", width), "{width}");
        assert_eq!((markers(84.6), markers(83.0)), (12 * 4 + 12, 12));
    }
}
