//! Reads scenarios from files.

use std::path::Path;

use paceline_cc::Span;

use super::document;
use super::error::ScenarioError;
use super::reader::Reader;
use super::run::FileScenario;
use crate::names::Names;
use crate::scenario::spec::Scenario;

/// Reads a scenario file, with trace files relative to its folder and built-in schemes and queues.
///
/// # Errors
/// The first mistake, with its position and a remedy.
pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    load_with(path, &Names::default())
}

/// Reads a scenario file with the schemes and queues of `names`, which the run must be given too.
///
/// # Errors
/// Those of [`load`].
pub fn load_with(path: &Path, names: &Names) -> Result<Scenario, ScenarioError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ScenarioError {
        file: name.clone(),
        ..ScenarioError::new(format!("cannot be read: {error}"))
    })?;
    parse_with(&name, &text, path.parent(), names)
}

/// Reads a scenario from text, with built-in schemes and queues. `file` names it in errors; trace
/// files are relative to `folder`.
///
/// # Errors
/// The first mistake, with its position and a remedy.
pub fn parse(file: &str, text: &str, folder: Option<&Path>) -> Result<Scenario, ScenarioError> {
    parse_with(file, text, folder, &Names::default())
}

/// Reads a scenario from text with the schemes and queues of `names`, which the run must be given
/// too.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_with(
    file: &str,
    text: &str,
    folder: Option<&Path>,
    names: &Names,
) -> Result<Scenario, ScenarioError> {
    let read: FileScenario =
        document::parse(text).map_err(|error| ScenarioError::from_form(file, text, error))?;
    let duration = read.duration.as_ref().map_or(Span::ZERO, |duration| duration.value.0);
    Reader { file, text, folder, names, duration }.scenario(&read)
}
