//! Files in a stream: records that say which file begins, what is in it, and that it is whole.
//!
//! A record begins with its kind (1 byte), the number of the file (4) and the length of what
//! follows (4). Pieces of several files may follow each other in any order.
//!
//! | kind | record | content |
//! | --- | --- | --- |
//! | 1 | a file begins | its size in bytes, 2⁶⁴ − 1 if it is not known (8); its name |
//! | 2 | a piece | bytes |
//! | 3 | a file ends | its length in bytes (8); its SHA-256 (32) |

use std::collections::BTreeMap;

use ring::digest::{Context, SHA256};

use crate::FormatError;
use crate::bytes::Reader;

/// The longest name of a file.
pub const LONGEST_NAME: usize = 255;
/// The most files that may be open at once.
pub const MOST_FILES: usize = 64;
/// Bytes before a record's content.
pub const HEAD: usize = 9;
/// The longest content of a record that is not a piece.
const LONGEST: usize = 8 + LONGEST_NAME;

const OPEN: u8 = 1;
const PIECE: u8 = 2;
const CLOSE: u8 = 3;

/// A SHA-256.
pub type Hash = [u8; 32];

/// What has been read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A file begins.
    Open {
        /// The number of the file.
        file: u32,
        /// Its name, as the sender calls it.
        name: &'a str,
        /// Its size, if the sender knows it.
        size: Option<u64>,
    },
    /// The next bytes of a file.
    Piece {
        /// The number of the file.
        file: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A file ends.
    Close {
        /// The number of the file.
        file: u32,
        /// Its length.
        length: u64,
        /// The hash of what has arrived.
        hash: Hash,
        /// True if length and hash are those that the sender says.
        whole: bool,
    },
}

/// A file on its way: its hash and length so far.
#[derive(Clone)]
struct Progress {
    context: Context,
    length: u64,
}

impl Progress {
    fn new() -> Progress {
        Progress { context: Context::new(&SHA256), length: 0 }
    }
    fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.length += bytes.len() as u64;
    }
    fn finish(self) -> (u64, Hash) {
        let hash = self.context.finish().as_ref().first_chunk().copied().unwrap_or([0; 32]);
        (self.length, hash)
    }
}

/// Writes the records of one file.
pub struct Packer {
    file: u32,
    progress: Progress,
}

fn head(kind: u8, file: u32, length: usize) -> [u8; HEAD] {
    let mut head = [kind; HEAD];
    head[1..5].copy_from_slice(&file.to_be_bytes());
    head[5..].copy_from_slice(&(length as u32).to_be_bytes());
    head
}

impl Packer {
    /// Begins a file; a name that is too long is cut.
    pub fn new(file: u32, name: &str, size: Option<u64>, into: &mut Vec<u8>) -> Packer {
        let name = name.get(..name.floor_char_boundary(LONGEST_NAME)).unwrap_or("");
        into.extend(head(OPEN, file, 8 + name.len()));
        into.extend(size.unwrap_or(u64::MAX).to_be_bytes());
        into.extend(name.as_bytes());
        Packer { file, progress: Progress::new() }
    }
    /// Adds a piece.
    pub fn piece(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        self.progress.update(bytes);
        into.extend(head(PIECE, self.file, bytes.len()));
        into.extend(bytes);
    }
    /// Ends the file; returns its length and hash.
    pub fn finish(self, into: &mut Vec<u8>) -> (u64, Hash) {
        let (length, hash) = self.progress.finish();
        into.extend(head(CLOSE, self.file, 40));
        into.extend(length.to_be_bytes());
        into.extend(hash);
        (length, hash)
    }
}

/// Reads records out of a stream that comes in pieces of any length.
#[derive(Default)]
pub struct Unpacker {
    /// The beginning of a record, as far as it has come, without the bytes of a piece.
    begun: Vec<u8>,
    /// The file whose piece is coming, and how many bytes of it are to come.
    piece: Option<(u32, usize)>,
    files: BTreeMap<u32, Progress>,
}

impl Unpacker {
    /// A reader of a stream from its beginning.
    pub fn new() -> Unpacker {
        Unpacker::default()
    }

    /// Files that have begun and not ended.
    pub fn open(&self) -> usize {
        self.files.len()
    }

