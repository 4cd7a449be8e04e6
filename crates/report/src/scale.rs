//! Conversion of values to pixels, and positions of ticks.

use crate::number::{tick, usable};

/// Least span of an axis around values, as a share of the largest.
const LEAST_SPAN: f64 = 0.1;

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Its value.
    pub value: f64,
    /// Its text; empty for a minor tick.
    pub label: String,
}

/// A linear or logarithmic axis from `lo..hi` to the pixels `from..to`. `from > to` inverts the
/// axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// Returns a linear axis. An empty or unusable domain becomes `0..1`.
    pub fn linear(lo: f64, hi: f64, from: f64, to: f64) -> Self {
        let (lo, hi) = if usable(lo) && usable(hi) && lo < hi { (lo, hi) } else { (0.0, 1.0) };
        Self { lo, hi, from, to, log: false }
    }

    /// Returns a logarithmic axis. An empty or unusable domain becomes `1..10`.
    pub fn log(lo: f64, hi: f64, from: f64, to: f64) -> Self {
        let good = usable(lo) && usable(hi) && lo > 1e-9 && lo < hi;
        let (lo, hi) = if good { (lo, hi) } else { (1.0, 10.0) };
        Self { lo, hi, from, to, log: true }
    }

    /// Returns a linear axis from zero (or below, if there are negative values) to a round number
    /// above all values.
    pub fn from_zero(
        values: impl IntoIterator<Item = f64>,
        from: f64,
        to: f64,
        count: usize,
    ) -> Self {
        let (lo, hi) = extent(values).unwrap_or((0.0, 1.0));
        let (lo, hi) = (lo.min(0.0), hi.max(0.0));
        let hi = if hi > lo { hi } else { lo + 1.0 };
        let step = step(hi - lo, count);
        Self::linear(
            libm::floor(lo / step + 1e-9) * step,
            libm::ceil(hi / step - 1e-9) * step,
            from,
            to,
        )
    }

    /// Returns a linear axis around the values with some margin, which ends at round numbers. It spans at least a tenth of
    /// the largest value, so that values that hardly differ stand close together.
    pub fn around(values: impl IntoIterator<Item = f64>, from: f64, to: f64, count: usize) -> Self {
        let (lo, hi) = extent(values).unwrap_or((0.0, 1.0));
        let least = hi.abs().max(lo.abs()) * LEAST_SPAN;
        let air = match hi > lo {
            true => ((hi - lo) * 0.06).max((least - (hi - lo)) / 2.0),
            false => (hi.abs() * 0.1).max(0.5),
        };
        let floor = if lo >= 0.0 { 0.0 } else { f64::MIN };
        let (lo, hi) = ((lo - air).max(floor), hi + air);
        let step = step(hi - lo, count);
        Self::linear(libm::floor(lo / step) * step, libm::ceil(hi / step) * step, from, to)
    }

    /// Returns a logarithmic axis around the positive values with some margin, which ends at 1, 2
    /// or 5 times a power of ten.
    pub fn around_log(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Self {
        let positive = values.into_iter().filter(|&v| v > 1e-9);
        let (lo, hi) = extent(positive).unwrap_or((1.0, 10.0));
        let lo = *rounds(lo / 1.12).first().unwrap_or(&1.0);
        let hi = *rounds(hi * 1.12).last().unwrap_or(&10.0);
        Self::log(lo, hi, from, to)
    }

    /// Returns the pixel of a value. On a logarithmic axis, values below the axis are drawn at its
    /// start.
    pub fn at(&self, value: f64) -> f64 {
        let part = match self.log {
            true => libm::log(value.max(self.lo) / self.lo) / libm::log(self.hi / self.lo),
            false => (value - self.lo) / (self.hi - self.lo),
        };
        self.from + part * (self.to - self.from)
    }

    /// Returns the smallest value on the axis.
    pub fn lo(&self) -> f64 {
        self.lo
    }

    /// Returns the largest value on the axis.
    pub fn hi(&self) -> f64 {
        self.hi
    }

    /// True if the axis is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Returns about `count` ticks at round values: steps of 1, 2 or 5 times a power of ten. On a
    /// logarithmic axis: 1, 2 and 5 times each power, with labels at all of them if `count` allows
    /// it, otherwise at the powers only.
    pub fn ticks(&self, count: usize) -> Vec<Tick> {
        if self.log { self.log_ticks(count) } else { self.linear_ticks(count) }
    }

    fn linear_ticks(&self, count: usize) -> Vec<Tick> {
        let step = step(self.hi - self.lo, count);
        let decimals = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 12.0) as usize;
        let first = libm::ceil(self.lo / step - 1e-9) as i64;
        let last = libm::floor(self.hi / step + 1e-9) as i64;
        (first..=last)
            .take(200)
            .map(|i| i as f64 * step)
            .map(|value| Tick { value, label: tick(value, decimals) })
            .collect()
    }

    fn log_ticks(&self, count: usize) -> Vec<Tick> {
        let crowded = 3.0 * libm::log10(self.hi / self.lo) > 1.6 * count as f64;
        let mut ticks = Vec::new();
        for power in lowest(self.lo)..=lowest(self.hi) + 1 {
            for digit in [1.0, 2.0, 5.0] {
                let value = digit * ten_to(power);
                if value < self.lo * 0.999 || value > self.hi * 1.001 {
                    continue;
                }
                let told = digit == 1.0 || !crowded;
                let decimals = (-power).clamp(0, 12) as usize;
                let label = if told { tick(value, decimals) } else { String::new() };
                ticks.push(Tick { value, label });
            }
        }
        ticks
    }
}

