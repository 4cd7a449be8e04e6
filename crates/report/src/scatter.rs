//! The scatter plot of throughput over delay, with the delay axis inverted: up and right is better.

use crate::axis;
use crate::figure::Figure;
use crate::label::{BOLD, LabelRequest, Rect, fitted, leader, place, text_width};
use crate::layout::Layout;
use crate::markup::Markup;
use crate::number::usable;
use crate::pareto::front;
use crate::region::Region;
use crate::scale::Scale;
use crate::style::Paint;
use paceline_schemes::Shape;

const HEIGHT: f64 = 470.0;
/// Height over width of plots that are narrower than a page.
const NARROW: f64 = 0.66;
const LABEL: f64 = 13.0;
/// Height of a row of the legend.
const LEGEND_ROW: f64 = 18.0;

/// Look of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marker {
    /// The outline.
    pub shape: Shape,
    /// Whether it is filled or hollow.
    pub filled: bool,
    /// Half the width in pixels.
    pub radius: f64,
}

impl Default for Marker {
    fn default() -> Self {
        Self { shape: Shape::Circle, filled: false, radius: 0.0 }
    }
}

impl Marker {
    /// Returns the radius, or 5 pixels if it is not usable.
    fn size(&self) -> f64 {
        if self.radius > 0.0 && self.radius < 100.0 { self.radius } else { 5.0 }
    }
}

/// A point.
#[derive(Debug, Clone, PartialEq)]
pub struct Dot {
    /// The delay.
    pub x: f64,
    /// The throughput.
    pub y: f64,
    /// The label beside the point; empty for none.
    pub label: String,
    /// Text shown under the pointer.
    pub tooltip: String,
    /// The colour.
    pub paint: Paint,
    /// The marker.
    pub marker: Marker,
    /// Whether the point counts for the Pareto front.
    pub counts: bool,
    /// A point to which a faint line leads, to show that the two belong together.
    pub tie: Option<(f64, f64)>,
}

/// A scatter plot. Leaves out points that are not finite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scatter {
    /// Description of the plot for screen readers and file viewers.
    pub label: String,
    /// The title of the delay axis with its unit.
    pub x_title: String,
    /// The title of the throughput axis with its unit.
    pub y_title: String,
    /// Whether the delay axis is logarithmic; `None` lets the data decide.
    pub log: Option<bool>,
    /// Upper limit of all throughputs, where the axis ends at the latest.
    pub y_most: Option<f64>,
    /// The points; later ones are drawn on top.
    pub dots: Vec<Dot>,
    /// Meaning of each marker.
    pub legend: Vec<(Marker, String)>,
    /// Runs around the points, drawn below them.
    pub regions: Vec<Region>,
}

impl Scatter {
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
        let height = layout.height.unwrap_or(HEIGHT.min(NARROW * width));
        let dots: Vec<&Dot> = self.dots.iter().filter(|d| usable(d.x) && usable(d.y)).collect();
        if dots.is_empty() {
            return Figure::no_data(width, layout.height.unwrap_or(160.0), &self.label);
        }
        let legend = legend(&self.legend, width - 66.0 - 28.0);
        let top = 34.0 + LEGEND_ROW * (legend.len().max(1) - 1) as f64;
        let plot = Rect { x: 66.0, y: top, w: width - 66.0 - 28.0, h: height - top - 52.0 };
        let ticks = layout.fitting(8);
        let (x, y) = self.scales(plot);
        let mut m = Markup::default();
        axis::columns(&mut m, &x, plot, ticks);
        axis::left(&mut m, &y, plot, 6);
        axis::bottom(&mut m, &x, plot, ticks, &self.x_title);
        axis::side_title(&mut m, 15.0, plot.y + plot.h / 2.0, &self.y_title);
        axis::write(&mut m, (plot.x + plot.w, plot.y - 14.0), "end", Paint::MUTED, "better ↗");
        draw_legend(&mut m, &legend, plot);

