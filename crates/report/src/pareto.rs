//! The Pareto front of delay and throughput.

use crate::number::usable;

/// Returns the indices of the points that no other point beats, in order of rising cost. A point
/// beats another one if it has at most its cost (first value) and at least its gain (second value),
/// and is better in one of them.
pub fn front(points: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..points.len()).filter(|&i| usable(points[i].0) && usable(points[i].1)).collect();
    order.sort_by(|&a, &b| {
        let ((cost_a, gain_a), (cost_b, gain_b)) = (points[a], points[b]);
        cost_a.total_cmp(&cost_b).then(gain_b.total_cmp(&gain_a))
    });
    let mut best = f64::NEG_INFINITY;
    order.retain(|&i| {
        let better = points[i].1 > best;
        best = best.max(points[i].1);
        better
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dominated_points_are_left_out() {
        let points = [(50.0, 9.0), (500.0, 9.5), (60.0, 5.0), (20.0, 4.0), (f64::NAN, 99.0)];
        assert_eq!(front(&points), [3, 0, 1]);
        assert!(front(&[]).is_empty());
        assert_eq!(front(&[(1.0, 1.0), (1.0, 2.0), (1.0, 2.0)]), [1]);
    }
}
