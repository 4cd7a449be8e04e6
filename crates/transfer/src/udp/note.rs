//! What the two ends tell each other in messages, beside data.

use paceline_wire::frame::LONGEST_MESSAGE;
use serde::{Deserialize, Serialize};

use super::arrivals::{SentSummary, Summary};

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(super) enum Note {
    /// Asks for a summary.
    Summarize,
    /// The summary.
    Summary(Summary),
    /// What the sender of a measurement has counted.
    Sent(SentSummary),
    /// Asks the other end to begin to send, at no more than this many bit/s.
    Limit {
        /// The rate; 0 for no limit.
        bps: u64,
    },
    /// What has become of a file.
    File {
        /// Its number.
        file: u32,
        /// True if it has arrived and is kept.
        kept: bool,
        /// Where it is, or what was wrong.
        text: String,
    },
    /// The receiver's answer to a resumable transfer: from where to go on.
    Resume(Resume),
    /// How far a transfer is.
    Progress {
        /// All entries before this one are kept.
        entry: u32,
    },
}

/// From where a transfer goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resume {
    /// All entries before this one are kept and checked; 1 if nothing is.
    pub(super) entry: u32,
    /// Lengths and SHA-256 in hexadecimal digits of beginnings of that entry that the receiver has, the longest
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) beginnings: Vec<(u64, String)>,
    /// True if everything was kept before: nothing is to be sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) complete: bool,
    /// Where the top-level entries are, in their order, if everything is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) places: Vec<String>,
}

/// The code with which a receiver closes a connection whose transfer a newer connection of the same transfer has taken
/// over. The sender must not connect again.
pub(super) const TAKEN_OVER: u16 = 17;

impl Note {
    /// The message. A text that is too long for one is shortened: of a place its end stays, with the file's name; of a
    /// problem its beginning. Of a [`Resume`] that is too long the shortest beginnings and the last places are left out.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        if let (Note::Resume(resume), true) = (self, bytes.len() > LONGEST_MESSAGE) {
            // The shortest beginnings are left out first, then the last places.
            let mut resume = resume.clone();
            if resume.beginnings.pop().is_some() || resume.places.pop().is_some() {
                return Note::Resume(resume).to_bytes();
            }
        }
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
