//! Sections in TOML.

use super::error::ScenarioError;
use super::value::FileValue;

/// Keys with their values.
#[derive(Debug, Default)]
pub(super) struct Table {
    pairs: Vec<(&'static str, String)>,
    /// All keys of the section, in the order in which they are written.
    order: &'static [&'static str],
    /// Keys that are written even if they have their usual value.
    required: &'static [&'static str],
}

impl Table {
    /// Creates an empty section.
    pub(super) fn new(order: &'static [&'static str], required: &'static [&'static str]) -> Table {
        Table { pairs: Vec::new(), order, required }
    }

    /// Sets a key to a value that is already TOML.
    pub(super) fn set(&mut self, key: &'static str, value: String) {
        self.pairs.push((key, value));
    }

    /// Sets a key to a value.
    pub(super) fn put<T: FileValue>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), ScenarioError> {
        self.set(key, value.write(key)?);
        Ok(())
    }

    /// Sets a key to a value, unless it is written like the usual one.
    pub(super) fn put_field<T: FileValue>(
        &mut self,
        key: &'static str,
        value: Option<T>,
        usual: Option<T>,
    ) -> Result<(), ScenarioError> {
        let Some(value) = value else { return Ok(()) };
        let text = value.write(key);
        let is_usual = usual.is_some_and(|usual| usual.write(key) == text);
        if !is_usual || self.required.contains(&key) {
            self.set(key, text?);
        }
        Ok(())
    }

    /// Returns keys and values in the section's order.
    fn pairs(&self) -> Vec<String> {
        let place = |key| self.order.iter().position(|other| other == key);
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_by_key(|(key, _)| place(key));
        pairs.into_iter().map(|(key, value)| format!("{key} = {value}")).collect()
    }

    /// Writes one line per key.
    pub(super) fn lines(&self) -> String {
        self.pairs().into_iter().map(|pair| pair + "\n").collect()
    }

    /// Writes all keys on one line, in braces.
    pub(super) fn inline(&self) -> String {
        match self.pairs.is_empty() {
            true => "{}".into(),
            false => format!("{{ {} }}", self.pairs().join(", ")),
        }
    }
}
