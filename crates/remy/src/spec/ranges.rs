//! Ranges of values.

use paceline_cc::Stream;
use serde::Deserialize;

/// How the values of a range lie.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equally far apart.
    #[default]
    Linear,
    /// Equal factors apart.
    Logarithmic,
    /// Drawn with equal probability, anew for each network.
    Random,
    /// Its logarithm is drawn with equal probability, anew for each network.
    RandomLogarithmic,
}

impl Scale {
    /// True if values are drawn, so that there are no steps.
    pub fn is_random(self) -> bool {
        matches!(self, Scale::Random | Scale::RandomLogarithmic)
    }

    /// True if values are equal factors apart, or their logarithms drawn.
    pub fn is_logarithmic(self) -> bool {
        matches!(self, Scale::Logarithmic | Scale::RandomLogarithmic)
    }
}

/// A range of values.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Range {
    /// The first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many; one is `from`.
    pub steps: u32,
    /// How they lie.
    pub scale: Scale,
}

impl Range {
    /// One value.
    pub const fn one(value: f64) -> Range {
        Range { from: value, to: value, steps: 1, scale: Scale::Linear }
    }

    /// How many combinations it adds.
    pub(super) fn count(&self) -> usize {
        if self.scale.is_random() { 1 } else { self.steps.max(1) as usize }
    }

    /// The value of step `step`, or one drawn from `random`.
    pub(super) fn value(&self, step: usize, random: &mut Stream) -> f64 {
        let Range { from, to, .. } = *self;
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
