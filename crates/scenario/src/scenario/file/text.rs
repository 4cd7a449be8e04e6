//! Values in TOML.

use paceline_cc::ParamValue;

use super::error::ScenarioError;

/// Returns the mistake that a value has no name that a file could contain.
pub(super) fn nameless(what: &str, label: &str) -> ScenarioError {
    ScenarioError::new(format!("the {what} `{label}` is made by the program and has no name"))
        .help("files call schemes, queues and routers by name; add a scheme or queue to `Names`")
}

/// Returns a text in quotes.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Writes a list; one line per value if there are several long ones.
pub(super) fn list(values: &[String]) -> String {
    let long = values.iter().map(|value| value.len() + 2).sum::<usize>() > 80;
    if long && values.len() > 1 {
        format!("[\n  {},\n]", values.join(",\n  "))
    } else {
        format!("[{}]", values.join(", "))
    }
}

/// Writes a time or a rate in the largest unit in which it is an integer.
pub(super) fn exact<T: ParamValue + PartialEq>(
    key: &str,
    value: &T,
) -> Result<String, ScenarioError> {
    let text = value.show();
    if T::read(&text).as_ref() != Ok(value) {
        let message = format!("{key} is {text}, which a file cannot say exactly");
        return Err(ScenarioError::new(message).help("a value below 2^52 can be written"));
    }
    Ok(quoted(&text))
}

/// Writes a number so that it reads back exactly.
pub(super) fn number(key: &str, value: f64) -> Result<String, ScenarioError> {
    if !value.is_finite() {
        return Err(ScenarioError::new(format!("{key} is {value}, not a finite number")));
    }
    Ok(shortest(value))
}

fn shortest(value: f64) -> String {
    // Integers are written without a point; Rust's debug form is the shortest that reads back.
    if value.fract() == 0.0 && value.abs() < 1e15 && !(value == 0.0 && value.is_sign_negative()) {
        format!("{value:.0}")
    } else {
        format!("{value:?}")
    }
}

/// Returns a number at or next to `guess` that `fits`: the one with the shortest notation. The
/// parser computes with the written number, and because of rounding several numbers, or none, may
/// give a result.
pub(super) fn preimage(guess: f64, fits: impl Fn(f64) -> bool) -> Option<f64> {
    const NEIGHBOURS: u64 = 16;
    if !(guess.is_finite() && guess >= 0.0) {
        return None;
    }
    let first = guess.to_bits().saturating_sub(NEIGHBOURS);
    let near = (first..=first + 2 * NEIGHBOURS).map(f64::from_bits);
    near.filter(|number| fits(*number)).min_by_key(|number| shortest(*number).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::{Rate, Span};

    #[test]
    fn values_read_back() {
        for value in [0.0, -0.0, 1.0, 0.1, 30000.0, 1e15, 1e300, 5e-324, 0.1 + 0.2, -2.5] {
            let text = format!("x = {}", number("x", value).expect("finite"));
            let read: std::collections::BTreeMap<String, f64> =
                toml::from_str(&text).expect("TOML");
            assert_eq!(read["x"].to_bits(), value.to_bits(), "{text}");
        }
        assert!(number("x", f64::NAN).is_err() && number("x", f64::INFINITY).is_err());
        for text in ["plain", "a \"b\" 'c'", "two\nlines", "back\\slash", "", "\u{7f}é"] {
            let text = text.to_string();
            let read: std::collections::BTreeMap<String, String> =
                toml::from_str(&format!("x = {}", quoted(&text))).expect("TOML");
            assert_eq!(read["x"], text);
        }
    }

    #[test]
    fn times_and_rates_are_not_rounded() {
        assert_eq!(exact("rtt", &Span::from_millis(100)).expect("exact"), "\"100ms\"");
        assert_eq!(exact("rtt", &Span::from_nanos(100_000_001)).expect("exact"), "\"100000001ns\"");
        assert_eq!(exact("rate", &Rate::from_mbps(12.0)).expect("exact"), "\"12Mbps\"");
        assert_eq!(exact("rate", &Rate::from_bps(12_345)).expect("exact"), "\"12345bps\"");
        let odd = Span::from_nanos((1 << 53) + 1);
        let error = exact("rtt", &odd).expect_err("too long").to_string();
        assert!(error.contains("rtt"), "{error}");
    }

    #[test]
    fn the_shortest_preimage_is_found() {
        assert_eq!(preimage(1.0 / 0.2, |burst| 1.0 / burst == 0.2), Some(5.0));
        let mean = preimage(0.1 + 0.2, |mean| (mean - 0.3).abs() < 1e-15);
        assert_eq!(mean, Some(0.3));
        assert_eq!(preimage(1.0, |_| false), None);
        assert_eq!(preimage(f64::NAN, |_| true), None);
        assert_eq!(preimage(0.0, |zero| zero == 0.0), Some(0.0));
    }
}
