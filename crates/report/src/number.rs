//! Numbers as text, with fixed digits and no more of them than needed.

/// True if a value can be drawn: finite, and small enough for arithmetic on it not to overflow.
pub(crate) fn usable(value: f64) -> bool {
    value.is_finite() && value.abs() < 1e12
}

/// Formats a coordinate with at most one decimal.
pub(crate) fn coordinate(value: f64) -> String {
    if usable(value) { trimmed(value, 1) } else { "0".into() }
}

/// Formats a value with three significant digits; a dash if it is unusable.
pub(crate) fn short(value: f64) -> String {
    if !usable(value) {
        return "–".into();
    }
    let decimals = match value.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        a if a >= 0.9995 => 2,
        _ => 3,
    };
    trimmed(value, decimals)
}

/// Formats the label of an axis with at most `decimals` decimals. Thousands and millions become `k`
/// and `M`, because longer labels would touch the axis' title.
pub(crate) fn tick(value: f64, decimals: usize) -> String {
    match value.abs() {
        a if a >= 1e6 => trimmed(value / 1e6, 3) + "M",
        a if a >= 1e5 => trimmed(value / 1e3, 3) + "k",
        _ => trimmed(value, decimals),
    }
}

/// Formats a value for a table with a fixed number of decimals; a dash if it is unusable.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if usable(value) { no_minus_zero(format!("{value:.decimals$}")) } else { "–".into() }
}

/// Formats with at most `decimals` decimals, without trailing zeros.
pub(crate) fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    no_minus_zero(text)
}

fn no_minus_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_axes_are_short() {
        let labels = [0.25, 20.0, 50_000.0, 100_000.0, 250_000.0, 1e6, 2.5e6].map(|v| tick(v, 2));
        assert_eq!(labels, ["0.25", "20", "50000", "100k", "250k", "1M", "2.5M"]);
    }

    #[test]
    fn coordinates_are_short_and_finite() {
        assert_eq!(coordinate(12.0), "12");
        assert_eq!(coordinate(12.34), "12.3");
        assert_eq!(coordinate(-0.01), "0");
        assert_eq!(coordinate(f64::NAN), "0");
        assert_eq!(coordinate(f64::INFINITY), "0");
    }

    #[test]
    fn values_have_three_digits() {
        assert_eq!(short(1234.56), "1235");
        assert_eq!(short(99.97), "100");
        assert_eq!(short(12.34), "12.3");
        assert_eq!(short(1.5), "1.5");
        assert_eq!(short(0.0123), "0.012");
        assert_eq!(short(f64::NAN), "–");
        assert_eq!(fixed(-0.001, 2), "0.00");
    }
}
