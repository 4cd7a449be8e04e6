//! Records: files, folders and links in a stream of bytes.
//!
//! A record begins with its kind (1 byte), the number of an entry (4) and the length of its content
//! (4). Entries are files, folders and links. The sender numbers them from 1 in an order that is
//! equal each time: arguments as given, a folder before its contents, its contents sorted by the
//! bytes of their names.
//!
//! | kind | record | content |
//! | --- | --- | --- |
//! | 4 | [`Transfer`], once, at the start of the stream; number 0 | id (32); 1 if resumable (1); number of entries (4); bytes of all files, 2⁶⁴ − 1 if unknown (8) |
//! | 1 | [`Entry`]: a file, folder or link begins | see [`Entry`] |
//! | 2 | piece of the open file | bytes |
//! | 3 | close: the entry ends | length (8), 2⁶⁴ − 1 if the sender gives the entry up; SHA-256 (32) |
//! | 5 | end of the transfer; number 0 | none |
//!
//! One file or link is open at a time. Folders nest: an entry lies in the innermost open folder.
//! Entry numbers of a stream increase. A resumed stream begins with the entries of the folders in
//! which it resumes.

mod entry;
mod hash;
mod unpacker;

#[cfg(test)]
mod tests;

pub use entry::{
    Content, DEEPEST_PATH, Entry, LONGEST_NAME, LONGEST_PATH, LONGEST_TARGET, Mtime, Transfer,
};
pub use hash::{FileHash, Hash, ManifestHash, Whole, random_id};
pub use unpacker::Unpacker;

/// Number of bytes before a record's content.
pub const HEAD: usize = 9;

const ENTRY: u8 = 1;
const PIECE: u8 = 2;
const CLOSE: u8 = 3;
const TRANSFER: u8 = 4;
const END: u8 = 5;

/// Length of a close record's content.
const CLOSE_LENGTH: usize = 8 + 32;
/// Length in a close record of an entry that the sender gives up.
const GIVEN_UP: u64 = u64::MAX;

/// A record of the stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The stream is a transfer of files.
    Transfer(Transfer),
    /// A file, a folder or a link begins.
    Entry(Entry<'a>),
    /// The next bytes of the open file.
    Piece {
        /// Number of the file's entry.
        number: u32,
        /// Bytes of the file.
        bytes: &'a [u8],
    },
    /// An entry ends.
    Close {
        /// Number of the entry.
        number: u32,
        /// Length and hash of the whole file, including bytes of earlier connections; length 0 and
        /// the hash of no bytes for folders and links. `None` if the sender gives the entry up,
        /// because it cannot be read or changes while it is sent: the bytes that have arrived are
        /// incomplete.
        whole: Option<Whole>,
    },
    /// All entries have been sent.
    End,
}

/// Returns the head of a record with a content of `length` bytes.
fn head(kind: u8, number: u32, length: usize) -> [u8; HEAD] {
    let mut head = [kind; HEAD];
    head[1..5].copy_from_slice(&number.to_be_bytes());
    head[5..].copy_from_slice(&(length as u32).to_be_bytes());
    head
}

/// Returns the head of a piece of `length` bytes, after which the caller writes them.
pub fn piece_head(number: u32, length: usize) -> [u8; HEAD] {
    head(PIECE, number, length)
}

impl Record<'_> {
    /// Appends the record to `into`.
    pub fn write(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.extend([0; HEAD]);
        let (kind, number) = match *self {
            Record::Transfer(transfer) => {
                transfer.write(into);
                (TRANSFER, 0)
            }
            Record::Entry(entry) => {
                entry.write(into);
                (ENTRY, entry.number)
            }
            Record::Piece { number, bytes } => {
                into.extend(bytes);
                (PIECE, number)
            }
            Record::Close { number, whole } => {
                let Whole { length, hash } =
                    whole.unwrap_or(Whole { length: GIVEN_UP, hash: [0; 32] });
                into.extend(length.to_be_bytes());
                into.extend(hash);
                (CLOSE, number)
            }
            Record::End => (END, 0),
        };
        let length = into.len() - start - HEAD;
        if let Some(place) = into.get_mut(start..start + HEAD) {
            place.copy_from_slice(&head(kind, number, length));
        }
    }
}
