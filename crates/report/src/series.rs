//! A quantity over time: merging of its bins, and its path.

use crate::number::{coordinate, short, usable};
use crate::scale::Scale;
use crate::style::Paint;

/// Largest number of bins drawn per series.
const MOST: usize = 600;

/// Returns how many neighbouring bins a figure draws as one, if a series has this number of bins.
pub fn bins_drawn_as_one(bins: usize) -> usize {
    bins.div_ceil(MOST).max(1)
}

/// Way to merge several samples when there are more than can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// Their mean, for rates.
    #[default]
    Mean,
    /// Their maximum, for delays, whose peaks matter.
    Max,
}

/// Way to draw a series.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Shade {
    /// A line through the middle of each bin.
    #[default]
    Line,
    /// A stepped area from zero, behind all lines.
    Area,
    /// A translucent band from the values up to these, behind all lines, without label and
    /// read-out.
    Band(Vec<f64>),
}

/// One quantity over time, in bins of equal length that start at zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Owner in the read-out: a scheme, or "capacity".
    pub name: String,
    /// Quantity in the read-out: "throughput", "delay".
    pub quantity: String,
    /// The unit of the values.
    pub unit: String,
    /// The length of a bin in seconds.
    pub bin_s: f64,
    /// A value per bin; NaN and infinite values are gaps.
    pub values: Vec<f64>,
    /// The colour.
    pub paint: Paint,
    /// Line, area or band.
    pub shade: Shade,
    /// Way to merge bins.
    pub fold: Fold,
    /// Parts of the label beside the line; the first one is emphasized. Empty for no label.
    pub label: Vec<String>,
}

impl Series {
    /// Returns the time that the series covers, in seconds.
    pub fn duration(&self) -> f64 {
        let duration = self.bin_s * self.values.len() as f64;
        if usable(duration) { duration.max(0.0) } else { 0.0 }
    }

    /// Returns the series with at most about 600 bins.
    pub fn thinned(&self) -> Self {
        let group = bins_drawn_as_one(self.values.len());
        let merged =
            |values: &[f64]| values.chunks(group).map(|bins| fold(bins, self.fold)).collect();
        let shade = match &self.shade {
            Shade::Band(upper) => Shade::Band(merged(upper)),
            plain => plain.clone(),
        };
        // The last bin may have fewer samples; its smaller width is not visible on the plot.
        let values = merged(&self.values);
        Self { bin_s: self.bin_s * group as f64, values, shade, ..self.clone() }
    }

    /// Returns all values that are drawn, including those of a band's upper edge.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = f64> {
        let upper: &[f64] = match &self.shade {
            Shade::Band(upper) => upper,
            Shade::Line | Shade::Area => &[],
        };
        self.values.iter().chain(upper).copied()
    }

    /// True if the series has no value to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.duration() <= 0.0 || !self.values.iter().any(|&v| usable(v))
    }

    /// Returns the mean of the last values, where the label is placed.
    pub(crate) fn tail(&self) -> Option<f64> {
        let count = self.values.len();
        let tail = fold(&self.values[count - count.div_ceil(12)..], Fold::Mean);
        usable(tail).then_some(tail)
    }

    /// Returns the path of a line.
    pub(crate) fn line(&self, x: &Scale, y: &Scale) -> String {
        let mut path = String::new();
        let mut pen = false;
        for (i, &value) in self.values.iter().enumerate() {
            if !usable(value) {
                pen = false;
                continue;
            }
            let at = x.at((i as f64 + 0.5) * self.bin_s);
            path.push(if pen { 'L' } else { 'M' });
            path.push_str(&coordinate(at));
            path.push(' ');
            path.push_str(&coordinate(y.at(value)));
            // A single point between gaps is drawn as a dot (with round caps).
            let lone = !pen && self.values.get(i + 1).is_none_or(|&next| !usable(next));
            if lone {
                path.push_str("h0");
            }
            pen = true;
        }
        path
    }

    /// Returns the path around a band: along its upper edge, and back along its lower edge; gaps
    /// divide it.
    pub(crate) fn band(&self, x: &Scale, y: &Scale) -> String {
        let Shade::Band(upper) = &self.shade else { return String::new() };
        let bins: Vec<(usize, f64, f64)> = (self.values.iter().zip(upper).enumerate())
            .map(|(at, (&low, &high))| (at, low, high))
            .collect();
        let mut path = String::new();
        for part in bins.split(|(_, low, high)| !(usable(*low) && usable(*high))) {
            let place = |at: usize, value: f64| {
                let across = x.at((at as f64 + 0.5) * self.bin_s);
                format!("{} {}", coordinate(across), coordinate(y.at(value)))
            };
            let over = part.iter().map(|&(at, _, high)| place(at, high));
            let back = part.iter().rev().map(|&(at, low, _)| place(at, low));
            let corners: Vec<String> = over.chain(back).collect();
            // A band of a single bin has no width.
            if part.len() > 1 {
                path += &format!("M{}Z", corners.join("L"));
            }
        }
        path
    }

    /// Returns the path of a stepped edge; `closed` continues it to the base line.
    pub(crate) fn steps(&self, x: &Scale, y: &Scale, closed: bool) -> String {
        let base = coordinate(y.at(y.lo().max(0.0)));
        let end = self.duration();
        let mut path = String::new();
        let mut pen = false;
        for (i, &value) in self.values.iter().enumerate() {
            let from = coordinate(x.at(i as f64 * self.bin_s));
            let to = coordinate(x.at(((i + 1) as f64 * self.bin_s).min(end)));
            if !usable(value) {
                if pen && closed {
                    path.push_str(&format!("V{base}Z"));
                }
                pen = false;
                continue;
            }
            let level = coordinate(y.at(value));
            match (pen, closed) {
                (true, _) => path.push_str(&format!("V{level}H{to}")),
                (false, true) => path.push_str(&format!("M{from} {base}V{level}H{to}")),
                (false, false) => path.push_str(&format!("M{from} {level}H{to}")),
            }
            pen = true;
        }
        if pen && closed {
            path.push_str(&format!("V{base}Z"));
        }
        path
    }

    /// Returns the values as text for the page's read-out; gaps are empty.
    pub(crate) fn text(&self) -> String {
        let texts = self.values.iter().map(|&v| if usable(v) { short(v) } else { String::new() });
        texts.collect::<Vec<_>>().join(",")
    }
}

