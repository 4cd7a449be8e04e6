//! Headers of CSV files: which column is meant, and in which unit.

use crate::TraceError;
use crate::error::excerpt;

/// What the second column of a file holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecondColumn {
    /// Rates of a link.
    Rate,
    /// One-way delays of a path.
    Delay,
}

/// Factors by which the numbers of a file are multiplied.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Units {
    /// To milliseconds.
    pub(crate) time: f64,
    /// To Mbit/s, or for delays to milliseconds.
    pub(crate) second: f64,
}

impl Units {
    /// Units of a file without a header: milliseconds, and Mbit/s or milliseconds.
    pub(crate) const WITHOUT_HEADER: Units = Units { time: 1.0, second: 1.0 };
}

/// Reads the first line of a file. `None` if it is no header but a row.
///
/// # Errors
/// A header whose columns or units are not known.
pub(crate) fn read(
    name: &str,
    line: &[u8],
    second: SecondColumn,
) -> Result<Option<Units>, TraceError> {
    let Ok(text) = std::str::from_utf8(line) else { return Ok(None) };
    let text = text.trim();
    let first = text.split([',', ';', '\t']).next().unwrap_or_default();
    let has_letters = text.chars().any(char::is_alphabetic) && !text.contains('\0');
    if !has_letters || first.trim().parse::<f64>().is_ok_and(f64::is_finite) {
        return Ok(None);
    }
    let bad = |problem: String| {
        let message = format!("header {}: {problem}", excerpt(text.as_bytes()));
        Err(TraceError::new(name, message, second.remedy()).at(1))
    };
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    let [time, value] = cells[..] else {
        return bad(format!(
            "expected two columns with a comma between them, found {}",
            cells.len()
        ));
    };
    match (time_factor(time), second.factor(value)) {
        (Some(time), Some(second)) => Ok(Some(Units { time, second })),
        (None, _) => bad(format!("{} is no time with a unit", excerpt(time.as_bytes()))),
        (_, None) => bad(format!("{} is no {}", excerpt(value.as_bytes()), second.what())),
    }
}

impl SecondColumn {
    fn remedy(self) -> &'static str {
        match self {
            SecondColumn::Rate => {
                "name the columns time_ms or time_s, and kbps, mbps or bps, for example \
                 time_s,mbps; without a header times are milliseconds and rates Mbit/s"
            }
            SecondColumn::Delay => {
                "name the columns time_ms or time_s, and delay_ms or delay_s; without a header \
                 both are milliseconds"
            }
        }
    }

    fn what(self) -> &'static str {
        match self {
            SecondColumn::Rate => "rate in bits per second",
            SecondColumn::Delay => "delay with a unit",
        }
    }

    fn factor(self, cell: &str) -> Option<f64> {
        match self {
            SecondColumn::Rate => rate_factor(cell),
            SecondColumn::Delay => {
                let plain = plain(cell);
                time_unit(plain.strip_prefix("delay")?.trim_start_matches('_'))
            }
        }
    }
}

/// A cell in small letters, with `_` between its words: `Rate (Mbit/s)` is `rate_mbit/s`.
fn plain(cell: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || c == '/';
    let words = cell.split(|c: char| !kept(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

/// To milliseconds. A plain `time` is in seconds.
fn time_factor(cell: &str) -> Option<f64> {
    let plain = plain(cell);
    match plain.strip_prefix("time") {
        Some("") => Some(1000.0),
        Some(unit) => time_unit(unit.trim_start_matches('_')),
        None => time_unit(&plain),
    }
}

fn time_unit(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "ms" | "msec" | "millis" | "milliseconds" => 1.0,
        "us" | "usec" | "micros" | "microseconds" => 1e-3,
        "ns" | "nanoseconds" => 1e-6,
        _ => return None,
    })
}

/// To Mbit/s; `None` for bytes per second, which only a capital B tells.
fn rate_factor(cell: &str) -> Option<f64> {
    if cell.contains("Bps") || cell.contains("B/s") {
        return None;
    }
    let plain = plain(cell);
    let prefixes = ["rate", "capacity", "bandwidth", "throughput"];
    let unit = prefixes.iter().find_map(|prefix| plain.strip_prefix(prefix)).unwrap_or(&plain);
    Some(match unit.trim_start_matches('_') {
        "bps" | "bit/s" | "bits/s" => 1e-6,
        "kbps" | "kbit/s" | "kbits/s" => 1e-3,
        "mbps" | "mbit/s" | "mbits/s" => 1.0,
        "gbps" | "gbit/s" | "gbits/s" => 1e3,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(line: &str) -> Result<Option<Units>, TraceError> {
        read("a.csv", line.as_bytes(), SecondColumn::Rate)
    }

    #[test]
    fn units_are_read() {
        for (line, time, second) in [
            ("time_ms,mbps", 1.0, 1.0),
            ("time,kbps", 1000.0, 1e-3),
            ("time_s, mbps", 1000.0, 1.0),
            ("\"Time (s)\",\"Rate (Mbit/s)\"", 1000.0, 1.0),
            ("ms,bps", 1.0, 1e-6),
            ("TIME_US,capacity_gbps", 1e-3, 1e3),
        ] {
            assert_eq!(rate(line), Ok(Some(Units { time, second })), "{line}");
        }
        let delays = read("d.csv", b"time_s,delay_ms", SecondColumn::Delay);
        assert_eq!(delays, Ok(Some(Units { time: 1000.0, second: 1.0 })));
    }

    #[test]
    fn rows_are_no_headers() {
        for line in ["0,12", "1e3,2", "", "-5,1", "0;12", "1,x"] {
            assert_eq!(rate(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn others_are_refused_with_the_line_and_the_remedy() {
        for (line, said) in [
            ("kbps", "found 1"),
            ("time_s;mbps", "found 1"),
            ("time_s,mbps,note", "found 3"),
            ("mbps,time_s", "\"mbps\" is no time"),
            ("frame,mbps", "\"frame\" is no time"),
            ("time_s,rate", "\"rate\" is no rate in bits"),
            ("time_s,MBps", "\"MBps\" is no rate in bits"),
            ("time_s,MB/s", "\"MB/s\" is no rate in bits"),
            ("nan,1", "\"nan\" is no time"),
        ] {
            let error = rate(line).expect_err(line).to_string();
            assert!(error.starts_with("a.csv:1: header ") && error.contains(said), "{error}");
            assert!(error.contains("for example time_s,mbps"), "{error}");
        }
        let error = read("d.csv", b"time_s,delay", SecondColumn::Delay).expect_err("no unit");
        assert!(error.to_string().contains("\"delay\" is no delay with a unit"), "{error}");
    }
}
