//! A plot of measured figures over expected ones, both axes logarithmic: on the diagonal they agree.

use crate::axis;
use crate::figure::Figure;
use crate::label::Rect;
use crate::markup::Markup;
use crate::number::usable;
use crate::scale::Scale;
use crate::scatter::{Dot, marker};
use crate::style::Paint;

const SIZE: f64 = 560.0;
/// Factors of the faint lines beside the diagonal.
const BESIDE: [f64; 2] = [0.5, 2.0];

/// Expected and measured figures. Leaves out pairs that are not positive and finite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agreement {
    /// Description of the plot for screen readers and file viewers.
    pub label: String,
    /// Title of the axis of expected figures.
    pub x_title: String,
    /// Title of the axis of measured figures.
    pub y_title: String,
    /// The pairs: `x` is expected, `y` is measured. Labels stand to the right of their dots, and may
    /// cover others: label few.
    pub dots: Vec<Dot>,
}

impl Agreement {
    /// Returns the plot as a figure for a [`crate::Page`] or a file.
    pub fn figure(&self) -> Figure {
        let is_shown = |value: f64| usable(value) && value > 1e-9;
        let dots: Vec<&Dot> =
            self.dots.iter().filter(|dot| is_shown(dot.x) && is_shown(dot.y)).collect();
        if dots.is_empty() {
            return Figure::no_data(SIZE, 160.0, &self.label);
        }
        let plot = Rect { x: 66.0, y: 20.0, w: SIZE - 66.0 - 20.0, h: SIZE - 20.0 - 52.0 };
        let values = || dots.iter().flat_map(|dot| [dot.x, dot.y]);
        let x = Scale::around_log(values(), plot.x, plot.x + plot.w);
        let y = Scale::around_log(values(), plot.y + plot.h, plot.y);
        let mut m = Markup::default();
        axis::columns(&mut m, &x, plot, 8);
        axis::left(&mut m, &y, plot, 8);
        axis::bottom(&mut m, &x, plot, 8, &self.x_title);
        axis::side_title(&mut m, 15.0, plot.y + plot.h / 2.0, &self.y_title);
        let (lo, hi) = (x.lo(), x.hi());
        for factor in BESIDE {
            // The part of the line on which both coordinates are within the axes.
            let (from, to) = (lo.max(lo / factor), hi.min(hi / factor));
            let ends = [x.at(from), y.at(from * factor), x.at(to), y.at(to * factor)];
            axis::line(&mut m, ends, Paint::RULE, 0.6);
        }
        axis::line(&mut m, [x.at(lo), y.at(lo), x.at(hi), y.at(hi)], Paint::MUTED, 1.2);
        for dot in &dots {
            marker(&mut m, (x.at(dot.x), y.at(dot.y)), dot.marker, dot.paint, &dot.tooltip);
        }
        for dot in dots.iter().filter(|dot| !dot.label.is_empty()) {
            let text = m.el("text").n("x", x.at(dot.x) + 7.0).n("y", y.at(dot.y) + 4.0);
            text.n("font-size", 11.0).fill(Paint::INK).text(&dot.label);
        }
        Figure::new(SIZE, SIZE, &self.label, m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scatter::Marker;

    fn dot(x: f64, y: f64) -> Dot {
        let marker = Marker { radius: 4.0, filled: true, ..Marker::default() };
        let (label, tooltip) = (String::new(), format!("{x} and {y}"));
        Dot { x, y, label, tooltip, paint: Paint::GOOD, marker, counts: false, tie: None }
    }

    #[test]
    fn pairs_are_drawn_and_others_left_out() {
        let named = Dot { label: "X1".into(), ..dot(1.0, 1.0) };
        let plot = Agreement {
            label: "figures".into(),
            dots: vec![named, dot(100.0, 50.0), dot(-0.5, 0.2), dot(1.0, f64::NAN)],
            ..Agreement::default()
        };
        let svg = plot.figure().to_svg();
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!(svg.contains("100 and 50") && svg.contains(">X1</text>") && !svg.contains("NaN"));
        assert!(Agreement::default().figure().to_svg().contains("no data"));
    }
}
