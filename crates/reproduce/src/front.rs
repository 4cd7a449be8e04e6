//! Distance of a scheme from the front of other schemes.
//!
//! The *front* of some schemes consists of those that no other scheme beats in throughput and delay
//! at once. A scheme lies outside of the front if, compared with each of its schemes, it has more
//! throughput or less delay. Its *distance* measures by how much. Its lead over one other scheme is
//! the larger of
//!
//! - its throughput divided by the other's, minus one, and
//! - the other's delay divided by its own, minus one,
//!
//! and its distance to the front is the smallest lead over all other schemes. 0.1 means: compared
//! with each of them, it has at least 10 % more throughput, or the other has at least 10 % more
//! delay. At 0 it lies on the front, and below 0 another scheme is better in both.

/// Throughput and delay, in any units.
pub(crate) type Point = (f64, f64);

/// Returns the distance of a point to the front of others; NaN if a figure is missing or there are
/// no others.
pub(crate) fn distance(own: Point, others: impl IntoIterator<Item = Point>) -> f64 {
    let lead = |other: Point| {
        let (throughput, delay) = (own.0 / other.0 - 1.0, other.1 / own.1 - 1.0);
        match throughput.is_nan() || delay.is_nan() {
            true => f64::NAN,
            false => throughput.max(delay),
        }
    };
    // The smallest lead; an unknown lead makes the result unknown.
    let smaller = |least: f64, lead: f64| match least.is_nan() || lead < least {
        true => lead,
        false => least,
    };
    let leads: Vec<f64> = others.into_iter().map(lead).collect();
    match leads.iter().any(|lead| lead.is_nan()) {
        true => f64::NAN,
        false => leads.into_iter().fold(f64::NAN, smaller),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_lead_counts() {
        let others = [(9.0, 200.0), (5.0, 50.0)];
        // 11 % more throughput than the first one, which has twice the delay.
        assert!((distance((10.0, 100.0), others) - 1.0).abs() < 1e-9);
        // Compared with the first: 20 % less delay at less throughput. Compared with the second:
        // more throughput.
        assert!((distance((8.0, 160.0), others) - 0.25).abs() < 1e-9);
        assert!((distance((9.0, 200.0), others)).abs() < 1e-9);
        assert!(distance((4.0, 60.0), others) < 0.0);
    }

    #[test]
    fn what_is_not_known_is_no_distance() {
        assert!(distance((1.0, 1.0), []).is_nan());
        assert!(distance((1.0, 1.0), [(f64::NAN, 1.0), (1.0, 2.0)]).is_nan());
        assert!(distance((1.0, f64::NAN), [(2.0, 1.0)]).is_nan());
    }
}