    /// Reads on.
    ///
    /// # Errors
    /// The stream is not made of records; nothing that follows means anything.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        see: &mut dyn FnMut(Record<'_>),
    ) -> Result<(), FormatError> {
        while !bytes.is_empty() {
            if let Some((file, left)) = self.piece {
                let (now, rest) = bytes.split_at(left.min(bytes.len()));
                bytes = rest;
                self.piece = (left > now.len()).then_some((file, left - now.len()));
                if let Some(progress) = self.files.get_mut(&file) {
                    progress.update(now);
                    see(Record::Piece { file, bytes: now });
                }
                continue;
            }
            let wanted = self.wanted()?;
            let (now, rest) = bytes.split_at((wanted - self.begun.len()).min(bytes.len()));
            bytes = rest;
            self.begun.extend(now);
            if self.begun.len() == self.wanted()? {
                self.on_record(see)?;
            }
        }
        Ok(())
    }

    /// How many bytes the record that has begun needs before something can be done.
    fn wanted(&self) -> Result<usize, FormatError> {
        let mut reader = Reader::new(&self.begun);
        if self.begun.len() < HEAD {
            return Ok(HEAD);
        }
        let kind = reader.u8("the kind of record")?;
        let file = reader.u32("the file")?;
        let length = reader.u32("the length")? as usize;
        let known = self.files.contains_key(&file);
        let bad = |field, value| Err(FormatError::Value { field, value });
        match kind {
            OPEN if known || self.files.len() >= MOST_FILES => bad("the file", u64::from(file)),
            OPEN if !(8..=LONGEST).contains(&length) => bad("the length", length as u64),
            PIECE | CLOSE if !known => bad("the file", u64::from(file)),
            CLOSE if length != 40 => bad("the length", length as u64),
            OPEN | CLOSE => Ok(HEAD + length),
            PIECE => Ok(HEAD),
            other => bad("the kind of record", u64::from(other)),
        }
    }

    fn on_record(&mut self, see: &mut dyn FnMut(Record<'_>)) -> Result<(), FormatError> {
        let begun = std::mem::take(&mut self.begun);
        let mut reader = Reader::new(&begun);
        let kind = reader.u8("the kind of record")?;
        let file = reader.u32("the file")?;
        let length = reader.u32("the length")? as usize;
        match kind {
            OPEN => {
                let size = reader.u64("the size")?;
                let name = std::str::from_utf8(reader.rest())
                    .map_err(|_| FormatError::Value { field: "the name", value: 0 })?;
                self.files.insert(file, Progress::new());
                see(Record::Open { file, name, size: (size != u64::MAX).then_some(size) });
            }
            PIECE => self.piece = (length > 0).then_some((file, length)),
            _ => {
                let (said_length, said_hash) = (reader.u64("the length")?, reader.array("a hash")?);
                if let Some(progress) = self.files.remove(&file) {
                    let (length, hash) = progress.finish();
                    let whole = (length, hash) == (said_length, said_hash);
                    see(Record::Close { file, length, hash, whole });
                }
            }
        }
        // The place is kept for the next record.
        self.begun = begun;
        self.begun.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::Stream;

    fn two_files() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut first = Packer::new(1, "first", Some(7), &mut bytes);
        let mut second = Packer::new(2, "zweite Äpfel", None, &mut bytes);
        first.piece(b"abc", &mut bytes);
        second.piece(b"", &mut bytes);
        second.piece(&[9; 1000], &mut bytes);
        first.piece(b"defg", &mut bytes);
        first.finish(&mut bytes);
        second.finish(&mut bytes);
        bytes
    }

    /// The files that come out: names, contents, and whether they are whole.
    fn read(bytes: &[u8], cut: &mut dyn FnMut() -> usize) -> Option<Vec<(String, Vec<u8>, bool)>> {
        let mut files = BTreeMap::new();
        let mut unpacker = Unpacker::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(cut().min(rest.len()));
            rest = later;
            let see = &mut |record: Record<'_>| match record {
                Record::Open { file, name, .. } => {
                    files.insert(file, (name.to_string(), Vec::new(), false));
                }
                Record::Piece { file, bytes } => {
                    files.get_mut(&file).expect("an open file").1.extend(bytes);
                }
                Record::Close { file, length, whole, .. } => {
                    let entry = files.get_mut(&file).expect("an open file");
                    assert_eq!(entry.1.len() as u64, length);
                    entry.2 = whole;
                }
            };
            unpacker.push(now, see).ok()?;
        }
        Some(files.into_values().collect())
    }

    #[test]
    fn files_come_out_as_they_went_in_however_the_stream_is_cut() {
        let bytes = two_files();
        let mut random = Stream::new(1, "records");
        for _ in 0..500 {
            let files = read(&bytes, &mut || 1 + random.below(40) as usize).expect("good records");
            assert_eq!(files[0], ("first".into(), b"abcdefg".to_vec(), true));
            assert_eq!(files[1], ("zweite Äpfel".into(), vec![9; 1000], true));
        }
    }

    #[test]
    fn changed_records_are_never_taken_for_whole_files() {
        let bytes = two_files();
        let good = read(&bytes, &mut || 5000).expect("good records");
        let mut random = Stream::new(2, "records");
        for _ in 0..20_000 {
            let mut wrong = bytes.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(wrong.len() as u64) as usize;
                wrong[at] = random.next_u64() as u8;
            }
            wrong.truncate(random.below(wrong.len() as u64 * 2).max(1) as usize);
            for file in read(&wrong, &mut || 5000).unwrap_or_default() {
                let content = |known: &&(String, Vec<u8>, bool)| known.1 == file.1;
                assert!(!file.2 || good.iter().any(|known| content(&known)), "{file:?}");
            }
        }
    }
}
