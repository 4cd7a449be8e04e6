//! Messages between the two ends, beside the data stream.

use paceline_wire::frame::LONGEST_MESSAGE;
use serde::{Deserialize, Serialize};

use super::arrivals::{SentSummary, Summary};

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(super) enum Note {
    /// Asks for a summary.
    Summarize,
    /// The receiver's summary.
    Summary(Summary),
    /// The counters of a measurement's sender.
    Sent(SentSummary),
    /// Asks the other end to begin sending, at no more than `bps` bit/s.
    Limit {
        /// The rate in bit/s; 0 for no limit.
        bps: u64,
    },
    /// Whether the receiver has kept a file.
    File {
        /// Number of the file.
        file: u32,
        /// True if the file has arrived and is kept.
        kept: bool,
        /// Its path, or the error.
        text: String,
    },
    /// The receiver's answer to a resumable transfer: where to continue.
    Resume(Resume),
    /// The receiver's progress.
    Progress {
        /// The receiver keeps all entries before this one.
        entry: u32,
    },
}

/// Where a transfer continues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resume {
    /// The receiver has kept and checked all entries before this one; 1 if it has none.
    pub(super) entry: u32,
    /// Beginnings of that entry that the receiver has: lengths and SHA-256 in hexadecimal digits,
    /// longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) beginnings: Vec<(u64, String)>,
    /// True if the receiver has everything: the sender sends nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) complete: bool,
    /// Paths of the top-level entries, in their order, if the receiver has everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) places: Vec<String>,
}

/// The code with which a receiver closes a connection after a newer connection has taken its
/// transfer over. The sender must not connect again.
pub(super) const TAKEN_OVER: u16 = 17;

impl Note {
    /// Returns the message as JSON. Shortens a text that does not fit: of a path it keeps the end,
    /// which has the file's name, of an error the beginning. From a [`Resume`] that does not fit it
    /// removes the shortest beginnings first, then the last paths.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        if let (Note::Resume(resume), true) = (self, bytes.len() > LONGEST_MESSAGE) {
            // Remove the shortest beginnings first, then the last paths.
            let mut resume = resume.clone();
            if resume.beginnings.pop().is_some() || resume.places.pop().is_some() {
                return Note::Resume(resume).to_bytes();
            }
        }
        let Note::File { file, kept, text } = self else { return bytes };
        let (mut bytes, mut length) = (bytes, text.len());
        while bytes.len() > LONGEST_MESSAGE && length > 0 {
            // JSON escapes a byte with at most six.
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

    /// Reads a message. Returns `None` for invalid ones, which are ignored.
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
            Note::Sent(SentSummary { lost: 7, ..SentSummary::default() }),
            Note::Limit { bps: 1_000_000 },
            Note::Summary(Summary { age_p95_ms: Some(1.0 / 3.0), ..Summary::default() }),
            Note::File { file: 7, kept: true, text },
        ] {
            let bytes = note.to_bytes();
            assert_eq!(Note::read(&bytes), Some(note));
            assert!(bytes.len() <= LONGEST_MESSAGE);
        }
        let beginnings: Vec<_> = (0..20).map(|n| (n << 40, "a".repeat(64))).collect();
        let resume = Resume { entry: u32::MAX, beginnings, ..Resume::default() };
        let bytes = Note::Resume(resume.clone()).to_bytes();
        assert!(bytes.len() <= LONGEST_MESSAGE);
        let Some(Note::Resume(read)) = Note::read(&bytes) else { panic!("a note") };
        assert!(read.beginnings.len() > 8 && resume.beginnings.starts_with(&read.beginnings));
        let places = vec!["\u{1}".repeat(100); 9];
        let resume = Resume { complete: true, places, ..Resume::default() };
        let bytes = Note::Resume(resume).to_bytes();
        let Some(Note::Resume(read)) = Note::read(&bytes) else { panic!("a note") };
        assert!(read.complete && read.places.len() == 1 && bytes.len() <= LONGEST_MESSAGE);
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
