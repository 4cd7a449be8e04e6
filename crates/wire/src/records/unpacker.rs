//! Reads records from a stream that arrives in chunks of any length.

use super::entry::{LONGEST_ENTRY, TRANSFER_LENGTH};
use super::{
    CLOSE, CLOSE_LENGTH, Content, END, ENTRY, Entry, GIVEN_UP, HEAD, PIECE, Record, TRANSFER,
    Transfer, Whole,
};
use crate::FormatError;
use crate::bytes::Reader;

/// A file or link that has begun and not ended.
#[derive(Copy, Clone, Debug)]
struct Open {
    number: u32,
    is_file: bool,
    /// Number of bytes that may still follow, by the size that the sender stated.
    room: u64,
}

/// Reads records from a stream that arrives in chunks of any length. Refuses streams that are not
/// records in a valid order. Stores at most the beginning of one record and the paths of the open
/// folders.
#[derive(Debug, Default)]
pub struct Unpacker {
    /// The beginning of an incomplete record, without the bytes of a piece.
    begun: Vec<u8>,
    /// Number of bytes still to come of the open file's present piece.
    piece: usize,
    transfer: Option<Transfer>,
    /// Number of the last entry.
    last: u32,
    open: Option<Open>,
    /// Numbers of the open folders, innermost last, each with the length of its path.
    folders: Vec<(u32, usize)>,
    /// Path of the innermost open folder.
    path: Vec<u8>,
    ended: bool,
}

fn value<T>(field: &'static str, value: u64) -> Result<T, FormatError> {
    Err(FormatError::Value { field, value })
}

impl Unpacker {
    /// Returns a reader at the beginning of a stream.
    pub fn new() -> Unpacker {
        Unpacker::default()
    }

    /// Returns the number of entries that have begun and not ended.
    pub fn open(&self) -> usize {
        self.folders.len() + usize::from(self.open.is_some())
    }

    /// Returns the transfer, once its record has arrived.
    pub fn transfer(&self) -> Option<&Transfer> {
        self.transfer.as_ref()
    }

