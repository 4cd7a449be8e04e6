//! A smooth curve through the delay profile that never falls.

/// Windows per node, at most (authors' code).
const SPACING: u32 = 15;
/// The fewest nodes (authors' code).
const FEWEST: u32 = 5;
/// The weight of the second differences (the curve's bends) in the fit, relative to the number of
/// data points per node.
const STIFFNESS: f64 = 10.0;

/// Fits curves; keeps its buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Fitter {
    /// The normal equations: diagonal, first and second off-diagonal, right-hand side.
    rows: Vec<[f64; 4]>,
    /// Runs of equal values while they are made not to fall: sum of weighted values, weights, nodes.
    runs: Vec<(f64, f64, u32)>,
}

/// The number of nodes for a largest window: at least five, else `None`.
pub(super) fn nodes(largest: u32) -> Option<u32> {
    if largest < FEWEST {
        return None;
    }
    // The spacing falls by one until there are five.
    Some((largest / SPACING.min(largest / FEWEST)).max(FEWEST))
}

impl Fitter {
    /// The values at `count` nodes spread evenly from `first` to `last`, such that the curve comes
    /// near the `points`: least squares with penalised second differences, then the nearest values
    /// that do not fall. False if the points do not determine a curve.
    pub(super) fn fit(
        &mut self,
        first: f64,
        last: f64,
        count: usize,
        points: impl Iterator<Item = (f64, f64)>,
        values: &mut Vec<f64>,
    ) -> bool {
        self.rows.clear();
        self.rows.resize(count, [0.0; 4]);
        if count < 3 || last <= first {
            return false;
        }
        let step = (last - first) / (count - 1) as f64;
        let mut total = 0.0;
        for (x, y) in points {
            let place = ((x - first) / step).clamp(0.0, (count - 1) as f64);
            let j = (place as usize).min(count - 2);
            let (right, left) = (place - j as f64, 1.0 - (place - j as f64));
            self.rows[j][0] += left * left;
            self.rows[j][1] += left * right;
            self.rows[j][3] += left * y;
            self.rows[j + 1][0] += right * right;
            self.rows[j + 1][3] += right * y;
            total += 1.0;
        }
        values.clear();
        values.extend(self.rows.iter().map(|row| row[0]));
        let stiffness = STIFFNESS * total / count as f64;
        for j in 0..count - 2 {
            for (k, weights) in
                [[1.0, -2.0, 1.0], [4.0, -2.0, 0.0], [1.0, 0.0, 0.0]].into_iter().enumerate()
            {
                for (row, weight) in self.rows[j + k].iter_mut().zip(weights) {
                    *row += stiffness * weight;
                }
            }
        }
        self.solve() && {
            self.raise(values);
            values.iter().all(|value| value.is_finite())
        }
    }

    /// Solves the equations by Cholesky's method; the solution replaces the right-hand sides.
    fn solve(&mut self) -> bool {
        let count = self.rows.len();
        for j in 0..count {
            let [pivot, a, b, _] = self.rows[j];
            if pivot.is_nan() || pivot <= 0.0 {
                return false;
            }
            let right = self.rows[j][3];
            if let Some(row) = self.rows.get_mut(j + 1) {
                row[0] -= a * a / pivot;
                row[1] -= a * b / pivot;
                row[3] -= a * right / pivot;
            }
            if let Some(row) = self.rows.get_mut(j + 2) {
                row[0] -= b * b / pivot;
                row[3] -= b * right / pivot;
            }
        }
        for j in (0..count).rev() {
            let later = |k: usize| self.rows.get(j + k).map_or(0.0, |row| row[3]);
            let (one, two) = (later(1), later(2));
            let row = &mut self.rows[j];
            row[3] = (row[3] - row[1] * one - row[2] * two) / row[0];
        }
        true
    }

    /// Replaces the nodes' weights in `values` by the solution, made not to fall by pooling
    /// neighbours (isotonic regression).
    fn raise(&mut self, values: &mut Vec<f64>) {
        self.runs.clear();
        for (row, weight) in self.rows.iter().zip(values.iter()) {
            // Nodes without data near them weigh little, but something.
            let weight = weight + 1e-3;
            let mut run = (row[3] * weight, weight, 1);
            while let Some(&(sum, weights, nodes)) = self.runs.last() {
                if sum / weights <= run.0 / run.1 {
                    break;
                }
                run = (sum + run.0, weights + run.1, nodes + run.2);
                self.runs.pop();
            }
            self.runs.push(run);
        }
        values.clear();
        for &(sum, weights, nodes) in &self.runs {
            values.extend((0..nodes).map(|_| sum / weights));
        }
    }
}
