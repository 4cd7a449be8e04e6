//! The file that is being read: positions of mistakes.

use std::ops::Range;
use std::path::Path;

use paceline_cc::Span;

use super::error::ScenarioError;
use super::limits::Excess;
use crate::names::Names;

/// A part of a file with its position.
#[derive(Debug)]
pub(super) struct At<T> {
    /// Its form in the file.
    pub(super) value: T,
    /// Its position in the text, in bytes.
    pub(super) span: Range<usize>,
}

/// A part of a file that can have a mistake.
pub(super) trait Place {
    /// Returns its position in bytes; `None` for a key that the file does not have.
    fn place(&self) -> Option<Range<usize>>;
}

impl<T> Place for At<T> {
    fn place(&self) -> Option<Range<usize>> {
        Some(self.span.clone())
    }
}

impl<T> Place for Option<At<T>> {
    fn place(&self) -> Option<Range<usize>> {
        self.as_ref().and_then(At::place)
    }
}

impl Place for Option<Range<usize>> {
    fn place(&self) -> Option<Range<usize>> {
        self.clone()
    }
}

/// A file: its text for the positions of mistakes, and its folder for traces.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) folder: Option<&'a Path>,
    pub(super) names: &'a Names,
    /// Duration of the run.
    pub(super) duration: Span,
}

impl Reader<'_> {
    pub(super) fn fail<T>(
        &self,
        at: &impl Place,
        message: impl Into<String>,
        help: &str,
    ) -> Result<T, ScenarioError> {
        Err(ScenarioError::new(message).help(help).at(self.file, self.text, at.place()))
    }

    /// Returns a mistake at a value of the file. The message includes the remedy.
    pub(super) fn wrong(&self, at: &impl Place, message: impl ToString) -> ScenarioError {
        ScenarioError::new(message.to_string()).at(self.file, self.text, at.place())
    }

    /// Returns a checked value, or the mistake at its position.
    pub(super) fn within<T>(
        &self,
        at: &impl Place,
        checked: Result<T, Excess>,
    ) -> Result<T, ScenarioError> {
        checked.or_else(|(message, help)| self.fail(at, message, help))
    }

    /// Returns an error if the file has `key`, which is called `name` and has no effect without
    /// `needed`, a key that the file does not have.
    pub(super) fn needs(
        &self,
        (name, key): (&str, &impl Place),
        needed: &str,
        help: &str,
    ) -> Result<(), ScenarioError> {
        match key.place() {
            Some(_) => self.fail(key, format!("{name} needs {needed}"), help),
            None => Ok(()),
        }
    }

    /// Returns the path of a file that a scenario names: relative to the scenario's folder, or as
    /// written.
    pub(super) fn find(&self, written: &str) -> String {
        let beside = self.folder.map(|folder| folder.join(written)).filter(|path| path.exists());
        let path = beside.and_then(|path| path.to_str().map(String::from));
        path.unwrap_or_else(|| written.to_string())
    }
}