        for region in &self.regions {
            region.draw(&mut m, &x, &y);
        }
        let stairs = stairs(&dots, &x, &y, plot);
        draw_front(&mut m, &stairs);
        for dot in &dots {
            if let Some((tx, ty)) = dot.tie.filter(|(tx, ty)| usable(*tx) && usable(*ty)) {
                let ends = [x.at(dot.x), y.at(dot.y), x.at(tx), y.at(ty)];
                m.el("g").a("opacity", "0.3").open();
                axis::line(&mut m, ends, dot.paint, 1.0);
                m.close();
            }
        }
        for dot in &dots {
            marker(&mut m, (x.at(dot.x), y.at(dot.y)), dot.marker, dot.paint, &dot.tooltip);
        }
        labels(&mut m, &dots, &x, &y, plot, &stairs);
        Figure::new(width, height, &self.label, m)
    }

    fn scales(&self, plot: Rect) -> (Scale, Scale) {
        let dots = self.dots.iter().map(|dot| (dot.x, dot.y));
        let dots = dots.filter(|(x, y)| usable(*x) && usable(*y));
        let points: Vec<(f64, f64)> =
            dots.chain(self.regions.iter().flat_map(Region::points)).collect();
        let delays = || points.iter().map(|point| point.0);
        let log = self.log.unwrap_or_else(|| {
            let lo = delays().filter(|&d| d > 0.0).fold(f64::INFINITY, f64::min);
            delays().fold(0.0, f64::max) > 6.0 * lo
        });
        // The axis runs from right to left, because less delay is better.
        let (from, to) = (plot.x + plot.w, plot.x);
        let x = match log {
            true => Scale::around_log(delays(), from, to),
            false => Scale::around(delays(), from, to, 8),
        };
        let (from, to) = (plot.y + plot.h, plot.y);
        let y = Scale::around(points.iter().map(|point| point.1), from, to, 6);
        let most = self.y_most.filter(|&most| points.iter().all(|p| p.1 <= most) && y.hi() > most);
        (x, most.map_or(y, |most| Scale::linear(y.lo(), most, from, to)))
    }
}

/// Returns the corners of the Pareto front as a staircase over the whole plot.
fn stairs(dots: &[&Dot], x: &Scale, y: &Scale, plot: Rect) -> Vec<(f64, f64)> {
    let counted: Vec<(f64, f64)> = dots.iter().filter(|d| d.counts).map(|d| (d.x, d.y)).collect();
    let mut corners = Vec::new();
    let mut level = plot.y + plot.h;
    for i in front(&counted) {
        let (px, py) = (x.at(counted[i].0), y.at(counted[i].1));
        corners.extend([(px, level), (px, py)]);
        level = py;
    }
    if !corners.is_empty() {
        corners.push((plot.x, level));
    }
    corners
}

fn draw_front(m: &mut Markup, stairs: &[(f64, f64)]) {
    if stairs.len() < 4 {
        return;
    }
    let points: Vec<String> = stairs.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    m.el("polyline")
        .a("points", &points.join(" "))
        .a("fill", "none")
        .a("stroke-dasharray", "5 4")
        .stroke(Paint::RULE, 1.0)
        .titled("Pareto front: no scheme has both less delay and more throughput");
}

