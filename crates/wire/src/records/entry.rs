//! A transfer and its entries: fields, encoding, and checks.

use super::Hash;
use crate::FormatError;
use crate::bytes::Reader;

/// Most bytes of a path.
pub const LONGEST_PATH: usize = 4096;
/// Most bytes of a component of a path.
pub const LONGEST_NAME: usize = 255;
/// Most components of a path.
pub const DEEPEST_PATH: usize = 256;
/// Most bytes of the target of a symbolic link.
pub const LONGEST_TARGET: usize = 4096;

/// Length of a transfer record's content.
pub(super) const TRANSFER_LENGTH: usize = 32 + 1 + 4 + 8;
/// Length of an entry record's content without path and target.
const ENTRY_FIXED: usize = 1 + 1 + 2 + 8 + 4 + 8 + 8 + 2 + 2;
/// Most bytes of an entry record's content.
pub(super) const LONGEST_ENTRY: usize = ENTRY_FIXED + LONGEST_PATH + LONGEST_TARGET;

const FILE: u8 = 0;
const FOLDER: u8 = 1;
const SYMLINK: u8 = 2;
const HARD_LINK: u8 = 3;

/// Flag of entries that are arguments of the command.
const TOP_LEVEL: u8 = 1;
const NO_MODE: u16 = 0xFFFF;
const NO_MTIME: i64 = i64::MIN;
const NO_SIZE: u64 = u64::MAX;

/// A transfer, to which all entries of the stream belong.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Id by which a receiver recognises a repeated transfer; random if it is not resumable.
    pub id: Hash,
    /// True if the sender waits for the receiver's answer, which says where to resume. If false,
    /// the receiver does not answer and keeps no incomplete entries.
    pub resumable: bool,
    /// Number of entries, at least 1.
    pub entries: u32,
    /// Bytes of all files; `None` if unknown.
    pub bytes: Option<u64>,
}

/// Time of the last modification.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Mtime {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub nanoseconds: u32,
}

/// The kind of an entry, with its fields.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A file. Its bytes from `offset` on follow as pieces.
    File {
        /// Size in bytes; `None` if unknown.
        size: Option<u64>,
        /// Number of bytes that the receiver keeps from an earlier connection, at most `size`.
        offset: u64,
    },
    /// A folder. Its contents follow as entries.
    Folder,
    /// A symbolic link.
    Symlink {
        /// The link's target, 1 to 4096 bytes without NUL.
        target: &'a [u8],
    },
    /// Another name of an earlier file or symbolic link of this transfer.
    HardLink {
        /// Number of the earlier entry.
        target: u32,
    },
}

/// A file, a folder or a link.
///
/// As a record's content: kind, 0 to 3 in [`Content`]'s order (1); flags, 1 for the top level (1);
/// mode, 0xFFFF if unknown (2); time of modification: seconds, −2⁶³ if unknown (8), and nanoseconds
/// (4); size, 2⁶⁴ − 1 if unknown (8); offset (8); path: length (2) and bytes; target of a link:
/// length (2) and bytes, for hard links the number of the entry (4). Size and offset are 0 for all
/// entries except files.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Number in the order of entries, from 1.
    pub number: u32,
    /// True for an argument of the sender's command; its path has one component.
    pub is_top_level: bool,
    /// Permission bits, at most 0o777; `None` if unknown.
    pub mode: Option<u16>,
    /// Time of the last modification; `None` if unknown.
    pub mtime: Option<Mtime>,
    /// Path relative to the receiver's folder: components separated by `/`, none of them empty, `.`
    /// or `..`, without NUL. Not necessarily UTF-8.
    pub path: &'a [u8],
    /// Kind, with its fields.
    pub content: Content<'a>,
}

fn value<T>(field: &'static str, value: u64) -> Result<T, FormatError> {
    Err(FormatError::Value { field, value })
}

impl Transfer {
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        into.extend(self.id);
        into.push(u8::from(self.resumable));
        into.extend(self.entries.to_be_bytes());
        into.extend(self.bytes.unwrap_or(NO_SIZE).to_be_bytes());
    }

    pub(super) fn read(content: &[u8]) -> Result<Transfer, FormatError> {
        let mut reader = Reader::new(content);
        let id = reader.array("the transfer's id")?;
        let resumable = match reader.u8("whether the transfer is resumable")? {
            0 => false,
            1 => true,
            other => return value("whether the transfer is resumable", u64::from(other)),
        };
        let entries = reader.u32("the number of entries")?;
        if entries == 0 {
            return value("the number of entries", 0);
        }
        let bytes = reader.u64("the bytes of all files")?;
        Ok(Transfer { id, resumable, entries, bytes: (bytes != NO_SIZE).then_some(bytes) })
    }
}

