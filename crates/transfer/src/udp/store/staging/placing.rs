//! The end of a top-level entry, which gets its name in the destination, and the end of a transfer.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use paceline_os::folder::Folder;

use super::{News, Staging};
use crate::udp::store::finished;
use crate::udp::store::journal::{JournalPath, JournalRecord, TopLevel};
use crate::udp::store::names::kept_name;
use crate::udp::store::problem::{Problem, transfer_problem};

impl Staging {
    /// Moves the current top-level entry to its final name, once all of it is staged.
    pub(super) fn place_whole(&mut self) -> Result<(), Problem> {
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

    /// Completes an entry that has its final name. Sets the mode and mtime of a folder only now,
    /// because they could prevent moving it. Flushes the name to the disk.
    pub(super) fn on_placed(&mut self, top: &TopLevel, folder: Option<Folder>) -> io::Result<()> {
        if let (Some((mode, mtime)), Some(folder)) = (top.folder, folder) {
            let _ = mtime.map(|mtime| folder.set_mtime(mtime));
            let _ = mode.map(|mode| folder.set_mode(self.folder_mode(mode)));
            folder.sync()?;
        }
        self.destination.folder.sync()?;
        self.append(JournalRecord::Placed { entry: top.entry, bytes: top.bytes })
    }

    pub(super) fn finish(&mut self, is_whole: bool) -> io::Result<()> {
        self.last_folder = None;
        if is_whole && self.transfer.resumable {
            self.journal.sync()?;
            finished::keep(&self.root.folder, &self.folder, &self.name)?;
        }
        self.is_over = true;
        self.remove()
    }

    /// Removes the transfer's folder, and then the staging folder if it is empty.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.root.folder.remove_all(&self.name)?;
        let _ = self.destination.folder.remove_folder(&self.root.name);
        Ok(())
    }
}
