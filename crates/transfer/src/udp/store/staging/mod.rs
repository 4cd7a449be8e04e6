//! The folder of a transfer that is being received: what is not whole has no name in the destination, and what is whole
//! is in the journal.
//!
//! In `.paceline/<id>/` stand `journal`, `tree/`, in which each entry at the top level is called by its number, and
//! `partial.<number>`, the file that is being received. The order of steps makes each kill harmless: a record comes before
//! the step that it names, and who goes on takes the step again, or cuts the record off.

mod entries;
mod hard_links;
mod placing;
mod recovery;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use paceline_os::folder::Folder;
use paceline_wire::records::{Entry, FileHash, Hash, Transfer, Whole};

use super::destination::Destination;
use super::journal::{
    JOURNAL, Journal, JournalContent, JournalMtime, JournalPath, JournalRecord, JournalState,
    boot_id, hex,
};
use super::problem::{Problem, transfer_problem};
use super::quota::Lease;
use super::root::Root;
use super::usage::ENTRY;
use super::verify;

/// Name of the folder of what is staged.
pub(super) const TREE: &str = "tree";
/// What the name of a file that is being received begins with.
const PARTIAL: &str = "partial.";
/// How long to wait for the lock of a transfer's folder.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of the journal that an entry is expected to take; longer paths take more.
const JOURNAL_LINES: u64 = 1024;
/// Bytes on the disk of a transfer without entries: its folder, the folder of all transfers, the tree, the journal with its
/// first lines.
const EMPTY_TRANSFER: u64 = 4 * ENTRY + JOURNAL_LINES;
/// Most entries of a transfer.
const MOST_ENTRIES: u32 = 1_000_000;

/// What has become of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// An entry at the top level has its name.
    Kept {
        entry: u32,
        place: String,
        bytes: u64,
        /// An earlier connection brought it.
        before: bool,
    },
    /// An entry is not kept.
    Failed { entry: u32, text: String, before: bool },
}

/// The file that is being received.
struct CurrentFile {
    file: File,
    hash: FileHash,
    path: JournalPath,
    name: JournalPath,
    mode: Option<u16>,
    mtime: JournalMtime,
}

/// The entry that is being received.
enum Current {
    File(u32, Box<CurrentFile>),
    /// A link that was made.
    Link,
    /// One that is not kept: what comes of it is thrown away.
    Failed,
}

/// A partial file of an earlier connection, with the hashes of its beginnings, the longest first.
struct Partial {
    entry: u32,
    /// Bytes of the file, more than those of its longest beginning.
    length: u64,
    beginnings: Vec<FileHash>,
}

/// What a receiver does with all transfers.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Rules {
    /// True if links are made that lead out of their folder at the top level.
    pub(super) allows_outside_links: bool,
    /// True if the owner of each folder may read it, whatever mode its sender says.
    pub(super) keeps_folders_readable: bool,
}

/// A transfer that is being received.
pub(super) struct Staging {
    root: Root,
    /// This transfer's folder in it, and its name.
    name: OsString,
    folder: Folder,
    tree: Folder,
    journal: Journal,
    state: JournalState,
    destination: Destination,
    transfer: Transfer,
    /// Keeps other processes out.
    _lock: File,
    partial: Option<Partial>,
    current: Option<Current>,
    /// Folders that were opened in this connection's stream, the outermost first.
    chain: Vec<u32>,
    /// The folder that was used last.
    last_folder: Option<(JournalPath, Folder)>,
    rules: Rules,
    /// Its room on the disk, if that is limited.
    lease: Option<Lease>,
    /// What is to be told, the oldest first.
    pub(super) news: Vec<News>,
    /// All of it has its place: nothing stays here.
    is_over: bool,
}

/// Returns why a file is not whole that the sender closed so.
pub(super) fn not_whole(whole: Option<Whole>) -> &'static str {
    match whole {
        None => "the sender could not read all of it, or it changed meanwhile",
        Some(_) => "its hash is not the one that the sender says",
    }
}

/// Returns the name of a transfer's folder.
pub(super) fn folder_name(id: &Hash) -> OsString {
    OsString::from(hex(id.get(..16).unwrap_or(id)))
}