impl<'a> Entry<'a> {
    /// Returns the entry with this offset if it is a file, and any other entry unchanged.
    #[must_use]
    pub fn at(self, offset: u64) -> Entry<'a> {
        match self.content {
            Content::File { size, .. } => Entry { content: Content::File { size, offset }, ..self },
            _ => self,
        }
    }

    /// Returns the last component of the path.
    pub fn name(&self) -> &'a [u8] {
        self.path.rsplit(|&byte| byte == b'/').next().unwrap_or(self.path)
    }

    /// Returns the path of the entry's folder; `None` at the top level.
    pub fn parent(&self) -> Option<&'a [u8]> {
        let slash = self.path.iter().rposition(|&byte| byte == b'/')?;
        self.path.get(..slash)
    }

    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let number;
        let (kind, size, offset, target) = match self.content {
            Content::File { size, offset } => (FILE, size.unwrap_or(NO_SIZE), offset, &[][..]),
            Content::Folder => (FOLDER, 0, 0, &[][..]),
            Content::Symlink { target } => (SYMLINK, 0, 0, target),
            Content::HardLink { target } => {
                number = target.to_be_bytes();
                (HARD_LINK, 0, 0, &number[..])
            }
        };
        let mtime = self.mtime.unwrap_or(Mtime { seconds: NO_MTIME, nanoseconds: 0 });
        into.extend([kind, u8::from(self.is_top_level)]);
        into.extend(self.mode.unwrap_or(NO_MODE).to_be_bytes());
        into.extend(mtime.seconds.to_be_bytes());
        into.extend(mtime.nanoseconds.to_be_bytes());
        into.extend(size.to_be_bytes());
        into.extend(offset.to_be_bytes());
        for text in [self.path, target] {
            into.extend((text.len() as u16).to_be_bytes());
            into.extend(text);
        }
    }

    pub(super) fn read(number: u32, content: &'a [u8]) -> Result<Entry<'a>, FormatError> {
        let mut reader = Reader::new(content);
        let kind = reader.u8("the kind of entry")?;
        let flags = reader.u8("the entry's flags")?;
        let is_top_level = match flags {
            0 => false,
            TOP_LEVEL => true,
            other => return value("the entry's flags", u64::from(other)),
        };
        let mode = match reader.u16("the mode")? {
            NO_MODE => None,
            mode @ 0..=0o777 => Some(mode),
            other => return value("the mode", u64::from(other)),
        };
        let seconds = reader.u64("the time of modification")?.cast_signed();
        let nanoseconds = reader.u32("the nanoseconds")?;
        if nanoseconds > 999_999_999 || seconds == NO_MTIME && nanoseconds != 0 {
            return value("the nanoseconds", u64::from(nanoseconds));
        }
        let size = reader.u64("the size")?;
        let offset = reader.u64("the offset")?;
        if offset > size || offset == NO_SIZE || kind != FILE && offset != 0 {
            return value("the offset", offset);
        }
        if kind != FILE && size != 0 {
            return value("the size", size);
        }
        let length = reader.u16("the length of the path")?;
        let path = reader.take(usize::from(length), "the path")?;
        check_path(path)?;
        if is_top_level == path.contains(&b'/') {
            return value("the entry's flags", u64::from(flags));
        }
        let length = reader.u16("the length of the target")?;
        let target = reader.take(usize::from(length), "the target")?;
        if !reader.is_empty() {
            return value("the length of the entry", content.len() as u64);
        }
        let content = match kind {
            FILE if target.is_empty() => {
                Content::File { size: (size != NO_SIZE).then_some(size), offset }
            }
            FOLDER if target.is_empty() => Content::Folder,
            FILE | FOLDER => return value("the length of the target", u64::from(length)),
            SYMLINK => {
                if !(1..=LONGEST_TARGET).contains(&target.len()) || target.contains(&0) {
                    return value("the target of a symbolic link", u64::from(length));
                }
                Content::Symlink { target }
            }
            HARD_LINK => {
                let bytes = <[u8; 4]>::try_from(target).map_err(|_| FormatError::Value {
                    field: "the length of the target",
                    value: u64::from(length),
                })?;
                let target = u32::from_be_bytes(bytes);
                if !(1..number).contains(&target) {
                    return value("the target of a hard link", u64::from(target));
                }
                Content::HardLink { target }
            }
            other => return value("the kind of entry", u64::from(other)),
        };
        let mtime = (seconds != NO_MTIME).then_some(Mtime { seconds, nanoseconds });
        Ok(Entry { number, is_top_level, mode, mtime, path, content })
    }
}

/// Refuses paths that lead out of the folder, or are longer than file systems allow.
fn check_path(path: &[u8]) -> Result<(), FormatError> {
    if path.len() > LONGEST_PATH || path.contains(&0) {
        return value("the path", path.len() as u64);
    }
    let mut depth = 0;
    for component in path.split(|&byte| byte == b'/') {
        depth += 1;
        if component.is_empty()
            || component.len() > LONGEST_NAME
            || component == b"."
            || component == b".."
        {
            return value("a component of the path", component.len() as u64);
        }
    }
    if depth > DEEPEST_PATH {
        return value("the depth of the path", depth as u64);
    }
    Ok(())
}
