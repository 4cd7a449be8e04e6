//! Series of rates as CSV: `time_ms,mbps`, one row per change of rate.
//!
//! A row's rate applies from its time to the next row's; the last row's applies for as long as the
//! row before it. Before the first row the rate is zero. The first line may be a header, which says
//! the units: `time_ms`, `time_s` or `time` (seconds), and `bps`, `kbps`, `mbps` or `gbps`. Without a
//! header times are milliseconds and rates Mbit/s. An opportunity carries 1500 bytes
//! ([`crate::PACKET_BYTES`]).

use crate::csv_header::{self, SecondColumn, Units};
use crate::error::excerpt;
use crate::rates::{checked, rates};
use crate::{Trace, TraceError, steps};
use paceline_cc::{Rate, Span};
use std::fmt::Write;
use std::path::Path;

const ROW: &str = "each row is a time and a rate, for example 1500,12.5; a first line such as \
                   time_s,kbps says the units, which are else milliseconds and Mbit/s";

/// Shortest lap without a warning: a file whose times are seconds, read as milliseconds, has a shorter one.
const SHORT_LAP: Span = Span::from_secs(1);

/// Reads a series of rates as a trace. `name` is the file's name.
///
/// # Errors
/// Binary data; a header whose units are not known; a row that is not two numbers; times that do not increase or exceed 2³² - 1 ms;
/// rates that are negative or not finite; fewer than two rows; or as [`steps`].
pub fn parse(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_end();
    let mut rows: Vec<(Span, Rate)> = Vec::new();
    let mut units = Units::WITHOUT_HEADER;
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if bytes.is_empty() {
            continue;
        }
        if index == 0
            && let Some(header) = csv_header::read(name, line, SecondColumn::Rate)?
        {
            units = header;
            continue;
        }
        let (at, rate) = row(name, line, units).map_err(|error| error.at(index + 1))?;
        if let Some(&(before, _)) = rows.last()
            && at <= before
        {
            let message = format!("{at} comes after {before}");
            return Err(TraceError::new(name, message, "times must increase").at(index + 1));
        }
        rows.push((at, rate));
    }
    let [.., (before, _), (last, _)] = rows[..] else {
        let count = match rows.len() {
            1 => "1 row".to_string(),
            count => format!("{count} rows"),
        };
        let message = format!("{count} of rates: two or more show how long a rate holds");
        let remedy = "add rows; the last rate holds as long as the one before it";
        return Err(TraceError::new(name, message, remedy));
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

/// Returns a warning about a trace from a CSV file whose lap is shorter than a second: its times may be seconds.
pub(crate) fn short_lap(trace: &Trace) -> Option<String> {
    let (name, lap) = (trace.name(), trace.period());
    (is_csv(name) && lap < SHORT_LAP).then(|| {
        format!(
            "{name}: the rates repeat every {lap}, at {:.4} Mbit/s in the mean; if the times are \
             seconds, write time_s,mbps as the first line",
            trace.mean_mbps()
        )
    })
}

/// Returns true if the name of a file ends in `.csv`.
pub(crate) fn is_csv(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

fn row(name: &str, line: &[u8], units: Units) -> Result<(Span, Rate), TraceError> {
    let bad =
        || TraceError::new(name, format!("expected two numbers, found {}", excerpt(line)), ROW);
    let text = std::str::from_utf8(line).map_err(|_| bad())?;
    let (ms, mbps) = text.split_once(',').ok_or_else(bad)?;
    let ms = ms.trim().parse::<f64>().map_err(|_| bad())? * units.time;
    let mbps = mbps.trim().parse::<f64>().map_err(|_| bad())? * units.second;
    if !(0.0..=u32::MAX as f64).contains(&ms) {
        let remedy = "times are from 0 to 4294967295 ms, 49 days";
        return Err(TraceError::new(name, format!("a time of {ms} ms"), remedy));
    }
    Ok((Span::from_nanos((ms * 1e6 + 0.5) as u64), checked(name, mbps)?))
}

/// Writes one lap's rates, one row per `bin` (at least 1 ms), with a header.
///
/// Readers let the last row hold as long as the row before it. So a last bin that is shorter than the
/// others, or the only one, is two rows of half its length.
pub fn write(trace: &Trace, bin: Span) -> String {
    let bin = bin.max(Span::from_millis(1));
    let mut out = String::from("time_ms,mbps\n");
    let mut row = |at: Span, mbps: f64| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{},{mbps}", at.as_millis_f64());
    };
    let series = rates(trace, bin);
    for (index, &mbps) in series.iter().enumerate() {
        let start = bin * index as u64;
        row(start, mbps);
        let rest = trace.period() - start;
        if index + 1 == series.len() && (rest < bin || index == 0) {
            row(start + rest / 2, mbps);
        }
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

    /// The last bin may be short or the only one: `trace generate constant` has a lap of a few
    /// milliseconds.
    #[test]
    fn what_is_written_is_read_with_its_period_and_mean() {
        for (end, every) in [(1, 1), (60, 7), (100, 1), (150, 50), (250, 3), (118_682, 5)] {
            let entries = (1..=end).filter(|ms| ms % every == 0 || *ms == end).collect();
            let trace = Trace::new("t", entries).expect("valid");
            for bin in [Span::ZERO, Span::from_millis(100), Span::from_secs(1)] {
                let back = parse("t.csv", write(&trace, bin).as_bytes()).expect("readable");
                assert_eq!(back.period(), trace.period(), "{end} ms");
                assert!(back.len().abs_diff(trace.len()) <= 1, "{end} ms: {}", back.len());
            }
        }
        // 101 opportunities in 150 ms: 100 of them at a steady rate, and one at the end.
        let entries = (1..=100).chain([150]).collect();
        let text = write(&Trace::new("t", entries).expect("valid"), Span::from_millis(100));
        assert_eq!(text, "time_ms,mbps\n0,12\n100,0.24\n125,0.24\n");
    }

    #[test]
    fn headers_say_the_units() {
        let drawn = parse("a.csv", b"time,kbps\n0,3000\n5,500\n10,3000\n").expect("valid");
        assert_eq!(drawn.period(), Span::from_secs(15));
        assert!((drawn.mean_mbps() - (3.0 + 0.5 + 3.0) / 3.0).abs() < 0.01, "{drawn:?}");
        let drawn = parse("a.csv", b"time_s,mbps\n0,10\n10,20\n20,5\n").expect("valid");
        assert_eq!(drawn.period(), Span::from_secs(30));
        let error = parse("a.csv", b"when,kbps\n0,3000\n5,500\n").expect_err("unknown");
        assert!(error.to_string().starts_with("a.csv:1: header \"when,kbps\""), "{error}");
    }

    #[test]
    fn short_laps_are_told_of() {
        let short = parse("a.csv", b"0,10\n10,20\n20,5\n").expect("valid");
        let warning = short_lap(&short).expect("30 ms");
        assert!(warning.starts_with("a.csv: the rates repeat every 30ms"), "{warning}");
        let long = parse("a.csv", b"0,10\n500,20\n").expect("valid");
        assert_eq!(short_lap(&long), None);
        // A constant rate in Mahimahi's format has a lap of a few milliseconds.
        assert_eq!(short_lap(&crate::constant(Rate::from_mbps(12.0)).expect("valid")), None);
    }

    #[test]
    fn errors_name_the_row() {
        let error = |text: &str| parse("a.csv", text.as_bytes()).expect_err("invalid").to_string();
        assert!(error("").starts_with("a.csv: 0 rows"));
        assert!(error("0,1").starts_with("a.csv: 1 row of rates"));
        assert!(error("time,kbps\n0,1").starts_with("a.csv: 1 row of rates"));
        // A wrong header is reported even if there are too few rows.
        assert!(error("when,kbps\n0,1").starts_with("a.csv:1: header \"when,kbps\""));
        assert!(error("0,1\n1;2\n").starts_with("a.csv:2: expected two numbers, found \"1;2\""));
        assert!(error("0,1\n0,2\n").starts_with("a.csv:2: 0s comes after 0s"));
        assert!(error("0,1\n9,-2\n").starts_with("a.csv:2: a rate of -2 Mbit/s"));
        assert!(error("0,1\n9,inf\n").starts_with("a.csv:2: a rate of inf Mbit/s"));
        assert!(error("0,1\nnan,1\n").starts_with("a.csv:2: a time of NaN ms"));
        assert!(error("0,0\n9,0\n").contains("not one packet"));
        assert!(parse("a.csv", b"0,1\n\xff\x00,2").is_err());
    }
}
