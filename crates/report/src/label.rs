//! Text on a drawing: its width, and a place where it overlaps nothing.

/// Returns the approximate width of a text in a sans-serif font, in pixels.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let units: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.29,
            'f' | 't' | 'r' | 'I' | '(' | ')' | '[' | ']' | ' ' | '/' | '-' | '·' => 0.36,
            'm' | 'M' | 'w' | 'W' | '%' | '@' => 0.9,
            'A'..='Z' | '+' | '=' | '–' => 0.68,
            c if c.is_ascii() => 0.575,
            _ => 0.8,
        })
        .sum();
    1.06 * units * size
}

/// Factor by which bold text is wider.
pub(crate) const BOLD: f64 = 1.13;

/// Returns the text cut to a width, with an ellipsis if a part is missing.
pub(crate) fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if text_width(&cut, size) > width - size {
            cut.pop();
            break;
        }
    }
    cut.push('…');
    cut
}

/// Returns the text in at most `most` lines of a width, broken after spaces and punctuation.
pub(crate) fn wrapped(text: &str, size: f64, width: f64, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive([' ', '-', '_', '.', '/', ',', '+']) {
        let count = lines.len();
        let Some(line) = lines.last_mut() else { break };
        let full = text_width(line, size) + text_width(part.trim_end(), size) > width;
        if full && !line.is_empty() && count < most {
            lines.push(part.to_owned());
        } else {
            line.push_str(part);
        }
    }
    lines.iter().map(|line| fitted(line.trim(), size, width)).collect()
}

/// An upright rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

impl Rect {
    /// Returns the square around a point.
    pub(crate) fn around(x: f64, y: f64, radius: f64) -> Self {
        Self { x: x - radius, y: y - radius, w: 2.0 * radius, h: 2.0 * radius }
    }

    fn shared(&self, other: &Self) -> f64 {
        let w = (self.x + self.w).min(other.x + other.w) - self.x.max(other.x);
        let h = (self.y + self.h).min(other.y + other.h) - self.y.max(other.y);
        if w > 0.0 && h > 0.0 { w * h } else { 0.0 }
    }
}

/// A point that needs a label of a given size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelRequest {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) radius: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

/// Directions to try, best first, given by the sides of the label that touch the point.
const SIDES: [(f64, f64); 8] = [
    (1.0, 0.0),
    (-1.0, 0.0),
    (0.0, -1.0),
    (0.0, 1.0),
    (1.0, -1.0),
    (-1.0, -1.0),
    (1.0, 1.0),
    (-1.0, 1.0),
];

/// Places labels near their points, without overlapping each other or the points, and if possible
/// without overlapping `soft` obstacles. Returns them in the order of `wishes`.
pub(crate) fn place(
    wishes: &[LabelRequest],
    hard: &[Rect],
    soft: &[Rect],
    bounds: Rect,
) -> Vec<Rect> {
    let mut placed: Vec<Rect> = wishes.iter().map(|w| spot(w, SIDES[0], 0.0)).collect();
    // Each round moves every label to its best place given all others; six rounds suffice.
    for _ in 0..6 {
        for (i, wish) in wishes.iter().enumerate() {
            let cost = |spot: &Rect, extra: f64| {
                let others = placed.iter().enumerate().filter(|(j, _)| *j != i);
                let labels: f64 = others.map(|(_, r)| spot.shared(r)).sum();
                let marks: f64 = hard.iter().map(|r| spot.shared(r)).sum();
                let lines: f64 = soft.iter().map(|r| spot.shared(r)).sum();
                let outside = spot.w * spot.h - spot.shared(&bounds);
                extra + 12.0 * outside + 8.0 * labels + 5.0 * marks + 1.5 * lines
            };
            let mut best = (f64::INFINITY, placed[i]);
            for (far, distance) in [0.0, 7.0, 15.0, 25.0, 38.0].into_iter().enumerate() {
                for (rank, &side) in SIDES.iter().enumerate() {
                    let spot = spot(wish, side, distance);
                    let cost = cost(&spot, 2.0 * rank as f64 + 45.0 * far as f64);
                    if cost < best.0 {
                        best = (cost, spot);
                    }
                }
            }
            placed[i] = best.1;
        }
    }
    placed
}

