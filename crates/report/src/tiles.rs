//! A map over two quantities: rectangles whose colour is darker for larger values.

use crate::axis;
use crate::figure::Figure;
use crate::label::{Rect, fitted, text_width};
use crate::markup::Markup;
use crate::number::usable;
use crate::scale::Scale;
use crate::style::Paint;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 400.0;
const TEXT: f64 = 12.0;
/// Opacity of the tiles with the smallest and the largest value.
const OPAQUE: (f64, f64) = (0.08, 0.75);

/// A rectangle of the map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tile {
    /// Range along the horizontal axis; parts beyond the map are cut off.
    pub x: [f64; 2],
    /// Range along the vertical axis.
    pub y: [f64; 2],
    /// Its value; NaN for none.
    pub value: f64,
    /// Lines of text inside it, if there is room.
    pub text: Vec<String>,
    /// Text shown under the pointer.
    pub tooltip: String,
}

/// A map over two quantities.
#[derive(Debug, Clone, PartialEq)]
pub struct Tiles {
    /// Description of the map for screen readers and file viewers.
    pub label: String,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Range of the horizontal axis.
    pub x: [f64; 2],
    /// Range of the vertical axis.
    pub y: [f64; 2],
    /// The colour.
    pub paint: Paint,
    /// Whether the colour follows the logarithm of the value.
    pub log: bool,
    /// The tiles.
    pub tiles: Vec<Tile>,
    /// Points on the map: places of measurements.
    pub points: Vec<(f64, f64)>,
}

impl Tiles {
    /// Returns the map as an SVG file.
    pub fn to_svg(&self) -> String {
        self.figure().to_svg()
    }

    /// Returns the map as a figure for a [`crate::Page`].
    pub fn figure(&self) -> Figure {
        let wide = |[from, to]: [f64; 2]| usable(from) && usable(to) && from < to;
        if !wide(self.x) || !wide(self.y) || self.tiles.is_empty() {
            return Figure::no_data(WIDTH, 160.0, &self.label);
        }
        let plot = Rect { x: 66.0, y: 14.0, w: WIDTH - 66.0 - 28.0, h: HEIGHT - 14.0 - 52.0 };
        let x = Scale::linear(self.x[0], self.x[1], plot.x, plot.x + plot.w);
        let y = Scale::linear(self.y[0], self.y[1], plot.y + plot.h, plot.y);
        let mut m = Markup::default();
        let shade = self.shade();
        for tile in &self.tiles {
            if let Some(area) = area(tile, &x, &y) {
                let shape = m.el("rect").n("x", area.x).n("y", area.y);
                let shape = shape.n("width", area.w).n("height", area.h).fill(self.paint);
                let shape = shape.n("fill-opacity", shade(tile.value)).stroke(Paint::RULE, 1.0);
                if tile.tooltip.is_empty() { shape.end() } else { shape.titled(&tile.tooltip) }
            }
        }
        for (px, py) in
            self.points.iter().filter(|(px, py)| inside(*px, self.x) && inside(*py, self.y))
        {
            let dot = m.el("circle").n("cx", x.at(*px)).n("cy", y.at(*py)).n("r", 1.4);
            dot.fill(Paint::INK).n("fill-opacity", 0.35).end();
        }
        for tile in &self.tiles {
            if let Some(area) = area(tile, &x, &y) {
                write(&mut m, tile, area);
            }
        }
        axis::left(&mut m, &y, Rect { w: 0.0, ..plot }, 6);
        axis::bottom(&mut m, &x, plot, 8, &self.x_title);
        axis::side_title(&mut m, 15.0, plot.y + plot.h / 2.0, &self.y_title);
        Figure::new(WIDTH, HEIGHT, &self.label, m)
    }

