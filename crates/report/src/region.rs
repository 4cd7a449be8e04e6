//! The region of several runs in a scatter plot: the hull of the 90 % nearest to the median.

use crate::markup::Markup;
use crate::number::usable;
use crate::scale::Scale;
use crate::style::Paint;

/// Share of the runs inside the hull.
const SHARE: f64 = 0.9;

/// The runs of one scheme around their median.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// Delay and throughput of the median.
    pub median: (f64, f64),
    /// Delay and throughput of each run.
    pub runs: Vec<(f64, f64)>,
    /// The colour.
    pub paint: Paint,
    /// Text shown under the pointer.
    pub tooltip: String,
}

impl Region {
    /// Returns the runs that can be drawn.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.runs.iter().copied().filter(|(x, y)| usable(*x) && usable(*y))
    }

    /// Draws the hull, and a small point for each run.
    pub(crate) fn draw(&self, m: &mut Markup, x: &Scale, y: &Scale) {
        let place = |(delay, throughput): (f64, f64)| (x.at(delay), y.at(throughput));
        let all: Vec<(f64, f64)> = self.points().map(place).collect();
        let corners: Vec<String> = hull(nearest(&all, place(self.median)))
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        if corners.len() > 1 {
            // The outline is wide enough to show a region whose runs lie on a line.
            m.el("polygon")
                .a("points", &corners.join(" "))
                .a("fill-opacity", "0.16")
                .a("stroke-opacity", "0.16")
                .a("stroke-linejoin", "round")
                .fill(self.paint)
                .stroke(self.paint, 6.0)
                .titled(&self.tooltip);
        }
        for (x, y) in all {
            let dot = m.el("circle").n("cx", x).n("cy", y).n("r", 1.6).fill(self.paint);
            dot.a("fill-opacity", "0.6").end();
        }
    }
}

/// Returns the points nearest to `centre`: 90 % of them, rounded up.
fn nearest(points: &[(f64, f64)], centre: (f64, f64)) -> Vec<(f64, f64)> {
    let distance = |point: &(f64, f64)| libm::hypot(point.0 - centre.0, point.1 - centre.1);
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    sorted.truncate((SHARE * points.len() as f64).ceil() as usize);
    sorted
}

/// Returns the corners of the convex hull, by Andrew's monotone chain (1979).
fn hull(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let turns_left = |a: (f64, f64), b: (f64, f64), c: (f64, f64)| {
        (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) > 0.0
    };
    let half = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut chain: Vec<(f64, f64)> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..] {
                if turns_left(a, b, point) {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        // The last corner is also the first one of the other half.
        chain.pop();
        chain
    };
    let mut corners = half(&mut points.iter().copied());
    corners.extend(half(&mut points.iter().rev().copied()));
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hull_holds_all_points_and_has_no_others() {
        let square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)];
        let inner = [(1.0, 1.0), (1.0, 0.0), (0.5, 1.5)];
        let corners = hull([&square[..], &inner].concat());
        assert_eq!(corners, square);
        assert_eq!(hull(vec![(1.0, 1.0); 5]), [(1.0, 1.0)]);
        assert_eq!(hull(vec![(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]), [(0.0, 0.0), (2.0, 2.0)]);
    }

    #[test]
    fn one_of_ten_runs_may_lie_outside() {
        let mut runs: Vec<(f64, f64)> = (0..9).map(|i| (f64::from(i), 0.0)).collect();
        runs.push((100.0, 100.0));
        let kept = nearest(&runs, (4.0, 0.0));
        assert!(kept.len() == 9 && !kept.contains(&(100.0, 100.0)));
    }
}
