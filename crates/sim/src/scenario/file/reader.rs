//! What all parts of a scenario file are read with: mistakes with their places, and stretches.

use std::path::Path;

use paceline_cc::Span;
use paceline_path::{GilbertElliott, Impairments, Jitter, JitterShape, Loss, Reorder};
use paceline_trace::Delays;
use serde::Deserialize;
use toml::Spanned;

use super::error::ScenarioError;
use super::limits::Excess;
use super::read::Period;
use crate::names::Names;
use crate::scenario::spec::Stretch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileStretch {
    delay: Option<Period>,
    delay_trace: Option<Spanned<String>>,
    jitter: Option<Period>,
    jitter_sd: Option<Period>,
    jitter_shape: Option<Shape>,
    overtake: Option<bool>,
    loss: Option<f64>,
    burst: Option<f64>,
    reorder: Option<f64>,
    reorder_by: Option<Period>,
    duplicate: Option<f64>,
    slot: Option<Period>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Uniform,
    Normal,
    Exponential,
}

impl Shape {
    fn shape(self) -> JitterShape {
        match self {
            Shape::Uniform => JitterShape::Uniform,
            Shape::Normal => JitterShape::Normal,
            Shape::Exponential => JitterShape::Exponential,
        }
    }
}

/// A file, for the places of its mistakes and the traces beside it.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) folder: Option<&'a Path>,
    pub(super) names: &'a Names,
}

impl Reader<'_> {
    pub(super) fn fail<T, V>(
        &self,
        at: &Spanned<V>,
        message: impl Into<String>,
        help: &str,
    ) -> Result<T, ScenarioError> {
        Err(ScenarioError::new(message).help(help).at(self.file, self.text, Some(at.span())))
    }

    /// The mistake that a value of the file is wrong, as its message says; the message has the
    /// remedy.
    pub(super) fn wrong<V>(&self, at: &Spanned<V>, message: impl ToString) -> ScenarioError {
        ScenarioError::new(message.to_string()).at(self.file, self.text, Some(at.span()))
    }

    pub(super) fn within<V>(
        &self,
        at: &Spanned<V>,
        limit: Result<(), Excess>,
    ) -> Result<(), ScenarioError> {
        limit.or_else(|(message, help)| self.fail(at, message, help))
    }

    /// A file that a scenario names: beside the scenario, or as it is written.
    pub(super) fn place(&self, written: &str) -> String {
        let beside = self.folder.map(|folder| folder.join(written)).filter(|path| path.exists());
        let place = beside.and_then(|path| path.to_str().map(String::from));
        place.unwrap_or_else(|| written.to_string())
    }

    fn delays(&self, name: &Spanned<String>) -> Result<Delays, ScenarioError> {
        paceline_trace::load_delays(&self.place(name.get_ref()))
            .map_err(|error| self.wrong(name, error))
    }

    pub(super) fn stretch(
        &self,
        read: Option<Spanned<FileStretch>>,
    ) -> Result<Stretch, ScenarioError> {
        let Some(spanned) = read else { return Ok(Stretch::default()) };
        let place = Spanned::new(spanned.span(), ());
        let read = spanned.into_inner();
        let shares =
            [("loss", read.loss), ("reorder", read.reorder), ("duplicate", read.duplicate)];
        for (name, share) in shares {
            if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return self.fail(
                    &place,
                    format!("{name} is a probability from 0 to 1"),
                    "1 % is written 0.01",
                );
            }
        }
        let loss = match (read.loss, read.burst) {
            (None, None) => Loss::None,
            (None, Some(_)) => {
                return self.fail(&place, "burst needs loss", "write loss = 0.01, burst = 5");
            }
            (Some(rate), None) => Loss::Bernoulli(rate),
            (Some(rate), Some(length)) => match GilbertElliott::with_bursts(rate, length) {
                Ok(model) => Loss::GilbertElliott(model),
                Err(error) => {
                    return self.fail(&place, error.to_string(), "write loss = 0.01, burst = 5");
                }
            },
        };
        let jitter = read.jitter.map(|mean| Jitter {
            shape: read.jitter_shape.map_or(JitterShape::Exponential, Shape::shape),
            mean: mean.0,
            sd: read.jitter_sd.map_or(mean.0, |sd| sd.0),
        });
        let reorder = read
            .reorder
            .map(|probability| Reorder { probability, extra: read.reorder_by.map(|by| by.0) });
        let delays = read.delay_trace.map(|name| self.delays(&name)).transpose()?;
        Ok(Stretch {
            delay: read.delay.map_or(Span::ZERO, |delay| delay.0),
            impairments: Impairments {
                delays,
                jitter,
                reorder_jitter: read.overtake.unwrap_or(false),
                loss,
                reorder,
                duplicate: read.duplicate.unwrap_or(0.0),
                slot: read.slot.map(|slot| slot.0).filter(|slot| !slot.is_zero()),
            },
        })
    }
}
