//! The state of a tuning between two steps, and a line of its log.

use paceline_cc::SchemeSpec;
use serde::{Deserialize, Serialize};

use super::numbers::Change;
use crate::train::TrainingCost;
use crate::train::files::Digests;

/// Value of the file's first entry.
const FORMAT: &str = "paceline-remy-tuning 1";
/// Maximum number of generations and steps accepted in a file.
const MOST: u64 = 1 << 40;

/// The state of a tuning between two steps. The next step follows from it alone, except for the
/// cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningState {
    format: String,
    /// The text of the specification.
    pub specification: String,
    /// Digests of the files that the specification names; `None` in states of versions that did not write them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Digests>,
    /// The seed.
    pub seed: u64,
    /// The scheme at the beginning, as written by the user.
    pub start: String,
    /// The numbers that may change, if not all may.
    pub vary: Vec<String>,
    /// The scheme with its present numbers.
    pub scheme: String,
    /// Number of steps so far.
    pub step: u64,
    /// How often all numbers were improved.
    pub generation: u64,
    /// How often networks were drawn.
    pub draws: u64,
    /// Index of the number that the next step improves.
    pub(super) number: usize,
    /// The last change of this number, if it is to be repeated.
    pub(super) change: Option<Change>,
    /// True if some number has changed in this generation.
    pub(super) has_gained: bool,
    /// Number of generations at the end without a change.
    pub idle: u64,
    /// Score of the scheme on the networks drawn last.
    pub score: f64,
    /// Score per network on the validation set, if it was measured.
    pub validation: Option<f64>,
    /// Cost so far.
    pub spent: TrainingCost,
}

impl TuningState {
    /// Returns the state before the first step.
    pub(super) fn first(
        specification: &str,
        seed: u64,
        scheme: &SchemeSpec,
        vary: &[String],
    ) -> TuningState {
        TuningState {
            format: FORMAT.to_string(),
            specification: specification.to_string(),
            files: None,
            seed,
            start: scheme.to_string(),
            vary: vary.to_vec(),
            scheme: scheme.to_string(),
            step: 0,
            generation: 0,
            draws: 0,
            number: 0,
            change: None,
            has_gained: false,
            idle: 0,
            score: 0.0,
            validation: None,
            spent: TrainingCost::default(),
        }
    }

    /// Reads a state.
    ///
    /// # Errors
    /// The error in the text.
    pub(super) fn read(text: &str) -> Result<TuningState, String> {
        let state: TuningState = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if state.format != FORMAT {
            return Err(format!("its format is `{}`; this version reads `{FORMAT}`", state.format));
        }
        if [state.step, state.generation, state.draws, state.idle].iter().any(|&one| one > MOST) {
            return Err("a count is too large".into());
        }
        Ok(state)
    }
}

/// A line of the log: the result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningEntry {
    /// Number of the step, from 1.
    pub step: u64,
    /// The generation.
    pub generation: u64,
    /// The number that was tried: `target`, or of a queue `codel.target`.
    pub number: String,
    /// The scheme after the step.
    pub scheme: String,
    /// Sum of the scores after the step, on its networks.
    pub score: f64,
    /// Gain of the step on these networks.
    pub gain: f64,
    /// Score per network on the validation set, after the first step and after each generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Description of the result, in words.
    pub note: String,
    /// Cost since tuning began.
    pub spent: TrainingCost,
}
