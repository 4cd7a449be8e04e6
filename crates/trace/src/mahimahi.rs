//! Mahimahi's format: one whole number of milliseconds per line, in order.
//!
//! A repeated line means several opportunities in that millisecond; the last line is the period
//! after which the trace repeats. The reader is lenient where the meaning is clear (no newline at
//! the end, CRLF, blanks around numbers, empty lines at the end, a byte-order mark) and strict
//! otherwise.

use crate::error::excerpt;
use crate::trace::too_many;
use crate::{MAX_OPPORTUNITIES, Trace, TraceError};
use std::fmt::Write;

/// Maximum length of a line in bytes; longer ones cannot be numbers of milliseconds.
const MAX_LINE: usize = 64;

const ONE_NUMBER: &str = "each line must be one whole number of milliseconds, for example 1250";

/// Reads a trace in Mahimahi's format. `name` is the file's name, for errors and for the trace.
///
/// # Errors
/// An empty file; a line that is not a whole number from 0 to 2³² - 1; a number smaller than the
/// one before; a last number of 0; more than [`MAX_OPPORTUNITIES`] lines. The error names the line
/// and quotes it.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = bytes.trim_ascii_end();
    let mut entries: Vec<u32> = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if bytes.is_empty() {
            break;
        }
        let entry = number(name, line).map_err(|error| error.at(index + 1))?;
        if let Some(&before) = entries.last()
            && entry < before
        {
            let message = format!("{entry} ms comes after {before} ms");
            let remedy = "times must not decrease: sort the file (sort -n), or shift the later \
                          part if two traces were joined";
            return Err(TraceError::new(name, message, remedy).at(index + 1));
        }
        if entries.len() >= MAX_OPPORTUNITIES {
            return Err(too_many(name).at(index + 1));
        }
        entries.push(entry);
    }
    Trace::new(name, entries)
}

/// Returns the number of milliseconds in a line.
fn number(name: &str, line: &[u8]) -> Result<u32, TraceError> {
    let text = line.trim_ascii();
    let error = |message: String, remedy: &str| Err(TraceError::new(name, message, remedy));
    if text.is_empty() {
        return error("an empty line within the trace".into(), "remove it");
    }
    if text.contains(&0) || std::str::from_utf8(text).is_err() {
        return error(
            format!("binary data {}", excerpt(text)),
            "a trace is a text file; is it compressed or another kind of file?",
        );
    }
    if text.len() > MAX_LINE {
        let message = format!("a line of {} bytes, starting {}", text.len(), excerpt(text));
        return error(message, ONE_NUMBER);
    }
    if let Some(rest) = text.strip_prefix(b"-")
        && !rest.is_empty()
        && rest.iter().all(u8::is_ascii_digit)
    {
        let message = format!("a negative time, {}", excerpt(text));
        return error(message, "times count from 0 ms: shift the trace to start there");
    }
    if !text.iter().all(u8::is_ascii_digit) {
        let remedy = if text.contains(&b',') {
            "each line must be one whole number of milliseconds; a CSV of rates needs a file \
             name that ends in .csv"
        } else {
            ONE_NUMBER
        };
        return error(format!("expected a number, found {}", excerpt(text)), remedy);
    }
    let mut value: u32 = 0;
    for digit in text {
        let next = value.checked_mul(10).and_then(|v| v.checked_add(u32::from(digit - b'0')));
        let Some(next) = next else {
            return error(
                format!("{} ms is too large", String::from_utf8_lossy(text)),
                "times go up to 4294967295 ms, 49 days; are these microseconds or dates?",
            );
        };
        value = next;
    }
    Ok(value)
}

/// Writes one lap of a trace in Mahimahi's format, with a newline at the end.
pub fn write(trace: &Trace) -> String {
    let mut out = String::with_capacity(trace.len().saturating_mul(7));
    for entry in trace.opportunities() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{entry}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> String {
        parse("t", bytes).expect_err("invalid").to_string()
    }

    fn entries(bytes: &[u8]) -> Vec<u32> {
        parse("t", bytes).expect("valid").opportunities().to_vec()
    }

    #[test]
    fn reads_unambiguous_variants_of_the_format() {
        for text in ["0\n5\n5\n", "0\n5\n5", "0\r\n5\r\n5\r\n", " 0\t\n5 \n 5\n\n \r\n\n"] {
            assert_eq!(entries(text.as_bytes()), [0, 5, 5]);
        }
        assert_eq!(entries(b"\xef\xbb\xbf1\n"), [1]);
        assert_eq!(entries(b"0007\n4294967295"), [7, u32::MAX]);
    }

    #[test]
    fn errors_name_line_content_and_remedy() {
        assert!(error(b"").starts_with("t: a trace needs at least one"));
        assert!(error(b"\n \r\n").starts_with("t: a trace needs at least one"));
        assert!(error(b"0\n0\n").contains("never advance"));
        assert!(error(b"1\nfoo\n").starts_with("t:2: expected a number, found \"foo\" (each line"));
        assert!(error(b"1\n2.5\n").contains("\"2.5\""));
        assert!(error(b"1\n0x5\n").contains("\"0x5\""));
        assert!(error(b"1\n+5\n").contains("\"+5\""));
        assert!(error(b"1\n-5\n").starts_with("t:2: a negative time, \"-5\" (times count from 0"));
        assert!(error(b"5\n9\n7\n").starts_with("t:3: 7 ms comes after 9 ms (times must not"));
        assert!(error(b"4294967296\n").starts_with("t:1: 4294967296 ms is too large"));
        assert!(error(b"1\n\n2\n").starts_with("t:2: an empty line within the trace (remove it)"));
        assert!(error(b"1\n\x1f\x8b\x00\xff\n").starts_with("t:2: binary data"));
        assert!(error(b"1\n5\x00\n").starts_with("t:2: binary data"));
        assert!(error(b"1,2\n").contains(".csv"));
        let long = error(&[b'7'; 5000]);
        assert!(long.starts_with("t:1: a line of 5000 bytes") && long.len() < 200, "{long}");
        assert!(error("1\n\u{1b}[2J\n".as_bytes()).contains("\\u{1b}[2J"));
    }
}
