//! Numbers and times as scripts write them.

use paceline_cc::Span;

/// Returns the numbers of a list such as `0 2-4`.
pub(crate) fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let mut found = Vec::new();
    for word in text.split_whitespace() {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{word}`: a number?"));
        found.extend(number(first)?..=number(last)?);
    }
    if found.is_empty() { Err("numbers are missing".to_string()) } else { Ok(found) }
}

/// Returns a list of numbers as scripts write it: `0 2-4`, or `none`.
pub(crate) fn show_numbers(numbers: &[u64]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let mut words: Vec<(u64, u64)> = Vec::new();
    for number in sorted {
        match words.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => words.push((number, number)),
        }
    }
    if words.is_empty() {
        return "none".to_string();
    }
    let show = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    words.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Reads milliseconds, possibly with a fraction.
pub(crate) fn millis(text: &str) -> Result<Span, String> {
    let millis: f64 = text.parse().map_err(|_| format!("`{text}` is no time"))?;
    Ok(Span::from_secs_f64(millis / 1000.0))
}

/// Returns milliseconds as scripts write them; `never` for [`Span::MAX`].
pub(crate) fn show_millis(span: Span) -> String {
    if span == Span::MAX { "never".to_string() } else { format!("{}", span.as_millis_f64()) }
}
