//! Jain's fairness index.

/// Returns Jain's fairness index of the shares: 1 if all are equal, 1/n if one of n has everything. NaN if all shares
/// are zero or there are none.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 { f64::NAN } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index() {
        assert_eq!(jain(&[1.0, 1.0, 1.0]), 1.0);
        assert_eq!(jain(&[3.0, 0.0, 0.0]), 1.0 / 3.0);
        assert!(jain(&[]).is_nan() && jain(&[0.0, 0.0]).is_nan());
    }
}
