//! What the two ends tell each other in messages, beside data.

use serde::{Deserialize, Serialize};

use super::arrivals::Summary;

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(super) enum Note {
    /// Asks for a summary.
    Summarize,
    /// The summary.
    Summary(Summary),
    /// What has become of a file.
    File {
        /// Its number.
        file: u32,
        /// True if it has arrived and is kept.
        kept: bool,
        /// Where it is, or what was wrong.
        text: String,
    },
}

impl Note {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
    /// Reads a message; what is none is somebody's mistake, and ignored.
    pub(super) fn read(bytes: &[u8]) -> Option<Note> {
        serde_json::from_slice(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_fit_into_messages() {
        let text = "x".repeat(600);
        for note in [
            Note::Summarize,
            Note::Summary(Summary { age_p95_ms: Some(1.0 / 3.0), ..Summary::default() }),
            Note::File { file: 7, kept: true, text },
        ] {
            let bytes = note.to_bytes();
            assert_eq!(Note::read(&bytes), Some(note));
            assert!(bytes.len() <= paceline_wire::frame::LONGEST_MESSAGE);
        }
        assert_eq!(Note::read(b"{}"), None);
        assert_eq!(Note::read(&[0xff; 3]), None);
    }
}
