//! Intervals: a row for each scheme with a median, the range around it, and the ranges that a rule calls good
//! and poor.

use crate::axis;
use crate::figure::Figure;
use crate::label::{Rect, fitted, text_width};
use crate::layout::Layout;
use crate::markup::Markup;
use crate::number::{short, usable};
use crate::scale::Scale;
use crate::scatter::{Marker, marker};
use crate::style::Paint;

/// Height of a row.
const ROW: f64 = 22.0;
/// Height above the rows, for the names of the rule's ranges.
const TOP: f64 = 18.0;
/// Height below the rows, for the axis and its title.
const FOOT: f64 = 44.0;
/// A bound of a rule that is further away than this multiple of the largest value is left out, so that values
/// stay apart.
const FAR: f64 = 4.0;

/// A row: a median with the range around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// What the row shows, such as a scheme.
    pub name: String,
    /// Its colour and shape.
    pub paint: Paint,
    /// Lower end of the range.
    pub low: f64,
    /// The median; a row without one has no point.
    pub median: f64,
    /// Upper end of the range.
    pub high: f64,
}

/// Rows of intervals over one axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Intervals {
    /// Description of the plot for screen readers and file viewers.
    pub label: String,
    /// Title of the axis with its unit.
    pub title: String,
    /// The rows, from top to bottom.
    pub rows: Vec<Interval>,
    /// Bounds of good and poor values, if a rule has them. If good is above poor, higher values are better.
    pub bounds: Option<(f64, f64)>,
}

impl Intervals {
    /// Returns the plot as a figure for a [`crate::Page`].
    pub fn figure(&self) -> Figure {
        self.figure_in(&Layout::default())
    }

    /// Returns the plot as a figure of this layout.
    pub(crate) fn figure_in(&self, layout: &Layout) -> Figure {
        let width = layout.width;
        let values = || self.rows.iter().flat_map(|row| [row.low, row.median, row.high]);
        let most = values().filter(|value| usable(*value)).map(f64::abs).fold(f64::NAN, f64::max);
        if most.is_nan() {
            return Figure::no_data(width, TOP + ROW + FOOT, &self.label);
        }
        let texts: Vec<String> = self.rows.iter().map(Interval::text).collect();
        let widest = |texts: &mut dyn Iterator<Item = &str>, most: f64| {
            texts.map(|text| text_width(text, 12.0)).fold(0.0, f64::max).min(most) + 10.0
        };
        let left = widest(&mut self.rows.iter().map(|row| row.name.as_str()), 0.25 * width);
        let right = widest(&mut texts.iter().map(String::as_str), 0.3 * width);
        let plot = Rect {
            x: left,
            y: TOP,
            w: (width - left - right).max(40.0),
            h: ROW * self.rows.len() as f64,
        };
        let near = |bound: f64| bound.abs() <= FAR * most;
        let bounds = self.bounds.map(|(good, poor)| [good, poor]).unwrap_or([f64::NAN; 2]);
        // A little more than the bound, so that the range beyond it is visible.
        let shown = bounds.into_iter().filter(|bound| near(*bound)).map(|bound| 1.12 * bound);
        let scale = Scale::from_zero(values().chain(shown), plot.x, plot.x + plot.w, 6);
        let mut m = Markup::default();
        self.ranges(&mut m, &scale, plot);
        axis::columns(&mut m, &scale, plot, 6);
        for (i, (row, text)) in self.rows.iter().zip(&texts).enumerate() {
            let middle = plot.y + ROW * (i as f64 + 0.5);
            let baseline = middle + 4.0;
            let name = fitted(&row.name, 12.0, left - 8.0);
            axis::write(&mut m, (left - 8.0, baseline), "end", Paint::INK, &name);
            let text = fitted(text, 12.0, right - 8.0);
            axis::write(&mut m, (width - 2.0, baseline), "end", Paint::MUTED, &text);
            row.draw(&mut m, &scale, middle);
        }
        axis::bottom(&mut m, &scale, plot, 6, &self.title);
        Figure::new(width, TOP + plot.h + FOOT, &self.label, m)
    }

