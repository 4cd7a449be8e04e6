//! Ranges of values.

use paceline_cc::Stream;

/// How the values of a range are spaced.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Logarithmic,
    /// Drawn uniformly for each network.
    Random,
    /// Drawn for each network with a uniformly distributed logarithm.
    RandomLogarithmic,
}

impl Scale {
    /// Returns the scale with this name; `log` is short for `logarithmic`.
    pub fn of_name(name: &str) -> Option<Scale> {
        Some(match name {
            "linear" => Scale::Linear,
            "logarithmic" | "log" => Scale::Logarithmic,
            "random" => Scale::Random,
            "random-logarithmic" | "random-log" => Scale::RandomLogarithmic,
            _ => return None,
        })
    }

    /// Returns true if values are drawn, so that there are no steps.
    pub fn is_random(self) -> bool {
        matches!(self, Scale::Random | Scale::RandomLogarithmic)
    }

    /// Returns true if values have equal ratios, or their logarithms are drawn.
    pub fn is_logarithmic(self) -> bool {
        matches!(self, Scale::Logarithmic | Scale::RandomLogarithmic)
    }
}

/// A range of values, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The first value; of a list the minimum.
    pub from: f64,
    /// The last value; of a list the maximum.
    pub to: f64,
    /// Number of values; one means `from`.
    pub steps: u32,
    /// Spacing of the values. With a random scale, one value of a list is drawn for each network.
    pub scale: Scale,
    /// The listed values; empty for a range.
    pub listed: Vec<f64>,
}

impl Range {
    /// Returns a range of one value.
    pub const fn one(value: f64) -> Range {
        Range::steps(value, value, 1)
    }

    /// Returns a range of `steps` values with equal differences.
    pub const fn steps(from: f64, to: f64, steps: u32) -> Range {
        Range { from, to, steps, scale: Scale::Linear, listed: Vec::new() }
    }

    /// Returns a list; with `is_random`, one value is drawn for each network.
    pub fn list(values: Vec<f64>, is_random: bool) -> Range {
        let from = values.iter().copied().fold(f64::INFINITY, f64::min);
        let to = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let scale = if is_random { Scale::Random } else { Scale::Linear };
        Range { from, to, steps: values.len() as u32, scale, listed: values }
    }

    /// Returns the range of indices of a list with `count` entries.
    pub(super) fn places(count: usize, is_random: bool) -> Range {
        Range::list((0..count).map(|place| place as f64).collect(), is_random)
    }

    /// Returns the factor by which this range multiplies the number of combinations.
    pub(super) fn count(&self) -> usize {
        if self.scale.is_random() { 1 } else { self.steps.max(1) as usize }
    }

    /// Returns the value of step `step`, or one drawn from `random`.
    pub(super) fn value(&self, step: usize, random: &mut Stream) -> f64 {
        let Range { from, to, .. } = *self;
        if !self.listed.is_empty() {
            let place = match self.scale.is_random() {
                true => random.below(self.listed.len() as u64) as usize,
                false => step,
            };
            return self.listed.get(place).copied().unwrap_or(from);
        }
        let part = match self.scale {
            scale if scale.is_random() => random.uniform(),
            _ if self.steps <= 1 => 0.0,
            _ => step as f64 / f64::from(self.steps - 1),
        };
        match self.scale.is_logarithmic() {
            true => from * (to / from).powf(part),
            false => from + (to - from) * part,
        }
    }
}
