//! The journal of a transfer: which parts of it are on the disk, and where. Each record is one
//! line: 16 hexadecimal digits of the SHA-256 of the rest, a space, and JSON. Records after a
//! damaged line are ignored.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileExt as _;

use paceline_os::folder::Folder;
use paceline_wire::records::{FileHash, Transfer};
use serde::{Deserialize, Serialize};

/// Version of the journal's format. Journals of other versions are not read.
const FORMAT: u32 = 1;
/// Name of the journal in the folder of its transfer.
pub(super) const JOURNAL: &str = "journal";
/// Maximum number of failed entries whose reasons are kept in memory.
const MOST_REASONS: usize = 1000;

/// A path in JSON. Bytes that are not UTF-8, `%` and control characters are written as `%` and two
/// hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) struct JournalPath(pub(super) Vec<u8>);

impl From<JournalPath> for String {
    fn from(path: JournalPath) -> String {
        let mut text = String::with_capacity(path.0.len());
        for chunk in path.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '%' => text.push_str("%25"),
                    c if c.is_ascii_control() => {
                        let _ = write!(text, "%{:02X}", u32::from(c));
                    }
                    c => text.push(c),
                }
            }
            for byte in chunk.invalid() {
                let _ = write!(text, "%{byte:02X}");
            }
        }
        text
    }
}

impl From<String> for JournalPath {
    fn from(text: String) -> JournalPath {
        let (mut path, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
        while let Some((&byte, after)) = rest.split_first() {
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            (rest, _) = match (byte, escaped) {
                (b'%', Some(escaped)) => (after.get(2..).unwrap_or(&[]), path.push(escaped)),
                _ => (after, path.push(byte)),
            };
        }
        JournalPath(path)
    }
}

impl JournalPath {
    /// Returns a path with one component.
    pub(super) fn from_name(name: &OsStr) -> JournalPath {
        JournalPath(name.as_bytes().to_vec())
    }

    /// Returns the path with `name` appended.
    pub(super) fn join(&self, name: &OsStr) -> JournalPath {
        let mut path = self.0.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend(name.as_bytes());
        JournalPath(path)
    }

    /// Returns its components, outermost first.
    pub(super) fn components(&self) -> impl Iterator<Item = &OsStr> {
        self.0.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).map(OsStr::from_bytes)
    }

    /// Returns the number of its top-level entry; 0 if it has none.
    pub(super) fn top(&self) -> u32 {
        let top = self.components().next().and_then(OsStr::to_str);
        top.and_then(|top| top.parse().ok()).unwrap_or(0)
    }

    /// Returns the bytes unchanged, as the target of a symbolic link.
    pub(super) fn to_os(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// Returns the path of the folder, and the last component.
    pub(super) fn split(&self) -> (JournalPath, OsString) {
        let slash = self.0.iter().rposition(|&byte| byte == b'/');
        let (folder, name) = match slash {
            Some(at) => (self.0.get(..at), self.0.get(at + 1..)),
            None => (None, Some(&self.0[..])),
        };
        let name = OsString::from_vec(name.unwrap_or_default().to_vec());
        (JournalPath(folder.unwrap_or_default().to_vec()), name)
    }
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Time of the last modification: seconds since 1970, nanoseconds.
pub(super) type JournalMtime = Option<(i64, u32)>;

/// A record of the journal. Paths are relative to the transfer's folder `tree`; their first
/// component is the number of the top-level entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(super) enum JournalRecord {
    /// The transfer, as its first connection named it.
    Begin { format: u32, id: String, resumable: bool, entries: u32, bytes: Option<u64> },
    /// All records before this one were written, or read back and compared, during this boot of the
    /// system.
    Boot { id: String },
    /// A folder is about to be created.
    Folder {
        entry: u32,
        path: JournalPath,
        name: JournalPath,
        mode: Option<u16>,
        mtime: JournalMtime,
    },
    /// A file is complete and about to be moved to its path.
    File {
        entry: u32,
        path: JournalPath,
        name: JournalPath,
        length: u64,
        hash: String,
        mtime: JournalMtime,
    },
    /// A symbolic link is about to be created.
    Symlink { entry: u32, path: JournalPath, name: JournalPath, target: JournalPath },
    /// A hard link to the file of entry `of` is about to be created.
    HardLink { entry: u32, path: JournalPath, name: JournalPath, of: u32 },
    /// A folder has all its contents, its mode and its mtime.
    Closed { entry: u32 },
    /// A top-level entry is complete and about to get this name.
    Placing { entry: u32, name: JournalPath },
    /// The entry has that name.
    Placed { entry: u32, bytes: u64 },
    /// An entry is not kept.
    Failed { entry: u32, text: String },
}

impl JournalRecord {
    /// Returns the first record of a transfer's journal.
    pub(super) fn begin(transfer: &Transfer) -> JournalRecord {
        let Transfer { resumable, entries, bytes, .. } = *transfer;
        JournalRecord::Begin { format: FORMAT, id: hex(&transfer.id), resumable, entries, bytes }
    }
}

/// Returns the id of the current boot; empty where the system has none.
pub(super) fn boot_id() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|id| id.trim().to_string()).unwrap_or_default()
}

