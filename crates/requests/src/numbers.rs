//! Numbers in tables and sentences: three significant figures, shares in per cent, medians with their ranges.

use paceline_sim::metrics::Distribution;

/// Formats at most three significant figures, without an exponent: `0.123`, `4.56`, `78.9`, `1234`.
/// The limits allow for rounding: 99.96 is `100`, not `100.0`.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "-".into()
    } else if size >= 99.95 || size == 0.0 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else if size >= 0.9995 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// Formats a share in per cent, with one decimal.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}", 100.0 * share) } else { "-".into() }
}

/// Formats a number with `decimals` digits after the point; `-` if it was not measured (NaN).
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "-".into() }
}

/// Formats a median with the range of 90 % of the runs: `0.88 (0.86-0.90)`; the median alone if all
/// are equal.
pub fn range(of: &Distribution) -> String {
    range_as(of, "-", figure)
}

/// Formats a median with the range of 90 % of the runs; `write` formats a number, and `to`
/// separates the ends of the range.
pub fn range_as(of: &Distribution, to: &str, write: impl Fn(f64) -> String) -> String {
    let [median, p5, p95] = [of.median, of.p5, of.p95].map(write);
    if p5 == median && p95 == median { median } else { format!("{median} ({p5}{to}{p95})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_at_most() {
        let cases = [
            (0.0, "0"),
            (0.0664, "0.066"),
            (0.9994, "0.999"),
            (0.9996, "1.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.94, "99.9"),
            (99.96, "100"),
            (1234.5, "1234"),
            (-99.96, "-100"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text, "{value}");
        }
    }
}
