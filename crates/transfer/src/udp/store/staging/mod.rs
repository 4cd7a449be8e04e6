//! The folder of a transfer that is being received. Incomplete entries have no name in the
//! destination; complete ones are in the journal.
//!
//! `.paceline/<id>/` contains `journal`, `tree/`, in which each top-level entry is named by its
//! number, and `partial.<number>`, the file that is being received. A kill at any step does no
//! harm: each record is written before its step, and recovery repeats the step or removes the
//! record.

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
use paceline_wire::records::{Entry, FileHash, Transfer, Whole};

use super::destination::Destination;
use super::journal::{
    JOURNAL, Journal, JournalContent, JournalMtime, JournalPath, JournalRecord, JournalState,
    boot_id,
};
use super::layout::{ENTRY, TREE, folder_name};
use super::problem::{Problem, transfer_problem};
use super::quota::Lease;
use super::root::Root;
use super::verify;

/// Prefix of the name of a file that is being received.
const PARTIAL: &str = "partial.";
/// Maximum wait for the lock of a transfer's folder.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of the journal reserved per entry; long paths take more.
const JOURNAL_LINES: u64 = 1024;
/// Bytes on the disk of a transfer without entries: its folder, the staging folder, the tree, and
/// the journal with its first lines.
const EMPTY_TRANSFER: u64 = 4 * ENTRY + JOURNAL_LINES;
/// Maximum number of entries of a transfer.
const MOST_ENTRIES: u32 = 1_000_000;

/// The result of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// A top-level entry has its final name.
    Kept {
        entry: u32,
        place: String,
        bytes: u64,
        /// True if an earlier connection brought it.
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
    /// A link that was created.
    Link,
    /// An entry that is not kept: its bytes are discarded.
    Failed,
}

/// A partial file of an earlier connection, with the hashes of its beginnings, longest first.
struct Partial {
    entry: u32,
    /// Bytes of the file, which may extend beyond the longest beginning.
    length: u64,
    beginnings: Vec<FileHash>,
}

/// A receiver's rules for all transfers.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Rules {
    /// True if top-level links may point outside of their folder.
    pub(super) allows_outside_links: bool,
    /// True if the owner of each folder may always read it, whatever mode the sender sets.
    pub(super) keeps_folders_readable: bool,
}

/// A transfer that is being received.
pub(super) struct Staging {
    root: Root,
    /// Name of this transfer's folder in the root, and the folder.
    name: OsString,
    folder: Folder,
    tree: Folder,
    journal: Journal,
    state: JournalState,
    destination: Destination,
    transfer: Transfer,
    /// Excludes other processes.
    _lock: File,
    partial: Option<Partial>,
    current: Option<Current>,
    /// Folders that this connection's stream has opened, outermost first.
    chain: Vec<u32>,
    /// The folder used last.
    last_folder: Option<(JournalPath, Folder)>,
    rules: Rules,
    /// Its disk space, if that is limited.
    lease: Option<Lease>,
    /// Results to report, oldest first.
    pub(super) news: Vec<News>,
    /// True once all entries have their final names: nothing stays here.
    is_over: bool,
}

/// Returns the reason, in words, for a file that its sender closed like this.
pub(super) fn not_whole(whole: Option<Whole>) -> &'static str {
    match whole {
        None => "the sender could not read all of it, or it changed meanwhile",
        Some(_) => "its hash is not the one that the sender says",
    }
}

/// Locks a folder. Waits a little, because a killed process may hold the lock for a moment longer.
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

/// Removes the contents of a folder.
fn empty(folder: &Folder) -> io::Result<()> {
    folder.names()?.iter().try_for_each(|name| folder.remove_all(name))
}

/// Creates the folder of a transfer's entries if it is missing, and opens it.
fn make_tree(folder: &Folder) -> io::Result<Folder> {
    match folder.make_folder(OsStr::new(TREE), 0o700) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => folder.folder(OsStr::new(TREE)),
    }
}

