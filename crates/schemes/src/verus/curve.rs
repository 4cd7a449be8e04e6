//! A natural cubic spline over nodes at even distances, straight beyond its ends.

/// The curve, as a sum of cubic B-splines.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) first: f64,
    pub(super) last: f64,
    /// The factors of the B-splines at the nodes; not fewer than five where the curve is used.
    /// Those one step beyond the ends are such that the curve does not bend at the ends.
    pub(super) factors: Vec<f64>,
    /// The largest value at the whole numbers from [`Curve::FROM`] up to each.
    highest: Vec<f64>,
}

/// Which four of `count` B-splines make the curve at `place`, a number of nodes from the first one,
/// and their values there: the first of the four, and a value for each.
pub(super) fn weights(place: f64, count: usize) -> (usize, [f64; 4]) {
    let j = (place.max(0.0) as usize).min(count - 2);
    let t = place - j as f64;
    let (t2, t3) = (t * t, t * t * t);
    let before = (1.0 - 3.0 * t + 3.0 * t2 - t3) / 6.0;
    let left = (4.0 - 6.0 * t2 + 3.0 * t3) / 6.0;
    let right = (1.0 + 3.0 * t + 3.0 * t2 - 3.0 * t3) / 6.0;
    let after = t3 / 6.0;
    // A factor beyond an end is twice the end's less the one after it.
    if j == 0 {
        return (0, [left + 2.0 * before, right - before, after, 0.0]);
    }
    if j == count - 2 {
        return (count - 4, [0.0, before, left - after, right + 2.0 * after]);
    }
    (j - 1, [before, left, right, after])
}

impl Curve {
    /// The smallest window that is looked for.
    const FROM: u32 = 2;

    /// To be called when the factors or ends have changed.
    pub(super) fn changed(&mut self) {
        self.highest.clear();
        let mut highest = f64::NEG_INFINITY;
        for window in Curve::FROM..=self.last as u32 {
            highest = self.at(window as f64).max(highest);
            self.highest.push(highest);
        }
    }

    /// The value at `x`.
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

    /// The first whole number from 2 to `to`, without the latter, where the curve is above `level`.
    pub(super) fn first_above(&self, level: f64, to: u32) -> Option<u32> {
        let within = self.highest.partition_point(|highest| *highest <= level);
        if within < self.highest.len() {
            return Some(Curve::FROM + within as u32).filter(|above| *above < to);
        }
        // Beyond the last one the curve is straight.
        let (mut low, mut high) = ((self.last as u32 + 1).max(Curve::FROM), to);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle as f64) > level { high = middle } else { low = middle + 1 }
        }
        (low < to).then_some(low)
    }
}