/// A journal that is open for appending.
pub(super) struct Journal {
    file: File,
    length: u64,
}

/// The contents of a journal.
#[derive(Default)]
pub(super) struct JournalContent {
    /// The records, each with its offset in bytes.
    pub(super) records: Vec<(u64, JournalRecord)>,
    /// True if the end of the file cannot be read as records.
    pub(super) is_damaged: bool,
    /// Bytes of the records.
    pub(super) length: u64,
}

fn check(json: &[u8]) -> String {
    let mut hash = FileHash::default();
    hash.update(json);
    hex(hash.whole().hash.get(..8).unwrap_or(&[]))
}

impl JournalContent {
    /// Reads a journal up to the first damaged line.
    ///
    /// # Errors
    /// The disk returns an error.
    pub(super) fn read(file: &File) -> io::Result<JournalContent> {
        let mut content = JournalContent::default();
        let mut reader = BufReader::with_capacity(64 << 10, file);
        reader.seek(SeekFrom::Start(0))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = reader.read_until(b'\n', &mut line)?;
            if count == 0 {
                return Ok(content);
            }
            let record = line.strip_suffix(b"\n").and_then(|line| line.split_at_checked(17));
            let record = record.and_then(|(sum, json)| {
                let is_good = sum.strip_suffix(b" ") == Some(check(json).as_bytes());
                is_good.then(|| serde_json::from_slice(json).ok()).flatten()
            });
            let Some(record) = record else {
                content.is_damaged = true;
                return Ok(content);
            };
            content.records.push((content.length, record));
            content.length += count as u64;
        }
    }

    /// Returns the record of the journal's transfer.
    pub(super) fn begin(&self) -> Option<&JournalRecord> {
        match self.records.first() {
            Some((_, begin @ JournalRecord::Begin { format: FORMAT, .. })) => Some(begin),
            _ => None,
        }
    }
}

impl Journal {
    /// Creates an empty journal in a folder.
    ///
    /// # Errors
    /// A journal exists there, or the file system returns an error.
    pub(super) fn create(folder: &Folder) -> io::Result<Journal> {
        Ok(Journal { file: folder.create(OsStr::new(JOURNAL))?, length: 0 })
    }

    /// Opens a journal for appending after its first `length` bytes, and truncates the rest.
    ///
    /// # Errors
    /// The disk returns an error.
    pub(super) fn go_on(file: File, length: u64) -> io::Result<Journal> {
        file.set_len(length)?;
        Ok(Journal { file, length })
    }

