//! The folder of a transfer that is being received: what is not whole has no name in the destination, and what is whole
//! is in the journal.
//!
//! In `.paceline/<id>/` stand `journal`, `tree/`, in which each entry at the top level is called by its number, and
//! `partial.<number>`, the file that is being received. The order of steps makes each kill harmless: a record comes before
//! the step that it names, and who goes on takes the step again, or cuts the record off.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::thread;
use std::time::{Duration, Instant};

use paceline_wire::records::{Content, Entry, FileHash, Hash, Transfer, Whole};

use super::destination::Destination;
use super::journal::{
    JOURNAL, Journal, JournalContent, JournalMtime, JournalPath, JournalRecord, JournalState,
    OpenFolder, TopLevel, boot_id, hex,
};
use super::links::leads_outside;
use super::names::{fit, kept_name};
use super::problem::{Problem, entry_problem, transfer_problem};
use super::root::Root;
use super::verify;
use crate::linux::folder::{EntryKind, Folder, Status, set_mode, set_mtime};

/// Name of the folder of what is staged.
const TREE: &str = "tree";
/// What the name of a file that is being received begins with.
const PARTIAL: &str = "partial.";
/// How long to wait for the lock of a transfer's folder.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// Most entries of a transfer.
const MOST_ENTRIES: u32 = 1_000_000;
/// Beginnings of a partial file have multiples of this length in bytes.
const BEGINNING: u64 = 64 << 10;
/// Most beginnings of a partial file that the sender may choose from.
const MOST_BEGINNINGS: usize = 12;

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
    beginnings: Vec<FileHash>,
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
    allows_outside_links: bool,
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
        allows_outside_links: bool,
    ) -> Result<Staging, Problem> {
        if transfer.entries > MOST_ENTRIES {
            let text = format!(
                "a transfer of {} entries: the receiver takes {MOST_ENTRIES} at most; send parts of it",
                transfer.entries
            );
            return Err(Problem::Transfer(text));
        }
        let failed = transfer_problem("the transfer cannot be staged");
        Staging::open_folder(destination, transfer, allows_outside_links)
            .map_err(failed)?
            .ok_or_else(|| {
                let text = "another process at the receiver takes this transfer in: end it, or wait for its end";
                Problem::Transfer(text.into())
            })
    }

    fn open_folder(
        destination: Destination,
        transfer: Transfer,
        allows_outside_links: bool,
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
            allows_outside_links,
            news: Vec::new(),
            is_over: false,
        };
        staging.recover(content)?;
        Ok(Some(staging))
    }

    /// Brings folder and journal together after whatever has ended the last connection.
    fn recover(&mut self, mut content: JournalContent) -> io::Result<()> {
        self.finish_moves(&content)?;
        if let Some(top) = self.state.top.clone()
            && let (true, Some(place)) = (top.is_whole, &top.place)
            && self.tree.status(OsStr::new(&top.entry.to_string())).is_err()
            && self.destination.has(place)
        {
            let place = OsString::from_vec(place.0.clone());
            let folder = top.folder.map(|_| self.destination.folder.own_folder(&place));
            self.on_placed(&top, folder.transpose()?)?;
            content = self.journal.read()?;
        }
        let boot = boot_id();
        let is_deep = self.state.boot != boot;
        let placed: Vec<u32> = self.state.placed.iter().map(|placed| placed.0).collect();
        let bad = verify::first_difference(&self.tree, &content.records, &placed, is_deep)?;
        if let Some((offset, entry)) = bad {
            self.keep_as_partial(&content, entry);
            let file = self.folder.file(OsStr::new(JOURNAL), true)?;
            self.journal = Journal::go_on(file, offset)?;
            content.records.retain(|(at, _)| *at < offset);
            self.state = JournalState::of(&content.records);
        }
        verify::remove_unknown(&self.tree, &content.records)?;
        if is_deep {
            self.append(JournalRecord::Boot { id: boot })?;
        }
        for open in self.state.open.clone() {
            let (parent, name) = open.path.split();
            if !open.has_failed {
                self.folder_at(&parent)?.own_folder(&name)?;
            }
        }
        for (entry, place, bytes) in self.state.placed.clone() {
            let place = self.destination.text(&place);
            self.news.push(News::Kept { entry, place, bytes, before: true });
        }
        for (entry, text) in self.state.reasons.clone() {
            self.news.push(News::Failed { entry, text, before: true });
        }
        self.find_partial()
    }

    /// Moves files to their paths that are whole by the journal, and were not moved.
    fn finish_moves(&mut self, content: &JournalContent) -> io::Result<()> {
        for name in self.folder.names()? {
            let number = name.to_str().and_then(|name| name.strip_prefix(PARTIAL)?.parse().ok());
            let Some(number): Option<u32> = number else { continue };
            let record = content.records.iter().find_map(|(_, record)| match record {
                JournalRecord::File { entry, path, .. } if *entry == number => Some(path),
                _ => None,
            });
            if let Some(path) = record {
                let (parent, last) = path.split();
                let parent = self.folder_at(&parent);
                let moved = parent.and_then(|into| self.folder.rename_new(&name, &into, &last));
                if moved.is_err() {
                    self.folder.remove(&name)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a file that differs from the journal the partial file, so that its beginning may be kept.
    fn keep_as_partial(&mut self, content: &JournalContent, entry: u32) {
        let path = content.records.iter().find_map(|(_, record)| match record {
            JournalRecord::File { entry: number, path, .. } if *number == entry => Some(path),
            _ => None,
        });
        if let Some((parent, name)) = path.map(JournalPath::split)
            && let Ok(parent) = self.folder_at(&parent)
            && parent.status(&name).is_ok_and(|status| status.kind == EntryKind::File)
        {
            let _ = parent.rename(&name, &self.folder, &partial_name(entry));
        }
    }

    /// Finds the partial file of the next entry, and hashes its beginnings. Other partial files are removed.
    fn find_partial(&mut self) -> io::Result<()> {
        let next = self.next();
        for name in self.folder.names()? {
            if name.as_bytes().starts_with(PARTIAL.as_bytes()) && name != partial_name(next) {
                self.folder.remove_all(&name)?;
            }
        }
        let name = partial_name(next);
        let Ok(status) = self.folder.status(&name) else { return Ok(()) };
        // A further name of another file must not be written to.
        let is_own = status.kind == EntryKind::File && status.links == 1;
        let Some(mut file) = is_own.then(|| self.folder.file(&name, true).ok()).flatten() else {
            return self.folder.remove_all(&name);
        };
        let beginnings = beginnings(&mut file, status.length)?;
        self.partial = Some(Partial { entry: next, beginnings });
        Ok(())
    }

    /// Number of the entry from which on the sender has to send.
    pub(super) fn next(&self) -> u32 {
        self.state.last + 1
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

    fn append(&mut self, record: JournalRecord) -> io::Result<()> {
        let offset = self.journal.length();
        self.journal.append(&record)?;
        self.state.apply(offset, &record);
        Ok(())
    }

    fn note(&mut self, record: JournalRecord) -> Result<(), Problem> {
        self.append(record)
            .map_err(transfer_problem("the journal of the transfer cannot be written"))
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

    /// Begins an entry.
    ///
    /// # Errors
    /// The transfer cannot go on.
    pub(super) fn on_entry(&mut self, entry: &Entry<'_>) -> Result<(), Problem> {
        if entry.number <= self.state.last {
            // The folders in which the transfer goes on come first.
            let is_known = self.state.open.iter().any(|open| open.entry == entry.number);
            if entry.content != Content::Folder || !is_known {
                let text = format!("entry {} was received before", entry.number);
                return Err(Problem::Transfer(text));
            }
            self.chain.push(entry.number);
            return Ok(());
        }
        if self.state.entries >= MOST_ENTRIES {
            return Err(Problem::Transfer(format!("more than {MOST_ENTRIES} entries")));
        }
        if let Content::File { offset: offset @ 1.., .. } = entry.content
            && self.beginning(entry.number, offset).is_none()
        {
            let text =
                format!("entry {} goes on at byte {offset}, which was not offered", entry.number);
            return Err(Problem::Transfer(text));
        }
        self.close_unopened()?;
        let made = self.begin_entry(entry);
        let failed = match made {
            Ok(current) => {
                self.current = current;
                None
            }
            Err(Problem::Entry(text)) => Some(text),
            Err(problem) => return Err(problem),
        };
        if let Some(text) = failed {
            if entry.content == Content::Folder && entry.number > self.state.last {
                // Its contents come all the same, and are not kept.
                let path = JournalPath(entry.number.to_string().into_bytes());
                let name = JournalPath(entry.name().to_vec());
                let (entry, mode, mtime) = (entry.number, None, None);
                self.note(JournalRecord::Folder { entry, path, name, mode, mtime })?;
            }
            self.fail(entry.number, text)?;
            self.current = (entry.content != Content::Folder).then_some(Current::Failed);
        }
        if entry.content == Content::Folder {
            self.chain.push(entry.number);
        }
        Ok(())
    }

    /// Closes folders that an earlier connection has opened and this one has not: the sender is past them.
    fn close_unopened(&mut self) -> Result<(), Problem> {
        while let Some(open) = self.state.open.last().cloned()
            && !self.chain.contains(&open.entry)
        {
            self.close_folder(&open)?;
        }
        self.place_whole()
    }

    fn begin_entry(&mut self, entry: &Entry<'_>) -> Result<Option<Current>, Problem> {
        let number = entry.number;
        self.destination.takes(entry)?;
        let (parent, name) = match self.state.open.last() {
            None => (JournalPath::default(), OsString::from(number.to_string())),
            Some(open) if open.has_failed => {
                let text = "the folder that it is in is not kept";
                return Err(Problem::Entry(text.into()));
            }
            Some(open) => {
                let name = kept_name(entry.name(), false);
                (open.path.clone(), fit(&name, "", self.destination.longest))
            }
        };
        let unnamed = entry_problem("it cannot be made");
        let path = parent.join(&name);
        let status = self.in_folder(&parent, |folder, _| match folder.status(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            status => status.map(Some),
        });
        if let Some(status) = status.map_err(&unnamed)? {
            let text = match status.kind {
                EntryKind::Folder => "a folder",
                _ => "an entry",
            };
            return Err(Problem::Entry(format!(
                "{text} before it has the name {}",
                name.display()
            )));
        }
        let (mode, mtime) = (entry.mode, mtime_of(entry));
        let sent_name = JournalPath(entry.name().to_vec());
        match entry.content {
            Content::Folder => {
                let record =
                    JournalRecord::Folder { entry: number, path, name: sent_name, mode, mtime };
                self.note(record)?;
                let made = self.in_folder(&parent, |folder, _| folder.make_folder(&name, 0o777));
                made.map_err(unnamed)?;
                Ok(None)
            }
            Content::File { offset, .. } => {
                let (file, hash) = self.begin_file(number, offset)?;
                let file = CurrentFile { file, hash, path, name: sent_name, mode, mtime };
                Ok(Some(Current::File(number, Box::new(file))))
            }
            Content::Symlink { target } => {
                if !self.allows_outside_links && leads_outside(entry.path, target) {
                    let text = format!(
                        "the link leads outside of what is sent, to {}; `recv --outside-links` takes such links",
                        OsStr::from_bytes(target).display()
                    );
                    return Err(Problem::Entry(text));
                }
                let target = JournalPath(target.to_vec());
                let record = JournalRecord::Symlink {
                    entry: number,
                    path,
                    name: sent_name,
                    target: target.clone(),
                };
                self.note(record)?;
                let made = self.in_folder(&parent, |folder, _| {
                    folder.symlink(&name, OsStr::from_bytes(&target.0))?;
                    // Not all file systems keep times of links.
                    let _ = mtime.map(|mtime| folder.set_entry_mtime(&name, mtime));
                    Ok(())
                });
                made.map_err(unnamed)?;
                Ok(Some(Current::Link))
            }
            Content::HardLink { target } => {
                let record =
                    JournalRecord::HardLink { entry: number, path, name: sent_name, of: target };
                self.make_hard_link(target, &parent, &name, record)?;
                Ok(Some(Current::Link))
            }
        }
    }

    /// Opens the file of an entry, whose first `offset` bytes are on the disk.
    fn begin_file(&mut self, entry: u32, offset: u64) -> Result<(File, FileHash), Problem> {
        let failed = transfer_problem("the file cannot be staged");
        let name = partial_name(entry);
        let beginning = self.beginning(entry, offset);
        let partial = self.partial.take().filter(|partial| partial.entry == entry);
        if offset == 0 {
            if partial.is_some() {
                self.folder.remove(&name).map_err(&failed)?;
            }
            return Ok((self.folder.create(&name).map_err(failed)?, FileHash::default()));
        }
        let hash = beginning.unwrap_or_default();
        let mut file = self.folder.file(&name, true).map_err(&failed)?;
        file.set_len(offset).map_err(&failed)?;
        file.seek(SeekFrom::Start(offset)).map_err(&failed)?;
        Ok((file, hash))
    }

    /// Gives an earlier file or link a further name. Where the file system has no further names, it is copied.
    fn make_hard_link(
        &mut self,
        target: u32,
        parent: &JournalPath,
        name: &OsStr,
        record: JournalRecord,
    ) -> Result<(), Problem> {
        let missing = || {
            Problem::Entry(
                "it is a further name of an earlier entry, which is not kept here".into(),
            )
        };
        let offset = *self.state.files.get(&target).ok_or_else(missing)?;
        let failed = entry_problem("the link cannot be made");
        let (path, expected) = match self.journal.record_at(offset).map_err(&failed)? {
            JournalRecord::File { path, length, mtime, .. } => (path, Some((length, mtime))),
            JournalRecord::Symlink { path, .. } => (path, None),
            _ => return Err(missing()),
        };
        let (folder, from) = self.whereabouts(&path).map_err(|_| missing())?;
        let is_expected = |status: &Status| match expected {
            Some((length, mtime)) => {
                let mtime_fits = mtime.is_none_or(|mtime| mtime == status.mtime);
                status.kind == EntryKind::File && status.length == length && mtime_fits
            }
            None => status.kind == EntryKind::Symlink,
        };
        let status = folder.status(&from).ok().filter(is_expected).ok_or_else(missing)?;
        self.note(record)?;
        let made = self.in_folder(parent, |into, _| {
            if folder.hard_link(&from, into, name).is_ok() {
                // What was given the name must be what was looked at.
                if into.status(name)?.identity != status.identity {
                    into.remove(name)?;
                    return Err(io::Error::other("the earlier entry has changed"));
                }
                return Ok(());
            }
            if expected.is_none() {
                return into.symlink(name, &folder.target(&from)?);
            }
            let (mut old, mut new) = (folder.file(&from, false)?, into.create(name)?);
            io::copy(&mut old, &mut new)?;
            let _ = set_mode(&new, status.mode);
            let _ = set_mtime(&new, status.mtime);
            Ok(())
        });
        made.map_err(failed)
    }

    /// Finds a file of the tree, which may have its place in the destination already: its folder, and its name there.
    fn whereabouts(&mut self, path: &JournalPath) -> io::Result<(Folder, OsString)> {
        let (parent, name) = path.split();
        let placed = self.state.placed.binary_search_by_key(&path.top(), |placed| placed.0);
        let Some((_, place, _)) = placed.ok().and_then(|index| self.state.placed.get(index)) else {
            return Ok((self.folder_at(&parent)?, name));
        };
        let place = OsString::from_vec(place.0.clone());
        if parent.0.is_empty() {
            return Ok((self.destination.folder.own()?, place));
        }
        let mut folder = self.destination.folder.folder(&place)?;
        for component in parent.components().skip(1) {
            folder = folder.folder(component)?;
        }
        Ok((folder, name))
    }

    /// Takes in the next bytes of the file.
    ///
    /// # Errors
    /// The transfer cannot go on.
    pub(super) fn on_piece(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let Some(Current::File(number, current)) = &mut self.current else { return Ok(()) };
        match current.file.write_all(bytes).map_err(entry_problem("a file cannot be written")) {
            Ok(()) => {
                current.hash.update(bytes);
                Ok(())
            }
            Err(Problem::Entry(text)) => {
                let number = *number;
                self.give_up(number, text)
            }
            Err(problem) => Err(problem),
        }
    }

    /// The file that is being received is not kept.
    fn give_up(&mut self, number: u32, text: String) -> Result<(), Problem> {
        self.current = Some(Current::Failed);
        let _ = self.folder.remove(&partial_name(number));
        self.fail(number, text)
    }

    /// Ends an entry: gives it its place, if it is whole.
    ///
    /// # Errors
    /// The transfer cannot go on.
    pub(super) fn on_close(&mut self, number: u32, whole: Option<Whole>) -> Result<(), Problem> {
        match self.current.take() {
            Some(Current::File(number, file)) => {
                if let Some(whole) = whole.filter(|whole| *whole == file.hash.whole()) {
                    self.finish_file(number, *file, whole)?;
                    return self.place_whole();
                }
                self.give_up(number, not_whole(whole).into())?;
                self.current = None;
                Ok(())
            }
            Some(Current::Link) => self.place_whole(),
            Some(Current::Failed) => Ok(()),
            None => {
                self.chain.pop_if(|last| *last == number);
                let open = self.state.open.iter().find(|open| open.entry == number).cloned();
                open.map_or(Ok(()), |open| self.close_folder(&open))?;
                self.place_whole()
            }
        }
    }

    fn finish_file(&mut self, number: u32, file: CurrentFile, whole: Whole) -> Result<(), Problem> {
        let failed = transfer_problem("a file cannot be kept");
        let CurrentFile { file, path, name, mode, mtime, .. } = file;
        // A file system without modes or times keeps its own.
        let _ = mode.map(|mode| set_mode(&file, u32::from(mode)));
        let _ = mtime.map(|mtime| set_mtime(&file, mtime));
        let (parent, last) = path.split();
        if self.state.open.is_empty() {
            file.sync_all().map_err(&failed)?;
        }
        drop(file);
        let partial = partial_name(number);
        let mtime = Some(self.folder.status(&partial).map_err(&failed)?.mtime);
        let (length, hash) = (whole.length, hex(&whole.hash));
        self.note(JournalRecord::File { entry: number, path, name, length, hash, mtime })?;
        let moved =
            self.in_folder(&parent, |into, folder| folder.rename_new(&partial, into, &last));
        moved.map_err(failed)
    }

    /// Gives a folder in the tree its mode and its time. One at the top level gets them with its name.
    fn close_folder(&mut self, open: &OpenFolder) -> Result<(), Problem> {
        let (parent, name) = open.path.split();
        if !open.has_failed && !parent.0.is_empty() {
            self.last_folder = None;
            let closed = self.in_folder(&parent, |parent, _| {
                let folder = parent.own_folder(&name)?;
                let _ = open.mtime.map(|mtime| folder.set_mtime(mtime));
                let _ = open.mode.map(|mode| folder.set_mode(u32::from(mode)));
                Ok(())
            });
            closed.map_err(transfer_problem("a folder cannot be kept"))?;
        }
        self.note(JournalRecord::Closed { entry: open.entry })
    }

    /// Gives the entry at the top level its name, if all of it is staged.
    fn place_whole(&mut self) -> Result<(), Problem> {
        let Some(top) = self.state.top.clone().filter(|top| top.is_whole) else { return Ok(()) };
        let failed = transfer_problem("it cannot be kept");
        self.last_folder = None;
        if top.folder.is_some() {
            self.tree.sync_file_system().map_err(&failed)?;
        }
        let staged = OsString::from(top.entry.to_string());
        let name = kept_name(&top.name.0, true);
        let folder = top.folder.map(|_| self.tree.own_folder(&staged)).transpose();
        let folder = folder.map_err(&failed)?;
        let mut candidates = self.destination.candidates(&name);
        let place = loop {
            let Some(place) = candidates.next() else {
                let text =
                    format!("there are 10,000 entries of the name {} already", name.display());
                self.tree.remove_all(&staged).map_err(failed)?;
                return self.fail(top.entry, text);
            };
            if !self.destination.is_free(&place) {
                continue;
            }
            let record = JournalPath(place.as_bytes().to_vec());
            self.note(JournalRecord::Placing { entry: top.entry, name: record.clone() })?;
            match self.destination.place(&self.tree, &staged, &place) {
                Ok(()) => break record,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        };
        let mut placed = top;
        placed.place = Some(place);
        let bytes = placed.bytes;
        let entry = placed.entry;
        self.on_placed(&placed, folder).map_err(failed)?;
        let place = self.destination.text(&placed.place.unwrap_or_default());
        self.news.push(News::Kept { entry, place, bytes, before: false });
        Ok(())
    }

    /// An entry has its name: gives it, if it is a folder, its mode and time, which would have been in the way of moving
    /// it. Writes the name to the disk.
    fn on_placed(&mut self, top: &TopLevel, folder: Option<Folder>) -> io::Result<()> {
        if let (Some((mode, mtime)), Some(folder)) = (top.folder, folder) {
            let _ = mtime.map(|mtime| folder.set_mtime(mtime));
            let _ = mode.map(|mode| folder.set_mode(u32::from(mode)));
            folder.sync()?;
        }
        self.destination.folder.sync()?;
        self.append(JournalRecord::Placed { entry: top.entry, bytes: top.bytes })
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

    fn finish(&mut self, is_whole: bool) -> io::Result<()> {
        self.last_folder = None;
        if is_whole && self.transfer.resumable {
            self.journal.sync()?;
            super::finished::keep(&self.root.folder, &self.folder, &self.name)?;
        }
        self.is_over = true;
        self.remove()
    }

    /// Removes the transfer's folder, and the one of all transfers if it is empty then.
    fn remove(&self) -> io::Result<()> {
        self.root.folder.remove_all(&self.name)?;
        let _ = self.destination.folder.remove_folder(&self.root.name);
        Ok(())
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

/// Returns the hashes of the beginnings of a file: of all multiples of 64 KiB, and of half as much each time.
fn beginnings(file: &mut File, length: u64) -> io::Result<Vec<FileHash>> {
    let mut lengths = Vec::new();
    let mut next = length / BEGINNING;
    while next > 0 && lengths.len() < MOST_BEGINNINGS {
        lengths.push(next * BEGINNING);
        next /= 2;
    }
    let (mut hashes, mut hash) = (Vec::new(), FileHash::default());
    let mut place = vec![0; 256 << 10];
    file.seek(SeekFrom::Start(0))?;
    for end in lengths.into_iter().rev() {
        while hash.length() < end {
            let room = (end - hash.length()).min(place.len() as u64) as usize;
            let count = file.read(place.get_mut(..room).unwrap_or(&mut []))?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            hash.update(place.get(..count).unwrap_or(&[]));
        }
        hashes.push(hash.clone());
    }
    hashes.reverse();
    Ok(hashes)
}