fn spot(wish: &LabelRequest, (dx, dy): (f64, f64), distance: f64) -> Rect {
    let diagonal = if dx != 0.0 && dy != 0.0 { 0.72 } else { 1.0 };
    let reach = (wish.radius + 3.0 + distance) * diagonal;
    let x = wish.x + dx * reach + (dx - 1.0) / 2.0 * wish.w;
    let y = wish.y + dy * reach + (dy - 1.0) / 2.0 * wish.h;
    Rect { x, y, w: wish.w, h: wish.h }
}

/// Returns the line from a point to its label if the label is far from it.
pub(crate) fn leader(wish: &LabelRequest, label: &Rect) -> Option<[f64; 4]> {
    let x = wish.x.clamp(label.x, label.x + label.w);
    let y = wish.y.clamp(label.y, label.y + label.h);
    let (dx, dy) = (x - wish.x, y - wish.y);
    let length = libm::hypot(dx, dy);
    (length > wish.radius + 8.0).then(|| {
        let start = (wish.radius + 1.0) / length;
        [wish.x + dx * start, wish.y + dy * start, x, y]
    })
}

/// Spreads values within `lo..hi`, so that neighbours are at least `gap` apart and each value is as
/// near as possible to its wanted place.
pub(crate) fn spread(wanted: &[f64], gap: f64, lo: f64, hi: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut at: Vec<f64> = order.iter().map(|&i| wanted[i]).collect();
    // Clusters that touch are merged, and centred on the mean of their wanted places.
    let mut clusters: Vec<(f64, usize)> = Vec::new();
    for &want in &at {
        let mut new = (want, 1_usize);
        while let Some(&(centre, count)) = clusters.last() {
            let reach = (count + new.1) as f64 / 2.0 * gap;
            if new.0 - centre >= reach {
                break;
            }
            let total = (count + new.1) as f64;
            new = ((centre * count as f64 + new.0 * new.1 as f64) / total, count + new.1);
            clusters.pop();
        }
        clusters.push(new);
    }
    let centres = clusters.iter().flat_map(|&(centre, count)| {
        (0..count).map(move |i| centre + (i as f64 - (count as f64 - 1.0) / 2.0) * gap)
    });
    for (slot, value) in at.iter_mut().zip(centres) {
        *slot = value;
    }
    let mut floor = lo;
    for value in &mut at {
        *value = value.max(floor);
        floor = *value + gap;
    }
    let mut ceiling = hi;
    for value in at.iter_mut().rev() {
        *value = value.min(ceiling);
        ceiling = *value - gap;
    }
    let mut out = vec![0.0; wanted.len()];
    for (&i, &value) in order.iter().zip(&at) {
        out[i] = value;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_close_points_do_not_overlap() {
        let wishes: Vec<LabelRequest> = (0..6)
            .map(|i| LabelRequest {
                x: 200.0 + 9.0 * i as f64,
                y: 100.0,
                radius: 5.0,
                w: 50.0,
                h: 14.0,
            })
            .collect();
        let hard: Vec<Rect> = wishes.iter().map(|w| Rect::around(w.x, w.y, 5.0)).collect();
        let bounds = Rect { x: 0.0, y: 0.0, w: 500.0, h: 200.0 };
        let placed = place(&wishes, &hard, &[], bounds);
        for (i, a) in placed.iter().enumerate() {
            assert!(placed[i + 1..].iter().all(|b| a.shared(b) == 0.0));
            assert!(a.x >= 0.0 && a.x + a.w <= 500.0);
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(fitted("abc", 12.0, 100.0), "abc");
        let cut = fitted("a very long scheme name", 12.0, 60.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 66.0);
    }

    #[test]
    fn a_long_name_is_wrapped() {
        let name = "Verizon-LTE-driving-7.down";
        let lines = wrapped(name, 12.0, 85.0, 3);
        assert_eq!(lines.concat(), name);
        assert!(lines.len() > 1 && lines.iter().all(|line| text_width(line, 12.0) <= 85.0));
        assert_eq!(wrapped("", 12.0, 85.0, 3), [""]);
        assert_eq!(wrapped("a b c d e f", 12.0, 9.0, 2).len(), 2);
    }

    #[test]
    fn spread_keeps_order_and_distance() {
        let at = spread(&[50.0, 10.0, 52.0, 51.0], 12.0, 0.0, 100.0);
        assert_eq!(at[1], 10.0);
        assert!(at[3] - at[0] >= 12.0 - 1e-9 && at[2] - at[3] >= 12.0 - 1e-9);
        assert!(spread(&[99.0, 99.5], 12.0, 0.0, 100.0).iter().all(|&y| y <= 100.0));
        assert!(spread(&[], 12.0, 0.0, 100.0).is_empty());
    }
}