    /// Appends a record. If that fails, no part of the record stays.
    ///
    /// # Errors
    /// The disk is full or returns an error.
    pub(super) fn append(&mut self, record: &JournalRecord) -> io::Result<()> {
        let json = serde_json::to_string(record)?;
        let line = format!("{} {json}\n", check(json.as_bytes()));
        if let Err(error) = self.file.write_all_at(line.as_bytes(), self.length) {
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Returns all records.
    ///
    /// # Errors
    /// The disk returns an error.
    pub(super) fn read(&self) -> io::Result<JournalContent> {
        JournalContent::read(&self.file)
    }

    /// Returns the record at this offset.
    ///
    /// # Errors
    /// The disk returns an error, or no record begins there.
    pub(super) fn record_at(&self, offset: u64) -> io::Result<JournalRecord> {
        let mut line = vec![0; 64 << 10];
        let mut read = 0;
        while let Some(place) = line.get_mut(read..).filter(|place| !place.is_empty()) {
            let count = self.file.read_at(place, offset + read as u64)?;
            read += count;
            if count == 0 || line.get(..read).is_some_and(|read| read.contains(&b'\n')) {
                break;
            }
        }
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Ok(serde_json::from_slice(line.get(17..).unwrap_or_default())?)
    }

    /// Flushes the journal to the disk.
    ///
    /// # Errors
    /// The disk returns an error.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Returns the bytes of the records.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

/// A folder whose contents are being received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenFolder {
    pub(super) entry: u32,
    pub(super) path: JournalPath,
    pub(super) mode: Option<u16>,
    pub(super) mtime: JournalMtime,
    /// True if the folder could not be created: its contents are not kept either.
    pub(super) has_failed: bool,
}

/// A top-level entry that is being received or waits for its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TopLevel {
    pub(super) entry: u32,
    /// The sender's name for it.
    pub(super) name: JournalPath,
    /// Bytes of its files received so far.
    pub(super) bytes: u64,
    /// For a folder, the mode and mtime, which are set after it has its name.
    pub(super) folder: Option<(Option<u16>, JournalMtime)>,
    /// True once all of it is staged.
    pub(super) is_whole: bool,
    /// Name in the destination, once one was chosen.
    pub(super) place: Option<JournalPath>,
}

/// The state that results from a journal's records.
#[derive(Clone, Debug, Default)]
pub(super) struct JournalState {
    /// Largest entry number so far.
    pub(super) last: u32,
    /// Number of entries.
    pub(super) entries: u32,
    /// Folders that are not closed, outermost first.
    pub(super) open: Vec<OpenFolder>,
    pub(super) top: Option<TopLevel>,
    /// Top-level entries that have their names: number, name and bytes.
    pub(super) placed: Vec<(u32, JournalPath, u64)>,
    /// Number of entries that are not kept, and the reasons of the first ones.
    pub(super) failures: u32,
    pub(super) reasons: Vec<(u32, String)>,
    /// Offsets of the records of files and symbolic links, for hard links to them.
    pub(super) files: BTreeMap<u32, u64>,
    /// Id of the last boot during which the records were written or compared.
    pub(super) boot: String,
    /// Bytes of all files.
    pub(super) bytes: u64,
}

impl JournalState {
    fn on_entry(&mut self, entry: u32) {
        self.last = self.last.max(entry);
        self.entries += 1;
    }

    fn on_item(&mut self, entry: u32, name: &JournalPath, is_whole: bool) {
        self.on_entry(entry);
        if self.open.is_empty() {
            let name = name.clone();
            self.top = Some(TopLevel { entry, name, is_whole, ..TopLevel::default() });
        }
    }

