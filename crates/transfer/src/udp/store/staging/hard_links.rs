//! Hard links to earlier entries of a transfer.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt as _;

use paceline_os::folder::{EntryKind, Folder, Status, set_mode, set_mtime};

use super::Staging;
use crate::udp::store::journal::{JournalPath, JournalRecord};
use crate::udp::store::problem::{Problem, entry_problem};

impl Staging {
    /// Creates a hard link to an earlier file or link. Copies it where the file system has no hard
    /// links.
    pub(super) fn make_hard_link(
        &mut self,
        target: u32,
        parent: &JournalPath,
        name: &OsStr,
        record: JournalRecord,
    ) -> Result<(), Problem> {
        let missing = || {
            Problem::Entry("it is a hard link to an earlier entry, which is not kept here".into())
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
        let linked = self.in_folder(parent, |into, _| {
            if folder.hard_link(&from, into, name).is_err() {
                return Ok(false);
            }
            // The linked file must be the file that was checked.
            if into.status(name)?.identity != status.identity {
                into.remove(name)?;
                return Err(io::Error::other("the earlier entry has changed"));
            }
            Ok(true)
        });
        if linked.map_err(&failed)? {
            return Ok(());
        }
        if expected.is_some() {
            self.take_room(status.length)?;
        }
        let made = self.in_folder(parent, |into, _| {
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

    /// Finds a file of the tree, which may already be in the destination. Returns its folder and
    /// its name there.
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
}