/// Returns the smallest and the largest usable value.
pub(crate) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|&v| usable(v)).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((lo, hi)) => Some((lo.min(v), hi.max(v))),
    })
}

/// Returns the step of 1, 2 or 5 times a power of ten that divides `span` into about `count` parts.
fn step(span: f64, count: usize) -> f64 {
    let raw = (span / count.max(1) as f64).max(1e-9);
    let unit = ten_to(lowest(raw));
    let digit = match raw / unit {
        part if part < 1.5 => 1.0,
        part if part < 3.5 => 2.0,
        part if part < 7.5 => 5.0,
        _ => 10.0,
    };
    digit * unit
}

/// Returns the neighbours of a value among 1, 2 and 5 times the powers of ten: below and above.
fn rounds(value: f64) -> [f64; 2] {
    let power = lowest(value);
    let marks = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * ten_to(power));
    let below = marks.iter().rev().find(|&&m| m <= value * 1.0001);
    let above = marks.iter().find(|&&m| m >= value * 0.9999);
    [*below.unwrap_or(&marks[0]), *above.unwrap_or(&marks[3])]
}

/// Returns the exponent of the power of ten at or below a value.
fn lowest(value: f64) -> i32 {
    libm::floor(libm::log10(value.max(1e-12)) + 1e-9) as i32
}

fn ten_to(power: i32) -> f64 {
    libm::pow(10.0, f64::from(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, count: usize) -> Vec<String> {
        scale.ticks(count).into_iter().map(|t| t.label).filter(|l| !l.is_empty()).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(Scale::linear(0.0, 10.0, 0.0, 1.0), 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(Scale::linear(0.0, 0.3, 0.0, 1.0), 3), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(Scale::linear(0.0, 60.0, 0.0, 1.0), 6).len(), 7);
        assert_eq!(labels(Scale::linear(0.0, 1500.0, 0.0, 1.0), 3), ["0", "500", "1000", "1500"]);
        assert_eq!(labels(Scale::linear(0.97, 1.0, 0.0, 1.0), 3), ["0.97", "0.98", "0.99", "1"]);
    }

    #[test]
    fn log_ticks_are_one_two_five() {
        let scale = Scale::around_log([12.0, 430.0], 100.0, 0.0);
        assert_eq!(labels(scale, 5), ["10", "20", "50", "100", "200", "500"]);
        assert_eq!(scale.at(10.0), 100.0);
        assert!((scale.at(500.0)).abs() < 1e-9);
        assert_eq!(scale.at(0.0), 100.0);
        assert_eq!(labels(Scale::log(1.0, 10_000.0, 0.0, 1.0), 5).len(), 5);
    }

    #[test]
    fn domains_cover_the_values() {
        let scale = Scale::from_zero([3.0, 17.3, f64::NAN, f64::INFINITY], 0.0, 1.0, 4);
        assert_eq!((scale.lo(), scale.hi()), (0.0, 20.0));
        let scale = Scale::around([71.0, 98.0], 0.0, 1.0, 5);
        assert!(scale.lo() <= 71.0 && scale.hi() >= 98.0 && scale.lo() > 0.0);
    }

    #[test]
    fn values_that_hardly_differ_do_not_fill_an_axis() {
        let scale = Scale::around([1017.6, 1018.3], 0.0, 1.0, 8);
        assert!(scale.hi() - scale.lo() >= 100.0, "{scale:?}");
        assert!(scale.at(1018.3) - scale.at(1017.6) < 0.01, "{scale:?}");
        let scale = Scale::around([-100.0, -99.0], 0.0, 1.0, 8);
        assert!(scale.lo() <= -104.0 && scale.hi() >= -95.0 && scale.hi() < 0.0, "{scale:?}");
    }

    #[test]
    fn degenerate_domains_still_work() {
        for scale in [
            Scale::linear(f64::NAN, 1.0, 0.0, 1.0),
            Scale::linear(2.0, 2.0, 0.0, 1.0),
            Scale::log(0.0, 0.0, 0.0, 1.0),
            Scale::from_zero([], 0.0, 1.0, 4),
            Scale::around([5.0], 0.0, 1.0, 4),
            Scale::around_log([0.0, -3.0], 0.0, 1.0),
            Scale::around_log([7.0], 0.0, 1.0),
            Scale::from_zero([0.0], 0.0, 1.0, 4),
            Scale::from_zero([1e300, -1e300], 0.0, 1.0, 4),
        ] {
            assert!(scale.hi() > scale.lo());
            assert!(!scale.ticks(4).is_empty());
            assert!(scale.at(scale.lo()).is_finite());
        }
    }
}