    /// Applies a record at byte `offset`.
    pub(super) fn apply(&mut self, offset: u64, record: &JournalRecord) {
        match record {
            JournalRecord::Begin { .. } => {}
            JournalRecord::Boot { id } => self.boot.clone_from(id),
            JournalRecord::Folder { entry, path, name, mode, mtime } => {
                self.on_item(*entry, name, false);
                if let (true, Some(top)) = (self.open.is_empty(), &mut self.top) {
                    top.folder = Some((*mode, *mtime));
                }
                let (path, mode, mtime) = (path.clone(), *mode, *mtime);
                self.open.push(OpenFolder { entry: *entry, path, mode, mtime, has_failed: false });
            }
            JournalRecord::File { entry, name, length, .. } => {
                self.on_item(*entry, name, true);
                self.files.insert(*entry, offset);
                self.bytes += length;
                if let Some(top) = &mut self.top {
                    top.bytes += length;
                }
            }
            JournalRecord::Symlink { entry, name, .. } => {
                self.on_item(*entry, name, true);
                self.files.insert(*entry, offset);
            }
            JournalRecord::HardLink { entry, name, .. } => self.on_item(*entry, name, true),
            JournalRecord::Closed { entry } => {
                self.open.retain(|folder| folder.entry < *entry);
                if let Some(top) = self.top.as_mut().filter(|top| top.entry == *entry) {
                    top.is_whole = true;
                }
            }
            JournalRecord::Placing { entry, name } => {
                if let Some(top) = self.top.as_mut().filter(|top| top.entry == *entry) {
                    top.place = Some(name.clone());
                }
            }
            JournalRecord::Placed { entry, bytes } => {
                if let Some(top) = self.top.take_if(|top| top.entry == *entry) {
                    self.placed.push((*entry, top.place.unwrap_or_default(), *bytes));
                }
            }
            JournalRecord::Failed { entry, text } => {
                if *entry > self.last {
                    self.on_entry(*entry);
                }
                self.failures += 1;
                if self.reasons.len() < MOST_REASONS {
                    self.reasons.push((*entry, text.clone()));
                }
                self.top.take_if(|top| top.entry == *entry);
                if let Some(folder) = self.open.iter_mut().find(|folder| folder.entry == *entry) {
                    folder.has_failed = true;
                }
            }
        }
    }

    /// Applies all records of a journal.
    pub(super) fn of(records: &[(u64, JournalRecord)]) -> JournalState {
        let mut state = JournalState::default();
        records.iter().for_each(|(offset, record)| state.apply(*offset, record));
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_bytes_come_back() {
        for path in [&b"a/b"[..], b"", b"100%", b"%41", b"\xff\xfe/x\n", "Grüße/日本".as_bytes()]
        {
            let text = String::from(JournalPath(path.to_vec()));
            assert!(!text.contains('\n'), "{text:?}");
            assert_eq!(JournalPath::from(text).0, path);
        }
        let path = JournalPath(b"1/b".to_vec()).join(OsStr::new("c"));
        assert_eq!(path.split(), (JournalPath(b"1/b".to_vec()), "c".into()));
        assert_eq!(path.components().collect::<Vec<_>>(), ["1", "b", "c"]);
        assert_eq!(JournalPath(b"7".to_vec()).split(), (JournalPath::default(), "7".into()));
    }

    /// For every cut and every changed byte, the records before it are read, and those after it are
    /// ignored.
    #[test]
    fn what_follows_a_damaged_line_does_not_count() {
        let path = std::env::temp_dir().join(format!("paceline-journal-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        let folder = Folder::open(&path).expect("a folder");
        let mut journal = Journal::create(&folder).expect("a journal");
        let records = [
            JournalRecord::Boot { id: "b".into() },
            JournalRecord::Failed { entry: 1, text: "why\n".into() },
            JournalRecord::Closed { entry: 2 },
        ];
        let mut ends = vec![0];
        for record in &records {
            journal.append(record).expect("room");
            ends.push(journal.length());
        }
        let good = std::fs::read(path.join(JOURNAL)).expect("bytes");
        for at in 0..good.len() {
            let whole = ends.iter().filter(|&&end| end > 0 && end <= at as u64).count();
            let mut changed = good.clone();
            changed[at] ^= 1;
            for (bytes, is_cut) in [(&good[..at], true), (&changed[..], false)] {
                std::fs::write(path.join(JOURNAL), bytes).expect("room");
                let file = folder.file(OsStr::new(JOURNAL), true).expect("the journal");
                let content = JournalContent::read(&file).expect("records");
                let read: Vec<_> = content.records.iter().map(|(_, r)| r.clone()).collect();
                assert_eq!(read, records[..whole], "{at}");
                assert_eq!(content.is_damaged, !is_cut || !ends.contains(&(at as u64)), "{at}");
                let mut journal = Journal::go_on(file, content.length).expect("a journal");
                journal.append(&records[2]).expect("room");
                assert_eq!(journal.read().expect("records").records.len(), whole + 1);
                assert_eq!(journal.record_at(content.length).expect("a record"), records[2]);
            }
        }
        std::fs::remove_dir_all(&path).expect("removed");
    }
}
