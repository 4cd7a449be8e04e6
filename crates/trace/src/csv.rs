//! Series of rates as CSV: `time_ms,mbps`, one row per change of rate.
//!
//! A row's rate applies from its time to the next row's; the last row's applies for as long as the
//! row before it. Before the first row the rate is zero. The first row may be a header. An
//! opportunity carries 1500 bytes ([`crate::PACKET_BYTES`]).

use crate::error::excerpt;
use crate::rates::{checked, rates};
use crate::{Trace, TraceError, steps};
use paceline_cc::{Rate, Span};
use std::fmt::Write;

const ROW: &str = "each row is a time in milliseconds and a rate in Mbit/s, for example 1500,12.5";

/// Reads a series of rates as a trace. `name` is the file's name.
///
/// # Errors
/// Binary data; a row that is not two numbers; times that do not increase or exceed 2³² - 1 ms;
/// rates that are negative or not finite; fewer than two rows; or as [`steps`].
pub fn parse(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_end();
    let mut rows: Vec<(Span, Rate)> = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if index == 0 && is_header(line) || bytes.is_empty() {
            continue;
        }
        let (at, rate) = row(name, line).map_err(|error| error.at(index + 1))?;
        if let Some(&(before, _)) = rows.last()
            && at <= before
        {
            let message = format!("{at} comes after {before}");
            return Err(TraceError::new(name, message, "times must increase").at(index + 1));
        }
        rows.push((at, rate));
    }
    let [.., (before, _), (last, _)] = rows[..] else {
        let message = format!("{} rows of rates, too few to tell how long one holds", rows.len());
        return Err(TraceError::new(name, message, "write at least two rows time_ms,mbps"));
    };
    let mut series = Vec::with_capacity(rows.len() + 1);
    if let Some(&(first, _)) = rows.first()
        && !first.is_zero()
    {
        series.push((first, Rate::ZERO));
    }
    let ends = rows.iter().skip(1).map(|row| row.0).chain([last + (last - before)]);
    series.extend(rows.iter().zip(ends).map(|(&(start, rate), end)| (end - start, rate)));
    steps(name, &series)
}

/// Returns true for text without a digit.
fn is_header(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| !text.contains('\0'))
        && !line.trim_ascii().is_empty()
        && !line.iter().any(u8::is_ascii_digit)
}

fn row(name: &str, line: &[u8]) -> Result<(Span, Rate), TraceError> {
    let bad =
        || TraceError::new(name, format!("expected two numbers, found {}", excerpt(line)), ROW);
    let text = std::str::from_utf8(line).map_err(|_| bad())?;
    let (ms, mbps) = text.split_once(',').ok_or_else(bad)?;
    let ms: f64 = ms.trim().parse().map_err(|_| bad())?;
    let mbps: f64 = mbps.trim().parse().map_err(|_| bad())?;
    if !(0.0..=u32::MAX as f64).contains(&ms) {
        let remedy = "times are from 0 to 4294967295 ms, 49 days";
        return Err(TraceError::new(name, format!("a time of {ms} ms"), remedy));
    }
    Ok((Span::from_nanos((ms * 1e6 + 0.5) as u64), checked(name, mbps)?))
}

/// Writes one lap's rates, one row per `bin` (at least 1 ms), with a header.
pub fn write(trace: &Trace, bin: Span) -> String {
    let bin = bin.max(Span::from_millis(1));
    let mut out = String::from("time_ms,mbps\n");
    for (index, mbps) in rates(trace, bin).into_iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{},{mbps}", (bin * index as u64).as_millis_f64());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_to_opportunities_and_back() {
        let text = "time_ms,mbps\r\n0, 12\r\n1000,0\r\n2000,24\r\n";
        let trace = parse("a.csv", text.as_bytes()).expect("valid");
        assert_eq!((trace.len(), trace.period()), (3000, Span::from_secs(3)));
        assert_eq!(write(&trace, Span::from_secs(1)), "time_ms,mbps\n0,12\n1000,0\n2000,24\n");
        // Rows need no header; the time before the first row has no capacity.
        let late = parse("b.csv", b"1000,12\n2000,12").expect("valid");
        assert_eq!((late.opportunities()[0], late.len()), (1001, 2000));
    }

    #[test]
    fn errors_name_the_row() {
        let error = |text: &str| parse("a.csv", text.as_bytes()).expect_err("invalid").to_string();
        assert!(error("").starts_with("a.csv: 0 rows"));
        assert!(error("0,1").starts_with("a.csv: 1 rows"));
        assert!(error("0,1\n1;2\n").starts_with("a.csv:2: expected two numbers, found \"1;2\""));
        assert!(error("0,1\n0,2\n").starts_with("a.csv:2: 0s comes after 0s"));
        assert!(error("0,1\n9,-2\n").starts_with("a.csv:2: a rate of -2 Mbit/s"));
        assert!(error("0,1\n9,inf\n").starts_with("a.csv:2: a rate of inf Mbit/s"));
        assert!(error("0,1\nnan,1\n").starts_with("a.csv:2: a time of NaN ms"));
        assert!(error("0,0\n9,0\n").contains("not one packet"));
        assert!(parse("a.csv", b"0,1\n\xff\x00,2").is_err());
    }
}