/// Takes the lock of a folder. A process that was killed may have it for a moment longer.
fn lock(folder: &Folder) -> io::Result<Option<File>> {
    let end = Instant::now() + LOCK_PATIENCE;
    loop {
        match folder.lock()? {
            None if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            lock => return Ok(lock),
        }
    }
}

fn partial_name(entry: u32) -> OsString {
    OsString::from(format!("{PARTIAL}{entry}"))
}

/// Removes everything in a folder.
fn empty(folder: &Folder) -> io::Result<()> {
    folder.names()?.iter().try_for_each(|name| folder.remove_all(name))
}

fn mtime_of(entry: &Entry<'_>) -> JournalMtime {
    entry.mtime.map(|mtime| (mtime.seconds, mtime.nanoseconds))
}

impl Staging {
    /// Begins a transfer in the folder `.paceline`, or goes on with it.
    ///
    /// # Errors
    /// The file system refuses, or another process receives this transfer.
    pub(super) fn open(
        destination: Destination,
        transfer: Transfer,
        rules: Rules,
    ) -> Result<Staging, Problem> {
        if transfer.entries > MOST_ENTRIES {
            let text = format!(
                "a transfer of {} entries: the receiver takes {MOST_ENTRIES} at most; send parts of it",
                transfer.entries
            );
            return Err(Problem::Transfer(text));
        }
        let failed = transfer_problem("the transfer cannot be staged");
        Staging::open_folder(destination, transfer, rules)
            .map_err(failed)?
            .ok_or_else(|| {
                let text = "another process at the receiver takes this transfer in: end it, or wait for its end";
                Problem::Transfer(text.into())
            })
    }

    fn open_folder(
        destination: Destination,
        transfer: Transfer,
        rules: Rules,
    ) -> io::Result<Option<Staging>> {
        let name = folder_name(&transfer.id);
        let (root, folder) = Root::open_with(&destination, &name)?;
        let Some(lock) = lock(&folder)? else { return Ok(None) };
        let begin = JournalRecord::begin(&transfer);
        let read = folder.file(OsStr::new(JOURNAL), true);
        let read = read.and_then(|file| JournalContent::read(&file).map(|content| (file, content)));
        let known = read.ok().filter(|(_, content)| content.begin() == Some(&begin));
        let (journal, content) = match known {
            Some((file, content)) => (Journal::go_on(file, content.length)?, content),
            None => {
                empty(&folder)?;
                let mut journal = Journal::create(&folder)?;
                journal.append(&begin)?;
                journal.append(&JournalRecord::Boot { id: boot_id() })?;
                let content = journal.read()?;
                (journal, content)
            }
        };
        match folder.make_folder(OsStr::new(TREE), 0o700) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let tree = folder.folder(OsStr::new(TREE))?;
        let mut staging = Staging {
            root,
            name,
            folder,
            tree,
            journal,
            state: JournalState::of(&content.records),
            destination,
            transfer,
            _lock: lock,
            partial: None,
            current: None,
            chain: Vec::new(),
            last_folder: None,
            rules,
            lease: None,
            news: Vec::new(),
            is_over: false,
        };
        staging.recover(content)?;
        Ok(Some(staging))
    }

    /// Number of the entry from which on the sender has to send.
    pub(super) fn next(&self) -> u32 {
        self.state.last + 1
    }

    /// Bytes of the files that are whole.
    pub(super) fn bytes(&self) -> u64 {
        self.state.bytes
    }