    /// Returns true once the record that ends the transfer has arrived.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads `bytes` and passes each record to `see`; pieces in parts, as they arrive.
    ///
    /// # Errors
    /// If the stream is not records in a valid order. Do not read on: the rest cannot be
    /// interpreted.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        see: &mut dyn FnMut(Record<'_>),
    ) -> Result<(), FormatError> {
        while !bytes.is_empty() {
            if let (true, Some(open)) = (self.piece > 0, self.open) {
                let (now, rest) = bytes.split_at(self.piece.min(bytes.len()));
                bytes = rest;
                self.piece -= now.len();
                see(Record::Piece { number: open.number, bytes: now });
                continue;
            }
            let wanted = self.wanted()?;
            let (now, rest) = bytes.split_at((wanted - self.begun.len()).min(bytes.len()));
            bytes = rest;
            self.begun.extend(now);
            if self.begun.len() == self.wanted()? {
                let begun = std::mem::take(&mut self.begun);
                self.on_record(&begun, see)?;
                // Keeps the buffer for the next record.
                self.begun = begun;
                self.begun.clear();
            }
        }
        Ok(())
    }

    /// Returns the number of bytes that the record at hand needs before it can be read.
    fn wanted(&self) -> Result<usize, FormatError> {
        if self.begun.len() < HEAD {
            return Ok(HEAD);
        }
        let (kind, number, length) = read_head(&mut Reader::new(&self.begun))?;
        let is_first = self.transfer.is_none();
        if is_first != (kind == TRANSFER) || self.ended {
            return value("the kind of record at this place", u64::from(kind));
        }
        let innermost = self.open.map(|open| open.number);
        let innermost = innermost.or(self.folders.last().map(|(number, _)| *number));
        let entries = self.transfer.map_or(0, |transfer| transfer.entries);
        match kind {
            TRANSFER | END if number != 0 => value("the number of this record", u64::from(number)),
            TRANSFER if length != TRANSFER_LENGTH => value("the length", length as u64),
            END if length != 0 => value("the length", length as u64),
            END if innermost.is_some() => value("the end, with open entries,", 0),
            ENTRY if self.open.is_some() => {
                value("the number of an entry within an open one", u64::from(number))
            }
            ENTRY if number <= self.last || number > entries => {
                value("the number of an entry", u64::from(number))
            }
            ENTRY if length > LONGEST_ENTRY => value("the length", length as u64),
            PIECE => match self.open {
                Some(open) if open.number != number || !open.is_file => {
                    value("the file", u64::from(number))
                }
                Some(open) if length as u64 > open.room => {
                    value("the length of a piece beyond the file's end", length as u64)
                }
                Some(_) => Ok(HEAD),
                None => value("the file", u64::from(number)),
            },
            CLOSE if innermost != Some(number) => value("the entry that ends", u64::from(number)),
            CLOSE if length != CLOSE_LENGTH => value("the length", length as u64),
            TRANSFER | END | ENTRY | CLOSE => Ok(HEAD + length),
            other => value("the kind of record", u64::from(other)),
        }
    }

    fn on_record(
        &mut self,
        bytes: &[u8],
        see: &mut dyn FnMut(Record<'_>),
    ) -> Result<(), FormatError> {
        let mut reader = Reader::new(bytes);
        let (kind, number, length) = read_head(&mut reader)?;
        match kind {
            TRANSFER => {
                let transfer = Transfer::read(reader.rest())?;
                self.transfer = Some(transfer);
                see(Record::Transfer(transfer));
            }
            ENTRY => {
                let entry = Entry::read(number, reader.rest())?;
                self.begin(&entry)?;
                see(Record::Entry(entry));
            }
            PIECE => {
                self.piece = length;
                if let Some(open) = &mut self.open
                    && open.room != u64::MAX
                {
                    open.room -= length as u64;
                }
            }
            CLOSE => {
                let length = reader.u64("the length")?;
                let whole = Whole { length, hash: reader.array("the hash")? };
                let whole = (length != GIVEN_UP).then_some(whole);
                let is_file = self.open.is_some_and(|open| open.is_file);
                if !is_file && whole.is_some_and(|whole| whole != Whole::of_nothing()) {
                    return value("the length of a folder or link", length);
                }
                if self.open.take().is_none() {
                    self.folders.pop();
                    let parent = self.folders.last().map_or(0, |(_, length)| *length);
                    self.path.truncate(parent);
                }
                see(Record::Close { number, whole });
            }
            _ => {
                self.ended = true;
                see(Record::End);
            }
        }
        Ok(())
    }

    /// Begins an entry, which must lie in the innermost open folder.
    fn begin(&mut self, entry: &Entry<'_>) -> Result<(), FormatError> {
        let folder = (!self.folders.is_empty()).then_some(&self.path[..]);
        if entry.parent() != folder {
            return value("the number of an entry outside of the open folder", entry.number.into());
        }
        self.last = entry.number;
        let (is_file, room) = match entry.content {
            Content::Folder => {
                self.path.clear();
                self.path.extend(entry.path);
                self.folders.push((entry.number, self.path.len()));
                return Ok(());
            }
            Content::File { size, offset } => {
                (true, size.map_or(u64::MAX, |size| size.saturating_sub(offset)))
            }
            Content::Symlink { .. } | Content::HardLink { .. } => (false, 0),
        };
        self.open = Some(Open { number: entry.number, is_file, room });
        Ok(())
    }
}

/// Reads a record's kind, number and length.
fn read_head(reader: &mut Reader<'_>) -> Result<(u8, u32, usize), FormatError> {
    let kind = reader.u8("the kind of record")?;
    let number = reader.u32("the number of the entry")?;
    let length = reader.u32("the length")? as usize;
    Ok((kind, number, length))
}
