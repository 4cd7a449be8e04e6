//! How far a scheme lies outside the front of others.
//!
//! The *front* of some schemes is what no other of them beats in throughput and delay at once. A
//! scheme lies outside of it if, against each of them, it has more throughput or less delay. Its
//! *distance* says by how much: against one other scheme its lead is the larger one of
//!
//! - its throughput over the other's, less one, and
//! - the other's delay over its own, less one,
//!
//! and its distance to the front is the smallest lead over all others. 0.1 means: against each of
//! them it has at least 10 % more throughput, or each of them that has about its throughput has
//! at least 10 % more delay. At 0 it lies on the front, and below 0 another is better in both.

/// Throughput (any unit) and delay (any unit).
pub(crate) type Point = (f64, f64);

/// The distance of a point to the front of others; NaN if a figure is missing or there are no
/// others.
pub(crate) fn distance(own: Point, others: impl IntoIterator<Item = Point>) -> f64 {
    let lead = |other: Point| {
        let (throughput, delay) = (own.0 / other.0 - 1.0, other.1 / own.1 - 1.0);
        match throughput.is_nan() || delay.is_nan() {
            true => f64::NAN,
            false => throughput.max(delay),
        }
    };
    // The smallest; one that is not known makes the whole unknown.
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
        // A fifth less delay than the first at less throughput; more throughput than the second.
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
