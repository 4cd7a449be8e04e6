//! What the two ends tell each other in messages, beside data.

use paceline_wire::frame::LONGEST_MESSAGE;
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
    /// The message. A text that is too long for one is shortened: of a place its end stays, with the file's name; of a
    /// problem its beginning.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let Note::File { file, kept, text } = self else { return bytes };
        let (mut bytes, mut length) = (bytes, text.len());
        while bytes.len() > LONGEST_MESSAGE && length > 0 {
            // JSON writes a byte as at most six.
            length = length.saturating_sub((bytes.len() - LONGEST_MESSAGE).div_ceil(6).max(1));
            let short = match kept {
                true => {
                    let start = text.ceil_char_boundary(text.len() - length);
                    format!("…{}", text.get(start..).unwrap_or(""))
                }
                false => {
                    let end = text.floor_char_boundary(length);
                    format!("{}…", text.get(..end).unwrap_or(""))
                }
            };
            let note = Note::File { file: *file, kept: *kept, text: short };
            bytes = serde_json::to_vec(&note).unwrap_or_default();
        }
        bytes
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
            assert!(bytes.len() <= LONGEST_MESSAGE);
        }
        assert_eq!(Note::read(b"{}"), None);
        assert_eq!(Note::read(&[0xff; 3]), None);
    }

    #[test]
    fn a_text_that_is_too_long_is_shortened_and_told() {
        for text in
            ["\"".repeat(500) + "/end", "\u{1}".repeat(5000) + "/end", "ü".repeat(3000) + "/end"]
        {
            for kept in [true, false] {
                let bytes = Note::File { file: 1, kept, text: text.clone() }.to_bytes();
                assert!(bytes.len() <= LONGEST_MESSAGE, "{}", bytes.len());
                assert!(bytes.len() > LONGEST_MESSAGE / 2, "{}", bytes.len());
                let Some(Note::File { text: read, .. }) = Note::read(&bytes) else {
                    panic!("a note")
                };
                assert!(kept == read.ends_with("/end") && kept == read.starts_with('…'), "{read}");
                assert!(kept != read.ends_with('…'), "{read}");
            }
        }
    }
}
