//! Mean, median and variance of a few figures.

/// Returns the mean; `None` without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        values.into_iter().fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the variance of a sample, the square of its standard deviation: the sum of the squared
/// distances from the mean over the number of values less one. `None` for fewer than two values.
pub fn sample_variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values.iter().copied())?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Returns the median: the middle value, or the mean of the two middle ones. `None` without values;
/// NaN if a value is NaN.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    if sorted.iter().any(|value| value.is_nan()) {
        return Some(f64::NAN);
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let lower = sorted.len().checked_sub(1)? / 2;
    Some(f64::midpoint(*sorted.get(lower)?, *sorted.get(upper)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_middle_values() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median([7.0]), Some(7.0));
        assert_eq!(median([]), None);
        assert!(median([1.0, f64::NAN, 2.0]).is_some_and(f64::is_nan));
    }

    #[test]
    fn a_sample_needs_two_values_for_a_variance() {
        assert_eq!((mean([]), mean([1.0, 2.0, 6.0])), (None, Some(3.0)));
        assert_eq!(sample_variance(&[1.0, 2.0, 6.0]), Some(7.0));
        assert_eq!((sample_variance(&[]), sample_variance(&[1.0])), (None, None));
    }

    #[test]
    fn the_median_is_that_of_a_distribution() {
        for count in 1..=60 {
            let values = || (1..=count).map(|at: i32| f64::from(at * at));
            let (one, other) = (median(values()), Distribution::of(values()));
            let (one, other) = (one.expect("values"), other.expect("values").median);
            assert!((one - other).abs() < 1e-9 * one, "{count}: {one}, {other}");
        }
    }
}
