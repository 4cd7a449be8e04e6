//! How a result was made: the command, the version and the seed. Saved results and figures keep it.

use serde::Serialize;
use serde_json::Value;

use crate::names::command_line;

/// How a result was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Made {
    command: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

impl Made {
    /// By the present command, with this seed if it has one.
    pub(crate) fn now(seed: Option<u64>) -> Made {
        Made { command: command_line(), version: env!("CARGO_PKG_VERSION").into(), seed }
    }

    /// Returns what a saved document says; `None` if it says nothing.
    pub(crate) fn of_document(document: &Value) -> Option<Made> {
        let made = document.get("made")?;
        Some(Made {
            command: made["command"].as_str()?.into(),
            version: made["version"].as_str()?.into(),
            seed: made["seed"].as_u64(),
        })
    }

    /// Returns the command.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Returns a sentence for descriptions of figures.
    pub(crate) fn sentence(&self) -> String {
        self.after("Made with")
    }

    /// Returns the sentence for a figure that this command draws from a saved result.
    pub(crate) fn drawn_now(&self) -> String {
        format!("{} {}", self.sentence(), Made::now(None).after("Drawn with"))
    }

    fn after(&self, words: &str) -> String {
        let seed = self.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
        format!("{words}: {} (paceline {}{seed}).", self.command, self.version)
    }
}

/// The fields of a saved result: how it was made, and the result.
#[derive(Serialize)]
pub(crate) struct SavedResult<'a, T: Serialize> {
    pub(crate) made: Made,
    #[serde(flatten)]
    pub(crate) result: &'a T,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_document_says_how_it_was_made() {
        let made =
            Made { command: "paceline compare".into(), version: "0.1.0".into(), seed: Some(7) };
        let text = serde_json::to_string(&SavedResult {
            made: made.clone(),
            result: &[("a", 1)].into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        });
        let document: Value = serde_json::from_str(&text.expect("JSON")).expect("JSON");
        assert_eq!(document["a"], 1);
        assert_eq!(Made::of_document(&document), Some(made.clone()));
        assert_eq!(made.sentence(), "Made with: paceline compare (paceline 0.1.0, seed 7).");
        assert_eq!(Made::of_document(&serde_json::json!({ "schema_version": 2 })), None);
    }
}
