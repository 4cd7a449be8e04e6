//! A curve that never falls, between nodes at even distances: monotone piecewise cubics.

/// The curve.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) first: f64,
    pub(super) last: f64,
    /// The values at the nodes; not fewer than two where the curve is used.
    pub(super) values: Vec<f64>,
}

impl Curve {
    /// The rise from node `j` to the next.
    fn rise(&self, j: usize) -> f64 {
        self.values[j + 1] - self.values[j]
    }

    /// The slope at node `j`, per node: the harmonic mean of its neighbours' (Fritsch and Butland).
    fn slope(&self, j: usize) -> f64 {
        let end = self.values.len() - 1;
        if j == 0 {
            return self.rise(0);
        }
        if j == end {
            return self.rise(end - 1);
        }
        let (left, right) = (self.rise(j - 1), self.rise(j));
        if left <= 0.0 || right <= 0.0 { 0.0 } else { 2.0 * left * right / (left + right) }
    }

    /// The value at `x`; beyond the ends the curve goes on straight.
    pub(super) fn at(&self, x: f64) -> f64 {
        let end = self.values.len() - 1;
        let place = (x - self.first) * end as f64 / (self.last - self.first);
        if place <= 0.0 {
            return self.values[0] + place * self.slope(0);
        }
        if place >= end as f64 {
            return self.values[end] + (place - end as f64) * self.slope(end);
        }
        let j = (place as usize).min(end - 1);
        let t = place - j as f64;
        let (rise, s0, s1) = (self.rise(j), self.slope(j), self.slope(j + 1));
        // Hermite's form, in powers of t.
        let (c2, c3) = (3.0 * rise - 2.0 * s0 - s1, s0 + s1 - 2.0 * rise);
        self.values[j] + t * (s0 + t * (c2 + t * c3))
    }

    /// The first whole number of `from..to` where the curve is above `level`.
    pub(super) fn first_above(&self, level: f64, from: u32, to: u32) -> Option<u32> {
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle as f64) > level { high = middle } else { low = middle + 1 }
        }
        (low < to).then_some(low)
    }
}
