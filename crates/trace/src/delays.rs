//! Recordings of a path's propagation delay.
//!
//! A file has a line for each 10 ms: the one-way delay in milliseconds, as in the recordings of
//! LeoCC. A file whose name ends in `.csv` has rows `time_ms,delay_ms` instead. Each row applies
//! until the next; the last applies for as long as the one before it. Like traces of capacity, a
//! recording repeats for ever.

use std::sync::Arc;

use paceline_cc::Span;

use crate::TraceError;
use crate::csv_header::{self, SecondColumn, Units};
use crate::error::excerpt;

/// Time that a line covers.
pub const STEP: Span = Span::from_millis(10);
/// Largest number of values: a day of lines.
pub const MAX_VALUES: usize = 8_640_000;
/// Largest delay, in milliseconds.
const LARGEST_MS: f64 = 3_600_000.0;
/// Latest time of a row, in milliseconds.
const LATEST_MS: f64 = 24.0 * LARGEST_MS;

/// A path's one-way delay over time, which changes in steps and repeats for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct Delays {
    name: Arc<str>,
    /// Each delay with its beginning, in order, the first at zero.
    steps: Arc<[(Span, Span)]>,
    period: Span,
}

/// Statistics of a recording of delays, in milliseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct DelayStats {
    /// The mean over time.
    pub mean: f64,
    /// The standard deviation over time.
    pub sd: f64,
    /// The smallest.
    pub min: f64,
    /// The 5th percentile of time.
    pub p5: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The largest.
    pub max: f64,
    /// The mean absolute change from one step of 10 ms to the next.
    pub step: f64,
}

impl Delays {
    /// Returns delays that apply for a span each, repeated for ever.
    ///
    /// # Errors
    /// If there is no delay, if there are too many, or if a span is zero.
    pub fn new(name: &str, series: &[(Span, Span)]) -> Result<Delays, TraceError> {
        if series.is_empty() || series.len() > MAX_VALUES {
            let message = match series.len() {
                0 => "no delay".to_string(),
                many => format!("{many} delays"),
            };
            let remedy =
                format!("a recording has 1 to {MAX_VALUES} delays, in milliseconds, one in a line");
            return Err(TraceError::new(name, message, remedy));
        }
        let mut steps: Vec<(Span, Span)> = Vec::new();
        let mut begin = Span::ZERO;
        for &(length, delay) in series {
            if length.is_zero() {
                let remedy = "each delay must hold for some time";
                return Err(TraceError::new(name, "a delay that holds for no time", remedy));
            }
            if steps.last().is_none_or(|&(_, before)| before != delay) {
                steps.push((begin, delay));
            }
            begin += length;
        }
        Ok(Delays { name: name.into(), steps: steps.into(), period: begin })
    }