    /// Returns the function from a value to its opacity.
    fn shade(&self) -> impl Fn(f64) -> f64 {
        let log = self.log;
        let level = move |value: f64| if log { libm::log(value.max(1e-9)) } else { value };
        let levels =
            self.tiles.iter().map(|tile| tile.value).filter(|value| usable(*value)).map(level);
        let (least, most) = levels
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), level| (a.min(level), b.max(level)));
        move |value| match (usable(value), most > least) {
            (false, _) => 0.0,
            (true, false) => f64::midpoint(OPAQUE.0, OPAQUE.1),
            (true, true) => {
                OPAQUE.0 + (OPAQUE.1 - OPAQUE.0) * (level(value) - least) / (most - least)
            }
        }
    }
}

fn inside(value: f64, [from, to]: [f64; 2]) -> bool {
    (from..=to).contains(&value)
}

/// Returns the visible part of a tile.
fn area(tile: &Tile, x: &Scale, y: &Scale) -> Option<Rect> {
    let cut = |[from, to]: [f64; 2], scale: &Scale| {
        let (from, to) = (from.max(scale.lo()), to.min(scale.hi()));
        (from < to).then(|| (scale.at(from), scale.at(to)))
    };
    let ((left, right), (bottom, top)) = (cut(tile.x, x)?, cut(tile.y, y)?);
    Some(Rect { x: left, y: top, w: right - left, h: bottom - top })
}

/// Writes as many lines of a tile's text as fit.
fn write(m: &mut Markup, tile: &Tile, area: Rect) {
    let line = TEXT + 3.0;
    let fit = |text: &&String| text_width(text, TEXT) <= area.w - 6.0;
    let rows = ((area.h - 4.0) / line).max(0.0) as usize;
    let text: Vec<&String> = tile.text.iter().take(rows).take_while(fit).collect();
    let first = area.y + (area.h - line * text.len() as f64) / 2.0 + TEXT;
    for (row, text) in text.into_iter().enumerate() {
        m.el("text")
            .n("x", area.x + area.w / 2.0)
            .n("y", first + line * row as f64)
            .n("font-size", TEXT)
            .a("text-anchor", "middle")
            .a("paint-order", "stroke")
            .a("stroke-linejoin", "round")
            .a("stroke-opacity", "0.6")
            .stroke(Paint::PAPER, 3.0)
            .fill(Paint::INK)
            .text(&fitted(text, TEXT, area.w));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    fn map(values: &[f64]) -> Tiles {
        let tile = |(at, &value): (usize, &f64)| Tile {
            x: [at as f64, at as f64 + 1.0],
            y: [f64::NEG_INFINITY, f64::INFINITY],
            value,
            text: vec![
                format!("rule {at} <"),
                "a text that is far too long for such a tile".into(),
            ],
            tooltip: "<tip>".into(),
        };
        Tiles {
            label: "a & b".into(),
            x_title: "x".into(),
            y_title: "y".into(),
            x: [0.5, 9.0],
            y: [1.0, 2.0],
            paint: Paint::GOOD,
            log: true,
            tiles: values.iter().enumerate().map(tile).collect(),
            points: vec![(1.0, 1.5), (f64::NAN, 1.5), (99.0, 1.0)],
        }
    }

    #[test]
    fn larger_values_are_more_opaque_and_bad_ones_are_empty() {
        let map = map(&[1.0, 10.0, 100.0, f64::NAN]);
        let shade = map.shade();
        assert!((shade(10.0) - f64::midpoint(OPAQUE.0, OPAQUE.1)).abs() < 1e-9);
        assert_eq!((shade(1.0), shade(f64::NAN)), (OPAQUE.0, 0.0));
        let svg = map.to_svg();
        assert_sound(&svg);
        assert!(svg.contains("rule 1 &lt;") && !svg.contains("far too long"));
        assert_eq!(svg.matches("<circle").count(), 1);
    }

    #[test]
    fn what_is_no_map_is_told() {
        assert!(map(&[]).to_svg().contains("no data"));
        let flat = Tiles { y: [1.0, 1.0], ..map(&[1.0]) };
        assert!(flat.to_svg().contains("no data"));
        assert_sound(&map(&[f64::INFINITY]).to_svg());
    }
}