    /// Lengths and hashes of the beginnings of that entry's file that are on the disk, the longest first.
    pub(super) fn beginnings(&self) -> impl Iterator<Item = Whole> + '_ {
        self.partial.iter().flat_map(|partial| partial.beginnings.iter().map(FileHash::whole))
    }

    /// Returns the hash of a beginning of an entry's file that is on the disk.
    fn beginning(&self, entry: u32, length: u64) -> Option<FileHash> {
        let partial = self.partial.as_ref().filter(|partial| partial.entry == entry)?;
        partial.beginnings.iter().find(|hash| hash.length() == length).cloned()
    }

    /// Returns the bytes on the disk that the rest of the transfer needs, by what its sender has announced.
    pub(super) fn missing_bytes(&self) -> u64 {
        let partial = self.partial.as_ref().map_or(0, |partial| partial.length);
        let announced = self.transfer.bytes.unwrap_or(0);
        let files = announced.saturating_sub(self.state.bytes.saturating_add(partial));
        let entries = self.transfer.entries.saturating_sub(self.state.entries);
        let own = if self.is_empty() { EMPTY_TRANSFER } else { 0 };
        files.saturating_add(u64::from(entries) * (ENTRY + JOURNAL_LINES)).saturating_add(own)
    }

    /// Sets the room that was granted to the transfer.
    pub(super) fn set_lease(&mut self, lease: Lease) {
        if self.is_empty() {
            lease.spend(EMPTY_TRANSFER);
        }
        self.lease = Some(lease);
    }

    /// Returns true if nothing of the transfer has come.
    pub(super) fn is_empty(&self) -> bool {
        self.state.entries == 0 && self.partial.is_none()
    }

    /// Removes the transfer's folder if nothing of the transfer has come.
    pub(super) fn leave(mut self) {
        if self.is_empty() {
            self.is_over = self.remove().is_ok();
        }
    }

    /// Makes sure that there is room for these bytes.
    ///
    /// # Errors
    /// There is not.
    fn ensure_room(&mut self, bytes: u64) -> Result<(), Problem> {
        self.lease.as_mut().map_or(Ok(()), |lease| lease.ensure(bytes))
    }

    /// Notes that these bytes were written.
    fn spend_room(&self, bytes: u64) {
        if let Some(lease) = &self.lease {
            lease.spend(bytes);
        }
    }

    /// Takes room for these bytes, which are written at once.
    ///
    /// # Errors
    /// There is not enough.
    fn take_room(&mut self, bytes: u64) -> Result<(), Problem> {
        self.ensure_room(bytes)?;
        self.spend_room(bytes);
        Ok(())
    }

    /// Notes that these bytes were removed.
    fn give_room_back(&self, bytes: u64) {
        if let Some(lease) = &self.lease {
            lease.give_back(bytes);
        }
    }

    /// Returns the mode of a folder whose sender says `mode`. With a quota its owner may read it: else what is in it could
    /// not be counted.
    fn folder_mode(&self, mode: u16) -> u32 {
        u32::from(mode) | if self.rules.keeps_folders_readable { 0o500 } else { 0 }
    }

    fn append(&mut self, record: JournalRecord) -> io::Result<()> {
        let offset = self.journal.length();
        self.journal.append(&record)?;
        self.state.apply(offset, &record);
        Ok(())
    }

    fn note(&mut self, record: JournalRecord) -> Result<(), Problem> {
        let before = self.journal.length();
        self.append(record)
            .map_err(transfer_problem("the journal of the transfer cannot be written"))?;
        let bytes = self.journal.length() - before;
        self.take_room(bytes)
    }

    /// Notes that an entry is not kept.
    fn fail(&mut self, entry: u32, text: String) -> Result<(), Problem> {
        self.note(JournalRecord::Failed { entry, text: text.clone() })?;
        self.news.push(News::Failed { entry, text, before: false });
        Ok(())
    }

    /// Opens a folder of the tree.
    fn folder_at(&mut self, path: &JournalPath) -> io::Result<Folder> {
        verify::folder_at(&self.tree, path)
    }

    /// Does something in a folder of the tree, which stays open for the next time.
    fn in_folder<T>(
        &mut self,
        path: &JournalPath,
        act: impl FnOnce(&Folder, &Folder) -> io::Result<T>,
    ) -> io::Result<T> {
        let folder = match self.last_folder.take() {
            Some((last, folder)) if last == *path => folder,
            _ => self.folder_at(path)?,
        };
        let done = act(&folder, &self.folder);
        self.last_folder = Some((path.clone(), folder));
        done
    }

    /// All entries of the transfer have come. Returns true if each of them is kept.
    ///
    /// # Errors
    /// The file system refuses.
    pub(super) fn on_end(&mut self) -> Result<bool, Problem> {
        self.chain.clear();
        self.close_unopened()?;
        let is_whole = self.state.failures == 0 && self.state.entries == self.transfer.entries;
        let finished = self.finish(is_whole);
        finished.map_err(transfer_problem("the transfer's folder cannot be removed"))?;
        Ok(is_whole)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Nobody comes back for a transfer that cannot be resumed.
        if !self.is_over && !self.transfer.resumable {
            let _ = self.remove();
        }
    }
}