    /// Shades the values that the rule calls good and poor.
    fn ranges(&self, m: &mut Markup, scale: &Scale, plot: Rect) {
        let Some((good, poor)) = self.bounds else { return };
        let (lo, hi) = (scale.lo(), scale.hi());
        let (better, worse) =
            if good > poor { ((good, hi), (lo, poor)) } else { ((lo, good), (poor, hi)) };
        for ((from, to), paint, name) in
            [(better, Paint::GOOD, "good"), (worse, Paint::BAD, "poor")]
        {
            let (from, to) = (from.clamp(lo, hi), to.clamp(lo, hi));
            if !(from.is_finite() && to > from) {
                continue;
            }
            let (x, end) = (scale.at(from), scale.at(to));
            m.el("rect")
                .n("x", x)
                .n("y", plot.y)
                .n("width", end - x)
                .n("height", plot.h)
                .fill(paint)
                .a("fill-opacity", "0.13")
                .end();
            let needed = text_width(name, 11.0) + 4.0;
            if end - x >= needed {
                m.el("g").n("font-size", 11.0).open();
                axis::write(m, ((x + end) / 2.0, plot.y - 5.0), "middle", Paint::MUTED, name);
                m.close();
            }
        }
    }
}

impl Interval {
    /// Returns the numbers of the row: `12.0 (9.50 to 13.1)`.
    fn text(&self) -> String {
        if !usable(self.median) {
            return "no figure".into();
        }
        let [low, median, high] = [self.low, self.median, self.high].map(short);
        if low == high || !usable(self.low) || !usable(self.high) {
            median
        } else {
            format!("{median} ({low} to {high})")
        }
    }

    fn draw(&self, m: &mut Markup, scale: &Scale, y: f64) {
        if !usable(self.median) {
            return;
        }
        if usable(self.low) && usable(self.high) {
            let (from, to) = (scale.at(self.low), scale.at(self.high));
            let lines =
                [[from, y, to, y], [from, y - 5.0, from, y + 5.0], [to, y - 5.0, to, y + 5.0]];
            for line in lines {
                axis::line(m, line, self.paint, 2.0);
            }
        }
        let look = Marker { shape: self.paint.shape, filled: true, radius: 5.0 };
        let title = format!("{}: {}", self.name, self.text());
        marker(m, (scale.at(self.median), y), look, self.paint, &title);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    fn row(name: &str, low: f64, median: f64, high: f64) -> Interval {
        Interval { name: name.into(), paint: Paint::INK, low, median, high }
    }

    #[test]
    fn rows_ranges_and_missing_figures_are_drawn() {
        let mut plot = Intervals {
            label: "a < b".into(),
            title: "delay, ms".into(),
            rows: vec![
                row("abc", 9.5, 12.0, 13.1),
                row("<long name & more>", 30.0, 30.0, 30.0),
                row("none", f64::NAN, f64::NAN, f64::NAN),
            ],
            bounds: Some((20.0, 40.0)),
        };
        let svg = plot.figure().to_svg();
        assert_sound(&svg);
        for text in ["12 (9.5 to 13.1)", "no figure", ">good<", ">poor<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // Higher values are better, and the bound of good is far away.
        plot.bounds = Some((9000.0, 10.0));
        let svg = plot.figure().to_svg();
        assert_sound(&svg);
        assert!(!svg.contains(">good<") && svg.contains(">poor<"));
        plot.rows.truncate(0);
        assert!(plot.figure().to_svg().contains("no data"));
        plot.rows = vec![row("zero", 0.0, 0.0, 0.0), row("gain", -90.0, -80.0, -70.0)];
        plot.bounds = Some((f64::INFINITY, f64::NAN));
        assert_sound(&plot.figure().to_svg());
    }
}