/// Returns the corners of a shape with radius 1; none for a circle.
fn corners(shape: Shape) -> &'static [(f64, f64)] {
    match shape {
        Shape::Circle => &[],
        Shape::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        Shape::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        Shape::Up => &[(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
        Shape::Down => &[(0.0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
        Shape::Plus => &[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ],
        Shape::Cross => &[
            (0.0, -0.55),
            (0.6, -1.15),
            (1.15, -0.6),
            (0.55, 0.0),
            (1.15, 0.6),
            (0.6, 1.15),
            (0.0, 0.55),
            (-0.6, 1.15),
            (-1.15, 0.6),
            (-0.55, 0.0),
            (-1.15, -0.6),
            (-0.6, -1.15),
        ],
        Shape::Star => &[
            (0.0, -1.35),
            (0.32, -0.44),
            (1.28, -0.42),
            (0.52, 0.17),
            (0.79, 1.09),
            (0.0, 0.55),
            (-0.79, 1.09),
            (-0.52, 0.17),
            (-1.28, -0.42),
            (-0.32, -0.44),
        ],
    }
}

/// Draws a point whose text is shown under the pointer.
pub(crate) fn marker(
    m: &mut Markup,
    (x, y): (f64, f64),
    marker: Marker,
    paint: Paint,
    tooltip: &str,
) {
    let r = marker.size();
    let corners = corners(marker.shape);
    let shape = match corners.is_empty() {
        true => m.el("circle").n("cx", x).n("cy", y).n("r", r),
        false => {
            let at = |(dx, dy): &(f64, f64)| format!("{:.1},{:.1}", x + dx * r, y + dy * r);
            let points: Vec<String> = corners.iter().map(at).collect();
            m.el("polygon").a("points", &points.join(" "))
        }
    };
    let shape = match marker.filled {
        true => shape.fill(paint).stroke(Paint::PAPER, 1.0),
        false => shape.fill(Paint::PAPER).stroke(paint, 1.4),
    };
    if tooltip.is_empty() { shape.end() } else { shape.titled(tooltip) }
}

/// An entry of the legend: its marker, its text, and its distance from the plot's left edge.
type LegendEntry = (Marker, String, f64);

/// Returns the rows of the legend above a plot of this width. At the right of each row there is room for "better ↗".
fn legend(entries: &[(Marker, String)], full: f64) -> Vec<Vec<LegendEntry>> {
    let mut rows: Vec<Vec<LegendEntry>> = Vec::new();
    let mut x = 6.0;
    for (look, text) in entries {
        let text = fitted(text, 12.0, 220.0);
        let width = text_width(&text, 12.0) + 34.0;
        let is_full = x + width > full - 60.0;
        match rows.last_mut() {
            Some(row) if !is_full => row.push((*look, text, x)),
            _ => {
                x = 6.0;
                rows.push(vec![(*look, text, x)]);
            }
        }
        x += width;
    }
    rows
}

fn draw_legend(m: &mut Markup, rows: &[Vec<LegendEntry>], plot: Rect) {
    for (row, above) in rows.iter().rev().zip(0u32..) {
        let y = plot.y - 14.0 - LEGEND_ROW * f64::from(above);
        for (look, text, x) in row {
            marker(m, (plot.x + x, y - 4.0), *look, Paint::MUTED, "");
            axis::write(m, (plot.x + x + 11.0, y), "start", Paint::MUTED, text);
        }
    }
}

fn labels(m: &mut Markup, dots: &[&Dot], x: &Scale, y: &Scale, plot: Rect, stairs: &[(f64, f64)]) {
    let labelled: Vec<&&Dot> = dots.iter().filter(|d| !d.label.is_empty()).collect();
    let text = |dot: &Dot| fitted(&dot.label, LABEL * BOLD, 340.0);
    let wishes: Vec<LabelRequest> = labelled
        .iter()
        .map(|dot| LabelRequest {
            x: x.at(dot.x),
            y: y.at(dot.y),
            radius: dot.marker.size(),
            w: text_width(&text(dot), LABEL * BOLD) + 4.0,
            h: LABEL + 2.0,
        })
        .collect();
    let marks: Vec<Rect> =
        dots.iter().map(|d| Rect::around(x.at(d.x), y.at(d.y), d.marker.size() + 1.0)).collect();
    let lines: Vec<Rect> = stairs
        .windows(2)
        .map(|ends| {
            let ((ax, ay), (bx, by)) = (ends[0], ends[1]);
            let (left, top) = (ax.min(bx), ay.min(by));
            Rect { x: left - 1.0, y: top - 1.0, w: (ax - bx).abs() + 2.0, h: (ay - by).abs() + 2.0 }
        })
        .collect();
    let placed = place(&wishes, &marks, &lines, plot);
    for ((dot, wish), spot) in labelled.iter().zip(&wishes).zip(&placed) {
        if let Some(ends) = leader(wish, spot) {
            axis::line(m, ends, Paint::RULE, 1.0);
        }
        m.el("text")
            .n("x", spot.x + 2.0)
            .n("y", spot.y + LABEL - 2.0)
            .n("font-size", LABEL)
            .a("font-weight", "600")
            .a("paint-order", "stroke")
            .a("stroke-linejoin", "round")
            .stroke(Paint::PAPER, 3.0)
            .fill(dot.paint)
            .text(&text(dot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    fn dot(x: f64, y: f64, label: &str) -> Dot {
        let marker = Marker { shape: Shape::Circle, filled: true, radius: 6.0 };
        let (label, tooltip) = (label.to_owned(), format!("{label} <tip>"));
        Dot { x, y, label, tooltip, paint: Paint::INK, marker, counts: true, tie: Some((x, 1.0)) }
    }

    #[test]
    fn less_delay_is_to_the_right() {
        let dots = vec![dot(10.0, 5.0, "fast"), dot(900.0, 6.0, "slow")];
        let plot = Rect { x: 0.0, y: 0.0, w: 100.0, h: 100.0 };
        let scatter = Scatter { dots, ..Scatter::default() };
        let (x, y) = scatter.scales(plot);
        assert!(x.is_log() && x.at(10.0) > x.at(900.0) && y.at(6.0) < y.at(5.0));
        assert_sound(&scatter.to_svg());
        assert!(scatter.to_svg().contains("Pareto"));
    }

    #[test]
    fn bad_points_are_left_out() {
        let dots = vec![dot(f64::NAN, 5.0, "a"), dot(1.0, f64::INFINITY, "b")];
        let svg = Scatter { dots, ..Scatter::default() }.to_svg();
        assert_sound(&svg);
        assert!(svg.contains("no data"));
        for marker in Shape::ALL.map(|shape| Marker { shape, filled: false, radius: f64::NAN }) {
            let dots = vec![Dot { marker, ..dot(0.0, 0.0, "zero") }];
            assert_sound(&Scatter { dots, ..Scatter::default() }.to_svg());
        }
    }
}