    /// Reads a file's lines, a delay for each 10 ms.
    ///
    /// # Errors
    /// A line that is not a number of milliseconds from 0 to an hour; no line, or too many.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Delays, TraceError> {
        let mut series = Vec::new();
        for (index, line) in lines(bytes).enumerate() {
            let delay = milliseconds(name, line, (1.0, LARGEST_MS));
            let delay = delay.map_err(|error| error.at(index + 1))?;
            series.push((STEP, delay));
            if series.len() > MAX_VALUES {
                break;
            }
        }
        Delays::new(name, &series)
    }

    /// Reads rows of a time and a delay. The first line may be a header that says their units, such as
    /// `time_s,delay_ms`; without one both are milliseconds.
    ///
    /// # Errors
    /// A header whose units are not known; a row that is not two numbers; times that do not begin at zero or do not increase.
    pub fn parse_csv(name: &str, bytes: &[u8]) -> Result<Delays, TraceError> {
        let mut rows: Vec<(Span, Span)> = Vec::new();
        let mut units = Units::WITHOUT_HEADER;
        for (index, line) in lines(bytes).enumerate() {
            if index == 0
                && let Some(header) = csv_header::read(name, line, SecondColumn::Delay)?
            {
                units = header;
                continue;
            }
            let mut halves = line.splitn(2, |&byte| byte == b',');
            let (time, delay) = (halves.next().unwrap_or_default(), halves.next());
            let row = milliseconds(name, time, (units.time, LATEST_MS)).and_then(|time| {
                let delay = delay.ok_or_else(|| wrong(name, line))?;
                Ok((time, milliseconds(name, delay, (units.second, LARGEST_MS))?))
            });
            let (time, delay) = row.map_err(|error| error.at(index + 1))?;
            let late = match rows.last() {
                Some(&(before, _)) => time <= before,
                None => !time.is_zero(),
            };
            if late {
                let message = format!("a time of {time}");
                let remedy = "times begin at 0 and increase";
                return Err(TraceError::new(name, message, remedy).at(index + 1));
            }
            rows.push((time, delay));
        }
        let [.., (before, _), (last, _)] = rows[..] else {
            let remedy = "write at least two rows time_ms,delay_ms";
            return Err(TraceError::new(name, "too few rows to tell how long one holds", remedy));
        };
        let ends = rows.iter().skip(1).map(|row| row.0).chain([last + (last - before)]);
        let series: Vec<_> =
            rows.iter().zip(ends).map(|(&(begin, delay), end)| (end - begin, delay)).collect();
        Delays::new(name, &series)
    }

    /// Returns the name: a file's, or a built-in one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time after which it repeats.
    pub fn period(&self) -> Span {
        self.period
    }

    /// Returns each delay with its beginning.
    pub fn steps(&self) -> &[(Span, Span)] {
        &self.steps
    }

    /// Returns this recording shifted so that `start`, taken modulo the period, becomes time 0. The
    /// part before `start` follows at the end of the period.
    pub fn starting_at(&self, start: Span) -> Delays {
        let steps = steps_starting_at(&self.steps, self.period, start).into();
        Delays { name: self.name.clone(), steps, period: self.period }
    }

    /// Returns the delay `since` after the beginning.
    pub fn at(&self, since: Span) -> Span {
        let within = Span::from_nanos(since.as_nanos() % self.period.as_nanos().max(1));
        let next = self.steps.partition_point(|&(begin, _)| begin <= within);
        self.steps.get(next.saturating_sub(1)).map_or(Span::ZERO, |&(_, delay)| delay)
    }

    /// Returns the delay at each step of 10 ms, in milliseconds.
    pub fn sampled(&self) -> Vec<f64> {
        let count = (self.period.as_nanos() / STEP.as_nanos()).clamp(1, MAX_VALUES as u64);
        (0..count).map(|at| self.at(STEP * at).as_millis_f64()).collect()
    }

    /// Returns the statistics, at steps of 10 ms.
    pub fn stats(&self) -> DelayStats {
        let samples = self.sampled();
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let variance = samples.iter().map(|ms| (ms - mean) * (ms - mean)).sum::<f64>() / count;
        let pairs = samples.len().saturating_sub(1).max(1) as f64;
        let step = samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>() / pairs;
        let mut sorted = samples;
        sorted.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| {
            let at = ((share * count).ceil() as usize).clamp(1, sorted.len()) - 1;
            sorted.get(at).copied().unwrap_or(0.0)
        };
        DelayStats {
            mean,
            sd: libm::sqrt(variance),
            min: quantile(0.0),
            p5: quantile(0.05),
            p50: quantile(0.5),
            p95: quantile(0.95),
            max: quantile(1.0),
            step,
        }
    }
}

/// Returns periodic steps shifted so that `start` becomes time zero: the part before `start`
/// follows at the end of the period. `steps` are in order, and the first is at zero.
pub fn steps_starting_at<T: Clone>(
    steps: &[(Span, T)],
    period: Span,
    start: Span,
) -> Vec<(Span, T)> {
    let start = Span::from_nanos(start.as_nanos() % period.as_nanos().max(1));
    if start.is_zero() {
        return steps.to_vec();
    }
    let split = steps.partition_point(|(begin, _)| *begin <= start);
    let (before, after) = steps.split_at(split);
    let current = before.last().map(|(_, value)| (Span::ZERO, value.clone()));
    let later = after.iter().map(|(begin, value)| (*begin - start, value.clone()));
    // The step that contains `start` begins the period; its part before `start` ends it, unless
    // that is empty.
    let wrapped = before.iter().map(|(begin, value)| (*begin + (period - start), value.clone()));
    let wrapped = wrapped.filter(|(begin, _)| *begin < period);
    current.into_iter().chain(later).chain(wrapped).collect()
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_end();
    bytes.split(|&byte| byte == b'\n').filter(|_| !bytes.is_empty())
}

