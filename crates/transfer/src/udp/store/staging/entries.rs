//! Entries as they arrive: begun, filled and closed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;

use paceline_os::folder::{EntryKind, set_mode, set_mtime};
use paceline_wire::records::{Content, Entry, FileHash, Whole};

use super::{Current, CurrentFile, MOST_ENTRIES, Staging, mtime_of, not_whole, partial_name};
use crate::udp::store::journal::{JournalPath, JournalRecord, OpenFolder, hex};
use crate::udp::store::layout::ENTRY;
use crate::udp::store::links::leads_outside;
use crate::udp::store::names::{fit, kept_name};
use crate::udp::store::problem::{Problem, entry_problem, transfer_problem};

impl Staging {
    /// Begins an entry.
    ///
    /// # Errors
    /// The transfer cannot continue.
    pub(in crate::udp::store) fn on_entry(&mut self, entry: &Entry<'_>) -> Result<(), Problem> {
        if entry.number <= self.state.last {
            // First come the folders that are open at the start position.
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
                // Its contents still arrive, and are discarded.
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

    /// Closes folders that an earlier connection has opened and this one has not: the sender is
    /// past them.
    pub(super) fn close_unopened(&mut self) -> Result<(), Problem> {
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
        self.take_room(ENTRY)?;
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
                if !self.rules.allows_outside_links && leads_outside(entry.path, target) {
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
                    // Ignore errors: not all file systems keep the mtime of links.
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

    /// Opens the file of an entry of which the first `offset` bytes are on the disk.
    fn begin_file(&mut self, entry: u32, offset: u64) -> Result<(File, FileHash), Problem> {
        let failed = transfer_problem("the file cannot be staged");
        let name = partial_name(entry);
        let beginning = self.beginning(entry, offset);
        let partial = self.partial.take().filter(|partial| partial.entry == entry);
        if offset == 0 {
            if let Some(partial) = partial {
                self.folder.remove(&name).map_err(&failed)?;
                self.give_room_back(partial.length);
            }
            return Ok((self.folder.create(&name).map_err(failed)?, FileHash::default()));
        }
        let hash = beginning.unwrap_or_default();
        let mut file = self.folder.file(&name, true).map_err(&failed)?;
        file.set_len(offset).map_err(&failed)?;
        self.give_room_back(partial.map_or(0, |partial| partial.length.saturating_sub(offset)));
        file.seek(SeekFrom::Start(offset)).map_err(&failed)?;
        Ok((file, hash))
    }

    /// Handles the next bytes of the file.
    ///
    /// # Errors
    /// The transfer cannot continue.
    pub(in crate::udp::store) fn on_piece(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if !matches!(self.current, Some(Current::File(..))) {
            return Ok(());
        }
        self.ensure_room(bytes.len() as u64)?;
        let Some(Current::File(number, current)) = &mut self.current else { return Ok(()) };
        match current.file.write_all(bytes).map_err(entry_problem("a file cannot be written")) {
            Ok(()) => {
                current.hash.update(bytes);
                self.spend_room(bytes.len() as u64);
                Ok(())
            }
            Err(Problem::Entry(text)) => {
                let number = *number;
                self.give_up(number, text)
            }
            Err(problem) => Err(problem),
        }
    }

    /// Discards the file that is being received.
    fn give_up(&mut self, number: u32, text: String) -> Result<(), Problem> {
        self.current = Some(Current::Failed);
        let _ = self.folder.remove(&partial_name(number));
        self.fail(number, text)
    }

    /// Ends an entry. If it is complete, moves it to its path.
    ///
    /// # Errors
    /// The transfer cannot continue.
    pub(in crate::udp::store) fn on_close(
        &mut self,
        number: u32,
        whole: Option<Whole>,
    ) -> Result<(), Problem> {
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
        // Ignore errors: a file system without modes or times keeps its defaults.
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

    /// Sets the mode and mtime of a folder in the tree. A top-level folder gets them after its
    /// name.
    fn close_folder(&mut self, open: &OpenFolder) -> Result<(), Problem> {
        let (parent, name) = open.path.split();
        if !open.has_failed && !parent.0.is_empty() {
            self.last_folder = None;
            let mode = open.mode.map(|mode| self.folder_mode(mode));
            let closed = self.in_folder(&parent, |parent, _| {
                let folder = parent.own_folder(&name)?;
                let _ = open.mtime.map(|mtime| folder.set_mtime(mtime));
                let _ = mode.map(|mode| folder.set_mode(mode));
                Ok(())
            });
            closed.map_err(transfer_problem("a folder cannot be kept"))?;
        }
        self.note(JournalRecord::Closed { entry: open.entry })
    }
}
