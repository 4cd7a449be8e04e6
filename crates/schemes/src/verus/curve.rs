//! A natural cubic spline with equidistant nodes, linear beyond its ends.

/// The curve, as a sum of cubic B-splines.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) first: f64,
    pub(super) last: f64,
    /// Coefficients of the B-splines at the nodes; at least five where the curve is used. The
    /// coefficients one step beyond the ends are implied: the curve does not bend at its ends.
    pub(super) factors: Vec<f64>,
    /// Largest value at the integers from [`Curve::FROM`] up to each integer.
    highest: Vec<f64>,
}

/// Returns which four of `count` B-splines determine the curve at `place` (a number of nodes from
/// the first one): the index of the first of them, and their four values there.
pub(super) fn weights(place: f64, count: usize) -> (usize, [f64; 4]) {
    let j = (place.max(0.0) as usize).min(count - 2);
    let t = place - j as f64;
    let (t2, t3) = (t * t, t * t * t);
    let before = (1.0 - 3.0 * t + 3.0 * t2 - t3) / 6.0;
    let left = (4.0 - 6.0 * t2 + 3.0 * t3) / 6.0;
    let right = (1.0 + 3.0 * t + 3.0 * t2 - 3.0 * t3) / 6.0;
    let after = t3 / 6.0;
    // A coefficient beyond an end is twice the end's minus the next one's.
    if j == 0 {
        return (0, [left + 2.0 * before, right - before, after, 0.0]);
    }
    if j == count - 2 {
        return (count - 4, [0.0, before, left - after, right + 2.0 * after]);
    }
    (j - 1, [before, left, right, after])
}

impl Curve {
    /// The smallest window of the search.
    const FROM: u32 = 2;

    /// Updates the maxima. Call it after the coefficients or ends have changed.
    pub(super) fn changed(&mut self) {
        self.highest.clear();
        let mut highest = f64::NEG_INFINITY;
        for window in Curve::FROM..=self.last as u32 {
            highest = self.at(window as f64).max(highest);
            self.highest.push(highest);
        }
    }

    /// Returns the value at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        let end = self.factors.len() - 1;
        let place = (x - self.first) * end as f64 / (self.last - self.first);
        if place <= 0.0 {
            return self.factors[0] + place * (self.factors[1] - self.factors[0]);
        }
        if place >= end as f64 {
            let slope = self.factors[end] - self.factors[end - 1];
            return self.factors[end] + (place - end as f64) * slope;
        }
        let (start, weights) = weights(place, end + 1);
        weights.iter().zip(&self.factors[start..]).map(|(weight, factor)| weight * factor).sum()
    }

    /// Returns the first integer in 2..`to` at which the curve is above `level`.
    pub(super) fn first_above(&self, level: f64, to: u32) -> Option<u32> {
        let within = self.highest.partition_point(|highest| *highest <= level);
        if within < self.highest.len() {
            return Some(Curve::FROM + within as u32).filter(|above| *above < to);
        }
        // Beyond the last node the curve is linear.
        let (mut low, mut high) = ((self.last as u32 + 1).max(Curve::FROM), to);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle as f64) > level { high = middle } else { low = middle + 1 }
        }
        (low < to).then_some(low)
    }
}
