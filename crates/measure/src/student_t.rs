//! Student's t distribution.

/// 97.5 % points for 1, 2, ... degrees of freedom.
const POINTS: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Returns the 97.5 % point of Student's t distribution for a sample of `runs` figures, which has
/// `runs` - 1 degrees of freedom. Larger samples than the table's get the point of 30 degrees,
/// which is slightly too large. `None` for a single figure.
pub fn student_t_975(runs: usize) -> Option<f64> {
    (runs >= 2).then(|| POINTS[(runs - 2).min(POINTS.len() - 1)])
}
