//! Values with units, and ranges of them, as they are written.

use paceline_cc::{ParamValue, Rate, Span};
use paceline_sim::path::BufferSize;
use serde::Deserialize;

use super::{Range, Scale, SpecificationError};

/// A value with its unit, or a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Quantity {
    Number(f64),
    Text(String),
}

/// One value, or a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Values {
    One(Quantity),
    Range(FileRange),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileRange {
    from: Quantity,
    to: Quantity,
    steps: Option<u32>,
    #[serde(default)]
    scale: Scale,
}

/// How a value is read: the least and the largest one, and how text becomes a number.
pub(super) struct Kind {
    pub(super) key: &'static str,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) read: fn(&str) -> Result<f64, String>,
}

pub(super) fn mbps(text: &str) -> Result<f64, String> {
    Rate::read(text).map(Rate::as_mbps)
}
pub(super) fn bytes(text: &str) -> Result<f64, String> {
    match BufferSize::parse(text)? {
        BufferSize::Bytes(bytes) => Ok(bytes as f64),
        _ => Err("expected bytes, such as \"100kB\"".into()),
    }
}
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    Span::read(text).map(Span::as_secs_f64)
}
pub(super) fn millis(text: &str) -> Result<f64, String> {
    Span::read(text).map(Span::as_millis_f64)
}

impl Kind {
    fn fail(&self, problem: impl Into<String>) -> SpecificationError {
        SpecificationError::value(self.key, problem)
    }

    fn quantity(&self, quantity: &Quantity) -> Result<f64, SpecificationError> {
        let value = match quantity {
            Quantity::Text(text) => (self.read)(text).map_err(|problem| self.fail(problem))?,
            // A number without a unit is one only where there are no units.
            Quantity::Number(number) => {
                (self.read)(&number.to_string()).map_err(|problem| self.fail(problem))?
            }
        };
        let Kind { least, most, .. } = self;
        if !(*least..=*most).contains(&value) {
            return Err(self.fail(format!("{value} is not from {least} to {most}")));
        }
        Ok(value)
    }

    pub(super) fn range(&self, values: &Values) -> Result<Range, SpecificationError> {
        let written = match values {
            Values::One(quantity) => return Ok(Range::one(self.quantity(quantity)?)),
            Values::Range(written) => written,
        };
        let (from, to) = (self.quantity(&written.from)?, self.quantity(&written.to)?);
        let steps = match (written.scale.is_random(), written.steps) {
            (true, None) => 1,
            (true, Some(_)) => {
                return Err(self.fail("a random range has no steps: write draws instead"));
            }
            (false, None) => return Err(self.fail("a range needs steps, such as steps = 3")),
            (false, Some(steps @ 1..=10_000)) => steps,
            (false, Some(steps)) => {
                return Err(self.fail(format!("{steps} steps are not 1 to 10000")));
            }
        };
        if written.scale.is_logarithmic() && from <= 0.0 {
            return Err(self.fail("a logarithmic range begins above zero"));
        }
        Ok(Range { from, to, steps, scale: written.scale })
    }
}
