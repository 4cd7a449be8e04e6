//! Axes: grid, ticks and titles.

use crate::label::{Rect, text_width};
use crate::markup::Markup;
use crate::scale::Scale;
use crate::style::Paint;

/// Font size of tick labels in pixels.
const SMALL: f64 = 11.0;

/// Writes text at a point. `anchor` is `start`, `middle` or `end`.
pub(crate) fn write(m: &mut Markup, (x, y): (f64, f64), anchor: &str, paint: Paint, text: &str) {
    m.el("text").n("x", x).n("y", y).a("text-anchor", anchor).fill(paint).text(text);
}

/// Draws a straight line.
pub(crate) fn line(m: &mut Markup, [x1, y1, x2, y2]: [f64; 4], paint: Paint, width: f64) {
    m.el("line").n("x1", x1).n("y1", y1).n("x2", x2).n("y2", y2).stroke(paint, width).end();
}

/// Writes a title along the vertical axis.
pub(crate) fn side_title(m: &mut Markup, x: f64, y: f64, text: &str) {
    let turn = format!("translate({x:.0} {y:.0}) rotate(-90)");
    m.el("text").a("transform", &turn).a("text-anchor", "middle").fill(Paint::INK).text(text);
}

/// Draws horizontal grid lines, with their labels to the left of the plot.
pub(crate) fn left(m: &mut Markup, scale: &Scale, plot: Rect, count: usize) {
    m.el("g").n("font-size", SMALL).open();
    let floor = scale.is_log();
    let mut free = f64::INFINITY;
    for (i, tick) in scale.ticks(count).iter().enumerate() {
        let y = scale.at(tick.value);
        line(m, [plot.x, y, plot.x + plot.w, y], Paint::GRID, 1.0);
        if tick.label.is_empty() || y > free {
            continue;
        }
        free = y - SMALL - 1.0;
        let bottom = floor && i == 0 && (tick.value - scale.lo()).abs() < 1e-9;
        let label = if bottom { format!("≤{}", tick.label) } else { tick.label.clone() };
        write(m, (plot.x - 7.0, y + 4.0), "end", Paint::MUTED, &label);
    }
    m.close();
}

/// Draws vertical grid lines.
pub(crate) fn columns(m: &mut Markup, scale: &Scale, plot: Rect, count: usize) {
    for tick in scale.ticks(count) {
        let x = scale.at(tick.value);
        line(m, [x, plot.y, x, plot.y + plot.h], Paint::GRID, 1.0);
    }
}

/// Draws the axis line below the plot with its labels and its title. Leaves out labels that would
/// touch the previous one.
pub(crate) fn bottom(m: &mut Markup, scale: &Scale, plot: Rect, count: usize, title: &str) {
    let y = plot.y + plot.h;
    line(m, [plot.x, y, plot.x + plot.w, y], Paint::RULE, 1.0);
    m.el("g").n("font-size", SMALL).open();
    let mut taken: Option<(f64, f64)> = None;
    for tick in scale.ticks(count) {
        let x = scale.at(tick.value);
        let half = text_width(&tick.label, SMALL) / 2.0 + 3.0;
        line(m, [x, y, x, y + 4.0], Paint::RULE, 1.0);
        let touches = taken.is_some_and(|(lo, hi)| x + half > lo && x - half < hi);
        if !tick.label.is_empty() && !touches {
            write(m, (x, y + 17.0), "middle", Paint::MUTED, &tick.label);
            taken = Some((x - half, x + half));
        }
    }
    m.close();
    write(m, (plot.x + plot.w / 2.0, y + 36.0), "middle", Paint::INK, title);
}