fn fold(bins: &[f64], fold: Fold) -> f64 {
    let (mut sum, mut max, mut count) = (0.0, f64::NEG_INFINITY, 0_usize);
    for &value in bins.iter().filter(|v| usable(**v)) {
        sum += value;
        max = max.max(value);
        count += 1;
    }
    match fold {
        _ if count == 0 => f64::NAN,
        Fold::Mean => sum / count as f64,
        Fold::Max => max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: Vec<f64>, fold: Fold) -> Series {
        Series {
            name: "abc".into(),
            quantity: "throughput".into(),
            unit: "Mbit/s".into(),
            bin_s: 1.0,
            values,
            paint: Paint::INK,
            shade: Shade::Line,
            fold,
            label: vec![],
        }
    }

    #[test]
    fn gaps_break_the_line() {
        let (x, y) = (Scale::linear(0.0, 4.0, 0.0, 4.0), Scale::linear(0.0, 1.0, 1.0, 0.0));
        let s = series(vec![0.0, 1.0, f64::NAN, 1.0], Fold::Mean);
        assert_eq!(s.line(&x, &y), "M0.5 1L1.5 0M3.5 0h0");
        assert_eq!(s.steps(&x, &y, false), "M0 1H1V0H2M3 0H4");
        assert_eq!(s.steps(&x, &y, true), "M0 1V1H1V0H2V1ZM3 1V0H4V1Z");
        assert_eq!(s.text(), "0,1,,1");
        assert!(series(vec![f64::NAN], Fold::Mean).is_empty());
    }

    #[test]
    fn a_band_goes_there_and_back() {
        let (x, y) = (Scale::linear(0.0, 4.0, 0.0, 4.0), Scale::linear(0.0, 1.0, 1.0, 0.0));
        let band = Series {
            shade: Shade::Band(vec![1.0, 1.0, f64::NAN, 1.0]),
            ..series(vec![0.0; 4], Fold::Mean)
        };
        assert_eq!(band.band(&x, &y), "M0.5 0L1.5 0L1.5 1L0.5 1Z");
        assert_eq!(band.drawn().filter(|value| *value == 1.0).count(), 3);
        let long =
            Series { shade: Shade::Band(vec![2.0; 6000]), ..series(vec![1.0; 6000], Fold::Max) };
        let Shade::Band(upper) = long.thinned().shade else { panic!("a band") };
        assert_eq!(upper.len(), 600);
    }

    #[test]
    fn thinning_keeps_means_and_peaks() {
        let values: Vec<f64> = (0..6000).map(|i| if i == 4321 { 99.0 } else { 1.0 }).collect();
        let mean = series(values.clone(), Fold::Mean).thinned();
        let max = series(values, Fold::Max).thinned();
        assert_eq!((mean.values.len(), mean.duration()), (600, 6000.0));
        assert_eq!(max.values.iter().copied().fold(0.0, f64::max), 99.0);
        assert!((mean.values.iter().sum::<f64>() / 600.0 - (5999.0 + 99.0) / 6000.0).abs() < 1e-9);
    }
}