fn wrong(name: &str, line: &[u8]) -> TraceError {
    let message = format!("expected milliseconds, found {}", excerpt(line));
    let remedy = "each line is a one-way delay in milliseconds for 10 ms, or, in files .csv, \
                  time_ms,delay_ms";
    TraceError::new(name, message, remedy)
}

/// A time whose unit is `factor` milliseconds, at most `most` milliseconds.
fn milliseconds(name: &str, text: &[u8], (factor, most): (f64, f64)) -> Result<Span, TraceError> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<f64>().ok());
    let ms = number.map(|number| number * factor);
    let ms = ms.filter(|ms| (0.0..=most).contains(ms));
    ms.map(|ms| Span::from_nanos((ms * 1e6 + 0.5) as u64)).ok_or_else(|| wrong(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_for_ten_milliseconds_and_repeat() {
        let delays = Delays::parse("a", b"12\n12\n16.5\n\n").expect("valid");
        assert_eq!(delays.period(), Span::from_millis(30));
        assert_eq!(delays.steps().len(), 2);
        let at = |ms: u64| delays.at(Span::from_millis(ms)).as_millis_f64();
        assert_eq!(
            [at(0), at(19), at(20), at(29), at(30), at(3050)],
            [12.0, 12.0, 16.5, 16.5, 12.0, 16.5]
        );
        let stats = delays.stats();
        assert_eq!((stats.mean, stats.min, stats.max, stats.p50), (13.5, 12.0, 16.5, 12.0));
        assert_eq!(stats.step, 2.25);
    }

    #[test]
    fn rows_hold_until_the_next() {
        let text = b"time_ms,delay_ms\n0,20\n15000,35\n30000,25\n";
        let delays = Delays::parse_csv("a.csv", text).expect("valid");
        let seconds = b"time_s,delay_ms\n0,20\n15,35\n30,25\n";
        assert_eq!(Delays::parse_csv("a.csv", seconds).as_ref(), Ok(&delays));
        assert_eq!(delays.period(), Span::from_secs(45));
        let at = |s: u64| delays.at(Span::from_secs(s)).as_millis_f64();
        assert_eq!([at(14), at(15), at(44), at(45)], [20.0, 35.0, 25.0, 20.0]);
    }

    #[test]
    fn a_later_start_shifts_the_recording() {
        let delays = Delays::parse_csv("a.csv", b"0,20\n15000,35\n30000,25\n").expect("valid");
        for start in [0, 1, 14_999, 15_000, 29_000, 44_999, 45_000, 100_000].map(Span::from_millis)
        {
            let moved = delays.starting_at(start);
            assert_eq!(moved.period(), delays.period());
            for at in (0..2000).map(|at| Span::from_millis(at * 50)) {
                assert_eq!(moved.at(at), delays.at(at + start), "{start} {at}");
            }
        }
    }

    #[test]
    fn errors_name_the_line() {
        let told = |bytes: &[u8]| Delays::parse("a", bytes).expect_err("wrong").to_string();
        assert!(told(b"12\nx\n").starts_with("a:2: expected milliseconds, found \"x\""));
        assert!(told(b"").contains("no delay (a recording has"));
        assert!(told(b"-1\n").contains("\"-1\"") && told(b"NaN").contains("a:1"));
        assert!(told(b"1e99").contains("a:1") && told(b"12\n\n12").contains("a:2"));
        let told = |bytes: &[u8]| Delays::parse_csv("a", bytes).expect_err("wrong").to_string();
        assert!(told(b"0,1\n0,2\n").contains("a:2") && told(b"5,1\n6,2\n").contains("begin at 0"));
        assert!(told(b"0,1\n").contains("two rows") && told(b"0,1\n5\n").contains("a:2"));
    }
}