/// Creates the journal and the folder of entries of a new transfer in its folder.
fn begin_in(
    folder: &Folder,
    begin: &JournalRecord,
) -> io::Result<(Journal, JournalContent, Folder)> {
    empty(folder)?;
    let mut journal = Journal::create(folder)?;
    journal.append(begin)?;
    journal.append(&JournalRecord::Boot { id: boot_id() })?;
    let content = journal.read()?;
    Ok((journal, content, make_tree(folder)?))
}

fn mtime_of(entry: &Entry<'_>) -> JournalMtime {
    entry.mtime.map(|mtime| (mtime.seconds, mtime.nanoseconds))
}

impl Staging {
    /// Begins a transfer in the folder `.paceline`, or continues it.
    ///
    /// # Errors
    /// The file system returns an error, or another process receives this transfer.
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
        let (journal, content, tree) = match known {
            Some((file, content)) => {
                (Journal::go_on(file, content.length)?, content, make_tree(&folder)?)
            }
            None => begin_in(&folder, &begin).inspect_err(|_| {
                // Such as on a full disk: nothing of it can be continued.
                let _ = root.folder.remove_all(&name);
                let _ = destination.folder.remove_folder(&root.name);
            })?,
        };
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

    /// Returns the number of the first entry that the sender has to send.
    pub(super) fn next(&self) -> u32 {
        self.state.last + 1
    }

    /// Returns the bytes of complete files.
    pub(super) fn bytes(&self) -> u64 {
        self.state.bytes
    }

    /// Returns lengths and hashes of the beginnings of that entry's file that are on the disk,
    /// longest first.
    pub(super) fn beginnings(&self) -> impl Iterator<Item = Whole> + '_ {
        self.partial.iter().flat_map(|partial| partial.beginnings.iter().map(FileHash::whole))
    }

    /// Returns the hash of a beginning of an entry's file that is on the disk.
    fn beginning(&self, entry: u32, length: u64) -> Option<FileHash> {
        let partial = self.partial.as_ref().filter(|partial| partial.entry == entry)?;
        partial.beginnings.iter().find(|hash| hash.length() == length).cloned()
    }

    /// Returns the disk space that the rest of the transfer needs, as announced by its sender.
    pub(super) fn missing_bytes(&self) -> u64 {
        let partial = self.partial.as_ref().map_or(0, |partial| partial.length);
        let announced = self.transfer.bytes.unwrap_or(0);
        let files = announced.saturating_sub(self.state.bytes.saturating_add(partial));
        let entries = self.transfer.entries.saturating_sub(self.state.entries);
        let own = if self.is_empty() { EMPTY_TRANSFER } else { 0 };
        files.saturating_add(u64::from(entries) * (ENTRY + JOURNAL_LINES)).saturating_add(own)
    }

    /// Sets the transfer's reserved disk space.
    pub(super) fn set_lease(&mut self, lease: Lease) {
        if self.is_empty() {
            lease.spend(EMPTY_TRANSFER);
        }
        self.lease = Some(lease);
    }

    /// Returns true if no entry has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.state.entries == 0 && self.partial.is_none()
    }

    /// Removes the transfer's folder if no entry has arrived.
    pub(super) fn leave(mut self) {
        if self.is_empty() {
            self.is_over = self.remove().is_ok();
        }
    }

    /// Reserves space for these bytes.
    ///
    /// # Errors
    /// A limit leaves too little space.
    fn ensure_room(&mut self, bytes: u64) -> Result<(), Problem> {
        self.lease.as_mut().map_or(Ok(()), |lease| lease.ensure(bytes))
    }

    /// Notes that these bytes were written.
    fn spend_room(&self, bytes: u64) {
        if let Some(lease) = &self.lease {
            lease.spend(bytes);
        }
    }

    /// Reserves space for these bytes and counts them as written.
    ///
    /// # Errors
    /// A limit leaves too little space.
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

    /// Returns the mode for a folder for which the sender sets `mode`. With a quota its owner may
    /// always read it, because otherwise its contents could not be counted.
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

    /// Runs `act` in a folder of the tree, which stays open for the next call.
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

    /// Handles the end of the transfer. Returns true if every entry is kept.
    ///
    /// # Errors
    /// The file system returns an error.
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
        // Remove it: no later connection can resume it.
        if !self.is_over && !self.transfer.resumable {
            let _ = self.remove();
        }
    }
}
