//! Fits a smooth curve to the delay profile: least squares with a penalty for curvature.
//!
//! The authors' program uses ALGLIB's penalised cubic spline: natural, with equidistant nodes,
//! minimising the sum of squared errors plus `p` times the integral of the squared second
//! derivative. With the basis of splines that are one at a node and zero at the others, `p` is 100
//! times the largest sum of a basis function's squared values at the data, divided by the largest
//! integral of a basis function's squared second derivative. This code computes that curve with
//! B-splines, each of which overlaps with only a few others.

use super::curve::weights;

/// Largest number of windows per node (authors' code).
pub(super) const SPACING: u32 = 15;
/// Smallest number of nodes (authors' code).
const FEWEST: u32 = 5;
/// Ten to the power of the authors' smoothing parameter, 2.
const SMOOTHING: f64 = 100.0;
/// Number of nodes beyond which a basis function counts as zero: it falls to a quarter from node to
/// node.
const REACH: usize = 28;

/// Coefficients of a second difference.
const DIFFERENCE: [f64; 3] = [1.0, -2.0, 1.0];

/// A symmetric band matrix: for each row the diagonal element and the three to its right.
type Banded = Vec<[f64; 4]>;

/// Fits curves; keeps its buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Fitter {
    /// Part of the normal equations due to the squared errors.
    errors: Banded,
    /// Part due to the squared second derivative.
    bends: Banded,
    /// The right-hand sides.
    right: Vec<f64>,
    /// Coefficients of a basis function, and the remainder of their elimination.
    basis: Vec<f64>,
    eliminated: Vec<f64>,
}

/// Returns the number of nodes for a largest window, and the windows per node, which decrease from
/// `spacing` until there are five nodes; `None` if there are too few windows.
pub(super) fn nodes(largest: u32, spacing: u32) -> Option<(u32, u32)> {
    if largest < FEWEST {
        return None;
    }
    let spacing = spacing.min(largest / FEWEST);
    Some((largest / spacing, spacing))
}

/// Returns the value of a quadratic form.
fn form(matrix: &[[f64; 4]], vector: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (j, row) in matrix.iter().enumerate() {
        let later = |k: usize| vector.get(j + k).copied().unwrap_or(0.0);
        let right = row[1] * later(1) + row[2] * later(2) + row[3] * later(3);
        sum += vector[j] * (row[0] * vector[j] + 2.0 * right);
    }
    sum
}

impl Fitter {
    /// Computes the coefficients of the curve with `count` equidistant nodes from `first` to `last`
    /// that fits the `points`. Returns false if the points do not determine a curve.
    pub(super) fn fit(
        &mut self,
        first: f64,
        last: f64,
        count: usize,
        points: impl Iterator<Item = (f64, f64)>,
        factors: &mut Vec<f64>,
    ) -> bool {
        if count < FEWEST as usize || last <= first {
            return false;
        }
        self.errors.clear();
        self.errors.resize(count, [0.0; 4]);
        self.right.clear();
        self.right.resize(count, 0.0);
        let step = (last - first) / (count - 1) as f64;
        for (x, y) in points {
            let (start, weights) = weights((x - first) / step, count);
            for (k, weight) in weights.iter().enumerate() {
                self.right[start + k] += weight * y;
                for (element, other) in self.errors[start + k].iter_mut().zip(&weights[k..]) {
                    *element += weight * other;
                }
            }
        }
        self.bend(count);
        let penalty = self.penalty();
        for (row, bends) in self.errors.iter_mut().zip(&self.bends) {
            row.iter_mut().zip(bends).for_each(|(element, bend)| *element += penalty * bend);
        }
        factors.clear();
        self.solve() && {
            factors.extend_from_slice(&self.right);
            factors.iter().all(|factor| factor.is_finite())
        }
    }

    /// Computes the integral of the squared second derivative, per node. The second derivative is
    /// linear between the nodes, where it is the second difference of the coefficients, and zero at
    /// the ends.
    fn bend(&mut self, count: usize) {
        self.bends.clear();
        self.bends.resize(count, [0.0; 4]);
        // Product of two second differences: each coefficient of one with each of the other.
        let mut add = |first: usize, second: usize, share: f64| {
            for (a, one) in DIFFERENCE.iter().enumerate() {
                for (b, other) in DIFFERENCE.iter().enumerate() {
                    let (row, column) = (first + a, second + b);
                    if row <= column {
                        self.bends[row][column - row] += share * one * other;
                    }
                }
            }
        };
        for j in 0..count - 2 {
            add(j, j, 2.0 / 3.0);
            if j + 3 < count {
                // Both orders; of a symmetric matrix only the upper half is stored.
                add(j, j + 1, 1.0 / 6.0);
                add(j + 1, j, 1.0 / 6.0);
            }
        }
    }

    /// Returns the weight of the second derivative's part.
    fn penalty(&mut self) -> f64 {
        let count = self.errors.len();
        let (mut errors, mut bends) = (0.0_f64, 0.0_f64);
        for node in 0..count {
            let (from, to) = (node.saturating_sub(REACH), (node + REACH).min(count - 1));
            self.basis_function(node, from, to);
            errors = errors.max(form(&self.errors[from..=to], &self.basis));
            bends = bends.max(form(&self.bends[from..=to], &self.basis));
        }
        if bends > 0.0 { SMOOTHING * errors / bends } else { 0.0 }
    }

    /// Computes the coefficients, from one node to another, of the spline that is one at `node` and
    /// zero at the others. A spline's value at a node is (1, 4, 1)/6 times the coefficients around
    /// it, at an end the coefficient.
    fn basis_function(&mut self, node: usize, from: usize, to: usize) {
        let count = self.errors.len();
        self.basis.clear();
        self.eliminated.clear();
        let (mut share, mut value) = (0.0, 0.0);
        for j in from..=to {
            let is_end = j == 0 || j == count - 1;
            let (side, middle) = if is_end { (0.0, 1.0) } else { (1.0 / 6.0, 4.0 / 6.0) };
            let pivot = middle - side * share;
            value = ((j == node) as u8 as f64 - side * value) / pivot;
            share = side / pivot;
            self.basis.push(value);
            self.eliminated.push(share);
        }
        let mut later = 0.0;
        for (value, share) in self.basis.iter_mut().zip(&self.eliminated).rev() {
            *value -= share * later;
            later = *value;
        }
    }

    /// Solves the equations by Cholesky's method; the solution replaces the right-hand sides.
    fn solve(&mut self) -> bool {
        let count = self.errors.len();
        for j in 0..count {
            let row = self.errors[j];
            if row[0].is_nan() || row[0] <= 0.0 {
                return false;
            }
            for k in 1..4.min(count - j) {
                let share = row[k] / row[0];
                for (element, other) in self.errors[j + k].iter_mut().zip(&row[k..]) {
                    *element -= share * other;
                }
                self.right[j + k] -= share * self.right[j];
            }
        }
        for j in (0..count).rev() {
            let row = self.errors[j];
            let later: f64 = (1..4.min(count - j)).map(|k| row[k] * self.right[j + k]).sum();
            self.right[j] = (self.right[j] - later) / row[0];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Stream;

    use super::super::curve::Curve;
    use super::*;

    /// Returns the values and second derivatives, at `places`, of the natural cubic spline through
    /// `values` at nodes one apart: from the textbook's equations, by elimination.
    fn natural(values: &[f64], places: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let count = values.len();
        let mut bends = vec![0.0; count];
        // Relaxation: M[j-1] + 4 M[j] + M[j+1] is six times the values' second difference.
        for _ in 0..200 {
            for j in 1..count - 1 {
                let second = values[j - 1] - 2.0 * values[j] + values[j + 1];
                bends[j] = (6.0 * second - bends[j - 1] - bends[j + 1]) / 4.0;
            }
        }
        let at = |place: &f64| {
            let j = (*place as usize).min(count - 2);
            let (b, a) = (place - j as f64, 1.0 - (place - j as f64));
            let straight = a * values[j] + b * values[j + 1];
            straight + ((a * a * a - a) * bends[j] + (b * b * b - b) * bends[j + 1]) / 6.0
        };
        (places.iter().map(at).collect(), bends)
    }

    /// Returns the integral of the square of a function that is linear between `bends`, one apart.
    fn integral(bends: &[f64]) -> f64 {
        let piece = |w: &[f64]| (w[0] * w[0] + w[0] * w[1] + w[1] * w[1]) / 3.0;
        bends.windows(2).map(piece).sum()
    }

    #[test]
    fn the_curve_minimises_the_penalty_of_the_authors_library() {
        for (seed, count) in [(1, 5), (2, 6), (3, 9), (4, 20)] {
            let mut random = Stream::new(seed, "fit");
            let last = 1.0 + 6.0 * (count - 1) as f64;
            let mut points: Vec<(f64, f64)> = (1..=last as u32)
                .filter(|x| *x == 1 || *x == last as u32 || random.chance(0.7))
                .map(|x| (x as f64, x as f64 * x as f64))
                .collect();
            points.iter_mut().for_each(|(_, y)| *y += 100.0 * random.normal());
            let places: Vec<f64> = points.iter().map(|(x, _)| (x - 1.0) / 6.0).collect();
            // The penalty's weight by its definition.
            let (mut norms, mut bends) = (0.0_f64, 0.0_f64);
            for node in 0..count {
                let unit: Vec<f64> = (0..count).map(|j| (j == node) as u8 as f64).collect();
                let (values, second) = natural(&unit, &places);
                norms = norms.max(values.iter().map(|value| value * value).sum());
                bends = bends.max(integral(&second));
            }
            let penalty = 100.0 * norms / bends;
            let cost = |nodes: &[f64]| {
                let (values, second) = natural(nodes, &places);
                let errors = values.iter().zip(&points).map(|(value, (_, y))| (value - y).powi(2));
                errors.sum::<f64>() + penalty * integral(&second)
            };
            let mut curve = Curve::default();
            (curve.first, curve.last) = (1.0, last);
            let mut fitter = Fitter::default();
            let data = points.iter().copied();
            assert!(fitter.fit(1.0, last, count, data, &mut curve.factors));
            let nodes: Vec<f64> = (0..count).map(|j| curve.at(1.0 + 6.0 * j as f64)).collect();
            let best = cost(&nodes);
            for node in 0..count {
                for step in [-0.1, 0.1] {
                    let mut other = nodes.clone();
                    other[node] += step;
                    assert!(cost(&other) > best, "node {node} of {count}");
                }
            }
            let (values, _) = natural(&nodes, &places);
            for ((x, _), value) in points.iter().zip(values) {
                assert!((curve.at(*x) - value).abs() < 1e-6 * value.abs().max(1.0));
            }
        }
    }
}
